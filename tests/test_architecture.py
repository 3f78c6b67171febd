"""The arrows between the packages run one way."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

FORBIDDEN = {
    "usergroups/tokens": ["usergroups", "bookmarks", "bookmarks_service"],
    "usergroups/contract": ["usergroups", "bookmarks", "bookmarks_service"],
    "usergroups": ["bookmarks", "bookmarks_service"],
    "bookmarks": ["bookmarks_service"],
}


def imports_of(path):
    """Return the full names of all modules and names that a module imports."""
    package = path.relative_to(ROOT).parent.parts
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{module}.{alias.name}" for alias in node.names)


def is_within(name, package):
    return name == package or name.startswith(f"{package}.")


@pytest.mark.parametrize("folder", FORBIDDEN)
def test_nothing_imports_what_stands_above_it(folder):
    own = folder.replace("/", ".")
    names = [name for path in (ROOT / folder).rglob("*.py") for name in imports_of(path)]

    assert any(is_within(name, own) for name in names)
    assert [
        name for name in names for package in FORBIDDEN[folder] if is_within(name, package) and not is_within(name, own)
    ] == []


def test_no_file_of_the_apps_and_the_service_is_long():
    lengths = {
        path: len(path.read_text().splitlines())
        for package in ("usergroups", "bookmarks", "bookmarks_service")
        for path in (ROOT / package).rglob("*.py")
        if path.parent.name != "migrations" and path.name != "settings.py"  # a list
    }

    assert {path: length for path, length in lengths.items() if length > 170} == {}
