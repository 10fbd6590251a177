"""What a running emulator warns of, in the journal: each risky place once."""

from collections.abc import Callable, Mapping

from edgeemu.core.events import Failure
from edgeemu.core.journal import Entry, Kind
from edgeemu.core.warnings import RUNTIME_WARNINGS
from edgeemu.errors import InvariantError
from edgeemu.ids import InstanceId


class Notices:
    """Writes warnings.

    Args:
        record: takes an entry for the journal.
        now_ms: the emulated instant.
    """

    def __init__(self, record: Callable[[Entry], None], now_ms: Callable[[], int]) -> None:
        self._record = record
        self._now_ms = now_ms
        self._warned: set[tuple[str, str]] = set()

    def warn(
        self,
        code: str,
        message: str,
        where: str | None,
        instance: InstanceId | None = None,
        turn_id: int | None = None,
    ) -> None:
        """Record a warning, once a place."""
        if (code, where or message) not in self._warned:
            self._warned.add((code, where or message))
            self._write(code, {"message": message, "where": where}, instance, turn_id)

    def task_failed(self, instance: InstanceId | None, turn_id: int, failure: Failure) -> None:
        """A task ended with an error that no caller can see, because no turn ends with it."""
        error = {"name": failure.name, "message": failure.message, "trace": failure.trace}
        message = f"a task that was not awaited failed: {failure.name}: {failure.message}"
        data = {"message": message, "where": failure.where, "error": error}
        self._write("W_TASK_FAILED", data, instance, turn_id)

    def blocked(self, instance: InstanceId | None, turn_id: int, method: str, took_ms: int) -> None:
        """A step of a turn held everything up for `took_ms` real ms."""
        owner = f"{instance}." if instance else ""
        message = (
            f"{owner}{method} blocked the event loop for {took_ms} ms: nothing else could run; "
            "await what is slow instead"
        )
        data = {"message": message, "where": None, "real_took_ms": took_ms}
        self._write("W_BLOCKED_LOOP", data, instance, turn_id)

    def _write(
        self,
        code: str,
        data: Mapping[str, object],
        instance: InstanceId | None,
        turn_id: int | None,
    ) -> None:
        if code not in RUNTIME_WARNINGS:
            raise InvariantError(f"{code} is not in the table of warnings")
        cause = "emulator" if turn_id is None else f"turn {turn_id}"
        entry = Entry(
            Kind.WARNING, self._now_ms(), instance, turn_id, cause, {"code": code, **data}
        )
        self._record(entry)
