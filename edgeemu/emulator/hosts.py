"""What actor code gets when it asks: the host of one turn.

A host acts at once and never waits. It is called inside a step of actor code, so whatever moves
the machine is put off until the step is over.
"""

from __future__ import annotations

from asyncio import Future
from collections.abc import Awaitable, Sequence
from contextlib import suppress
from threading import get_ident
from typing import Any

from msgspec.structs import replace

from edgeemu.core.events import Ending, Failure, Outcome, TurnKind
from edgeemu.core.kv import KvPage
from edgeemu.core.names import odd_name_text
from edgeemu.core.overlay import KeyRange, TurnWrites
from edgeemu.core.ratelimits import RateRule
from edgeemu.core.rows import Alarm, AlarmWrite, InstanceRow
from edgeemu.core.sizes import oversize_text
from edgeemu.core.sql import SqlRows
from edgeemu.core.traces import raised_of
from edgeemu.core.transactions import Transactions
from edgeemu.core.upgrades import asks_for_upgrade
from edgeemu.emulator.sockets import answer_upgrade
from edgeemu.emulator.surroundings import Outside, Surroundings
from edgeemu.engines.port import (
    Answer,
    Place,
    PlainRequest,
    PlainResponse,
    Service,
    Work,
)
from edgeemu.errors import Code, EdgeemuError
from edgeemu.ids import InstanceId
from edgeemu.rng import Random, stream
from edgeemu.sdk.errors import ActorError, error_named
from edgeemu.stores.database import Database
from edgeemu.stores.port import StoredTurn

Entries = list[tuple[str, bytes]]
"""Keys and encoded values, in order."""

_STATE_FAILURES = (Code.STATE_DAMAGED, Code.STATE_NEWER, Code.STATE_UNWRITABLE)
"""What is no fault of the code that met it."""

_STRICT = "`strict = true` under [limits] refuses it"


class TurnHost:
    """The host of one turn. `instance` is None for the function in front, which has no storage."""

    def __init__(
        self,
        around: Surroundings,
        instance: InstanceId | None,
        turn_id: int,
        alarm: Alarm | None = None,
    ) -> None:
        self._around = around
        self._instance = instance
        self._turn_id = turn_id
        self._alarm_ms = None if alarm is None else alarm.due_at_ms
        self._random: Random | None = None
        self._sql_random: Random | None = None
        self._database: Database | None = None
        self.writes = TurnWrites()
        self.ended = False
        self.lost: EdgeemuError | None = None
        """Why the store could not read what the turn asked for, if it could not."""
        self._closed = False
        self._asked_alarm = False
        self._left_alarm_at: str | None = None
        self._txns: Transactions | None = None

    @property
    def instance(self) -> InstanceId | None:
        """Whose turn it is; None for the function in front."""
        return self._instance

    @property
    def turn_id(self) -> int:
        """The number of the turn."""
        return self._turn_id

    def now_ms(self) -> int:
        """The emulated instant."""
        return self._around.now_ms()

    def random(self) -> Random:
        """The stream of this turn: the seed and the number of the turn decide it."""
        if self._random is None:
            owner = str(self._instance) if self._instance else "front"
            self._random = stream(self._around.seed, "actor", owner, self._turn_id)
        return self._random

    def get(self, key: str, txn: int | None = None) -> bytes | None:
        """The encoded value under a key as the turn, or its transaction `txn`, sees it."""
        if txn is not None:
            return self._transactions().get(txn, key, self._read)
        return self._open().get(key, self._read)

    def put(self, key: str, data: bytes, txn: int | None = None) -> None:
        """Write an encoded value, in the turn or in its transaction `txn`.

        Raises:
            ActorError: in strict mode, for what is too large (U25); otherwise it warns.
        """
        large = oversize_text(key, data)
        if large is not None:
            if self._around.strict:
                raise ActorError(f"{large}; {_STRICT}")
            self.warn("W_STORAGE_SIZE", large, self._around.here())
        if txn is not None:
            self._transactions().put(txn, key, data)
        else:
            self._open().put(key, data)

    def delete(self, key: str, txn: int | None = None) -> bool:
        """Delete a key; whether it was there."""
        if txn is not None:
            return self._transactions().delete(txn, key, self._read)
        return self._open().delete(key, self._read)

    def clear(self, place: Place | None = None) -> None:
        """Delete every key; the alarm stays."""
        writes = self._open()
        writes.clear()
        if place is not None and self._pending_ms(writes) is not None:
            self._left_alarm_at = place()

    @property
    def left_alarm_at(self) -> str | None:
        """The line that deleted all keys beside a pending alarm, if the turn wrote none since."""
        return None if self.writes.puts else self._left_alarm_at

    def list(self, keys: KeyRange, place: Place | None = None, txn: int | None = None) -> Entries:
        """The entries in a range; who left the limit out is told where it cuts (section 6.2)."""
        limit = keys.limit
        if place is None or limit is None:
            return self._list(keys, txn)
        found = self._list(replace(keys, limit=limit + 1), txn)
        if len(found) > limit:
            text = (
                f"list() of {self._instance} gave {limit} keys, and there are more: it has a limit "
                f"of {limit} where none is given; go on with start_after (startAfter)"
            )
            self.warn("W_LIST_CUT", text, place())
        return found[:limit]

    def _list(self, keys: KeyRange, txn: int | None) -> Entries:
        if txn is not None:
            return self._transactions().list(txn, keys, self._read_range)
        return self._open().list(keys, self._read_range)

    def begin(self, within: int | None) -> int:
        """Open a transaction; its number."""
        return self._transactions().begin(within)

    def commit(self, txn: int) -> None:
        """Give the writes of a transaction, which ends, to the turn."""
        self._transactions().commit(txn, self._read)

    def roll_back(self, txn: int, failure: Failure) -> None:
        """Drop the writes of a transaction, which ends; the turn can succeed no more."""
        if not self.ended and not self._closed:  # Afterwards, nothing of the turn is kept anyway.
            self._transactions().roll_back(txn, failure)

    @property
    def poison(self) -> Failure | None:
        """Why a transaction of the turn failed, if one did."""
        return None if self._txns is None else self._txns.failure

    def get_alarm(self) -> int | None:
        """The instant of the pending alarm as the turn sees it."""
        self._asked_alarm = True
        return self._pending_ms(self._open())

    def set_alarm(self, when_ms: int | None, where: str | None) -> None:
        """Set the alarm, or clear it with None."""
        self._left_alarm_at = None
        self._asked_alarm = self._asked_alarm or when_ms is None
        self._open().alarm = AlarmWrite(when_ms, where, self._asked_alarm)

    def sql_exec(self, query: str, bindings: Sequence[Any]) -> SqlRows:
        """Run SQL in the transaction of the turn, which its first use begins."""
        database = self._database
        in_thread = get_ident() != self._around.thread_id
        if database is None or self.ended or self._closed or in_thread:
            database = self._open_database()
        return database.exec(query, bindings)

    def sql_savepoint(self) -> None:
        """Begin a part of the turn's SQL that can be undone alone."""
        self._open_database().savepoint()

    def sql_release(self) -> None:
        """Keep the innermost part with what is around it."""
        self._open_database().release()

    def sql_rollback_to(self) -> None:
        """Undo the innermost part; with the turn over, it is undone already."""
        if self._database is not None:
            self._database.rollback_to()

    def sql_problem(self) -> str | None:
        """Why the SQL of the turn could not be committed, if it could not."""
        return None if self._database is None else self._database.problem()

    def bound_sql(self, real_ms: int) -> None:
        """Let SQL of this turn, which no watchdog looks at, take so many real ms; 0 for any."""
        self._open_database().end_after(real_ms)

    @property
    def wrote(self) -> bool:
        """Whether the turn wrote keys or SQL."""
        if self.writes.puts or self.writes.cleared:
            return True
        return self._database is not None and self._database.has_changes

    def left_behind(self, row: InstanceRow, *, keep: bool) -> StoredTurn:
        """What the store is to keep of the turn, with what it wrote; the turn ends with this."""
        sql = self.end_sql(keep=keep)
        if not keep:
            return StoredTurn(self._owner, row)
        writes = self.writes
        return StoredTurn(self._owner, row, dict(writes.puts), writes.cleared, sql)

    def end_sql(self, *, keep: bool) -> bool:
        """End the use of SQL with the turn; whether there is something to commit.

        What is not kept is undone at once.
        """
        self.ended = True
        database, self._database = self._database, None
        if database is None:
            return False
        if keep and database.has_changes and database.problem() is None:
            return True
        # What cannot be undone was never committed: the file is at fault, and says so when it is
        # asked again.
        with suppress(EdgeemuError):
            self._around.store.rollback_sql(self._owner)
        return False

    def call(self, instance: InstanceId, method: str, args: bytes) -> Awaitable[Any]:
        """Call a method of another instance."""
        return self._request(instance, TurnKind.CALL, Work(TurnKind.CALL, method, args))

    def fetch(self, instance: InstanceId, request: PlainRequest) -> Awaitable[Any]:
        """Send a request to another instance; one for a WebSocket is answered at once."""
        if asks_for_upgrade(request.headers):
            answered: Future[PlainResponse] = self._around.loop.create_future()
            answered.set_result(answer_upgrade(instance, request))
            return answered
        return self._request(instance, TurnKind.FETCH, Work(TurnKind.FETCH, request=request))

    def name_instance(self, name: str, place: Place) -> None:
        """Warn of a name that is not safe on the platform, once a name (U15).

        Raises:
            TypeError: in strict mode.
        """
        text = odd_name_text(name, self._around.profile)
        if text is not None:
            if self._around.strict:
                raise TypeError(f"{text}; {_STRICT}")
            self._around.warn("W_NAME_ODD", text, place(), self._instance, self._turn_id, name)

    def send(self, service: Service, request: PlainRequest) -> Awaitable[PlainResponse]:
        """Send a request to an outside service, at once."""
        return self._outside().services.send(service, request, self._instance, self._turn_id)

    def kv_get(self, namespace: str, key: object) -> str | None:
        """The text under a key of a KV namespace."""
        return self._outside().kv.get(namespace, key)

    def kv_put(self, namespace: str, key: object, value: object, ttl_s: object) -> None:
        """Write a text, to live for `ttl_s` virtual seconds or for ever."""
        self._outside().kv.put(namespace, key, value, ttl_s)

    def kv_delete(self, namespace: str, key: object) -> None:
        """Delete a key."""
        self._outside().kv.delete(namespace, key)

    def kv_list(self, namespace: str, prefix: object, limit: object, cursor: object) -> KvPage:
        """A page of the names in a KV namespace."""
        return self._outside().kv.list(namespace, prefix, limit, cursor)

    def allow(self, rule: RateRule, key: str) -> bool:
        """Count a use of `key` under a rate limit; whether it passes."""
        return self._outside().rates.allow(rule, key, self.now_ms())

    def unique_name(self) -> str:
        """A name that nobody guesses: 32 hex digits from the stream of the turn.

        Raises:
            ActorError: naming the defect that the platform has today, unless told to work (U16).
        """
        if not self._around.unique_ids:
            raise ActorError(
                "new_unique_id (newUniqueId) fails on the platform today (a known defect): make up "
                "a name instead; `new_unique_id = true` under [dev] makes it work here"
            )
        return f"{self.random().getrandbits(128):032x}"

    def sockets(self) -> Sequence[int]:
        """The WebSockets of the instance that are open, oldest first."""
        return self._around.sockets.open_of(self._owner)

    def socket_send(self, socket: int, data: str | bytes) -> bool:
        """Send a message at once; whether the socket is open."""
        return self._around.sockets.send(socket, data)

    def socket_close(self, socket: int, code: int | None, reason: str) -> None:
        """Begin to close a WebSocket."""
        self._around.sockets.close(socket, code, reason)

    def socket_unsent_bytes(self, socket: int) -> int:
        """Bytes of a WebSocket that its client has not read yet."""
        return self._around.sockets.unsent_bytes(socket)

    def close(self) -> None:
        """The code of the turn has come to its end: its storage can be used no more."""
        self._closed = True

    def task_failed(self, failure: Failure, error: BaseException) -> None:
        """A task that the turn started ended with an error that nobody looked at."""
        self._around.task_failed(self._instance, self._turn_id, failure, error)

    def warn(self, code: str, message: str, where: str | None) -> None:
        """Tell the user about something risky, once a place."""
        self._around.warn(code, message, where, self._instance, self._turn_id, None)

    def _request(self, instance: InstanceId, kind: TurnKind, work: Work) -> Awaitable[Any]:
        loop = self._around.loop
        future: Future[bytes | PlainResponse | None] = loop.create_future()

        def answered(ending: Ending, answer: Answer) -> None:
            if future.done():
                return
            if ending.outcome is Outcome.SUCCEEDED:
                future.set_result(answer)
            else:
                what = f"{work.method or kind.value} of {instance}"
                future.set_exception(caller_error(ending.failure, what))
                future.exception()  # A call that nobody awaits is no leak to report.

        cause = f"turn {self._turn_id}"
        loop.call_soon(
            self._around.request,
            instance,
            kind,
            work,
            cause,
            answered,
            self._turn_id,
            context=loop.plain_context,
        )
        return future

    def _transactions(self) -> Transactions:
        writes = self._open()
        if self._txns is None:
            self._txns = Transactions(writes)
        return self._txns

    def _outside(self) -> Outside:
        if get_ident() != self._around.thread_id:
            # The loop's own thread may be at the store, or at a connection, right now.
            raise ActorError("bindings can be used in the method itself only, not in a thread")
        return self._around.outside

    def _open_database(self) -> Database:
        self._open()
        if get_ident() != self._around.thread_id:
            # It could still be at it when the turn commits.
            raise ActorError("SQL can be used in the method itself only, not in a thread")
        if self._database is None:
            try:
                self._database = self._around.store.sql(self._owner)
            except EdgeemuError as error:
                self._note_lost(error)
                raise
            self._database.draw_from(self._draw_for_sql)
        return self._database

    def _draw_for_sql(self) -> Random:
        if self._sql_random is None:
            labels = ("sql", str(self._owner), self._turn_id)
            self._sql_random = stream(self._around.seed, *labels)
        return self._sql_random

    def _open(self) -> TurnWrites:
        if self.ended or self._closed:
            text = (
                f"{self._instance} still used its storage after its turn had ended: nothing is kept"
            )
            self.warn("W_LATE_STORAGE", text, self._around.here())
            raise ActorError("the turn has ended: its storage can be used no more")
        if self._instance is None:
            raise ActorError("the function in front has no storage: use a stub")
        return self.writes

    def _pending_ms(self, writes: TurnWrites) -> int | None:
        return self._alarm_ms if writes.alarm is None else writes.alarm.when_ms

    def _read(self, key: str) -> bytes | None:
        try:
            return self._around.store.read(self._owner, key)
        except EdgeemuError as error:
            self._note_lost(error)
            raise

    def _read_range(self, keys: KeyRange) -> Entries:
        try:
            return self._around.store.read_range(self._owner, keys)
        except EdgeemuError as error:
            self._note_lost(error)
            raise

    def _note_lost(self, error: EdgeemuError) -> None:
        if error.code in _STATE_FAILURES:
            self.lost = error

    @property
    def _owner(self) -> InstanceId:
        if self._instance is None:
            raise ActorError("the function in front has no storage: use a stub")
        return self._instance


def caller_error(failure: Failure | None, what: str) -> ActorError:
    """The error that a caller sees for a turn that failed (spec/telnyx-actors.md section 7).

    Args:
        failure: how it ended.
        what: the turn, such as `deposit of Account/q`.
    """
    if failure is None:
        return ActorError("the turn failed")
    return error_named(failure.seen_name, failure.message, raised_of(failure, what))
