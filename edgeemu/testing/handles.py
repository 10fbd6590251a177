"""What a test addresses: one actor, its alarm, its storage, a call that was started, the clock."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from edgeemu.codec import UNDEFINED, from_json, to_json
from edgeemu.core.rows import FaultHow
from edgeemu.emulator.turns import StartedCall
from edgeemu.errors import Code, EdgeemuError
from edgeemu.ids import InstanceId
from edgeemu.sdk.errors import positional_text
from edgeemu.testing.results import ClockReading, Fired, Moved, fired_of
from edgeemu.testing.settings import duration_ms_of, instant_ms_of

if TYPE_CHECKING:
    from edgeemu.testing.fixture import EdgeemuFixture

__tracebackhide__ = True

CAUSE = "test"
"""How the journal names what a test did."""

FAULT_MESSAGE = "injected by the test"
"""The message of a planned failure that was given none."""


class ActorHandle:
    """One instance, awake or not. Any other name than those below is a method of the actor.

    `actor.touch(1)` calls it and gives its result; `actor.touch.start(1)` does not wait. A method
    that is named like one of these is reached with `actor.method("evict")`.
    """

    def __init__(self, fixture: EdgeemuFixture, instance: InstanceId) -> None:
        self._fixture = fixture
        self._instance = instance

    @property
    def address(self) -> str:
        """The instance as `Type/name`."""
        return str(self._instance)

    @property
    def alarm(self) -> AlarmHandle:
        """Its alarm, which is false where none is pending."""
        return AlarmHandle(self._fixture, self._instance)

    @property
    def storage(self) -> StorageHandle:
        """Its keys, read and written without waking it."""
        return StorageHandle(self._fixture, self._instance)

    def evict(self, *, crash: bool = False) -> bool:
        """Drop it from memory; whether it was there.

        Args:
            crash: in the middle of a turn, instead of between turns.

        Raises:
            EdgeemuError: `E_FROZEN_WAIT` if a turn of it waits for time.
        """
        return bool(self._fixture.evict(self.address, crash=crash))

    def method(self, name: str) -> MethodHandle:
        """One of its methods by name."""
        return MethodHandle(self._fixture, self._instance, name)

    def __getattr__(self, name: str) -> MethodHandle:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return MethodHandle(self._fixture, self._instance, name)

    def __repr__(self) -> str:
        return f"<actor {self._instance}>"


class MethodHandle:
    """One method of one instance. Arguments and results cross as they do between actors."""

    def __init__(self, fixture: EdgeemuFixture, instance: InstanceId, name: str) -> None:
        self._fixture = fixture
        self._instance = instance
        self._name = name

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Call it and give its result.

        Raises:
            TypeError: for arguments by name, which no stub takes either.
            ActorError: what the actor raised, as another actor would see it.
            EdgeemuError: `E_FROZEN_WAIT` if it waits for time to pass.
        """
        self._check_positional(named)
        fixture = self._fixture
        call = fixture.emulator.call
        return _seen(
            fixture.run(lambda: call(self._instance, self._name, args, cause=CAUSE), present=True)
        )

    def start(self, *args: Any, **named: Any) -> PendingCall:
        """Call it and do not wait, so that the test can move the clock meanwhile."""
        self._check_positional(named)
        fixture = self._fixture

        async def begin() -> StartedCall:
            return fixture.emulator.start_call(self._instance, self._name, args, cause=CAUSE)

        started = fixture.run(begin, present=True)
        return fixture.keep(PendingCall(fixture, f"{self._instance}.{self._name}", started))

    def _check_positional(self, named: Mapping[str, Any]) -> None:
        if named:
            raise TypeError(positional_text(self._name, named))

    def __repr__(self) -> str:
        return f"<method {self._name} of {self._instance}>"


def _seen(result: Any) -> Any:
    """A result as Python code sees it: a TypeScript method that returns nothing gives None."""
    return None if result is UNDEFINED else result


class PendingCall:
    """A call that was started. It goes on whenever the test lets time pass or calls anything."""

    def __init__(self, fixture: EdgeemuFixture, what: str, started: StartedCall) -> None:
        self._fixture = fixture
        self._started = started
        self.what = what
        self.read = False

    @property
    def done(self) -> bool:
        """Whether it has ended, well or not."""
        return self._started.done

    def result(self) -> Any:
        """Its result, once it is there; it may be asked for again.

        Raises:
            ActorError: what the actor raised.
            EdgeemuError: `E_FROZEN_WAIT` if it still waits for time to pass.
        """
        self.read = self.read or self.done
        return _seen(self._fixture.run(self._started.wait_result, present=True))

    def __repr__(self) -> str:
        return f"<call of {self.what}: {'done' if self.done else 'running'}>"


class AlarmHandle:
    """The alarm of one instance, looked up afresh each time. It is false where none is pending."""

    def __init__(self, fixture: EdgeemuFixture, instance: InstanceId) -> None:
        self._fixture = fixture
        self._instance = instance

    def _field(self, name: str) -> Any:
        found = self._fixture.emulator.alarms.of(self._instance)
        return None if found is None else found[name]

    def __bool__(self) -> bool:
        return self._fixture.emulator.alarms.of(self._instance) is not None

    @property
    def due_at_ms(self) -> int | None:
        """When it is due, in ms since the epoch; None where none is pending."""
        value: int | None = self._field("due_at_ms")
        return value

    @property
    def due_at(self) -> str | None:
        """When it is due, in ISO 8601; None where none is pending."""
        value: str | None = self._field("due_at")
        return value

    @property
    def due_in_ms(self) -> int | None:
        """How long until it is due, in ms; None where none is pending."""
        value: int | None = self._field("due_in_ms")
        return value

    @property
    def attempt(self) -> int | None:
        """How many deliveries of it have failed; None where none is pending."""
        value: int | None = self._field("attempt")
        return value

    @property
    def state(self) -> str | None:
        """`waiting`, `running` or `retrying`; None where none is pending."""
        value: str | None = self._field("state")
        return value

    @property
    def set_by(self) -> str | None:
        """The line and the turn that set it; None where none is pending."""
        value: str | None = self._field("set_by")
        return value

    @property
    def history(self) -> list[dict[str, Any]]:
        """Each set, replacement, delivery, retry and give-up, oldest first."""
        return self._fixture.emulator.alarms.history(self._instance)

    @property
    def why(self) -> list[str]:
        """In words: what became of it, and why it did or did not fire."""
        return list(self._fixture.emulator.alarms.why(self._instance))

    def fire(self) -> Fired:
        """Deliver it now, by the real path; the clock stays.

        Raises:
            EdgeemuError: `E_ALARM_NONE` where none is pending.
        """
        alarms = self._fixture.emulator.alarms
        result = self._fixture.run(lambda: alarms.fire(self._instance, cause=CAUSE), present=True)
        return fired_of(result)

    def fail(self, *, times: int = 1, error: str | None = None, how: str = "throw") -> None:
        """Make the next `times` deliveries fail.

        Args:
            times: how many deliveries.
            error: the message of the error.
            how: `throw` or `timeout` in place of the handler, or `crash-before-commit` or
                `crash-after-commit`, which run it and lose the instance then.

        Raises:
            EdgeemuError: `E_NUMBER_INVALID`, `E_USAGE` for another `how`.
        """
        chosen = _fault_how(how)
        message = FAULT_MESSAGE if error is None else error
        alarms = self._fixture.emulator.alarms
        self._fixture.run(
            lambda: alarms.fail(
                self._instance, times=times, message=message, how=chosen, cause=CAUSE
            )
        )

    def set(self, when: str | int | datetime) -> None:
        """Set it from outside; the instance is not woken.

        Args:
            when: ISO 8601, ms since the epoch, or an aware `datetime`.
        """
        when_ms = instant_ms_of(when)
        alarms = self._fixture.emulator.alarms
        self._fixture.run(lambda: alarms.set(self._instance, when_ms, cause=CAUSE))

    def clear(self) -> None:
        """Clear it from outside; none need be pending."""
        alarms = self._fixture.emulator.alarms
        self._fixture.run(lambda: alarms.clear(self._instance, cause=CAUSE))

    def __repr__(self) -> str:
        due_at = self.due_at
        state = "none" if due_at is None else f"due {due_at}, {self.state}"
        return f"<alarm of {self._instance}: {state}>"


Rows = list[dict[str, Any]]
"""Rows of SQL by column name."""


class StorageHandle(MutableMapping[str, Any]):
    """The keys of one instance as a dict: values are copies, and the instance is not woken.

    `sql(query, ...)` reaches its SQL database.
    """

    def __init__(self, fixture: EdgeemuFixture, instance: InstanceId) -> None:
        self._fixture = fixture
        self._instance = instance

    def list(self, *, prefix: str = "") -> dict[str, Any]:
        """Keys and values, in key order."""
        found = self._fixture.emulator.storage.list(self._instance, prefix=prefix)
        return {key: from_json(value) for key, value in found.items()}

    def put(self, key: str, value: Any) -> None:
        """Write a value; an instance that never ran finds it in its first constructor.

        Raises:
            EdgeemuError: `E_KEY_INVALID`; CodecError: for a value that cannot be stored.
        """
        tagged = to_json(value)
        storage = self._fixture.emulator.storage
        self._fixture.run(lambda: storage.put(self._instance, key, tagged, cause=CAUSE))

    def delete(self, key: str) -> bool:
        """Delete a key; whether it was there."""
        storage = self._fixture.emulator.storage
        done = self._fixture.run(lambda: storage.delete(self._instance, key, cause=CAUSE))
        return bool(done["deleted"])

    def sql(self, query: str, *params: Any) -> Rows:
        """Run SQL in a turn of its own; the rows of the last statement, each by column name.

        Raises:
            SqlError: as inside the actor, and its kin; nothing of the query is kept then.
        """
        tagged = [to_json(param) for param in params]
        storage = self._fixture.emulator.storage
        rows = self._fixture.run(lambda: storage.sql(self._instance, query, tagged, cause=CAUSE))
        return [{name: from_json(value) for name, value in row.items()} for row in rows]

    def __getitem__(self, key: str) -> Any:
        try:
            return from_json(self._fixture.emulator.storage.get(self._instance, key))
        except EdgeemuError as error:
            if error.code is not Code.KEY_UNKNOWN:
                raise
        raise KeyError(key)

    def __setitem__(self, key: str, value: Any) -> None:
        self.put(key, value)

    def __delitem__(self, key: str) -> None:
        if not self.delete(key):
            raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        return iter(self._fixture.emulator.storage.list(self._instance))

    def __len__(self) -> int:
        return len(self._fixture.emulator.storage.list(self._instance))

    def __repr__(self) -> str:
        return repr(self.list())


class ClockHandle:
    """The emulated clock. It stands still until the test moves it."""

    def __init__(self, fixture: EdgeemuFixture) -> None:
        self._fixture = fixture
        self._ticking = False

    @property
    def now_ms(self) -> int:
        """The emulated instant, in ms since the epoch."""
        return self.read().now_ms

    @property
    def now(self) -> str:
        """The emulated instant, in ISO 8601."""
        return self.read().now

    def read(self) -> ClockReading:
        """The instant, and how time moves."""
        return ClockReading(**self._fixture.emulator.clock.read())

    def advance(self, duration: str | int | timedelta) -> Moved:
        """Move forward, delivering every alarm that is due on the way at its own instant.

        Args:
            duration: such as `"5m"`, whole milliseconds, or a `timedelta`.

        Raises:
            EdgeemuError: `E_DURATION_INVALID`, `E_ADVANCE_NEGATIVE`, `E_ALARM_STORM`, `E_IO_WAIT`.
        """
        duration_ms = duration_ms_of(duration)
        clock = self._fixture.emulator.clock
        return Moved(**self._fixture.run(lambda: clock.advance(duration_ms), present=True))

    def set(self, instant: str | int | datetime) -> Moved:
        """Jump; what is overdue then fires at the new instant.

        Raises:
            EdgeemuError: `E_INSTANT_INVALID`.
        """
        instant_ms = instant_ms_of(instant)
        clock = self._fixture.emulator.clock
        return Moved(**self._fixture.run(lambda: clock.set_to(instant_ms), present=True))

    def next(self) -> Moved:
        """Move to the next due instant and run what is due there."""
        return Moved(**self._fixture.run(self._fixture.emulator.clock.next, present=True))

    def idle(self) -> Moved:
        """Move on until nothing is due any more.

        Raises:
            EdgeemuError: `E_NEVER_IDLE` for actors that re-arm without end.
        """
        return Moved(**self._fixture.run(self._fixture.emulator.clock.idle, present=True))

    def freeze(self) -> ClockReading:
        """Let time stand still again."""

        async def freeze() -> dict[str, Any]:
            return self._fixture.emulator.clock.freeze()

        return ClockReading(**self._fixture.run(freeze))

    def resume(self) -> ClockReading:
        """Let time pass at the real pace; what is due fires when the test next does something."""

        async def resume() -> dict[str, Any]:
            if not self._ticking:
                self._fixture.emulator.start()
                self._ticking = True
            return self._fixture.emulator.clock.resume()

        return ClockReading(**self._fixture.run(resume))

    def __repr__(self) -> str:
        reading = self.read()
        return f"<clock {reading.now}, {reading.mode}>"


def _fault_how(how: str) -> FaultHow:
    if how in list(FaultHow):
        return FaultHow(how)
    raise EdgeemuError(
        Code.USAGE,
        what=f"`{how}` is no way in which a delivery can fail",
        why="the ways are " + ", ".join(f"`{known}`" for known in FaultHow),
        fix='write how="throw"',
    )
