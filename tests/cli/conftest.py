"""A small project of its own, commands run in this process, and a real server beside it.

The project depends on no template: what the commands show must not change with one.
"""

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from edgeemu.cli.main import main

START = "2030-01-01T00:00:00Z"
WAIT_SECONDS = 20
"""How long a test waits for a process before it fails, with what the process said."""

CONFIG = """\
name = "shop"
main = "src/main.py"
seed = 1

[[actors]]
binding = "SESSION"
type = "Session"

[clock]
mode = "frozen"
start = "2030-01-01T00:00:00Z"
"""

MAIN = '''\
"""A session that ends after five minutes without a touch."""

import asyncio

from edgeemu import AlarmInfo, Request, Response, StatefulActor

TIMEOUT_MS = 5 * 60_000


class Session(StatefulActor):
    async def touch(self) -> None:
        await self.ctx.storage.put("last_seen", self.ctx.now_ms())
        await self.ctx.storage.set_alarm(self.ctx.now_ms() + TIMEOUT_MS)

    async def alarm(self, info: AlarmInfo) -> None:
        if await self.ctx.storage.get("storm"):
            await self.ctx.storage.set_alarm(self.ctx.now_ms())
            return
        last_seen = await self.ctx.storage.get("last_seen", 0)
        if self.ctx.now_ms() - last_seen >= TIMEOUT_MS:
            await self.ctx.storage.delete_all()

    async def storm(self) -> None:
        await self.ctx.storage.put("storm", True)
        await self.ctx.storage.set_alarm(self.ctx.now_ms())

    async def echo(self, *values):
        return list(values) if len(values) > 1 else values[0]

    async def boom(self) -> None:
        await self.ctx.storage.put("lost", True)
        raise ValueError("no such luck")

    async def nap(self) -> str:
        await asyncio.sleep(60)
        return "rested"

    async def shout(self) -> str:
        print("heard by all")
        return "quiet"

    async def _secret(self) -> None: ...


async def fetch(request: Request, env) -> Response:
    if request.path == "/bytes":
        return Response(b"\\xff\\x00", status=201)
    if request.path == "/boom":
        raise RuntimeError("front")
    fields = {"method": request.method, "path": request.path, "tag": request.headers.get("x-tag")}
    return Response.json({**fields, "body": await request.text()}, status=404)
'''

FILTERS: list[tuple[str, str]] = [
    (r"\b\d+\.\dms\b", "0.0ms"),
    (r'"real_took_us": \d+', '"real_took_us": 0'),
    (r'"real_at_ms": \d+', '"real_at_ms": 0'),
    (r"127\.0\.0\.1:\d{4,5}", "127.0.0.1:PORT"),
    (r"\bpid \d+|process \d+", "process PID"),
    (r"edgeemu \d+\.\d+\.\d+", "edgeemu VERSION"),
]
"""What differs between runs: real durations, ports, processes, versions. Virtual times do not."""


class Ended(NamedTuple):
    """How a command ended."""

    status: int
    out: str
    err: str

    def shown(self, *more: tuple[str, str]) -> str:
        """Exit status, stdout and stderr as a snapshot has them."""
        text = f"exit {self.status}\n"
        for name, content in (("stdout", self.out), ("stderr", self.err)):
            if content:
                text += f"--- {name}\n{content}" + ("" if content.endswith("\n") else "\n")
        for pattern, replacement in (*more, *FILTERS):
            text = re.sub(pattern, replacement, text)
        return text


Run = Callable[..., Ended]


class Server:
    """A real `edgeemu dev` in a process of its own."""

    def __init__(self, project: Path, *options: str, start: bool = True) -> None:
        self._project = project
        self._options = options
        self.said = ""
        if start:
            self.start()

    def start(self) -> None:
        """Start it and wait until it accepts."""
        self._process = subprocess.Popen(
            [sys.executable, "-m", "edgeemu", "dev", "--port", "0", *self._options],
            cwd=self._project,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        # Somebody has to read all the time: a full pipe would hold the server.
        self._heard = threading.Condition()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        self.wait_said("edgeemu clock advance 5m\n")

    def _listen(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            with self._heard:
                self.said += line.decode()
                self._heard.notify_all()

    def wait_said(self, text: str) -> str:
        """This waits until the server has said something on stderr; all that it said so far."""
        with self._heard:
            heard = self._heard.wait_for(lambda: text in self.said, WAIT_SECONDS)
            assert heard, f"the server never said {text!r}, but:\n{self.said}"
            return self.said

    def kill(self) -> None:
        """Kill it as nothing else would end it."""
        self._process.send_signal(signal.SIGKILL)
        self._end()

    def stop(self) -> int:
        """Stop it as Ctrl-C does; its exit status."""
        self._process.send_signal(signal.SIGINT)
        return self._end()

    def _end(self) -> int:
        status = self._process.wait(WAIT_SECONDS)
        self._listener.join(WAIT_SECONDS)
        assert self._process.stdout is not None and self._process.stderr is not None
        self.out = self._process.stdout.read().decode()
        self._process.stdout.close()
        self._process.stderr.close()
        return status

    @property
    def runs(self) -> bool:
        """Whether the process lives."""
        return self._process.poll() is None


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The project's folder, which is the current one."""
    folder = tmp_path / "shop"
    (folder / "src").mkdir(parents=True)
    (folder / "edgeemu.toml").write_text(CONFIG)
    (folder / "src/main.py").write_text(MAIN)
    for name in ("EDGEEMU_PROJECT", "EDGEEMU_STATE_DIR", "EDGEEMU_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def run(capsysbinary: pytest.CaptureFixture[bytes]) -> Run:
    """Runs a command in this process."""

    def run_command(*args: str) -> Ended:
        capsysbinary.readouterr()
        status = main(args)
        out, err = capsysbinary.readouterr()
        return Ended(status, out.decode(), err.decode())

    return run_command


@pytest.fixture
def server(project: Path) -> Iterator[Server]:
    """A running server of the project."""
    found = Server(project)
    yield found
    if found.runs:
        found.stop()


def run_process(*args: str, cwd: Path | None = None, **env: str) -> Ended:
    """Run a command in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "edgeemu", *args],
        cwd=cwd,
        env={**os.environ, **env},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
    return Ended(done.returncode, done.stdout.decode(), done.stderr.decode())
