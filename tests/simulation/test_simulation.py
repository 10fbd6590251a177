"""No sequence of calls, faults, evictions, restarts and moves of time breaks a promise.

The second half checks the checkers: a few bugs are planted, and each must be found. With
`EDGEEMU_SIMULATIONS=5000` the search goes on for longer than the few seconds of a usual run.
"""

import os
from collections.abc import Callable
from typing import Any

import apsw
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test
from msgspec.structs import replace

from edgeemu.core import alarms, machine, transactions
from edgeemu.core.machine import Machine
from edgeemu.core.transactions import Transactions
from edgeemu.emulator.clockwork import ClockControl
from edgeemu.stores.database import Database
from edgeemu.stores.own_file import OwnFile
from edgeemu.stores.own_files import OwnFiles
from edgeemu.stores.port import StoredTurn
from tests.simulation.machine import OnDisk, Script, ScriptOnDisk, Simulation

EXAMPLES = int(os.environ.get("EDGEEMU_SIMULATIONS", "25"))
SETTINGS = settings(
    max_examples=EXAMPLES,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has no fork")


@pytest.mark.slow
def test_promises_hold_on_disk() -> None:
    run_state_machine_as_test(OnDisk, settings=SETTINGS)


@pytest.mark.slow
def test_promises_hold_in_memory() -> None:
    run_state_machine_as_test(Simulation, settings=settings(SETTINGS, max_examples=2 * EXAMPLES))


@pytest.mark.slow
@pytest.mark.parametrize("machine_in_script", [Script, ScriptOnDisk])
def test_promises_hold_in_typescript(machine_in_script: type[Simulation]) -> None:
    # A smaller share: what decides is the core's, and the same for each language.
    share = settings(SETTINGS, max_examples=max(EXAMPLES // 4, 1))
    run_state_machine_as_test(machine_in_script, settings=share)


# --- check the checkers ---------------------------------------------------------------------------


def lose_alarms(patch: pytest.MonkeyPatch) -> None:
    """A failed delivery is forgotten instead of tried again."""
    end_failed = alarms.end_failed

    def forget(row: Any, *args: Any, **more: Any) -> Any:
        changed, note = end_failed(row, *args, **more)
        return replace(changed, alarm=None), note

    patch.setattr(alarms, "end_failed", forget)


def run_twice(patch: pytest.MonkeyPatch) -> None:
    """A delivery that succeeded leaves its alarm pending."""
    end_delivered = alarms.end_delivered

    def keep(row: Any, delivered: Any, moment: Any) -> Any:
        ended = end_delivered(row, delivered, moment)
        if delivered.due_at_ms % 2:
            return ended
        again = replace(delivered, fire_at_ms=moment.now_ms + 1)
        return replace(ended, alarm=again)

    patch.setattr(alarms, "end_delivered", keep)


def step_back(patch: pytest.MonkeyPatch) -> None:
    """After a long move the clock goes back a little."""
    advance = ClockControl.advance

    async def then_back(self: ClockControl, duration_ms: int) -> Any:
        moved = await advance(self, duration_ms)
        if duration_ms >= 5_000:
            self._clock.set_to(self._clock.now_ms() - 7)
        return moved

    patch.setattr(ClockControl, "advance", then_back)


def keep_writes(patch: pytest.MonkeyPatch) -> None:
    """A turn that throws keeps what it wrote."""
    end_turn = Machine._end_turn

    def commit(self: Any, instance: Any, turn: Any, ending: Any, *args: Any) -> None:
        end_turn(self, instance, turn, replace(ending, commit=True), *args)

    patch.setattr(Machine, "_end_turn", commit)


def keep_rows(patch: pytest.MonkeyPatch) -> None:
    """SQL of a turn that throws is kept."""

    def keep(self: Database) -> None:
        if self.in_transaction:
            self.commit()

    patch.setattr(Database, "rollback", keep)


def lose_rows(patch: pytest.MonkeyPatch) -> None:
    """What is undone of SQL alone takes with it what stood before."""
    patch.setattr(Database, "savepoint", lambda self: None)
    patch.setattr(Database, "rollback_to", lambda self: (self.rollback(), self.begin()))


def keep_transactions(patch: pytest.MonkeyPatch) -> None:
    """A transaction that fails keeps what it wrote."""
    roll_back = Transactions.roll_back

    def land(self: Transactions, txn: int, failure: Any) -> None:
        self.commit(txn, lambda _: None)
        again = self.begin(None)
        roll_back(self, again, failure)

    patch.setattr(Transactions, "roll_back", land)


def forgive_transactions(patch: pytest.MonkeyPatch) -> None:
    """A failed transaction that is caught lets its turn succeed."""
    patch.setattr(Transactions, "roll_back", lambda self, txn, _: self._end(txn))


def lose_others(patch: pytest.MonkeyPatch) -> None:
    """A turn with a failed transaction that is caught loses what it wrote beside it."""
    judged = transactions.judged
    patch.setattr(machine, "judged", lambda ending: replace(judged(ending), commit=False))


def leak_buffers(patch: pytest.MonkeyPatch) -> None:
    """What a failed transaction has written is found in the next one of its turn."""
    begin = Transactions.begin

    def begin_with_all(self: Transactions, within: int | None) -> int:
        left = list(self._buffers.values())
        txn = begin(self, within)
        for buffer in left:
            self._buffers[txn].puts.update(buffer.puts)
        return txn

    def stay(self: Transactions, _: int, failure: Any) -> None:
        self.failure = self.failure or failure

    patch.setattr(Transactions, "begin", begin_with_all)
    patch.setattr(Transactions, "roll_back", stay)


def tear_turns(patch: pytest.MonkeyPatch) -> None:
    """A file of its own keeps the SQL and the alarm of a turn, and not its keys."""
    write = OwnFile.write

    def write_less(self: OwnFile, turn: StoredTurn, *args: Any) -> None:
        write(self, replace(turn, puts={}), *args)

    patch.setattr(OwnFile, "write", write_less)


def forget_cut_off(patch: pytest.MonkeyPatch) -> None:
    """After a death between the two commits of a turn nobody tells the index of it."""
    patch.setattr(OwnFiles, "_catch_up", lambda *args, **more: None)


def fire_early(patch: pytest.MonkeyPatch) -> None:
    """An alarm is delivered before its instant."""
    fire_at_ms = alarms.fire_at_ms
    patch.setattr(alarms, "fire_at_ms", lambda *args: fire_at_ms(*args) - 3)


def retry_for_ever(patch: pytest.MonkeyPatch) -> None:
    """A failed delivery uses up no attempt."""
    after_turn = alarms.after_turn

    def uncounted(row: Any, *args: Any, **more: Any) -> Any:
        changed, note = after_turn(row, *args, **more)
        if note is not None and note[1].get("counted") and changed.alarm is not None:
            changed = replace(changed, alarm=replace(changed.alarm, retry_count=0))
        return changed, note

    patch.setattr(alarms, "after_turn", uncounted)


def keep_replaced(patch: pytest.MonkeyPatch) -> None:
    """A change of the alarm is dropped where one is pending."""
    apply_write = alarms.apply_write

    def drop(row: Any, write: Any, moment: Any) -> Any:
        return (row, None) if row.alarm is not None else apply_write(row, write, moment)

    patch.setattr(alarms, "apply_write", drop)


def keep_alarms(patch: pytest.MonkeyPatch) -> None:
    """A turn that throws keeps its alarm, and nothing else."""
    after_turn = alarms.after_turn
    patch.setattr(alarms, "after_turn", lambda *args, **more: after_turn(*args, **more | KEPT))


def lose_index(patch: pytest.MonkeyPatch) -> None:
    """A file of its own commits, the index does not, and nobody makes it good."""

    def lose(self: OwnFiles) -> None:
        self._undo_state()
        self._ahead = None

    patch.setattr(OwnFiles, "_commit_index", lose)


KEPT = {"keep": True}
PLANTED = [
    lose_alarms,
    keep_alarms,
    run_twice,
    step_back,
    keep_writes,
    keep_rows,
    lose_rows,
    keep_transactions,
    forgive_transactions,
    lose_others,
    leak_buffers,
    fire_early,
    retry_for_ever,
    keep_replaced,
]
PLANTED_IN_FILES = [lose_index, tear_turns]


def name_of(plant: Any) -> str | None:
    return getattr(plant, "__name__", None)


def search_in(machine: type[Simulation]) -> None:
    # No shrinking and no memory of earlier failures: it is enough that it is found, and soon.
    search = settings(
        SETTINGS,
        max_examples=200,
        phases=[Phase.generate],
        database=None,
        report_multiple_bugs=False,
    )
    # A lost index may meet the store's own rules before a checker looks.
    with pytest.raises((AssertionError, ExceptionGroup, apsw.Error)):
        run_state_machine_as_test(machine, settings=search)


@pytest.mark.slow
@pytest.mark.parametrize("machine", [Simulation, OnDisk], ids=["in memory", "on disk"])
def test_a_search_finds_nothing_where_nothing_is_planted(machine: type[Simulation]) -> None:
    """Else what is found below would say nothing of what was planted."""
    search = settings(SETTINGS, max_examples=20, phases=[Phase.generate], database=None)
    run_state_machine_as_test(machine, settings=search)


@pytest.mark.slow
@pytest.mark.parametrize("plant", PLANTED, ids=name_of)
def test_planted_bug_is_found(
    plant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    search_in(Simulation)


@pytest.mark.slow
@pytest.mark.parametrize("plant", PLANTED_IN_FILES, ids=name_of)
def test_bug_planted_in_the_files_is_found(
    plant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    search_in(OnDisk)


@needs_fork
def test_forgotten_turn_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search hits the one point between two commits too seldom, so it is led there."""
    forget_cut_off(monkeypatch)
    machine = OnDisk()
    try:
        machine.begin()
        machine.enter("a", None, "lands")
        machine.promises_hold()
        machine.die_inside("a", ("COMMIT", 2), fires=False)
        with pytest.raises(AssertionError, match="the keys of a"):
            machine.promises_hold()
    finally:
        machine.teardown()
