"""A nursery for processes that die, and how many of them there are."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.crash.story import Answered

ROUNDS = int(os.environ.get("EDGEEMU_CRASH_ROUNDS", "100"))
"""Rounds of the loop in process; the slower loops take a share of them."""

SEED = int(os.environ.get("EDGEEMU_CRASH_SEED", "1"))
REPO = Path(__file__).parents[2]


@dataclass(slots=True)
class Nursery:
    """Makes one process after the other and lets each die."""

    process: "subprocess.Popen[str]"

    def round(self, answered: Answered, *, kill_after: int | None = None, **order: Any) -> int:
        """One life; the number of the signal that ended it, 0 for none.

        Args:
            answered: takes what the driver was answered.
            kill_after: lines after which it is killed from outside; None to leave it alone.
            order: what `driver.live` reads.
        """
        pipe_in, pipe_out = self.process.stdin, self.process.stdout
        assert pipe_in is not None and pipe_out is not None
        pipe_in.write(json.dumps(order) + "\n")
        pipe_in.flush()
        pid, lines = 0, 0
        for line in pipe_out:
            told = json.loads(line)
            if told["op"] == "born":
                pid = told["pid"]
            elif told["op"] == "ended":
                assert told["signal"] or told["status"] == 0, f"the driver failed: {order}"
                return int(told["signal"])
            else:
                answered.note(line)
                lines += 1
            if pid and kill_after is not None and lines >= kill_after:
                # The line may be older than the end of the child, which the nursery then reaps.
                kill_after = None
                os.kill(pid, signal.SIGKILL)
        raise AssertionError(f"the nursery ended: {order}")


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    """One nursery for a module; it ends with its standard input."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.crash.driver"],
        cwd=REPO,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        yield Nursery(process)
        assert process.stdin is not None
        process.stdin.close()
        process.wait(10)
