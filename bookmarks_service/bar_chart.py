"""The bar chart of the admin index page."""

from dataclasses import dataclass
from datetime import date
from typing import Any

from django.contrib.humanize.templatetags.humanize import intcomma


@dataclass
class BarChart:
    """A bar chart of counts per day. Positions and sizes are percentages of the plot, so that no text is distorted."""

    days: list[tuple[date, int]]

    @property
    def is_empty(self) -> bool:
        return not any(count for _, count in self.days)

    @property
    def total(self) -> str:
        return intcomma(sum(count for _, count in self.days))

    @property
    def maximum(self) -> str:
        return intcomma(max(count for _, count in self.days))

    @property
    def last_day(self) -> date:
        return self.days[-1][0]

    @property
    def top(self) -> int:
        """The value at the top of the axis: the next of 2, 4, 10, 20, 40, 100 and so on, whose halves are integers."""
        highest, power = max(count for _, count in self.days), 1
        while power * 10 < highest:
            power *= 10
        return power * next(digit for digit in (2, 4, 10) if power * digit >= highest)

    @property
    def axis(self) -> list[str]:
        """The labels of the vertical axis, from top to bottom."""
        return [intcomma(value) for value in (self.top, self.top // 2, 0)]

    @property
    def dates(self) -> list[date]:
        """The labels of the horizontal axis: the first day, one in the middle, and the last."""
        return [self.days[0][0], self.days[len(self.days) // 2][0], self.last_day]

    @property
    def bars(self) -> list[dict[str, Any]]:
        step = 100 / len(self.days)
        return [
            {
                "day": day,
                "count": intcomma(count),
                "left": f"{number * step:.2f}%",
                "x": f"{(number + 0.1) * step:.2f}%",
                "center": f"{(number + 0.5) * step:.2f}%",
                "y": f"{100 - 100 * count / self.top:.2f}%",
                "width": f"{step:.2f}%",
                "bar_width": f"{0.8 * step:.2f}%",
                "height": f"{100 * count / self.top:.2f}%",
                # A value near the left or right end is aligned so that it stays within the plot.
                "anchor": ("start", "middle", "end")[3 * number // len(self.days)],
            }
            for number, (day, count) in enumerate(self.days)
        ]
