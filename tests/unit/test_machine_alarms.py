"""The machine and alarms: delivery, retries, replacement, faults. Messages in, messages out."""

import pytest

from edgeemu.core.events import (
    AlarmDue,
    CommitFailed,
    EvictRequested,
    Outcome,
    TurnKind,
)
from edgeemu.core.rows import AlarmWrite, Fault, FaultHow, PastAlarmState
from tests.support.machines import FAILED, Driver, X, Y


@pytest.fixture
def driver() -> Driver:
    """An instance in memory whose alarm is due right now."""
    driver = Driver()
    driver.wake()
    driver.arm(2_000)
    driver.now_ms = 2_000
    return driver


def plan(driver: Driver, *faults: Fault) -> None:
    driver.ask(kind=TurnKind.EDIT)
    driver.finish(faults=faults)


def test_delivery_is_a_turn_that_spends_the_alarm(driver: Driver) -> None:
    assert driver.due() == ["start alarm A/x retry=0"]
    assert driver.started[X].alarm is None  # U51: inside its delivery there is none.
    assert driver.end() == ["record alarm", "commit alarm A/x"]
    assert driver.commit() == ["reply alarm A/x succeeded gave_up=False"]
    assert driver.pending() is None
    past = driver.rows[X].past_alarm
    assert past is not None
    assert (past.state, past.attempts) == (PastAlarmState.DONE, 1)
    assert driver.is_at_rest()


def test_whoever_fired_an_alarm_is_told_when_it_ran(driver: Driver) -> None:
    driver.due()
    driver.now_ms = 2_700
    driver.end()
    driver.now_ms = 2_800  # Storing it is not part of the delivery.
    driver.commit()
    told = driver.replies[-1].alarm
    assert told is not None
    assert (told.started_at_ms, told.ended_at_ms) == (2_000, 2_700)


def test_delivery_wakes_an_instance(driver: Driver) -> None:
    driver.step(EvictRequested(2_000, X))
    assert driver.due() == ["load A/x", "start init A/x"]
    assert driver.end()[-1] == "start alarm A/x retry=0"


def test_other_turns_see_the_pending_alarm(driver: Driver) -> None:
    driver.ask()
    seen = driver.started[X].alarm
    assert seen is not None
    assert seen.due_at_ms == 2_000


def test_due_of_an_alarm_that_is_not_due_does_nothing(driver: Driver) -> None:
    assert driver.step(AlarmDue(1_999, X, 1)) == []
    assert driver.is_at_rest()


def test_due_of_a_replaced_alarm_does_nothing(driver: Driver) -> None:
    driver.arm(2_000)
    assert driver.step(AlarmDue(2_000, X, 1)) == []
    assert driver.step(AlarmDue(2_000, X, 2)) == ["start alarm A/x retry=0"]


def test_due_twice_is_delivered_once(driver: Driver) -> None:
    driver.due()
    assert driver.due() == []
    driver.finish()
    assert driver.step(AlarmDue(2_000, X, 1)) == []
    assert driver.is_at_rest()


def test_due_of_an_instance_that_does_not_exist_leaves_nothing_behind(driver: Driver) -> None:
    assert driver.step(AlarmDue(2_000, Y, 1)) == ["load A/y"]
    assert driver.machine.find(Y) is None


@pytest.mark.parametrize("write", [AlarmWrite(9_000), AlarmWrite(None), AlarmWrite(1_500)])
def test_alarm_that_a_turn_before_replaces_or_clears_is_not_delivered(
    driver: Driver, write: AlarmWrite
) -> None:
    # U58.
    driver.ask()
    assert driver.due() == []
    driver.end(alarm=write)
    assert driver.commit() == [
        "reply call A/x succeeded",
        "record alarm_stale",
        "refuse alarm A/x: its alarm was replaced or cleared before its turn came",
    ]
    assert driver.is_at_rest()


def test_alarm_that_a_failed_turn_would_have_cleared_is_delivered(driver: Driver) -> None:
    driver.ask()
    driver.due()
    driver.end(FAILED, alarm=AlarmWrite(None))
    assert driver.commit() == ["reply call A/x failed", "start alarm A/x retry=0"]


def test_clock_that_was_set_back_takes_a_waiting_delivery_back(driver: Driver) -> None:
    driver.ask()
    driver.due()
    driver.now_ms = 500
    driver.finish()
    assert driver.is_at_rest()
    assert driver.pending() == (2_000, 2_000, 0)
    driver.now_ms = 2_000
    assert driver.due() == ["start alarm A/x retry=0"]


# --- retries -------------------------------------------------------------------------------------


def test_failures_are_retried_a_second_apart_and_given_up_after_the_fourth(
    driver: Driver,
) -> None:
    for retry_count in range(3):
        assert driver.due() == [f"start alarm A/x retry={retry_count}"]
        assert driver.end(FAILED) == [
            "record alarm",
            "record alarm_retry",
            "commit alarm A/x without writes",
        ]
        driver.commit()
        assert driver.pending() == (2_000, driver.now_ms + 1_000, retry_count + 1)
        driver.now_ms += 1_000
    driver.due()
    assert driver.end(FAILED) == [
        "record alarm",
        "record alarm_given_up",
        "warn W_ALARM_GIVEN_UP",
        "commit alarm A/x without writes",
    ]
    assert driver.commit() == ["reply alarm A/x failed gave_up=True"]
    assert driver.pending() is None
    past = driver.rows[X].past_alarm
    assert past is not None
    assert (past.state, past.attempts) == (PastAlarmState.GIVEN_UP, 4)


def test_retry_is_a_second_after_the_attempt_ended(driver: Driver) -> None:
    # U60.
    driver.due()
    driver.now_ms += 300_000
    driver.finish(FAILED)
    assert driver.pending() == (2_000, 303_000, 1)


def test_handler_that_rearms_starts_anew(driver: Driver) -> None:
    driver.deliver(FAILED)
    driver.now_ms += 1_000
    driver.deliver(alarm=AlarmWrite(60_000))
    assert driver.pending() == (60_000, 60_000, 0)


@pytest.mark.parametrize("write", [AlarmWrite(60_000), AlarmWrite(None)])
def test_what_a_handler_did_to_the_alarm_is_undone_by_its_throw(
    driver: Driver, write: AlarmWrite
) -> None:
    # U53, U54.
    driver.deliver(FAILED, alarm=write)
    assert driver.pending() == (2_000, 3_000, 1)


def test_handler_that_clears_the_alarm_has_cleared_it(driver: Driver) -> None:
    driver.deliver(alarm=AlarmWrite(None))
    assert driver.pending() is None


def test_turn_between_attempts_replaces_the_alarm(driver: Driver) -> None:
    # U55.
    driver.deliver(FAILED)
    driver.ask()
    driver.finish(alarm=AlarmWrite(5_000))
    assert driver.pending() == (5_000, 5_000, 0)
    driver.now_ms = 5_000
    assert driver.due() == ["start alarm A/x retry=0"]


def test_turn_between_attempts_cancels_them(driver: Driver) -> None:
    # U56.
    driver.deliver(FAILED)
    driver.ask()
    driver.finish(alarm=AlarmWrite(None))
    assert driver.pending() is None
    driver.now_ms = 3_000
    assert driver.step(AlarmDue(3_000, X, 1)) == []


def test_retries_survive_evictions(driver: Driver) -> None:
    # U61.
    driver.deliver(FAILED)
    driver.step(EvictRequested(2_000, X))
    driver.now_ms = 3_000
    assert driver.due() == ["load A/x", "start init A/x"]
    assert driver.end()[-1] == "start alarm A/x retry=1"


def test_failed_activation_uses_up_an_attempt(driver: Driver) -> None:
    # U59.
    driver.step(EvictRequested(2_000, X))
    driver.due()
    driver.end(FAILED)
    driver.commit()
    assert driver.pending() == (2_000, 3_000, 1)


def test_activation_that_crashes_uses_up_none(driver: Driver) -> None:
    driver.step(EvictRequested(2_000, X))
    driver.due()
    driver.step(EvictRequested(2_000, X, crash=True))
    driver.commit()
    assert driver.pending() == (2_000, 3_000, 0)


def test_crash_in_a_delivery_uses_up_no_attempt(driver: Driver) -> None:
    driver.due()
    driver.step(EvictRequested(2_000, X, crash=True))
    driver.commit()
    assert driver.pending() == (2_000, 3_000, 0)


def test_delivery_whose_commit_fails_is_still_pending(driver: Driver) -> None:
    driver.due()
    driver.end()
    driver.step(CommitFailed(2_000, driver.started[X].turn.id, "full"))
    assert driver.pending() == (2_000, 2_000, 0)
    assert driver.due() == ["start init A/x"]


# --- by hand -------------------------------------------------------------------------------------


def test_alarm_fired_by_hand_need_not_be_due(driver: Driver) -> None:
    driver.now_ms = 1_500
    assert driver.ask(kind=TurnKind.ALARM) == ["start alarm A/x retry=0"]
    driver.end()
    assert driver.commit() == ["reply alarm A/x succeeded gave_up=False"]


def test_alarm_in_flight_is_not_fired_again(driver: Driver) -> None:
    driver.due()
    told = driver.ask(kind=TurnKind.ALARM)
    assert told == ["refuse alarm A/x: its alarm is being delivered right now"]


def test_no_alarm_is_not_fired() -> None:
    driver = Driver()
    assert driver.ask(Y, TurnKind.ALARM) == ["load A/y", "refuse alarm A/y: no alarm is set"]
    assert driver.machine.find(Y) is None


# --- planned faults -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("how", "outcome"),
    [(FaultHow.THROW, Outcome.FAILED), (FaultHow.TIMEOUT, Outcome.TIMED_OUT)],
)
def test_planned_failure_takes_the_place_of_the_handler(
    driver: Driver, how: FaultHow, outcome: Outcome
) -> None:
    plan(driver, Fault(how, "planned", 2))
    driver.replies.clear()
    assert driver.due() == ["record alarm", "record alarm_retry", "commit alarm A/x without writes"]
    assert driver.commit() == [f"reply alarm A/x {outcome.value} gave_up=False"]
    assert driver.rows[X].faults == (Fault(how, "planned", 1),)
    assert driver.pending() == (2_000, 3_000, 1)


def test_planned_crash_before_the_commit_keeps_nothing(driver: Driver) -> None:
    plan(driver, Fault(FaultHow.CRASH_BEFORE_COMMIT, "planned", 1))
    assert driver.due() == ["start alarm A/x retry=0 crash-before-commit"]
    assert driver.end(wrote=True, alarm=AlarmWrite(9_000)) == [
        "record alarm",
        "record alarm_retry",
        "commit alarm A/x without writes",
    ]
    assert driver.commit() == [
        "reply alarm A/x crashed gave_up=False",
        "drop A/x: crash",
        "record evicted",
    ]
    assert driver.pending() == (2_000, 3_000, 0)
    assert driver.rows[X].faults == ()


def test_planned_crash_after_the_commit_keeps_the_writes_and_delivers_again(
    driver: Driver,
) -> None:
    plan(driver, Fault(FaultHow.CRASH_AFTER_COMMIT, "planned", 1))
    driver.due()
    assert driver.end(wrote=True)[-1] == "commit alarm A/x"
    driver.commit()
    assert driver.pending() == (2_000, 3_000, 0)


def test_planned_crash_after_the_commit_keeps_an_alarm_that_the_handler_set(
    driver: Driver,
) -> None:
    plan(driver, Fault(FaultHow.CRASH_AFTER_COMMIT, "planned", 1))
    driver.due()
    driver.finish(alarm=AlarmWrite(9_000))
    assert driver.pending() == (9_000, 9_000, 0)


def test_handler_that_fails_by_itself_under_a_planned_crash_is_a_failure(driver: Driver) -> None:
    plan(driver, Fault(FaultHow.CRASH_BEFORE_COMMIT, "planned", 1))
    driver.due()
    driver.finish(FAILED)
    assert driver.pending() == (2_000, 3_000, 1)


def test_two_planned_faults_are_met_in_order(driver: Driver) -> None:
    plan(driver, Fault(FaultHow.THROW, "one", 1), Fault(FaultHow.TIMEOUT, "two", 1))
    driver.replies.clear()
    for _ in range(2):
        driver.due()
        driver.commit()
        driver.now_ms += 1_000
    outcomes = [reply.ending.outcome for reply in driver.replies]
    assert outcomes == [Outcome.FAILED, Outcome.TIMED_OUT]
    assert driver.due() == ["start alarm A/x retry=2"]
