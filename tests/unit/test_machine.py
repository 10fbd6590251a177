"""The machine: one turn at a time, activation, failures, eviction, reload. Messages in and out."""

import pytest

from edgeemu.core.events import (
    CodeReplaced,
    CommitFailed,
    EvictRequested,
    Outcome,
    TimePassed,
    TurnKind,
    TurnRequested,
    TurnWithdrawn,
)
from edgeemu.core.instances import Instance, Life
from edgeemu.core.rows import AlarmWrite, InstanceRow
from edgeemu.errors import InvariantError
from edgeemu.ids import InstanceId
from edgeemu.limits import QUEUED_TURNS_MAX
from tests.support.machines import FAILED, SUCCEEDED, Driver, X, Y


@pytest.fixture
def driver() -> Driver:
    return Driver()


def test_first_call_loads_constructs_and_then_runs(driver: Driver) -> None:
    assert driver.ask() == ["load A/x", "start init A/x"]
    assert driver.end() == ["record init", "reply init A/x succeeded", "start call A/x"]
    assert driver.end() == ["record call", "commit call A/x"]
    assert driver.commit() == ["reply call A/x succeeded"]
    assert driver.is_at_rest()
    assert driver.ask() == ["start call A/x"]


def test_constructor_that_writes_commits_before_the_first_turn(driver: Driver) -> None:
    driver.ask()
    assert driver.end(wrote=True) == ["record init", "commit init A/x"]
    assert driver.commit() == ["reply init A/x succeeded", "start call A/x"]


def test_caller_is_answered_only_after_the_commit(driver: Driver) -> None:
    driver.wake()
    driver.ask()
    driver.end()
    assert driver.replies == []
    driver.commit()
    assert len(driver.replies) == 1


def test_turns_run_one_at_a_time_in_order_of_arrival(driver: Driver) -> None:
    driver.wake()
    first, second, third = (driver.turn(X, TurnKind.CALL, method=name) for name in "abc")
    assert driver.step(TurnRequested(1, first)) == ["start call A/x"]
    assert driver.step(TurnRequested(1, second)) == []
    assert driver.step(TurnRequested(1, third)) == []
    order = []
    for _ in range(3):
        order.append(driver.started[X].turn.method)
        driver.end()
        driver.commit()
    assert order == ["a", "b", "c"]
    assert driver.is_at_rest()


def test_next_turn_waits_for_the_commit(driver: Driver) -> None:
    driver.wake()
    driver.ask()
    driver.ask()
    assert driver.end() == ["record call", "commit call A/x"]
    assert driver.commit() == ["reply call A/x succeeded", "start call A/x"]


def test_instances_run_side_by_side(driver: Driver) -> None:
    driver.wake(X)
    driver.wake(Y)
    assert driver.ask(X) == ["start call A/x"]
    assert driver.ask(Y) == ["start call A/y"]


def test_row_is_read_once_for_all_that_wait(driver: Driver) -> None:
    machine = driver.machine
    loads = machine.step(TurnRequested(1, driver.turn(X, TurnKind.CALL)))
    more = machine.step(TurnRequested(1, driver.turn(X, TurnKind.CALL)))
    assert (len(loads), more) == (1, [])


def test_failed_turn_keeps_no_writes(driver: Driver) -> None:
    driver.wake()
    driver.ask()
    assert driver.end(FAILED, wrote=True, alarm=AlarmWrite(9_000)) == [
        "record call",
        "commit call A/x without writes",
    ]
    assert driver.commit() == ["reply call A/x failed"]
    assert driver.rows[X].alarm is None
    assert driver.rows[X].last_error == {
        "name": "ValueError",
        "message": "boom",
        "at_ms": 1_000,
        "turn": driver.started[X].turn.id,
    }


def test_failed_activation_fails_its_caller_and_the_next_one_tries_again(driver: Driver) -> None:
    # U20.
    driver.ask()
    driver.ask()
    assert driver.end(FAILED) == [
        "record init",
        "reply init A/x failed",
        "drop A/x: init failed",
        "record call",
        "commit call A/x without writes",
    ]
    assert driver.commit() == ["reply call A/x failed", "start init A/x"]
    assert driver.end() == ["record init", "reply init A/x succeeded", "start call A/x"]


def test_failed_activation_leaves_the_instance_broken(driver: Driver) -> None:
    driver.ask()
    driver.finish(FAILED)
    found = driver.machine.find(X)
    assert found is not None
    assert found.life is Life.BROKEN


def test_queue_is_bounded() -> None:
    driver = Driver(check=False)  # The check counts the queue, each time.
    driver.wake()
    driver.ask()
    for _ in range(QUEUED_TURNS_MAX):
        assert driver.ask() == []
    assert driver.ask() == [f"refuse call A/x: {QUEUED_TURNS_MAX} turns wait for it already"]


def test_waiting_turn_can_be_withdrawn(driver: Driver) -> None:
    driver.wake()
    driver.ask()
    turn = driver.turn(X, TurnKind.EDIT)
    driver.step(TurnRequested(1_000, turn))
    assert driver.step(TurnWithdrawn(1_000, turn)) == ["refuse edit A/x: it was withdrawn"]
    assert driver.step(TurnWithdrawn(1_000, turn)) == []
    driver.finish()
    assert driver.is_at_rest()


def test_late_ending_is_discarded(driver: Driver) -> None:
    driver.wake()
    driver.ask()
    driver.end()
    assert driver.end(FAILED) == []
    driver.commit()
    assert driver.end(FAILED) == []


# --- eviction -----------------------------------------------------------------------------------


def evict(driver: Driver, *, crash: bool = False, instance: InstanceId = X) -> list[str]:
    return driver.step(EvictRequested(driver.now_ms, instance, crash))


def test_evict_between_turns(driver: Driver) -> None:
    driver.wake()
    assert evict(driver) == ["drop A/x: evict", "record evicted"]
    assert driver.machine.find(X) is None
    assert evict(driver) == []
    assert driver.ask() == ["load A/x", "start init A/x"]


def test_evict_in_a_turn_waits_for_its_end(driver: Driver) -> None:
    driver.wake()
    driver.ask()
    driver.ask()
    assert evict(driver) == []
    driver.end()
    assert driver.commit() == [
        "reply call A/x succeeded",
        "drop A/x: evict",
        "record evicted",
        "start init A/x",
    ]


def test_crash_in_a_turn_ends_it_at_once_and_keeps_nothing(driver: Driver) -> None:
    # U74.
    driver.wake()
    driver.ask()
    assert evict(driver, crash=True) == [
        "stop call A/x",
        "record call",
        "commit call A/x without writes",
    ]
    assert driver.commit() == ["reply call A/x crashed", "drop A/x: crash", "record evicted"]


def test_crash_while_a_commit_is_under_way_loses_nothing(driver: Driver) -> None:
    driver.wake()
    driver.ask()
    driver.end(wrote=True)
    assert evict(driver, crash=True) == []
    assert driver.commit() == ["reply call A/x succeeded", "drop A/x: crash", "record evicted"]


def test_crash_in_an_activation_fails_what_waited_for_it(driver: Driver) -> None:
    driver.ask()
    assert evict(driver, crash=True)[:2] == ["stop init A/x", "record init"]
    driver.commit()
    assert [reply.ending.outcome for reply in driver.replies] == [Outcome.CRASHED] * 2
    assert driver.is_at_rest()


def test_evict_always_drops_after_each_turn() -> None:
    driver = Driver(evict_always=True)
    driver.ask()
    driver.finish()
    driver.end()
    assert driver.commit() == [
        "reply call A/x succeeded",
        "drop A/x: evict-always",
        "record evicted",
    ]


def test_idle_instances_are_dropped_in_the_order_in_which_they_became_idle() -> None:
    driver = Driver(idle_eviction_ms=60_000)
    driver.wake(X)
    driver.now_ms += 10
    driver.wake(Y)
    driver.now_ms += 10
    driver.wake(X)
    assert driver.step(TimePassed(61_009)) == []
    assert driver.step(TimePassed(61_010)) == ["drop A/y: idle", "record evicted"]
    assert driver.step(TimePassed(99_999)) == ["drop A/x: idle", "record evicted"]
    assert list(driver.machine.known()) == []


def test_turn_that_runs_is_not_idle() -> None:
    driver = Driver(idle_eviction_ms=60_000)
    driver.wake()
    driver.ask()
    assert driver.step(TimePassed(999_999)) == []


def test_change_from_outside_neither_wakes_nor_keeps_awake() -> None:
    driver = Driver(idle_eviction_ms=60_000)
    assert driver.ask(kind=TurnKind.EDIT) == ["load A/x", "start edit A/x"]
    driver.finish()
    assert driver.machine.find(X) is None
    driver.wake()
    driver.now_ms += 59_999
    driver.ask(kind=TurnKind.EDIT)
    driver.finish()
    assert driver.step(TimePassed(61_000)) == ["drop A/x: idle", "record evicted"]


# --- reload -------------------------------------------------------------------------------------


def test_new_code_drops_what_is_idle_and_what_runs_after_its_turn(driver: Driver) -> None:
    driver.wake(X)
    driver.wake(Y)
    driver.ask(Y)
    assert driver.step(CodeReplaced(1_000)) == ["drop A/x: reload", "record evicted"]
    driver.end(instance=Y)
    assert driver.commit() == ["reply call A/y succeeded", "drop A/y: reload", "record evicted"]


def test_new_code_during_an_activation_constructs_again(driver: Driver) -> None:
    driver.ask()
    driver.step(CodeReplaced(1_000))
    assert driver.end() == [
        "record init",
        "reply init A/x succeeded",
        "drop A/x: reload",
        "record evicted",
        "start init A/x",
    ]


# --- a store that fails --------------------------------------------------------------------------


def test_commit_that_fails_is_told_and_the_row_is_read_afresh(driver: Driver) -> None:
    driver.wake()
    driver.ask()
    driver.end(alarm=AlarmWrite(9_000))
    turn = driver.started[X].turn
    told = driver.step(CommitFailed(1_000, turn.id, "the disk is full"))
    assert told == [
        "reply call A/x failed",
        "drop A/x: commit failed",
        "record evicted",
        "load A/x",
    ]
    failure = driver.replies[-1].ending.failure
    assert failure is not None
    assert failure.message == "the disk is full"
    assert driver.rows[X].alarm is None


def test_commit_of_an_activation_that_fails_fails_what_waited_for_it(driver: Driver) -> None:
    driver.ask()
    driver.end(wrote=True)
    turn = driver.started[X].turn
    told = driver.step(CommitFailed(1_000, turn.id, "the disk is full"))
    assert told[:2] == ["reply init A/x failed", "reply call A/x failed"]


# --- invariants -----------------------------------------------------------------------------------


def test_use_of_a_row_that_was_not_read_is_a_bug() -> None:
    with pytest.raises(InvariantError, match="before its row was read"):
        _ = Instance(X).stored


def test_two_alarm_turns_are_a_bug(driver: Driver) -> None:
    instance = Instance(X, row=InstanceRow(), alarm_queued=True)
    instance.queue.extend(driver.turn(X, TurnKind.ALARM) for _ in range(2))
    with pytest.raises(InvariantError, match="at most once"):
        instance.check(delivers=True, idles=False)


def test_ending_without_a_turn_is_a_bug() -> None:
    with pytest.raises(InvariantError, match="belongs to a running turn"):
        Instance(X, row=InstanceRow(), ending=SUCCEEDED).check(delivers=False, idles=False)
