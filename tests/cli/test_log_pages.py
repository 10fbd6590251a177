"""`edgeemu log` gives all that it was asked for, one page of the journal after the other."""

import json
from pathlib import Path
from typing import Any

import pytest

from edgeemu.cli import pages
from edgeemu.cli.pages import read_log
from edgeemu.core.journal import Entry, Kind
from edgeemu.stores.port import Batch
from edgeemu.stores.sqlite import SqliteStore
from edgeemu.units import parse_instant
from tests.cli.conftest import START, Run

START_MS = parse_instant(START)
PAGE = 3


class Journal:
    """Answers `log` as a target does, and goes on writing with each question."""

    def __init__(self, count: int, *, grows: int = 0) -> None:
        self.entries = [{"seq": seq, "kind": "call"} for seq in range(1, count + 1)]
        self.asked = 0
        self._grows = grows

    def perform(self, name: str, params: dict[str, Any]) -> list[dict[str, Any]]:
        assert name == "log"
        self.asked += 1
        limit = params.get("limit", PAGE)
        found = [entry for entry in self.entries if entry["seq"] > params.get("since_seq", 0)]
        page = found[:limit] if params.get("oldest_first") else found[-limit:]
        last = len(self.entries)
        self.entries += [{"seq": last + more, "kind": "call"} for more in range(1, self._grows + 1)]
        return page


@pytest.fixture(autouse=True)
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "JOURNAL_PAGE_MAX", PAGE)


@pytest.mark.parametrize(("count", "asked"), [(0, 1), (2, 1), (3, 2), (4, 2), (9, 4), (10, 4)])
@pytest.mark.parametrize("grows", [0, 5])
def test_every_page_is_read_once(count: int, asked: int, grows: int) -> None:
    journal = Journal(count, grows=grows)
    found = read_log(journal, {})  # type: ignore[arg-type]
    assert [entry["seq"] for entry in found] == list(range(1, count + 1))
    assert journal.asked == asked


def test_pages_begin_where_it_was_asked() -> None:
    found = read_log(Journal(20), {"since_seq": 7})  # type: ignore[arg-type]
    assert [entry["seq"] for entry in found] == list(range(8, 21))


def test_log_shows_all(project: Path, run: Run) -> None:
    for name in ("alice", "bob", "carol"):
        run("call", f"Session/{name}", "touch")
    whole = json.loads(run("log", "--json").out)
    assert [entry["seq"] for entry in whole] == list(range(1, len(whole) + 1))
    assert len(whole) > 6
    since = json.loads(run("log", "--json", "--since", "2030-01-01").out)
    assert [entry for entry in since if entry["kind"] == "call"] == [
        entry for entry in whole if entry["kind"] == "call"
    ]


def test_log_says_what_is_gone(project: Path, run: Run) -> None:
    store = SqliteStore(project / ".edgeemu", journal_entries_max=4)
    store.apply(Batch(entries=[Entry(Kind.STOPPED, START_MS)] * 1_000))
    store.close()
    gap, *rest = run("log").out.splitlines()
    assert gap.endswith("GAP  996 entries before this are gone: the journal keeps the newest ones")
    assert len(rest) == 4
    entries = json.loads(run("log", "--json").out)
    assert [entry["seq"] for entry in entries] == [996, 997, 998, 999, 1_000]
    assert (entries[0]["kind"], entries[0]["missed"]) == ("gap", 996)
