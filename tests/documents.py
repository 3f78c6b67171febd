"""Read the documents: their sections, code blocks and tables."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent


def page(name):
    """Return the text of a page in docs/."""
    return (ROOT / "docs" / f"{name}.md").read_text()


def section(name, heading):
    """Return a section of a page, without its heading."""
    return re.search(
        rf"^## {heading}\n(.*?)(?=^## |\Z)", page(name), re.DOTALL | re.MULTILINE
    )[1]


def blocks(text, language):
    """Return the code blocks in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def rows(text):
    """Return the cells of each row of all tables."""
    return [
        line.strip("| ").split(" | ")
        for line in re.findall(r"^\| .*", text, re.MULTILINE)
    ]


def names(text):
    """Return the first word of each text in backticks in the first column of
    all tables.
    """
    return {
        name for row in rows(text) for name in re.findall(r"`([\w.]+)[^`]*`", row[0])
    }
