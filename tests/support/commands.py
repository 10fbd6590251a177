"""Whole commands in processes of their own, for tests that kill them."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from edgeemu.api.client import RemoteTarget
from edgeemu.api.state import ServerInfo, read_server_info
from edgeemu.clock import pause_thread_ms

WAIT_MS = 20_000
"""Real milliseconds that anything may take before the test fails."""

_ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}


@contextmanager
def started_command(root: Path, *arguments: str) -> Iterator["subprocess.Popen[bytes]"]:
    """A command in the folder `root`, which is dead in the end; it speaks to `output.txt`."""
    with (root / "output.txt").open("ab") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "edgeemu", *arguments],
            cwd=root,
            env=_ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            yield process
        finally:
            process.kill()
            process.wait()


def wait_server(root: Path, process: "subprocess.Popen[bytes]") -> ServerInfo:
    """This waits until the `edgeemu dev` of `started_command` answers; how to reach it."""
    for _ in range(WAIT_MS // 5):
        info = read_server_info(root / ".edgeemu")
        if info is not None and info.pid == process.pid:
            target = RemoteTarget(info)
            answers = target.answers()
            target.close()
            if answers:
                return info
        assert process.poll() is None, (root / "output.txt").read_text()
        pause_thread_ms(5)
    raise AssertionError("the server did not come up")
