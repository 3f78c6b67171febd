"""Why a file or a record cannot be read."""

from typing import Any, Self


class Problem(str):
    """A sentence in English that can be translated."""

    text: str
    """The sentence with placeholders such as ``%(max)s``."""
    values: dict[str, Any]
    """The values of the placeholders, which may be problems as well."""

    def __new__(cls, text: str, **values: object) -> Self:
        problem = super().__new__(cls, text % values)
        problem.text = text
        problem.values = values
        return problem


class UnreadableFile(Exception):
    """The rest of a file cannot be read."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.problem = problem


def gettext_noop(text: str, **values: object) -> Problem:
    """Mark a sentence for translation, and return the problem with these
    values of its placeholders.
    """
    return Problem(text, **values)


def too_long(max_length: int) -> Problem:
    """Return the problem of a line with more characters than this."""
    return gettext_noop("The line is longer than %(max)s characters.", max=max_length)
