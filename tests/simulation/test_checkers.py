"""Each checker is silent on a good journal and speaks up about a small bad one."""

from typing import Any

import pytest

from tests.simulation import checkers

ALARM: dict[str, Any] = {
    "seq": 1,
    "kind": "alarm",
    "now_ms": 100,
    "started_at_ms": 100,
    "actor": "A/x",
    "turn": 7,
    "cause": "alarm of turn 3",
    "due_at_ms": 100,
    "late_ms": 0,
    "retry_count": 0,
    "outcome": "succeeded",
}
FAILED = {**ALARM, "outcome": "failed"}
RETRY = {**ALARM, "kind": "alarm_retry", "retry_count": 1}
SECOND = {**ALARM, "now_ms": 200, "started_at_ms": 200, "retry_count": 1}
CALL = {**ALARM, "kind": "call", "cause": "cli"}


def test_early_alarm_is_found() -> None:
    assert checkers.early_alarms([ALARM]) == []
    assert checkers.early_alarms([{**ALARM, "late_ms": -5, "cause": "cli"}]) == []
    found = checkers.early_alarms([{**ALARM, "late_ms": -5}])
    assert found == ["A/x started 5 ms early in turn 7"]


def test_second_alarm_of_an_instance_is_found() -> None:
    assert checkers.several_alarms([{"actor": "A/x"}, {"actor": "A/y"}]) == []
    assert checkers.several_alarms([{"actor": "A/x"}, {"actor": "A/x"}]) != []


def test_turns_that_overlap_are_found() -> None:
    first = {**CALL, "started_at_ms": 0, "now_ms": 50}
    assert checkers.overlapping_turns([first, {**CALL, "started_at_ms": 50}]) == []
    assert checkers.overlapping_turns([first, {**CALL, "started_at_ms": 49, "actor": "A/y"}]) == []
    assert checkers.overlapping_turns([first, {**CALL, "started_at_ms": 49}]) != []


@pytest.mark.parametrize(
    "journal",
    [
        [ALARM],
        [FAILED, RETRY, SECOND],
        [ALARM, {**SECOND, "cause": "alarm of turn 7", "retry_count": 0}],
    ],
)
def test_good_redeliveries(journal: list[dict[str, Any]]) -> None:
    assert checkers.wrong_redeliveries(journal) == []


@pytest.mark.parametrize(
    ("journal", "told"),
    [
        ([ALARM, SECOND], "ran again"),
        ([FAILED, RETRY, {**SECOND, "retry_count": 0}], "wrong count"),
        ([{**FAILED, "retry_count": 4}], "too often"),
        ([FAILED, {**FAILED, "kind": "alarm_given_up"}, SECOND], "ran again"),
    ],
)
def test_wrong_redeliveries_are_found(journal: list[dict[str, Any]], told: str) -> None:
    assert told in "\n".join(checkers.wrong_redeliveries(journal))


def test_lost_alarm_is_found() -> None:
    assert checkers.unanswered_failures([FAILED, RETRY], {"A/x"}) == []
    assert checkers.unanswered_failures([ALARM], set()) == []
    assert checkers.unanswered_failures([FAILED], set()) != []
    assert checkers.unanswered_failures([FAILED, RETRY], set()) != []
    assert checkers.unanswered_failures([{**ALARM, "kind": "alarm_set"}], set()) != []


def test_step_back_is_found() -> None:
    assert checkers.steps_back([ALARM, ALARM, SECOND]) == []
    assert checkers.steps_back([SECOND, ALARM]) == ["entry 1 is 100 ms before the one before"]


def test_assertion_of_an_actor_is_found() -> None:
    failed = {**CALL, "error": {"name": "AssertionError", "message": "time went back"}}
    assert checkers.failed_promises_of_actors([CALL]) == []
    assert checkers.failed_promises_of_actors([failed]) == ["A/x: time went back"]


def test_difference_of_journals_is_found() -> None:
    assert checkers.first_difference([ALARM], [ALARM]) is None
    assert checkers.first_difference([ALARM], [SECOND]) is not None
    assert checkers.first_difference([ALARM], [ALARM, SECOND]) == "1 entries are not 2"
