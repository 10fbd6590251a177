"""Transactions of a turn: buffers, and how a turn with a failed one is judged.

spec/telnyx-actors.md section 6.3, U34 to U38. Messages and values only.
"""

import pytest
from msgspec.structs import replace

from edgeemu.core.events import Ending, Failure, Outcome
from edgeemu.core.overlay import KeyRange, TurnWrites
from edgeemu.core.rows import AlarmWrite, Fault, FaultHow
from edgeemu.core.transactions import Transactions, judged
from edgeemu.sdk.errors import ActorError
from tests.support.machines import BOOM, SUCCEEDED, Driver, X

STORED = {"a": b"1", "b": b"2"}
GATE = "ActorOutputGateError"
POISONED = replace(SUCCEEDED, poison=BOOM)


def read_range(keys: KeyRange) -> list[tuple[str, bytes]]:
    return sorted((key, data) for key, data in STORED.items() if keys.holds(key))


@pytest.fixture
def writes() -> TurnWrites:
    return TurnWrites()


@pytest.fixture
def transactions(writes: TurnWrites) -> Transactions:
    return Transactions(writes)


def test_what_is_buffered_reaches_the_turn_with_the_commit(
    writes: TurnWrites, transactions: Transactions
) -> None:
    txn = transactions.begin(None)
    transactions.put(txn, "c", b"3")
    assert transactions.delete(txn, "a", STORED.get)
    assert not transactions.delete(txn, "a", STORED.get)
    assert transactions.get(txn, "a", STORED.get) is None
    assert transactions.list(txn, KeyRange(), read_range) == [("b", b"2"), ("c", b"3")]
    assert not writes.any
    transactions.commit(txn, STORED.get)
    assert writes.puts == {"a": None, "c": b"3"}
    assert transactions.failure is None


def test_roll_back_drops_the_buffer_and_the_first_failure_counts(
    writes: TurnWrites, transactions: Transactions
) -> None:
    for message in ("first", "second"):
        txn = transactions.begin(None)
        transactions.put(txn, "c", b"3")
        transactions.roll_back(txn, Failure("Error", message))
    assert not writes.any
    assert transactions.failure == Failure("Error", "first")


def test_commit_after_the_turn_cleared_its_keys_leaves_no_tombstone(
    writes: TurnWrites, transactions: Transactions
) -> None:
    txn = transactions.begin(None)
    transactions.delete(txn, "a", STORED.get)
    transactions.put(txn, "c", b"3")
    writes.clear()
    transactions.commit(txn, STORED.get)
    assert (writes.cleared, writes.puts) == (True, {"c": b"3"})


def test_inside_another_one_means_one_that_is_still_open(transactions: Transactions) -> None:
    # U36: a task that outlives the transaction which started it is inside it no more.
    outer = transactions.begin(None)
    with pytest.raises(ActorError, match="inside another"):
        transactions.begin(outer)
    assert transactions.begin(None) != outer
    transactions.commit(outer, STORED.get)
    transactions.begin(outer)


def test_ended_transaction_is_refused(transactions: Transactions) -> None:
    # U37.
    txn = transactions.begin(None)
    transactions.commit(txn, STORED.get)
    with pytest.raises(ActorError, match="has ended"):
        transactions.get(txn, "a", STORED.get)
    with pytest.raises(ActorError, match="has ended"):
        transactions.put(txn, "a", b"1")
    with pytest.raises(ActorError, match="has ended"):
        transactions.commit(txn, STORED.get)


# --- how the turn ended -------------------------------------------------------------------------


def test_caught_failure_fails_the_turn_and_keeps_its_writes() -> None:
    ending = judged(POISONED)
    assert (ending.outcome, ending.commit) == (Outcome.FAILED, True)
    assert ending.failure == Failure(GATE, "a transaction failed: ValueError: boom")
    assert ending.failure.seen_name == GATE


@pytest.mark.parametrize(
    ("raised", "told"),
    [
        (BOOM, "a transaction failed: ValueError: boom"),
        (
            Failure("KeyError", "k", own=True),
            "a transaction failed: ValueError: boom; then KeyError: k",
        ),
        (
            Failure(GATE, "a transaction that was not awaited failed"),
            "a transaction that was not awaited failed",
        ),
    ],
    ids=["uncaught", "another", "not-awaited"],
)
def test_turn_that_raises_after_a_failure_keeps_nothing(raised: Failure, told: str) -> None:
    ending = judged(Ending(Outcome.FAILED, raised, poison=BOOM))
    assert (ending.outcome, ending.commit) == (Outcome.FAILED, False)
    assert ending.failure == Failure(GATE, told)


@pytest.mark.parametrize("outcome", [Outcome.TIMED_OUT, Outcome.CRASHED])
def test_turn_that_ran_out_of_time_or_was_lost_stays_so(outcome: Outcome) -> None:
    ending = Ending(outcome, Failure("ActorMethodTimeoutError", "late"), poison=BOOM)
    assert judged(ending) is ending
    assert judged(SUCCEEDED) is SUCCEEDED


# --- in the machine -----------------------------------------------------------------------------


def test_poisoned_call_commits_its_writes() -> None:
    driver = Driver()
    driver.wake()
    driver.ask()
    assert driver.end(POISONED, wrote=True) == ["record call", "commit call A/x"]
    assert driver.commit() == ["reply call A/x failed"]


def poisoned_init(driver: Driver, alarm: AlarmWrite | None = None) -> list[str]:
    return driver.end(POISONED, wrote=True, alarm=alarm)


def test_poisoned_activation_commits_and_then_fails_its_caller() -> None:
    driver = Driver()
    driver.ask()
    assert poisoned_init(driver) == ["record init", "commit init A/x"]
    assert driver.commit() == [
        "reply init A/x failed",
        "drop A/x: init failed",
        "record call",
        "commit call A/x without writes",
        "reply call A/x failed",
    ]
    assert driver.is_at_rest()


def test_poisoned_activation_that_moves_the_alarm_leaves_nothing_to_deliver() -> None:
    driver = Driver()
    driver.arm(2_000)
    driver.now_ms = 2_000
    assert driver.due()[-1] == "start init A/x"
    poisoned_init(driver, AlarmWrite(9_000))
    assert driver.commit() == [
        "reply init A/x failed",
        "drop A/x: init failed",
        "record alarm_stale",
        "refuse alarm A/x: its alarm was replaced or cleared before its turn came",
    ]
    alarm = driver.rows[X].alarm
    assert alarm is not None
    assert (alarm.due_at_ms, alarm.retry_count) == (9_000, 0)


@pytest.mark.parametrize(
    ("how", "commit"),
    [
        (FaultHow.CRASH_BEFORE_COMMIT, "commit alarm A/x without writes"),
        (FaultHow.CRASH_AFTER_COMMIT, "commit alarm A/x"),
    ],
)
def test_planned_crash_decides_over_what_a_poisoned_delivery_keeps(
    how: FaultHow, commit: str
) -> None:
    driver = Driver()
    driver.arm(2_000)
    driver.rows[X] = replace(driver.rows[X], faults=(Fault(how, "lost", 1),))
    driver.now_ms = 2_000
    driver.due()
    driver.end()
    assert commit in driver.end(POISONED, wrote=True)
    assert "reply alarm A/x crashed gave_up=False" in driver.commit()
