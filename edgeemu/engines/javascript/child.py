"""The child process that runs JavaScript, in lockstep with the emulator.

It runs only between a message and its report that nothing is left to run (design D9). Meanwhile
the emulator serves what it asks for and does nothing else, as in a step of Python code.
"""

import json
import os
import subprocess
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any

import msgspec

from edgeemu.clock import stopwatch_ns, wait_thread_event_ms
from edgeemu.engines.javascript.deno import start_error
from edgeemu.engines.javascript.frames import Asked, Frame, Idle
from edgeemu.engines.javascript.lines import decode_frame
from edgeemu.limits import (
    SCRIPT_HEAP_BYTES_MAX,
    SCRIPT_MEMORY_BYTES_MAX,
    SCRIPT_START_MS,
    WATCHDOG_POLL_MS,
)

HOST = Path(__file__).with_name("host")
"""Where the JavaScript host lies."""

_READ_BYTES = 1 << 18
_STDERR_BYTES_SHOWN = 4_000
_LAST_WORDS_SECONDS = 1.0
_OUT_OF_MEMORY = ("heap out of memory", "JavaScript out of memory", "Allocation failed")
_PASSED_ON = ("PATH", "HOME", "TMPDIR", "TEMP", "SYSTEMROOT", "NO_COLOR")

Serve = Callable[[Frame], bytes]
"""Carries out what a frame says; the answer, if it asks for one."""


class ChildDied(Exception):
    """The process is gone.

    Args:
        said: what it wrote on its way out, and how it ended.
        ended_by: why the emulator ended it, if it did.
    """

    def __init__(self, said: str, *, ended_by: "EndedBy | None" = None) -> None:
        super().__init__(said or "the JavaScript engine ended")
        self.ended_by = ended_by

    @property
    def hung(self) -> bool:
        """Whether it ran on without waiting, and was stopped."""
        return self.ended_by is EndedBy.HANG


class EndedBy(Enum):
    """Why the emulator ends a process in the middle of a step."""

    HANG = "hang"
    MEMORY = "memory"


class Child:
    """One process of the JavaScript engine.

    Args:
        deno: the program.
        readable: folders that its code may read.
        watchdog_ms: real ms that one step may take; 0 for no bound.
        compiler: options of its TypeScript compiler.
        debugger: the `host:port` at which a debugger may attach; None for none.

    Raises:
        EdgeemuError: `E_ENGINE_MISSING` if the program cannot be run.
    """

    def __init__(
        self,
        deno: str,
        readable: Sequence[Path],
        watchdog_ms: int,
        compiler: Mapping[str, Any],
        debugger: str | None = None,
    ) -> None:
        self.debugger = debugger
        self._config = _config_file(readable, compiler)
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        self._deno = deno
        try:
            self._process = self._launched(command(deno))
        except OSError as error:
            raise start_error(deno, str(error)) from None
        self._watchdog = _Watchdog(watchdog_ms, self._process)
        self._notes: list[bytes] = []
        self.alive = True

    def is_running(self) -> bool:
        """Whether the process is there: another one may have ended it meanwhile."""
        return self.alive and self._process.poll() is None

    def note(self, now_ms: int, kind: str, *args: Any) -> None:
        """Say something with the next message."""
        self._notes.append(_line([now_ms, kind, *args]))

    def step(self, serve: Serve, now_ms: int, kind: str, *args: Any) -> None:
        """Send a message, and serve the host until nothing is left to run.

        Raises:
            ChildDied: on the way; what was served before stays.
        """
        self._exchange(serve, _line([now_ms, kind, *args]))

    def start(self) -> None:
        """Wait until the host is there.

        Raises:
            EdgeemuError: `E_ENGINE_MISSING` if it does not come.
        """
        try:
            self._exchange(lambda _: b"", b"", slack_ms=SCRIPT_START_MS)
        except ChildDied as died:
            self.close()
            raise start_error(self._deno, str(died)) from None
        finally:
            self._config.close()  # It has been read.

    def _launched(self, program: Sequence[str]) -> "subprocess.Popen[bytes]":
        options = [f"--config={self._config.name}"]
        words = []
        if self.debugger is not None:
            options.append(f"--inspect={self.debugger}")
            words.append("inspect")
        return subprocess.Popen(
            [*program, *options, str(HOST / "main.js"), *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            bufsize=0,
            env=_environment(),
        )

    def close(self) -> None:
        """End the process."""
        self.alive = False
        self._watchdog.close()
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()
        self._errors.close()

    def _exchange(self, serve: Serve, message: bytes, *, slack_ms: int = 0) -> None:
        notes, self._notes = self._notes, []
        self._watchdog.arm(slack_ms)
        try:
            self._write(b"".join([*notes, message]))
            parts: list[bytes] = []  # A line may be long, and comes in many.
            while True:
                first, *lines = self._read().split(b"\n")
                parts.append(first)
                for line in lines:
                    frame = decode_frame(b"".join(parts))
                    parts = [line]
                    if type(frame) is Idle:
                        return
                    answer = serve(frame)
                    if isinstance(frame, Asked):
                        self._write(answer + b"\n")
        except (OSError, EOFError):
            raise self._died() from None
        except msgspec.DecodeError:  # Code of the project has found the wire, and written on it.
            raise self._died("it said what is no message") from None
        finally:
            self._watchdog.disarm()

    def _write(self, data: bytes) -> None:
        stdin = self._process.stdin
        view = memoryview(data)
        while view and stdin is not None:
            view = view[stdin.write(view) :]

    def _read(self) -> bytes:
        stdout = self._process.stdout
        data = stdout.read(_READ_BYTES) if stdout is not None else None
        if not data:
            raise EOFError
        return data

    def died(self) -> ChildDied:
        """What became of a process that is gone, or is given up."""
        return self._died()

    def _died(self, why: str = "") -> ChildDied:
        self.alive = False
        if why:
            self._process.kill()
        try:
            status = self._process.wait(_LAST_WORDS_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            status = self._process.wait()
        self._errors.seek(0)
        said = self._errors.read()[-_STDERR_BYTES_SHOWN:].decode(errors="replace")
        ended_by = self._watchdog.ended_by
        if ended_by is None and any(words in said for words in _OUT_OF_MEMORY):
            ended_by = EndedBy.MEMORY
        how = f"signal {-status}" if status < 0 else f"exit status {status}"
        last = next((line for line in said.splitlines() if line.strip()), "")
        return ChildDied("; ".join(filter(None, [why or how, last])), ended_by=ended_by)


def _config_file(
    readable: Sequence[Path], compiler: Mapping[str, Any]
) -> "tempfile._TemporaryFileWrapper[bytes]":
    """A file of settings, which is there until it is closed.

    It gives the only permission, reading the project (design D9): an option could not name a
    folder with a comma in its name.
    """
    paths = [str(path) for path in [HOST, *readable]]
    settings = {"permissions": {"default": {"read": paths}}, "compilerOptions": compiler}
    file = tempfile.NamedTemporaryFile(suffix=".json")  # noqa: SIM115 - closed when it was read
    file.write(msgspec.json.encode(settings))
    file.flush()
    return file


def command(deno: str) -> list[str]:
    """How the program is called; the permissions stand in its settings."""
    return [
        deno,
        "run",
        "--permission-set",
        "--quiet",
        "--no-prompt",
        "--no-lock",
        "--no-remote",
        "--no-check",
        "--node-modules-dir=manual",
        "--unstable-detect-cjs",
        f"--v8-flags=--max-old-space-size={SCRIPT_HEAP_BYTES_MAX >> 20}",
    ]


def _environment() -> dict[str, str]:
    """What the program itself needs; its code runs in UTC, as on the platform, and sees none."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name in _PASSED_ON or name.startswith(("DENO_", "XDG_"))
    }
    return {**kept, "TZ": "UTC", "LANG": "en_US.UTF-8", "DENO_NO_UPDATE_CHECK": "1"}


def _line(message: list[Any]) -> bytes:
    """One message as a line; lone surrogates, which JSON can escape, included."""
    try:
        return msgspec.json.encode(message) + b"\n"
    except UnicodeEncodeError:
        return json.dumps(message).encode() + b"\n"


class _Watchdog:
    """Kills a process in which a step takes too long or too much, from a thread of its own."""

    def __init__(self, limit_ms: int, process: "subprocess.Popen[bytes]") -> None:
        self._limit_ns = limit_ms * 1_000_000
        self._process = process
        self._started_ns = 0
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None
        self.ended_by: EndedBy | None = None

    def arm(self, slack_ms: int) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._watch, name="watchdog-ts", daemon=True)
            self._thread.start()
        self._started_ns = stopwatch_ns() + slack_ms * 1_000_000

    def disarm(self) -> None:
        self._started_ns = 0

    def close(self) -> None:
        self._closed.set()

    def _watch(self) -> None:
        while not wait_thread_event_ms(self._closed, WATCHDOG_POLL_MS):
            started_ns = self._started_ns
            if not started_ns:
                continue
            if self._limit_ns and stopwatch_ns() - started_ns > self._limit_ns:
                self.ended_by = EndedBy.HANG
            elif _resident_bytes(self._process.pid) > SCRIPT_MEMORY_BYTES_MAX:
                self.ended_by = EndedBy.MEMORY
            if self.ended_by is not None:
                self._process.kill()
                return


def _resident_bytes(pid: int) -> int:
    """Memory of a process; 0 where the system does not tell: there V8's own bound is left."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
