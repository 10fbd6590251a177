"""The two stores give the same answers after the same batches, whatever these hold."""

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from edgeemu.core.journal import Entry, Kind
from edgeemu.core.overlay import KeyRange
from edgeemu.core.rows import Alarm, InstanceRow, PastAlarm, PastAlarmState
from edgeemu.ids import InstanceId
from edgeemu.stores import own_files, sqlite
from edgeemu.stores.memory import MemoryStore
from edgeemu.stores.port import Batch, StoredTurn
from edgeemu.stores.sqlite import SqliteStore

_texts = st.sampled_from(["", "a", "ab", "a\0", "b", "é", "\ue000", "\U0001f600"])
_instants = st.integers(0, 6)
_instances = st.builds(InstanceId, st.sampled_from(["A", "B"]), _texts)
_alarms = st.builds(
    Alarm, _instants, _instants, _instants, _instants, _instants, _instants, _texts, st.none()
)
_past = st.builds(
    PastAlarm, st.sampled_from(PastAlarmState), _instants, _instants, _instants, _instants, _texts
)
_rows = st.builds(
    InstanceRow,
    created_at_ms=st.none() | _instants,
    generation=_instants,
    alarm=st.none() | _alarms,
    past_alarm=st.none() | _past,
    last_error=st.none() | st.dictionaries(_texts, _texts, max_size=2),
)
_turns = st.builds(
    StoredTurn,
    _instances,
    _rows,
    st.dictionaries(_texts, st.none() | st.binary(max_size=3), max_size=3),
    st.booleans(),
)
_entries = st.builds(Entry, st.sampled_from(Kind), _instants, st.none() | _instances)
_batches = st.builds(
    Batch,
    st.lists(_turns, max_size=4),
    st.lists(_entries, max_size=3),
    _instants,
    st.dictionaries(_texts, st.none() | st.integers(), max_size=2),
)
_ranges = st.builds(
    KeyRange,
    st.none() | _texts,
    st.none() | _texts,
    _texts,
    st.booleans(),
    st.none() | st.integers(0, 4),
)
_limits = st.integers(0, 5)
_types = st.none() | st.sampled_from(["A", "B", "C"])


class BothStores(RuleBasedStateMachine):
    """The store in memory serves as the model of the one on disk."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.memory = MemoryStore()
        self.sqlite = SqliteStore(Path(self.folder.name))

    def teardown(self) -> None:
        self.sqlite.close()
        self.folder.cleanup()

    def same(self, method: str, *args: Any, **kwargs: Any) -> None:
        expected = getattr(self.memory, method)(*args, **kwargs)
        assert getattr(self.sqlite, method)(*args, **kwargs) == expected
        assert len(self.sqlite._places) <= 3

    @rule(batch=_batches)
    def apply(self, batch):
        if not any(map(self.sqlite.stands_alone, batch.turns)):
            self.same("apply", batch)
            return
        for turn in batch.turns:
            self.same("apply", Batch([turn]))
        self.same("apply", Batch((), batch.entries, batch.real_at_ms, batch.meta))

    @rule(batch=_batches, turn=_turns, value=_instants, kept=st.booleans())
    def use_sql(self, batch, turn, value, kept):
        for query in (
            "CREATE TABLE IF NOT EXISTS t (x)",
            f"INSERT INTO t VALUES ({value})",
            "SELECT x FROM t ORDER BY rowid",
        ):
            databases = (self.memory.sql(turn.instance), self.sqlite.sql(turn.instance))
            expected, rows = (database.exec(query) for database in databases)
            assert rows == expected
        if kept:
            stored = StoredTurn(turn.instance, turn.row, turn.puts, turn.cleared, True)
            self.same("apply", Batch([stored], batch.entries, batch.real_at_ms, batch.meta))
        else:
            self.same("rollback_sql", turn.instance)

    @rule()
    def reopen(self):
        self.sqlite.close()
        self.sqlite = SqliteStore(Path(self.folder.name))

    @rule(instance=_instances, key=_texts, keys=_ranges)
    def look_at_an_instance(self, instance, key, keys):
        self.same("load", instance)
        self.same("read", instance, key)
        self.same("read_range", instance, keys)
        self.same("measure", instance)

    @rule(fire=st.none() | _instants, eligible=st.none() | _instants, limit=_limits, kind=_types)
    def look_at_alarms(self, fire, eligible, limit, kind):
        self.same("due", fire_by_ms=fire, eligible_by_ms=eligible, limit=limit)
        self.same("alarms", type_name=kind, limit=limit)
        self.same("ended_alarms", type_name=kind, limit=limit)

    @rule(kind=_types, prefix=_texts, limit=_limits)
    def look_at_instances(self, kind, prefix, limit):
        self.same("instances", type_name=kind, prefix=prefix, limit=limit)

    @rule(seq=_instants, since=st.none() | _instants, instance=st.none() | _instances, key=_texts)
    def look_at_the_journal(self, seq, since, instance, key):
        self.same("journal", since_seq=seq, since_ms=since, instance=instance, limit=4)
        self.same("read_meta", key)


@pytest.mark.slow
def test_both_stores_agree(monkeypatch):
    monkeypatch.setattr(sqlite, "IDS_REMEMBERED_MAX", 3)  # So that instances are forgotten,
    monkeypatch.setattr(own_files, "SQL_FILES_OPEN_MAX", 2)  # and files closed.
    run_state_machine_as_test(
        BothStores,
        settings=settings(
            max_examples=40, stateful_step_count=25, suppress_health_check=[HealthCheck.too_slow]
        ),
    )
