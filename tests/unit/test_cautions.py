"""Warnings that the core decides: each mistake is found, and the habit beside it is not."""

from typing import Any

import pytest
from msgspec.structs import replace

from edgeemu.core.events import CodeReplaced, Ending, Outcome, TurnKind
from edgeemu.core.names import odd_characters, odd_name_text
from edgeemu.core.profile import TELNYX
from edgeemu.core.rows import AlarmWrite, Fault, FaultHow
from edgeemu.limits import ALARM_WRITERS_REMEMBERED_MAX, BUDGET_NEAR_PERCENT
from tests.support.machines import BOOM, FAILED, SUCCEEDED, Driver, X


def warned(told: list[str]) -> list[str]:
    return [words.removeprefix("warn ") for words in told if words.startswith("warn ")]


def ended(driver: Driver, ending: Ending = SUCCEEDED, **more: Any) -> list[str]:
    found = warned(driver.end(ending, **more))
    driver.commit()
    return found


def called(driver: Driver, alarm: AlarmWrite | None = None, **more: Any) -> list[str]:
    driver.ask(X)
    return ended(driver, alarm=alarm, **more)


def awake() -> Driver:
    driver = Driver()
    driver.wake()
    return driver


# --- budget ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("took_ms", "ending", "codes"),
    [
        (TELNYX.call_timeout_ms * BUDGET_NEAR_PERCENT // 100, SUCCEEDED, []),
        (TELNYX.call_timeout_ms * BUDGET_NEAR_PERCENT // 100 + 1, SUCCEEDED, ["W_BUDGET_NEAR"]),
        (TELNYX.call_timeout_ms - 1, FAILED, []),
    ],
)
def test_a_turn_near_its_budget(took_ms: int, ending: Ending, codes: list[str]) -> None:
    driver = awake()
    driver.ask(X)
    driver.now_ms += took_ms
    assert ended(driver, ending) == codes


# --- failed deliveries -------------------------------------------------------------------------


def test_a_handler_that_rearms_and_fails_loses_the_new_alarm() -> None:
    driver = awake()
    driver.arm(1_000)
    driver.due()
    told = driver.end(FAILED, alarm=AlarmWrite(9_000, "main.py:7"))
    assert warned(told) == ["W_REARM_THEN_RAISE"]


@pytest.mark.parametrize(
    ("ending", "write"),
    [
        (FAILED, None),
        (FAILED, AlarmWrite(None, "main.py:7")),
        (SUCCEEDED, AlarmWrite(9_000, "main.py:7")),
        (Ending(Outcome.FAILED, BOOM, commit=True), AlarmWrite(9_000, "main.py:7")),
    ],
)
def test_a_handler_that_rearms_or_fails_is_left_alone(
    ending: Ending, write: AlarmWrite | None
) -> None:
    driver = awake()
    driver.arm(1_000)
    driver.due()
    assert warned(driver.end(ending, alarm=write)) == []


def test_an_alarm_that_is_given_up_is_told_of_after_its_last_attempt_only() -> None:
    driver = awake()
    driver.arm(1_000)
    found = []
    for _ in range(TELNYX.retry.attempts_max):
        driver.due()
        found.append(ended(driver, FAILED))
        driver.now_ms += 1_000
    assert found == [[], [], [], ["W_ALARM_GIVEN_UP"]]


@pytest.mark.parametrize(
    ("how", "write"),
    [
        (FaultHow.THROW, None),
        (FaultHow.TIMEOUT, None),
        (FaultHow.CRASH_BEFORE_COMMIT, AlarmWrite(9_000, "main.py:7")),
    ],
)
def test_a_planned_failure_is_no_news(how: FaultHow, write: AlarmWrite | None) -> None:
    driver = awake()
    driver.arm(1_000)
    driver.ask(X, TurnKind.EDIT)
    driver.finish(faults=(Fault(how, "planned", 4),))
    for _ in range(TELNYX.retry.attempts_max):
        told = driver.due()
        if write is not None:
            told += driver.end(alarm=write)
        driver.commit()
        assert warned(told) == []
        driver.now_ms += 1_000


def test_a_given_up_alarm_is_no_reason_to_warn_again() -> None:
    driver = awake()
    driver.arm(1_000)
    for _ in range(TELNYX.retry.attempts_max):
        driver.deliver(FAILED)
        driver.now_ms += 1_000
    driver.ask(X)
    assert ended(driver, FAILED) == []


# --- two writers -------------------------------------------------------------------------------


def test_another_line_that_replaces_an_alarm_is_named_with_the_first() -> None:
    driver = awake()
    called(driver, AlarmWrite(50_000, "main.py:5"))
    driver.ask(X)
    instance = driver.machine.find(X)
    assert instance is not None
    cautions = driver.machine._cautions
    turn = driver.started[X].turn
    ending = replace(SUCCEEDED, alarm=AlarmWrite(60_000, "main.py:9"))
    instance.ending = ending
    [warn] = cautions.after_turn(instance, turn, instance.stored, keep=True)
    assert (warn.code, warn.where) == ("W_ALARM_TWO_WRITERS", "main.py:9")
    assert "main.py:5" in warn.message
    assert "main.py:9" in warn.message


@pytest.mark.parametrize(
    ("first", "second"),
    [
        # One line pushes its alarm out.
        (AlarmWrite(50_000, "main.py:5"), AlarmWrite(60_000, "main.py:5")),
        # Both mean one instant: no timer is lost.
        (AlarmWrite(50_000, "main.py:5"), AlarmWrite(50_000, "main.py:9")),
        # It looked at the pending one, or cleared it, first.
        (AlarmWrite(50_000, "main.py:5"), AlarmWrite(60_000, "main.py:9", informed=True)),
        (AlarmWrite(50_000, "main.py:5"), AlarmWrite(None, "main.py:9")),
        (AlarmWrite(None, "main.py:5"), AlarmWrite(60_000, "main.py:9")),
    ],
)
def test_one_writer_or_one_that_looks_is_left_alone(first: AlarmWrite, second: AlarmWrite) -> None:
    driver = awake()
    assert called(driver, first) == []
    assert called(driver, second) == []


def test_an_alarm_that_the_handler_or_a_user_set_may_be_replaced() -> None:
    driver = awake()
    driver.arm(1_000)  # by an edit
    assert called(driver, AlarmWrite(1_000, "main.py:9")) == []
    driver.due()
    assert ended(driver, alarm=AlarmWrite(70_000, "main.py:20")) == []
    assert called(driver, AlarmWrite(80_000, "main.py:9")) == []


def test_an_alarm_that_was_delivered_is_not_replaced() -> None:
    driver = awake()
    called(driver, AlarmWrite(1_000, "main.py:5"))
    driver.due()
    ended(driver)
    assert called(driver, AlarmWrite(60_000, "main.py:9")) == []


def test_lines_of_older_code_are_not_compared() -> None:
    driver = awake()
    called(driver, AlarmWrite(50_000, "main.py:5"))
    driver.step(CodeReplaced(driver.now_ms))
    driver.wake()
    assert called(driver, AlarmWrite(60_000, "main.py:9")) == []


def test_what_is_remembered_of_writers_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("edgeemu.core.cautions.ALARM_WRITERS_REMEMBERED_MAX", 0)
    assert ALARM_WRITERS_REMEMBERED_MAX > 0
    driver = awake()
    called(driver, AlarmWrite(50_000, "main.py:5"))
    assert called(driver, AlarmWrite(60_000, "main.py:9")) == []


# --- delete_all --------------------------------------------------------------------------------


def test_keys_deleted_beside_a_pending_alarm() -> None:
    driver = awake()
    assert called(driver, left_alarm_at="main.py:3") == []  # None is pending.
    driver.arm(50_000)
    driver.ask(X)
    assert ended(driver, FAILED, left_alarm_at="main.py:3") == []  # Nothing was deleted.
    assert called(driver, left_alarm_at="main.py:3") == ["W_DELETE_ALL_ALARM"]


# --- the rest ----------------------------------------------------------------------------------


def test_an_edit_from_outside_is_never_warned_of() -> None:
    driver = awake()
    driver.ask(X, TurnKind.EDIT)
    write = AlarmWrite(50_000, "cli")
    assert ended(driver, alarm=write, left_alarm_at="main.py:3") == []


@pytest.mark.parametrize(
    ("name", "odd"),
    [
        ("alice", ""),
        ("A-1_b.c", ""),
        ("+15551234", "+"),
        ("tenant:room:1", ":"),
        ("a b/ä", " /ä"),
        ("line\n", "\n"),
    ],
)
def test_odd_characters_of_names(name: str, odd: str) -> None:
    assert odd_characters(name, TELNYX) == odd
    assert (odd_name_text(name, TELNYX) is None) is (odd == "")
