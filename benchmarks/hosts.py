"""The systems that are measured: how each is started on its own copy of the application."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from pathlib import Path

from benchmarks.load import ask

HERE = Path(__file__).parent
ROOT = HERE.parent
START_WAIT_S = 60.0


def free_port() -> int:
    """A port that nobody uses right now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class System(ABC):
    """One system that serves the application.

    Args:
        folder: of its own; made anew by `prepare`.
    """

    name = ""
    source = ""
    """The file of the application, relative to the folder, whose change it should notice."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / self.name
        self.port = 0
        self._process: subprocess.Popen[bytes] | None = None

    def missing(self) -> str | None:
        """Why it cannot be measured on this machine; None if it can."""
        return None

    @abstractmethod
    def copy(self) -> None:
        """Copy the application into the folder, which is there and empty."""

    @abstractmethod
    def command(self) -> list[str]:
        """What starts it on `self.port`."""

    def environment(self) -> dict[str, str]:
        """Variables of its process."""
        return {**os.environ, "PYTHONPATH": str(ROOT)}

    def start(self, *, fresh: bool = True) -> float:
        """Start it, and ask until an actor answers; how many seconds that took.

        Raises:
            RuntimeError: with its output, if it does not come up.
        """
        if fresh:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder.mkdir(parents=True)
            self.copy()
        self.port = free_port()
        # Beside the folder: a system that watches it must not see its own log grow.
        with self._output.open("wb") as output:
            started = time.perf_counter()
            self._process = subprocess.Popen(
                self.command(),
                cwd=self.folder,
                env=self.environment(),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        while time.perf_counter() - started < START_WAIT_S:
            try:
                ask(self.port, "/inc?name=first")
                return time.perf_counter() - started
            except (OSError, RuntimeError, ValueError):
                if self._process.poll() is not None:
                    break
                time.sleep(0.002)
        text = self._output.read_text(errors="replace")[-2_000:]
        self.stop()
        raise RuntimeError(f"{self.name} did not come up:\n{text}")

    def stop(self) -> None:
        """End it and every process that it started."""
        process, self._process = self._process, None
        if process is None:
            return
        for wanted in (signal.SIGCONT, signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(process.pid, wanted)
            except ProcessLookupError:
                break
            try:
                process.wait(0 if wanted == signal.SIGCONT else 5)
            except subprocess.TimeoutExpired:
                continue

    def pause(self) -> None:
        """Let it stand still while another one is measured."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on."""
        self._signal(signal.SIGCONT)

    def _signal(self, wanted: signal.Signals) -> None:
        if self._process is not None and self._process.poll() is None:
            os.killpg(self._process.pid, wanted)

    @property
    def _output(self) -> Path:
        return self.folder.with_name(f"{self.folder.name}-output.txt")

    def memory_mb(self) -> float:
        """Resident megabytes of all its processes, shared pages counted once."""
        if self._process is None:
            raise RuntimeError(f"{self.name} does not run")
        total_kb = 0
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if os.getsid(int(folder.name)) != self._process.pid:
                    continue
                rollup = (folder / "smaps_rollup").read_text()
            except OSError:
                continue
            total_kb += sum(
                int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:")
            )
        return total_kb / 1_024

    def change_source(self, version: str) -> None:
        """Save the application with another version in it."""
        path = self.folder / self.source
        lines = path.read_text().splitlines(keepends=True)
        for at, line in enumerate(lines):
            if "VERSION = " in line:
                end = ";\n" if line.rstrip().endswith(";") else "\n"
                lines[at] = f'{line[: line.index("=")]}= "{version}"{end}'
        path.write_text("".join(lines))


class Edgeemu(System):
    """`edgeemu dev`, as a user starts it."""

    name = "edgeemu"
    source = "src/main.py"
    options: tuple[str, ...] = ()
    project = "app"
    """The folder of the application beside this file."""

    def copy(self) -> None:
        """Copy the project."""
        self.copy_to(self.folder)

    def copy_to(self, folder: Path) -> None:
        """Copy the project into another folder."""
        shutil.copytree(HERE / self.project, folder, dirs_exist_ok=True)

    def command(self) -> list[str]:
        """The command of the virtual environment that runs this."""
        return [edgeemu_command(), "dev", "--port", str(self.port), *self.options]

    def token(self) -> str:
        """What the control API asks for."""
        token: str = json.loads((self.folder / ".edgeemu" / "dev.json").read_text())["token"]
        return token


class FrozenEdgeemu(Edgeemu):
    """`edgeemu dev` on a clock that only commands move."""

    name = "edgeemu-frozen"
    options = ("--clock", "frozen", "--start", "2030-01-01T00:00:00Z")


class ScriptEdgeemu(Edgeemu):
    """`edgeemu dev` with the application in TypeScript."""

    name = "edgeemu ts"
    source = "src/index.ts"
    project = "app_typescript"


class FrozenScriptEdgeemu(ScriptEdgeemu):
    """The same on a clock that only commands move."""

    name = "edgeemu ts-frozen"
    options = FrozenEdgeemu.options


class Floor(System):
    """The host of `benchmarks/floor`."""

    name = "floor"
    source = "app.py"
    options: tuple[str, ...] = ()

    def copy(self) -> None:
        """Copy the application."""
        shutil.copy(HERE / "floor" / "app.py", self.folder)

    def command(self) -> list[str]:
        """The host as a module of this package."""
        head = [sys.executable, "-m", "benchmarks.floor", "--state", "state", "--app", "app.py"]
        return [*head, "--port", str(self.port), *self.options]


class FrozenFloor(Floor):
    """The floor on a clock that only requests move."""

    name = "floor-frozen"
    options = ("--start-ms", "1893456000000")


class NodeSystem(System):
    """What runs on Node, from the packages that `benchmarks/node/package-lock.json` pins."""

    source = "worker.mjs"

    def missing(self) -> str | None:
        """Whether Node and the packages are there; they are fetched when npm can be reached."""
        return install_node_packages()

    def copy(self) -> None:
        """Copy the worker; packages are found through a link."""
        for name in ("worker.mjs", "miniflare.mjs", "wrangler.toml", "package.json"):
            shutil.copy(HERE / "node" / name, self.folder)
        (self.folder / "node_modules").symlink_to(HERE / "node" / "node_modules")

    def environment(self) -> dict[str, str]:
        """No questions, no reports home."""
        own = {"CI": "1", "WRANGLER_SEND_METRICS": "false", "NO_COLOR": "1"}
        return {**super().environment(), **own}


class Miniflare(NodeSystem):
    """Miniflare, used as a library."""

    name = "miniflare"

    def command(self) -> list[str]:
        """A small script around it."""
        # The state lies outside of the folder that is watched.
        state = str(self.folder.with_name("miniflare-state"))
        return ["node", "miniflare.mjs", str(self.folder / "worker.mjs"), state, str(self.port)]


class Wrangler(NodeSystem):
    """`wrangler dev`."""

    name = "wrangler dev"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.folder = folder / "wrangler"

    def command(self) -> list[str]:
        """The command, without what asks for a terminal."""
        head = ["node", "node_modules/wrangler/bin/wrangler.js", "dev", "--ip", "127.0.0.1"]
        inspector = ["--inspector-port", str(free_port())]
        return [*head, "--port", str(self.port), *inspector, "--show-interactive-dev-session=false"]


def edgeemu_command() -> str:
    """The console script beside the Python that runs this."""
    return str(Path(sys.executable).with_name("edgeemu"))


_node_answer: list[str | None] = []


def install_node_packages() -> str | None:
    """Fetch the pinned packages once; why they cannot be had, or None."""
    if not _node_answer:
        _node_answer.append(_install_node_packages())
    return _node_answer[0]


def _install_node_packages() -> str | None:
    if shutil.which("node") is None:
        return "`node` is not installed"
    if (HERE / "node" / "node_modules" / ".package-lock.json").exists():
        return None
    if shutil.which("npm") is None:
        return "`npm` is not installed"
    print("benchmarks: npm ci in benchmarks/node ...", file=sys.stderr)
    try:
        done = subprocess.run(
            ["npm", "ci", "--no-audit", "--no-fund"],
            cwd=HERE / "node",
            capture_output=True,
            timeout=300,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "`npm ci` did not end in 300 s"
    if done.returncode:
        return "`npm ci` failed: " + done.stderr.decode(errors="replace").strip()[-300:]
    return None
