"""What a running emulator warns of, in the journal: each risky place once."""

from collections.abc import Callable, Mapping

from edgeemu.config import Config
from edgeemu.core.events import Failure, Turn
from edgeemu.core.journal import Entry, Kind
from edgeemu.core.warnings import RUNTIME_WARNINGS, Warn
from edgeemu.engines.port import Engine, Host
from edgeemu.errors import EdgeemuError, InvariantError, docs_link
from edgeemu.ids import InstanceId
from edgeemu.limits import WARNED_PLACES_MAX


class Notices:
    """Writes warnings.

    Args:
        record: takes an entry for the journal.
        now_ms: the emulated instant.
    """

    def __init__(self, record: Callable[[Entry], None], now_ms: Callable[[], int]) -> None:
        self._record = record
        self._now_ms = now_ms
        self._warned: dict[str, set[str]] = {}
        self._warned_places: dict[str, set[str]] = {}
        """Those that name a line."""

    def code_changed(self) -> None:
        """Tell of each line anew: another may stand in its place now."""
        self._warned_places.clear()

    def warn(
        self,
        code: str,
        message: str,
        where: str | None,
        instance: InstanceId | None = None,
        turn_id: int | None = None,
        key: str | None = None,
    ) -> None:
        """Record a warning, once a place.

        Args:
            code: one of `RUNTIME_WARNINGS`.
            message: one sentence.
            where: the `file:line` of the user's code, if there is one.
            instance, turn_id: whose turn it was, if it was one.
            key: what counts as one place, if it is neither `where` nor `message`.
        """
        key = key or where or message
        warned = (self._warned if where is None else self._warned_places).setdefault(code, set())
        if key not in warned and len(warned) < WARNED_PLACES_MAX:
            warned.add(key)
            self._write(code, {"message": message, "where": where}, instance, turn_id)

    def warn_of_config(self, config: Config) -> None:
        """Tell once what the configuration asks for in vain; not with every command."""
        for function in config.all_functions.values():
            for warning in function.warnings:
                self.warn("W_CONFIG", warning, None)

    def of_core(self, warn: Warn, engine: Engine) -> None:
        """Record a warning that the core decided; the engine knows where a method begins."""
        where = warn.where or engine.begins_at(warn.instance, warn.method)
        key = where or f"{warn.instance.type}.{warn.method}"
        self.warn(warn.code, warn.message, where, warn.instance, warn.turn, key)

    def printed(
        self, instance: InstanceId | None, turn_id: int | None, level: str, text: str
    ) -> None:
        """Code printed a line, while it was loaded or in a turn."""
        cause = "emulator" if turn_id is None else f"turn {turn_id}"
        data = {"level": level, "text": text}
        self._record(Entry(Kind.PRINTED, self._now_ms(), instance, turn_id, cause, data))

    def task_failed(self, instance: InstanceId | None, turn_id: int, failure: Failure) -> None:
        """A task ended with an error that no caller can see, because no turn ends with it."""
        error = {"name": failure.name, "message": failure.message, "trace": failure.trace}
        message = f"a task that was not awaited failed: {failure.name}: {failure.message}"
        data = {"message": message, "where": failure.where, "error": error}
        self._write("W_TASK_FAILED", data, instance, turn_id)

    def state_at_fault(self, instance: InstanceId, error: EdgeemuError) -> None:
        """The state of one instance cannot be read: its turns and its alarm cannot run."""
        message = f"{instance} is left out, and its alarm waits: {error.what}: {error.why}"
        data = {"message": message, "where": None, **error.as_json()}
        self._write("W_STATE_AT_FAULT", data, instance, None)

    def state_unwritable(self, error: EdgeemuError) -> None:
        """Nothing can be kept right now: told once for each reason."""
        text = f"{error.what}: {error.why}; alarms that are due wait, and are tried each second"
        self.warn("W_STATE_AT_FAULT", text, None)

    def blocked(self, host: Host, turn: Turn | None, took_ms: int, engine: Engine) -> None:
        """A step of a turn held everything up for `took_ms` real ms."""
        instance, turn_id = host.instance, host.turn_id
        method = turn.method or turn.kind.value if turn else "the function in front"
        where = engine.begins_at(instance, method) if instance else None
        owner = f"{instance}." if instance else ""
        message = (
            f"{owner}{method} blocked the event loop for {took_ms} ms: nothing else could run; "
            "await what is slow instead"
        )
        data = {"message": message, "where": where, "real_took_ms": took_ms}
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
        told = {"code": code, **data, "see": docs_link(code)}
        self._record(Entry(Kind.WARNING, self._now_ms(), instance, turn_id, cause, told))
