"""Build and run the Dockerfile without Docker: in namespaces, on this machine's files in place of the base image."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from docker.utils import exclude_paths

from tests.bookmarks_service.service import ROOT
from tests.servers import TIMEOUT, kill_server, start_server

PYTHON = "/opt/base"  # a virtual environment, in place of the Python of the base image

SETUP = """
mount -t tmpfs tmpfs "$1"
mkdir "$1/changes" "$1/work" "$1/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/changes,workdir=$1/work" "$1/root"
mount --rbind /dev "$1/root/dev"
mount -t proc proc "$1/root/proc"
ip link set lo up
chroot "$1/root" chmod 755 /root  # where pyenv installs Python
echo ready
exec sleep infinity
"""


def can_run() -> bool:
    """Return whether this process may make namespaces and mount file systems in them."""
    if os.getuid() != 0 or not all(map(shutil.which, ("unshare", "nsenter", "setpriv", "ip"))):
        return False
    command = ["unshare", "--mount", "--net", "--pid", "--fork", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def instructions(dockerfile: Path) -> list[tuple[str, str]]:
    """Return the instructions of a Dockerfile, each as its name and its argument."""
    text = re.sub(r"^#.*\n", "", dockerfile.read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    return [(name, rest.strip()) for name, _, rest in (line.partition(" ") for line in text.splitlines() if line)]


def dockerignore() -> list[str]:
    return [line for line in (ROOT / ".dockerignore").read_text().splitlines() if not line.startswith("#")]


def copy_context(folder: Path) -> None:
    """Copy the files that .dockerignore lets in."""
    for name in exclude_paths(ROOT, dockerignore()):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)


class Image:
    """A root file system in namespaces of its own, which ``build`` fills and ``run`` uses read-only."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.context, self.root = folder, folder / "context", folder / "mount/root"
        self.steps = instructions(ROOT / "Dockerfile")
        self.variables = {"PATH": f"{PYTHON}/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}

    def __enter__(self) -> "Image":
        (self.folder / "mount").mkdir()
        copy_context(self.context)
        # unshare ignores SIGTERM, with which a server would end when the tests are killed.
        until_killed = [
            "setpriv",
            "--pdeathsig",
            "KILL",
            "unshare",
            "--kill-child",
            "--mount",
            "--net",
            "--pid",
            "--fork",
        ]
        command = [*until_killed, "sh", "-ec", SETUP, "sh"]
        log = self.folder / "namespaces.log"
        self.holder = start_server([*command, self.folder / "mount"], log, lambda: "ready" in log.read_text())
        try:
            [self.pid] = self.children(self.holder.pid)
            self.build()
        except BaseException:
            kill_server(self.holder)
            raise
        return self

    def __exit__(self, *exc_info: object) -> None:
        kill_server(self.holder)

    def children(self, pid: int) -> list[int]:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]

    def enter(self, *options: str) -> list[str]:
        """Return the beginning of a command that runs in the namespaces."""
        return ["nsenter", f"--target={self.pid}", "--mount", "--pid", *options]

    def check(self, *command: Any, **options: Any) -> None:
        """Run a command in the namespaces, except that of the network, and fail if it fails."""
        result = subprocess.run([*self.enter(), *command], capture_output=True, text=True, check=False, **options)
        assert result.returncode == 0, (command, result.stdout, result.stderr)

    def build(self) -> None:
        """Follow the instructions, and make the result read-only."""
        self.check("chroot", self.root, getattr(sys, "_base_executable", sys.executable), "-m", "venv", PYTHON)
        for name, argument in self.steps:
            self.STEPS[name](self, argument)
        self.check("mount", "-o", "remount,ro,bind", self.root)
        self.check("mount", "-t", "tmpfs", "tmpfs", f"{self.root}/tmp")

    def workdir(self, argument: str) -> None:
        self.current_folder = argument
        self.check("mkdir", "-p", f"{self.root}{argument}")

    def env(self, argument: str) -> None:
        self.variables |= dict(pair.split("=", 1) for pair in shlex.split(argument))

    def copy(self, argument: str) -> None:
        *sources, target = argument.split()
        copied = [f"{self.context}/{'./.' if source == '.' else source}" for source in sources]
        target = f"{self.root}{self.current_folder}/{target}"
        self.check("mkdir", "-p", target)
        self.check("cp", "-r", *copied, target)

    def run_step(self, argument: str) -> None:
        # These variables tell pip on this machine where the packages are.
        of_pip = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
        command = f"cd {self.current_folder} && {argument}"
        self.check("chroot", self.root, "sh", "-c", command, env={**of_pip, **self.variables})

    def last(self, name: str) -> str:
        return [argument for each, argument in self.steps if each == name][-1]

    def in_container(self, *command: str, **variables: str) -> list[str]:
        """Return a command that runs with the user, the folder and the variables of the container, and these ones."""
        user, group = self.last("USER").split(":")
        as_user = [
            "setpriv",
            f"--reuid={user}",
            f"--regid={group}",
            "--clear-groups",
            "--no-new-privs",
            "--bounding-set=-all",
        ]
        assignments = [f"{name}={value}" for name, value in {**self.variables, **variables}.items()]
        return [
            "chroot",
            str(self.root),
            *as_user,
            "env",
            "-i",
            f"--chdir={self.current_folder}",
            *assignments,
            *command,
        ]

    def run(self, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run a command in the container."""
        full = [*self.enter("--net"), *self.in_container(*command, **variables)]
        return subprocess.run(full, capture_output=True, text=True, timeout=TIMEOUT, check=False)

    def is_healthy(self) -> bool:
        return self.run(*json.loads(self.last("HEALTHCHECK").partition("CMD ")[2])).returncode == 0

    def command(self, **variables: str) -> list[str]:
        """Return CMD as a command that runs as the first process of a container."""
        first_process = ["unshare", "--pid", "--fork", "--kill-child"]
        return [*self.enter("--net"), *first_process, *self.in_container(*json.loads(self.last("CMD")), **variables)]

    def first_process(self, process: "subprocess.Popen[bytes]") -> int:
        """Return the process that runs CMD."""
        [unshare] = self.children(process.pid)
        [first] = self.children(unshare)
        return first

    def mount(self, source: Path, target: str) -> None:
        """Show a file of this machine in the container. The folder of ``target`` has only these files."""
        folder = f"{self.root}{Path(target).parent}"
        self.check("sh", "-ec", 'mountpoint -q "$1" || mount -t tmpfs tmpfs "$1"', "sh", folder)
        self.check("cp", source, f"{self.root}{target}")

    def skip(self, argument: str) -> None:
        """Change no file."""

    STEPS = {
        **dict.fromkeys(("FROM", "LABEL", "USER", "EXPOSE", "HEALTHCHECK", "CMD"), skip),
        **{"WORKDIR": workdir, "ENV": env, "COPY": copy, "RUN": run_step},
    }
