"""Drop, in turn, each keyword of a query that names an owner or a key, and
print those that no test needs.

    python -m tests.benchmarks.owner_mutants [FILE...]

The script changes a copy of the project, and runs the tests there on SQLite
until one fails: first those that are about tenants, then the others that need
neither a server nor a browser. By default, it looks in all files of the apps.
It fails if a keyword can be dropped.
"""

import ast
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.documents import ROOT

QUERIES = {
    "filter",
    "exclude",
    "get",
    "get_or_create",
    "update_or_create",
    "Q",
    "compile_select",
    "compile_update",
    "execute",
    "read",
}
"""The names of the functions that take conditions."""

KEYS = (
    "user_group",
    "team",
    "environment",
    "collection",
    "collection_key",
    "url_digest",
    "provided_id",
    "digest",
    "pk",
    "id",
)
"""The fields that name an owner or a row, also with a lookup or ``_id``."""

ABOUT_TENANTS = [
    "tests/bookmarks/test_tenants.py",
    "tests/bookmarks/test_bookmarks.py",
    "tests/usergroups/test_user_groups.py",
    "tests/bookmarks/test_access_tokens.py",
    "tests/bookmarks_service/test_isolation.py",
    # Each statement of the admin and of the API names the user group.
    "tests/citus",
]
OTHERS = ["tests/bookmarks", "tests/usergroups", "tests/api", "tests/admin"]
BROWSERS = [
    "tests/admin/test_accessibility.py",
    "tests/admin/test_browser.py",
    "tests/bookmarks/test_browser_imports.py",
]


class Mutant(NamedTuple):
    path: Path
    line: int
    function: str
    keyword: str | None
    source: str
    """The text of the file without the keyword."""


def names_a_key(keyword: ast.keyword) -> bool:
    """Return whether a keyword argument is a condition on an owner or a key, or
    is ``**`` with conditions.
    """
    if keyword.arg is None:
        return True
    field = keyword.arg.partition("__")[0]
    return field.removesuffix("_id") in KEYS or field in KEYS


def name_of(function: ast.expr) -> str:
    """Return the last name of what is called."""
    if isinstance(function, ast.Attribute):
        return function.attr
    return getattr(function, "id", "")


def mutants_of(path: Path) -> Iterator[Mutant]:
    tree = ast.parse(path.read_text())
    for call in [node for node in ast.walk(tree) if isinstance(node, ast.Call)]:
        function = name_of(call.func)
        if function not in QUERIES:
            continue
        keywords = call.keywords
        for keyword in filter(names_a_key, keywords):
            call.keywords = [other for other in keywords if other is not keyword]
            yield Mutant(path, keyword.lineno, function, keyword.arg, ast.unparse(tree))
        call.keywords = keywords


def fails(folder: Path, tests: list[str]) -> bool:
    """Return whether one of the tests fails in the copy of the project."""
    ignored = [f"--ignore={path}" for path in BROWSERS]
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "2", *ignored, *tests]
    result = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    return result.returncode != 0


def survives(folder: Path, mutant: Mutant) -> bool:
    """Return whether all tests pass with this mutant."""
    changed = folder / mutant.path.relative_to(ROOT)
    original = changed.read_text()
    changed.write_text(mutant.source)
    try:
        return not fails(folder, ABOUT_TENANTS) and not fails(folder, OTHERS)
    finally:
        changed.write_text(original)


def main(names: list[str]) -> int:
    paths = [ROOT / name for name in names]
    if not paths:
        paths = [*ROOT.glob("bookmarks/**/*.py"), *ROOT.glob("usergroups/**/*.py")]
    mutants = []
    for path in sorted(paths):
        if "migrations" not in path.parts:
            mutants += mutants_of(path)
    number = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "project"
        left_out = shutil.ignore_patterns(".git", ".venv", "__pycache__", ".*_cache")
        shutil.copytree(ROOT, folder, ignore=left_out)
        for mutant in mutants:
            if survives(folder, mutant):
                number += 1
                place = f"{mutant.path.relative_to(ROOT)}:{mutant.line}"
                print(f"{place}: {mutant.function}({mutant.keyword}=...)", flush=True)
    print(f"{number} of {len(mutants)} keywords can be dropped.")
    return min(number, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
