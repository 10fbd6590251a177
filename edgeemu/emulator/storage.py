"""The storage control of the facade: keys and SQL of an instance, without waking it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from edgeemu.codec import from_json, to_json
from edgeemu.core.rows import AlarmWrite
from edgeemu.core.sizes import oversize_text
from edgeemu.core.sql import SqlRows
from edgeemu.emulator import problems
from edgeemu.emulator.alarms import AlarmControl
from edgeemu.emulator.hosts import TurnHost
from edgeemu.emulator.paging import read_keys
from edgeemu.emulator.requests import Edit
from edgeemu.emulator.turns import TurnRequests
from edgeemu.errors import Code, EdgeemuError
from edgeemu.ids import InstanceId
from edgeemu.limits import KEY_CHARS_MAX
from edgeemu.sdk.errors import ActorError, CodecError, SqlError
from edgeemu.stores.port import Store
from edgeemu.tagged import dump, parse

EXPORT_FORMAT = 1
"""The version of the documents that `storage export` writes."""


Rows = list[dict[str, Any]]
"""Rows of SQL by column name."""


class StorageControl:
    """Looks at and edits keys and SQL from outside.

    Values are JSON with the codec's tags (design D7).

    Args:
        turns, store, alarms: what it works with.
        watchdog_ms: real ms that SQL may take; 0 for no bound.
    """

    def __init__(
        self, turns: TurnRequests, store: Store, alarms: AlarmControl, *, watchdog_ms: int
    ) -> None:
        self._watchdog_ms = watchdog_ms
        self._turns = turns
        self._shell = turns.shell
        self._store = store
        self._alarms = alarms

    def list(self, instance: InstanceId, *, prefix: str = "") -> dict[str, Any]:
        """Keys and values, in key order, however many there are."""
        self._shell.flush()
        found = read_keys(self._store, instance, prefix=prefix)
        return {key: self._decode(instance, key, data) for key, data in found}

    def get(self, instance: InstanceId, key: str) -> Any:
        """The value under a key.

        Raises:
            EdgeemuError: `E_KEY_UNKNOWN` if there is none.
        """
        self._shell.flush()
        data = self._store.read(instance, key)
        if data is None:
            raise problems.unknown_key(instance, key)
        return self._decode(instance, key, data)

    def _decode(self, instance: InstanceId, key: str, data: bytes) -> Any:
        try:
            return parse(data)
        except CodecError as error:
            raise problems.damaged_value(instance, key, str(error)) from None

    async def put(
        self, instance: InstanceId, key: str, value: Any, *, cause: str = "cli"
    ) -> dict[str, Any]:
        """Write a value; an instance that never ran finds it in its first constructor.

        Raises:
            EdgeemuError: `E_KEY_INVALID`, `E_VALUE_INVALID`.
        """
        await self._turns.edit(
            instance, Edit(puts={self._key(key): self._encode(key, value)}), cause
        )
        return {"actor": str(instance), "key": key}

    async def delete(self, instance: InstanceId, key: str, *, cause: str = "cli") -> dict[str, Any]:
        """Delete a key; whether it was there."""
        self._shell.flush()
        existed = self._store.read(instance, self._key(key)) is not None
        await self._turns.edit(instance, Edit(puts={key: None}), cause)
        return {"actor": str(instance), "key": key, "deleted": existed}

    async def sql(
        self, instance: InstanceId, query: str, params: Sequence[Any] = (), *, cause: str = "cli"
    ) -> Rows:
        """Run SQL in a turn of its own; the rows of the last statement, by column name.

        All statements are kept, or none. The instance is not woken, and does not come to exist
        from looking alone.

        Raises:
            EdgeemuError: `E_SQL_FAILED` for what an actor would see an error for,
                `E_VALUE_INVALID` for a parameter that is no tagged JSON.
        """
        bindings = tuple(
            self._from_json(f"parameter {number}", value) for number, value in enumerate(params, 1)
        )
        found: list[SqlRows] = []
        failed: list[Exception] = []

        def run(host: TurnHost) -> None:
            try:
                host.bound_sql(self._watchdog_ms)
                found.append(host.sql_exec(query, bindings))
                problem = host.sql_problem()
                if problem is not None:
                    raise SqlError(problem)
            except (ActorError, EdgeemuError, TypeError) as error:
                failed.append(error)
                host.end_sql(keep=False)

        await self._turns.edit(instance, Edit(run=run), cause)
        if failed and isinstance(failed[0], EdgeemuError):
            raise failed[0]
        if failed:
            raise problems.sql_failed(instance, failed[0])
        columns, rows = found[0]
        return [dict(zip(columns, map(to_json, row), strict=True)) for row in rows]

    def export(self, instance: InstanceId) -> dict[str, Any]:
        """Keys and alarm of an instance, as one document that `import_` takes.

        `sql_left_out` in it says that there is an SQL database, which is not part of it.
        """
        alarm = self._alarms.of(instance)
        left_out = {"sql_left_out": True} if self._store.measure_sql(instance) else {}
        return {
            "format": EXPORT_FORMAT,
            "actor": str(instance),
            "keys": self.list(instance),
            "alarm_due_at_ms": None if alarm is None else alarm["due_at_ms"],
            **left_out,
        }

    async def import_(
        self, instance: InstanceId, document: object, *, cause: str = "cli"
    ) -> dict[str, Any]:
        """Replace the keys and the alarm of an instance by those of an exported document.

        Raises:
            EdgeemuError: `E_VALUE_INVALID` for a document that is none; nothing is changed then.
        """
        if not isinstance(document, dict) or document.get("format") != EXPORT_FORMAT:
            raise _invalid("the document", f'an export has "format": {EXPORT_FORMAT} at its top')
        keys = document.get("keys")
        due_at_ms = document.get("alarm_due_at_ms")
        if not isinstance(keys, dict):
            raise _invalid("`keys`", "keys are an object: key to value")
        if due_at_ms is not None and type(due_at_ms) is not int:
            raise _invalid("`alarm_due_at_ms`", "it is a whole number of ms, or null")
        puts: Mapping[str, bytes | None] = {
            self._key(key): self._encode(key, value) for key, value in keys.items()
        }
        alarm = AlarmWrite(due_at_ms, cause)
        await self._turns.edit(instance, Edit(puts=puts, clear=True, alarm=alarm), cause)
        return {"actor": str(instance), "keys": len(puts), "alarm_due_at_ms": due_at_ms}

    def _key(self, key: str) -> str:
        prefix = self._shell.machine.profile.reserved_key_prefix
        halves = any("\ud800" <= char <= "\udfff" for char in key)
        if not 1 <= len(key) <= KEY_CHARS_MAX or key.startswith(prefix) or halves:
            shown = key[:80].encode("utf-8", "backslashreplace").decode()
            raise EdgeemuError(
                Code.KEY_INVALID,
                what=f"`{shown}` cannot be a key",
                why=f"a key has 1 to {KEY_CHARS_MAX} characters, all whole, "
                f"and does not begin with {prefix}",
                fix="choose another key",
            )
        return key

    def _encode(self, key: str, value: Any) -> bytes:
        try:
            data = dump(value)
        except CodecError as error:
            raise _invalid(f"the value of `{key}`", str(error)) from None
        large = oversize_text(key, data) if self._shell.around.strict else None
        if large is not None:
            raise EdgeemuError(
                Code.VALUE_INVALID,
                what=f"`{key[:80]}` cannot be stored, because the project is strict about sizes",
                why=large,
                fix="store less under it, or take `strict = true` out of [limits]",
            )
        return data

    def _from_json(self, what: str, value: Any) -> Any:
        try:
            return from_json(value)
        except CodecError as error:
            raise _invalid(what, str(error)) from None


def _invalid(what: str, why: str) -> EdgeemuError:
    return EdgeemuError(
        Code.VALUE_INVALID,
        what=f"{what} cannot be stored",
        why=why,
        fix='give JSON; special values carry a tag, such as {"$date": 1893456000000}',
    )
