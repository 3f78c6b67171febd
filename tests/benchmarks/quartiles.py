"""Medians with their quartiles, as the benchmarks print them."""

import statistics


def quartiles(values):
    return statistics.quantiles(values * 2 if len(values) == 1 else values, n=4, method="inclusive")


def with_quartiles(values, digits=2):
    """Return the median and, in parentheses, the lower and the upper quartile."""
    low, median, high = (f"{value:.{digits}f}" for value in quartiles(values))
    return f"{median} ({low}-{high})"


def ratios(values, base):
    """Return the ratios of the values to those of the same rounds in ``base``, as ``with_quartiles`` does."""
    return with_quartiles([value / other for value, other in zip(values, base, strict=True)])
