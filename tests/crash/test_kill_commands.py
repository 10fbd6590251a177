"""Whole commands that are killed: `edgeemu dev` under load, and commands without a server."""

import json
import signal
import threading

import pytest

from edgeemu.api.client import RemoteTarget
from edgeemu.clock import pause_thread_ms, wait_thread_event_ms
from edgeemu.errors import EdgeemuError
from edgeemu.rng import Random, stream
from tests.crash.conftest import ROUNDS, SEED
from tests.crash.driver import LEDGERS, Numbers
from tests.crash.story import EVERY_MS, Answered, check_state, write_story
from tests.support.commands import WAIT_MS, started_command, wait_server

SERVER_ROUNDS = max(1, ROUNDS // 8)
COMMAND_ROUNDS = max(1, ROUNDS // 10)


class Round:
    """One life of a server: what it answered, from all sides, until that was enough.

    Args:
        answered: takes it.
        left: answers after which the round is over.
    """

    def __init__(self, answered: Answered, left: int) -> None:
        self.over = threading.Event()
        self.unexpected: list[EdgeemuError] = []
        self._answered = answered
        self._left = left
        self._lock = threading.Lock()

    def note(self, **told: object) -> None:
        """Something was answered."""
        with self._lock:
            self._answered.note(json.dumps(told))
            self._left -= 1
            if self._left <= 0:
                self.over.set()

    def load(self, target: RemoteTarget, random: Random, numbers: Numbers, moves: bool) -> None:
        """Ask one thing after the other until the server is gone."""
        try:
            while True:
                if moves:
                    by_ms = random.randrange(2 * EVERY_MS)
                    moved = target.perform("clock.advance", {"duration_ms": by_ms})
                    self.note(op="advance", now_ms=moved["now_ms"])
                    continue
                name, number = f"l{random.randrange(LEDGERS)}", numbers.take()
                if random.random() < 0.15:
                    params = {"actor": f"Flaky/{name}", "method": "arm", "args": []}
                    target.perform("call", params)
                    continue
                address = f"Ledger/{name}"
                target.perform("call", {"actor": address, "method": "add", "args": [number]})
                self.note(op="add", actor=address, number=number)
        except EdgeemuError as error:
            if error.code.text != "E_SERVER_UNREACHABLE":
                self.unexpected.append(error)
                self.over.set()


@pytest.mark.slow
def test_server_killed_under_load(tmp_path):
    """Calls and moves from three sides, until so many answers have come; then `kill -9`."""
    write_story(tmp_path)
    answered = Answered()
    random = stream(SEED, "crash", "server")
    for number in range(1, SERVER_ROUNDS + 1):
        life = Round(answered, random.randrange(1, 80))
        with started_command(tmp_path, "dev", "--port", "0") as process:
            info = wait_server(tmp_path, process)
            threads = []
            for side in range(3):
                numbers = Numbers(number * 100_000 + side * 10_000)
                draws = stream(SEED, "crash", number, side)
                sides = (RemoteTarget(info), draws, numbers, side == 0)
                threads.append(threading.Thread(target=life.load, args=sides))
            for thread in threads:
                thread.start()
            over = wait_thread_event_ms(life.over, WAIT_MS)
            process.send_signal(signal.SIGKILL)
            for thread in threads:
                thread.join(WAIT_MS / 1_000)
                assert not thread.is_alive(), "a command hangs after its server is gone"
        assert over, "the server does not answer"
        assert not life.unexpected, life.unexpected
        try:
            check_state(tmp_path / ".edgeemu", answered)
        except AssertionError as error:
            error.add_note(f"round {number}, EDGEEMU_CRASH_SEED={SEED}")
            raise


@pytest.mark.slow
def test_command_killed_in_the_middle(tmp_path):
    """`clock advance` without a server, killed when its log has grown by so much."""
    write_story(tmp_path)
    answered = Answered()
    random = stream(SEED, "crash", "commands")
    for number in range(1, LEDGERS + 1):
        with started_command(tmp_path, "call", f"Ledger/l{number}", "add", str(number)) as process:
            assert process.wait(WAIT_MS / 1_000) == 0, (tmp_path / "output.txt").read_text()
        answered.note(json.dumps({"op": "add", "actor": f"Ledger/l{number}", "number": number}))
    log = tmp_path / ".edgeemu" / "state.sqlite-wal"
    ended_by = []
    for number in range(1, COMMAND_ROUNDS + 1):
        grown_bytes = random.randrange(1, 1_500_000)
        with started_command(tmp_path, "clock", "advance", "3h") as process:
            for _ in range(WAIT_MS):
                if process.poll() is not None:
                    break
                if log.exists() and log.stat().st_size > grown_bytes:
                    process.send_signal(signal.SIGKILL)
                    break
                pause_thread_ms(1)
            ended_by.append(process.wait(WAIT_MS / 1_000))
        try:
            check_state(tmp_path / ".edgeemu", answered)
        except AssertionError as error:
            error.add_note(f"round {number}, EDGEEMU_CRASH_SEED={SEED}")
            raise
    assert -signal.SIGKILL in ended_by, "no command was killed in the middle"
    assert set(ended_by) <= {0, -signal.SIGKILL}, (tmp_path / "output.txt").read_text()
