"""A store that cannot be written in the middle of a run: turns fail whole, the process lives on."""

from collections.abc import Callable
from functools import partial

import apsw
import pytest

from edgeemu.config import load_config
from edgeemu.emulator import Emulator, Options, build
from edgeemu.errors import EdgeemuError
from edgeemu.stores.sqlite import SqliteStore
from tests.crash.story import EVERY_MS, Answered, check_state, write_story
from tests.support.emulators import inst, run

LEDGER = inst("Ledger/one")
OTHER = inst("Ledger/two")
FLAKY = inst("Flaky/one")


class Disk:
    """Says no at each statement of a kind, as long as it is full."""

    def __init__(self) -> None:
        self.refuses: Callable[[str], Exception | None] = lambda sql: None

    def __call__(self, sql: str) -> None:
        error = self.refuses(sql)
        if error is not None:
            raise error

    def fill(self, word: str, error: type[Exception]) -> None:
        self.refuses = lambda sql: error("no space") if sql.startswith(word) else None

    def free(self) -> None:
        self.refuses = lambda sql: None


REFUSALS = [
    ("BEGIN", apsw.ReadOnlyError),
    ("UPDATE instances", apsw.FullError),
    ("REPLACE INTO keys", apsw.FullError),
    ("INSERT INTO journal", apsw.IOError),
    ("REPLACE INTO meta", apsw.FullError),
    ("COMMIT", apsw.FullError),
    ("COMMIT", apsw.IOError),
]


def _run(tmp_path, monkeypatch, body):
    """Run `body(emulator, disk)` on a disk that can be full; then check what is left."""
    write_story(tmp_path)
    disk = Disk()
    monkeypatch.setattr(build, "SqliteStore", partial(SqliteStore, before_statement=disk))

    async def story():
        options = Options(state_dir=tmp_path / ".edgeemu", seed=1, alone=True)
        emulator = await Emulator.open(load_config(tmp_path), options)
        try:
            await body(emulator, disk)
        finally:
            disk.free()
            await emulator.close()

    run(story())
    return check_state(tmp_path / ".edgeemu", Answered())


CALL_REFUSALS = [(word, error) for word, error in REFUSALS if word != "REPLACE INTO meta"]
"""The position is not written with each call; with each instant of an advance it is."""


@pytest.mark.parametrize(("word", "error"), CALL_REFUSALS)
@pytest.mark.parametrize("address", ["Ledger/one", "Till/one"])
def test_call_on_a_full_disk(tmp_path, monkeypatch, word, error, address):
    """A till writes SQL too, so it has a file of its own that may be the one to refuse."""
    ledger = inst(address)
    if ledger.type == "Till":
        word = word.replace("INTO keys", "INTO _edgeemu_keys")

    async def body(emulator, disk):
        await emulator.call(ledger, "add", [1])
        before = (emulator.storage.list(ledger), emulator.alarms.list())
        disk.fill(word, error)
        for _ in range(3):
            with pytest.raises(EdgeemuError):
                await emulator.call(ledger, "add", [2])
        # Reading goes on, and shows that nothing was kept.
        assert (emulator.storage.list(ledger), emulator.alarms.list()) == before
        disk.free()
        assert await emulator.call(ledger, "add", [4]) == 4
        assert emulator.storage.get(ledger, "sum") == 5
        assert await emulator.call(OTHER, "add", [8]) == 8

    _run(tmp_path, monkeypatch, body)


@pytest.mark.parametrize(("word", "error"), REFUSALS)
@pytest.mark.parametrize("address", ["Ledger/one", "Till/one"])
def test_advance_on_a_full_disk(tmp_path, monkeypatch, word, error, address):
    ledger = inst(address)
    if ledger.type == "Till":
        word = word.replace("INTO keys", "INTO _edgeemu_keys")

    async def body(emulator, disk):
        await emulator.call(ledger, "add", [1])
        await emulator.call(FLAKY, "arm")
        disk.fill(word, error)
        with pytest.raises(EdgeemuError) as raised:
            await emulator.clock.advance(10 * EVERY_MS)
        assert raised.value.code.text == "E_STATE_UNWRITABLE"
        disk.free()
        listed = {alarm["actor"]: alarm["attempt"] for alarm in emulator.alarms.list()}
        assert listed[address] == 0, "an attempt that could not be kept was counted"
        moved = await emulator.clock.advance(4 * EVERY_MS)
        assert moved["succeeded"] >= 3
        assert emulator.storage.get(ledger, "delivered") >= 3
        assert await emulator.call(ledger, "add", [2]) == 2

    _run(tmp_path, monkeypatch, body)


@pytest.mark.parametrize("refused_count", [1, 2])
def test_a_move_on_a_full_disk(tmp_path, monkeypatch, refused_count):
    """The first or the second of the two commits of a move fails."""
    left = 0

    def refuse(sql):
        nonlocal left
        left -= sql == "COMMIT"
        return apsw.FullError("no space") if sql == "COMMIT" and left == 0 else None

    async def body(emulator, disk):
        nonlocal left
        till = inst("Till/one")
        await emulator.call(till, "open")
        before = (emulator.storage.list(till), emulator.alarms.list())
        disk.refuses, left = refuse, 1 + refused_count  # One commit makes the file.
        with pytest.raises(EdgeemuError):
            await emulator.call(till, "add", [1])
        assert left == 0
        assert (emulator.storage.list(till), emulator.alarms.list()) == before
        assert not list((tmp_path / ".edgeemu" / "sql").glob("till.*/*"))
        assert await emulator.call(till, "add", [2]) == 2
        assert (await emulator.clock.advance(EVERY_MS))["succeeded"] == 1

    _run(tmp_path, monkeypatch, body)


def test_disk_that_is_really_full(tmp_path, monkeypatch):
    """SQLite's own refusal: the file may not grow any more."""

    async def body(emulator, disk):
        await emulator.call(LEDGER, "add", [1])
        connection = emulator._parts.store._db
        pages = connection.pragma("page_count")
        connection.pragma("max_page_count", pages)
        refused = 0
        for number in range(2, 400):
            try:
                await emulator.call(inst(f"Ledger/n{number}"), "add", [number])
            except EdgeemuError:
                refused += 1
                assert emulator.storage.list(inst(f"Ledger/n{number}")) == {}
        assert refused > 0, "the disk was never full"
        connection.pragma("max_page_count", 1_000_000)
        assert await emulator.call(OTHER, "add", [2]) == 2
        moved = await emulator.clock.advance(EVERY_MS)
        assert moved["failed"] == 0

    _run(tmp_path, monkeypatch, body)
