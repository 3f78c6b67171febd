"""Run programs of npm packages, in the versions of clients/package.json."""

import fcntl
import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

CLIENTS = Path(__file__).parent / "clients"
PACKAGES = CLIENTS / "package.json"
ENVIRONMENT = {"REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true", "NO_COLOR": "1"}


def oldest_supported(node):
    return int(subprocess.check_output([node, "-p", "process.versions.node.split('.')[0]"])) >= 20


NODE = shutil.which("node")
HAS_NODE = NODE is not None and shutil.which("npm") is not None and oldest_supported(NODE)
needs_node = pytest.mark.skipif(not HAS_NODE, reason="Node.js 20 is not installed")


def install(cache):
    """Install the packages into a folder of pytest's cache, unless it has them, and return the folder."""
    folder = cache.mkdir(f"npm-{hashlib.sha256(PACKAGES.read_bytes()).hexdigest()[:16]}")
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the tests run in several processes
        if not (folder / "installed").exists():
            shutil.copy(PACKAGES, folder)
            run(folder, "npm", "install", "--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund")
            (folder / "installed").touch()
    return folder


def run(folder, *command):
    """Run a command in a folder and return what it printed. Fails with that if the command fails."""
    result = subprocess.run(
        command, cwd=folder, env={**os.environ, **ENVIRONMENT}, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout
