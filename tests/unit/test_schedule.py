"""The window over the schedule answers as the store does, whatever is set, moved and cleared."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeemu.core.rows import Alarm, InstanceRow
from edgeemu.emulator import schedule
from edgeemu.emulator.schedule import Schedule
from edgeemu.ids import InstanceId
from edgeemu.limits import SCHEDULE_WINDOW_ALARMS
from edgeemu.stores.memory import MemoryStore
from edgeemu.stores.port import Batch, StoredTurn
from tests.support.emulators import T0_MS, inst, run_with, write_project

_INSTANTS = st.integers(0, 12)
_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("set"), st.integers(0, 9), _INSTANTS, st.integers(0, 3)),
        st.tuples(st.just("clear"), st.integers(0, 9)),
        st.tuples(
            st.just("look"),
            st.none() | _INSTANTS,
            st.none() | _INSTANTS,
            st.integers(0, 6),
        ),
    ),
    max_size=60,
)


def _alarm(eligible_at_ms: int, late_ms: int) -> Alarm:
    fire_at_ms = eligible_at_ms + late_ms
    return Alarm(eligible_at_ms, eligible_at_ms, fire_at_ms, 0, 1, 0, None, None)


def _keep(store: MemoryStore, window: Schedule, number: int, alarm: Alarm | None) -> None:
    instance = InstanceId("AB"[number % 2], f"i{number}")
    row = InstanceRow(created_at_ms=0, alarm=alarm)
    store.apply(Batch([StoredTurn(instance, row)]))
    window.note(instance, alarm)


@pytest.mark.parametrize("size", [2, 3, 512])
@given(steps=_STEPS)
def test_window_answers_as_the_store(size, steps):
    store = MemoryStore()
    window = Schedule(store)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schedule, "SCHEDULE_WINDOW_ALARMS", size)
        for kind, *values in steps:
            if kind == "set":
                _keep(store, window, values[0], _alarm(values[1], values[2]))
            elif kind == "clear":
                _keep(store, window, values[0], None)
            else:
                asked = {
                    "fire_by_ms": values[0],
                    "eligible_by_ms": values[1],
                    "limit": values[2],
                }
                assert window.due(**asked) == store.due(**asked)


def test_a_start_reads_one_window():
    class Counting(MemoryStore):
        asked: list[int] = []  # noqa: RUF012  (one object in one test)

        def due(self, *, fire_by_ms, eligible_by_ms=None, limit):
            self.asked.append(limit)
            return super().due(fire_by_ms=fire_by_ms, eligible_by_ms=eligible_by_ms, limit=limit)

    store = Counting()
    window = Schedule(store)
    for number in range(2_000):
        _keep(store, window, number, _alarm(number, 0))
    assert [due.alarm.due_at_ms for due in window.due(fire_by_ms=None, limit=3)] == [0, 1, 2]
    _keep(store, window, 0, _alarm(5_000, 0))
    assert [due.alarm.due_at_ms for due in window.due(fire_by_ms=3, limit=9)] == [1, 2, 3]
    assert store.asked == [SCHEDULE_WINDOW_ALARMS]


def test_who_is_told_of_an_alarm_finds_it(tmp_path):
    """The clock's ticker looks once it is told: told too early, it would sleep past the alarm."""
    source = """
        class A(StatefulActor):
            async def arm(self):
                await self.ctx.set_alarm(self.ctx.now_ms() + 5)
    """

    async def body(emulator):
        shell, told = emulator._shell, []

        def note(at_ms):
            told.append((at_ms, [due.alarm.fire_at_ms for due in shell.store.due(**every)]))

        every = {"fire_by_ms": None, "limit": 9}
        shell.on_schedule = note
        await emulator.call(inst("A/x"), "arm")
        # The budget of the call is told too; only alarms must be in the store by then.
        assert (T0_MS + 5, [T0_MS + 5]) in told
        assert (T0_MS + 5, []) not in told

    run_with(write_project(tmp_path, source), body)
