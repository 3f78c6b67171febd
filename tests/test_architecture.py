"""The packages import each other in one direction."""

import ast
import subprocess
import sys

import pytest

from tests.documents import ROOT

pytestmark = pytest.mark.database_independent

APPS_AND_SERVICE = ("usergroups", "bookmarks", "bookmarks_service")

MAY_IMPORT = {
    "usergroups/db": ["usergroups.signals"],
    "usergroups/api": ["usergroups.db", "usergroups.signals"],
    "usergroups/admin_tools": [
        "usergroups.api",
        "usergroups.csv_cells",
        "usergroups.db",
        "usergroups.events",
        "usergroups.signals",
    ],
    "usergroups/tokens": [
        "usergroups.api",
        "usergroups.db",
        "usergroups.admin_tools",
        "usergroups.events",
        "usergroups.signals",
    ],
    "usergroups": [],
    "bookmarks/files": [],
    "bookmarks": ["usergroups"],
    "bookmarks_service": ["usergroups", "bookmarks"],
}
"""The packages and modules of this project that each package may import
besides itself.
"""


def imports_of(path):
    """Return the full names of all modules and names that a module imports."""
    package = path.relative_to(ROOT).parent.parts
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if node.level:
                # "." is the package of the module, and each further dot is
                # the package that contains it.
                base = ".".join(package[: len(package) - node.level + 1])
                module = f"{base}.{module}".removesuffix(".")
            yield from (f"{module}.{alias.name}" for alias in node.names)


def is_within(name, package):
    return name == package or name.startswith(f"{package}.")


@pytest.mark.parametrize("folder", MAY_IMPORT)
def test_imports_run_one_way(folder):
    allowed = [folder.replace("/", "."), *MAY_IMPORT[folder]]
    imported = {
        name for path in (ROOT / folder).rglob("*.py") for name in imports_of(path)
    }
    of_this_project = {
        name
        for name in imported
        if any(is_within(name, package) for package in APPS_AND_SERVICE)
    }

    assert of_this_project
    assert {
        name
        for name in of_this_project
        if not any(is_within(name, package) for package in allowed)
    } == set()


def test_the_files_are_read_and_written_without_django():
    script = "import sys, bookmarks.files; sys.exit('django' in sys.modules)"
    subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True)


def test_the_benchmarks_can_be_imported():
    """Benchmarks are run by hand, so no other test fails if a name that they
    import has moved.
    """
    command = "from tests.benchmarks import capacity, operations, owner_mutants"
    subprocess.run([sys.executable, "-c", command], cwd=ROOT, check=True)
