"""Nothing is cut in silence: long lists are read page by page, refused, or a gap is told.

The bounds are made small here, so that a few rows are too many for one page.
"""

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from edgeemu.config import Config
from edgeemu.core.journal import Entry, Kind, Recorded
from edgeemu.core.overlay import KeyRange
from edgeemu.core.rows import InstanceRow
from edgeemu.emulator import Emulator, paging
from edgeemu.emulator.paging import read_journal, read_keys
from edgeemu.errors import Code, EdgeemuError
from edgeemu.limits import COMPLETIONS_MAX
from edgeemu.stores.memory import MemoryStore
from edgeemu.stores.packing import JOURNAL_PRUNE_ENTRIES
from edgeemu.stores.port import Batch, StoredTurn
from tests.support.emulators import T0_MS, inst, run_with, write_project

SOURCE = """
    class Account(StatefulActor):
        async def touch(self):
            await self.ctx.set_alarm(self.ctx.now_ms() + 60_000)

        async def alarm(self, info):
            pass

    class Session(Account):
        pass
"""

X = inst("Account/x")
Body = Callable[[Emulator], Coroutine[Any, Any, Any]]


@pytest.fixture
def config(tmp_path: Path) -> Config:
    toml = "[limits]\njournal_entries = 100\n"
    return write_project(tmp_path, SOURCE, types=("Account", "Session"), toml=toml)


@pytest.fixture
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paging, "JOURNAL_PAGE_MAX", 3)
    monkeypatch.setattr(paging, "LIST_PAGE_MAX", 3)


def fill(emulator: Emulator, *entries: Entry) -> None:
    """Put entries into the journal behind the back of the emulator."""
    emulator.flush()
    emulator._parts.store.apply(Batch(entries=entries))


def printed(count: int, instance: Any = None) -> list[Entry]:
    return [Entry(Kind.CLOCK, T0_MS, instance)] * count


# --- keys --------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [0, 2, 3, 4, 6, 7])
def test_keys_are_read_page_by_page(count: int, small_pages: None) -> None:
    store = MemoryStore()
    names = ["", "\0", "a", "a\0", "a\0\0", "ab", "b"][:count]
    store.apply(Batch([StoredTurn(X, InstanceRow(), dict.fromkeys(names, b"1"))]))
    assert [key for key, _ in read_keys(store, X)] == names
    with_a = [name for name in names if name.startswith("a")]
    assert [key for key, _ in read_keys(store, X, prefix="a")] == with_a


def test_export_and_import_keep_every_key(config: Config, small_pages: None) -> None:
    async def body(emulator: Emulator) -> None:
        for number in range(10):
            await emulator.storage.put(X, f"k{number}", number)
        document = emulator.storage.export(X)
        assert len(document["keys"]) == 10
        done = await emulator.storage.import_(X, document)
        assert done["keys"] == 10
        assert emulator.storage.list(X) == {f"k{number}": number for number in range(10)}
        assert len(emulator._parts.store.read_range(X, KeyRange())) == 10

    run_with(config, body)


# --- lists -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "ask",
    [
        lambda emulator: emulator.list_instances(),
        lambda emulator: emulator.alarms.list(),
        lambda emulator: emulator.alarms.list(ended=True),
    ],
    ids=["actors", "alarms", "ended alarms"],
)
def test_a_list_that_would_be_cut_is_refused(
    ask: Callable[[Emulator], Any], config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("facade", "alarms", "paging"):
        monkeypatch.setattr(f"edgeemu.emulator.{module}.LIST_PAGE_MAX", 2)

    async def body(emulator: Emulator) -> None:
        for number in range(2):
            await emulator.call(inst(f"Account/{number}"), "touch")
        assert len(ask(emulator)) == 2
        await emulator.call(inst("Session/a"), "touch")
        with pytest.raises(EdgeemuError) as raised:
            ask(emulator)
        assert raised.value.code is Code.LIST_TOO_LONG
        assert "more than 2 " in raised.value.what
        assert len(emulator.list_instances("Account")) == 2

    run_with(config, body)


def test_ended_alarms_that_would_be_cut_are_refused(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("alarms", "paging"):
        monkeypatch.setattr(f"edgeemu.emulator.{module}.LIST_PAGE_MAX", 2)

    async def body(emulator: Emulator) -> None:
        for number in range(3):
            await emulator.call(inst(f"Account/{number}"), "touch")
        await emulator.clock.advance(60_000)
        assert emulator.alarms.list() == []
        with pytest.raises(EdgeemuError, match="ended alarms"):
            emulator.alarms.list(ended=True)

    run_with(config, body)


# --- the journal -------------------------------------------------------------------------------


def test_the_whole_journal_is_read_page_by_page(config: Config, small_pages: None) -> None:
    async def body(emulator: Emulator) -> None:
        fill(emulator, *printed(10))
        await emulator.call(X, "touch")
        found = emulator.journal()
        assert [entry["seq"] for entry in found] == list(range(1, len(found) + 1))
        assert len(found) > 10
        assert emulator.journal(limit=2) == found[-2:]
        assert emulator.journal(limit=2, oldest_first=True) == found[:2]
        assert emulator.journal(limit=99, oldest_first=True, since_seq=4) == found[4:7]
        assert emulator.journal(since_seq=10) == found[10:]
        of_x = [entry for entry in found if entry["actor"] == "Account/x"]
        assert emulator.journal(instance=X) == of_x

    run_with(config, body)


def pruned_store() -> MemoryStore:
    """A store that keeps the entries from 991 to 1,000, the first of them at instant 991."""
    store = MemoryStore(journal_entries_max=10)
    entries = [Entry(Kind.CLOCK, at_ms, X) for at_ms in range(1, JOURNAL_PRUNE_ENTRIES + 1)]
    store.apply(Batch(entries=entries))
    return store


@pytest.mark.parametrize(
    ("asked", "missed"),
    [
        ({}, 990),
        ({"since_seq": 1}, 989),
        ({"since_seq": 989}, 1),
        ({"since_seq": 990}, None),
        ({"since_seq": 995}, None),
        ({"since_ms": 5}, 990),
        ({"since_ms": 992}, None),
        ({"oldest_first": True, "limit": 3}, 990),
        ({"oldest_first": True, "limit": 3, "since_seq": 992}, None),
        ({"limit": 10}, None),
        ({"limit": 11}, 990),
        ({"instance": inst("Account/y")}, 990),
    ],
)
def test_what_is_gone_from_the_journal_is_told(asked: dict[str, Any], missed: int | None) -> None:
    store = pruned_store()
    found = read_journal(store, **asked)
    if missed is None:
        assert found == store.journal(**{"limit": 99, **asked})
        return
    gap, *rest = found
    assert gap == Recorded(990, 0, Entry(Kind.GAP, 991, data={"missed": missed}))
    assert rest == store.journal(**{"limit": 99, **asked})


def test_an_empty_journal_has_no_gap() -> None:
    assert read_journal(MemoryStore()) == []


def test_history_of_an_alarm_is_whole(config: Config, small_pages: None) -> None:
    async def body(emulator: Emulator) -> None:
        for _ in range(10):
            await emulator.call(X, "touch")
        history = emulator.alarms.history(X)
        assert [entry["kind"] for entry in history] == ["alarm_set"] * 10
        assert len(emulator.alarms.why(X)) == 11

    run_with(config, body)


def test_history_tells_what_is_gone_unless_it_was_before_the_instance(config: Config) -> None:
    async def body(emulator: Emulator) -> None:
        await emulator.call(X, "touch")
        fill(emulator, *printed(JOURNAL_PRUNE_ENTRIES))
        await emulator.clock.advance(120_000)
        gap, delivery = emulator.alarms.history(X)
        assert (gap["kind"], delivery["kind"]) == ("gap", "alarm")
        assert f"{gap['missed']} entries left the journal" in emulator.alarms.why(X)[0]
        later = inst("Account/later")
        await emulator.call(later, "touch")
        assert [entry["kind"] for entry in emulator.alarms.history(later)] == ["alarm_set"]
        assert emulator.alarms.history(inst("Account/never")) == []

    run_with(config, body)


# --- others ------------------------------------------------------------------------------------


def test_completion_finds_a_type_behind_many_of_another(config: Config) -> None:
    async def body(emulator: Emulator) -> None:
        turns = [
            StoredTurn(inst(f"Account/{number:03}"), InstanceRow(created_at_ms=0))
            for number in range(150)
        ]
        emulator._parts.store.apply(Batch(turns))
        await emulator.call(inst("Session/alice"), "touch")
        assert emulator.names("Ses") == ["Session/", "Session/alice"]
        assert emulator.names("Session/a") == ["Session/alice"]
        assert emulator.names("Session/b") == []
        assert emulator.names("Nobody") == []
        assert emulator.names("Account/14") == [f"Account/14{digit}" for digit in range(10)]
        every = emulator.names("")
        assert every[:3] == ["Account/", "Session/", "Account/000"]
        assert len(every) == COMPLETIONS_MAX

    run_with(config, body)


def test_firing_tells_how_long_it_took_without_reading_the_journal(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the journal was read")

    async def body(emulator: Emulator) -> None:
        await emulator.call(X, "touch")
        monkeypatch.setattr(MemoryStore, "journal", refuse)
        fired = await emulator.alarms.fire(X)
        assert (fired["outcome"], fired["duration_ms"]) == ("succeeded", 0)

    run_with(config, body)
