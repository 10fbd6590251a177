"""The one table of operations: what every skin can ask of an emulator, by name.

Promise: an operation means the same wherever it comes from. The HTTP routes, the commands with a
server and the commands without one are all read from `OPERATIONS`; parameters are checked in one
place, and results are JSON-safe (`schemas.py` holds the parameters).
"""

import base64
import binascii
import json
import os
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

import msgspec

from edgeemu.api import kv, schemas
from edgeemu.api.front import answer_front, converse, front_request
from edgeemu.emulator import Emulator, problems
from edgeemu.errors import Code, EdgeemuError
from edgeemu.ids import InstanceId
from edgeemu.sdk.errors import CodecError
from edgeemu.tagged import dump, parse

_SHOWN_CHARS_MAX = 80


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks for an operation.

    Attributes:
        cause: for the journal.
        port: of the server that was asked; None without one.
    """

    cause: str
    port: int | None = None


Handler = Callable[[Emulator, Any, Caller], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Operation:
    """One thing that can be asked for.

    Attributes:
        name: as in `OPERATIONS`; as a path, with slashes for the dots.
        params: the parameters.
        handler: does it.
        doc: one line that says what it does.
        moves: whether it runs code or moves time, always or as the parameters have it. Only such
            an operation needs the project to load, and only around it is what is overdue fired.
        stops: whether it ends, between two instants, when nobody waits for its answer any more.
    """

    name: str
    params: type[msgspec.Struct]
    handler: Handler
    doc: str
    moves: bool | Callable[[Mapping[str, Any]], bool] = False
    stops: bool = False

    def moves_with(self, params: object) -> bool:
        """Whether it runs or moves something with these parameters, valid or not."""
        if isinstance(self.moves, bool):
            return self.moves
        return isinstance(params, Mapping) and self.moves(params)


async def perform(
    emulator: Emulator, name: str, params: object, *, cause: str, port: int | None = None
) -> Any:
    """Perform an operation; its result as JSON-safe data.

    Args:
        emulator: that it is asked of.
        name: of the operation.
        params: a mapping by the names of its schema.
        cause: on whose behalf, for the journal.
        port: of the server that was asked; None without one.

    Raises:
        EdgeemuError: `E_ROUTE_UNKNOWN`, `E_REQUEST_INVALID`, `E_VALUE_INVALID`, and those of the
            emulator's own methods.
    """
    operation = find(name)
    return await operation.handler(emulator, _read(operation, params), Caller(cause, port))


def find(name: str) -> Operation:
    """The operation of a name.

    Raises:
        EdgeemuError: `E_ROUTE_UNKNOWN`.
    """
    operation = OPERATIONS.get(name)
    if operation is None:
        raise EdgeemuError(
            Code.ROUTE_UNKNOWN,
            what=f"there is no operation `{name[:_SHOWN_CHARS_MAX]}`",
            why=f"there are: {', '.join(OPERATIONS)}",
            fix="use one of these; a command and a server of different versions may differ in them",
        )
    return operation


# --- parameters --------------------------------------------------------------------------------


def _read(operation: Operation, params: object) -> Any:
    return read_params(operation.name, operation.params, params)


def read_params(
    name: str, schema: type[msgspec.Struct], params: object, *, strict: bool = True
) -> Any:
    """The parameters of an operation, checked.

    Args:
        name: of the operation, for the error.
        schema: of its parameters.
        params: as they were given.
        strict: whether text that looks like a number is no number; a query string has only text.

    Raises:
        EdgeemuError: `E_REQUEST_INVALID`, naming the field and what stood there.
    """
    try:
        return msgspec.convert(params, schema, strict=strict)
    except msgspec.ValidationError as error:
        raise _invalid(name, schema, params, str(error)) from None
    except UnicodeEncodeError:
        raise _invalid(name, schema, params, "a name in it has half a character") from None


def _invalid(
    operation: str, schema: type[msgspec.Struct], params: object, message: str
) -> EdgeemuError:
    reason, _, place = message.partition(" - at `$")
    value = params
    names = [part for part in re.split(r"[.\[\]`]+", place) if part]
    for name in names:
        try:
            value = value[int(name) if isinstance(value, list) else name]  # type: ignore[index]
        except (LookupError, TypeError, ValueError):
            break
    unknown = re.search(r"unknown field `(.*)`", reason)
    if unknown and isinstance(value, Mapping):
        names, value = [*names, unknown[1]], value.get(unknown[1])
    takes = [_describe(field) for field in msgspec.structs.fields(schema)]
    place = f"`{'.'.join(names)}`" if names else "the parameters"
    return EdgeemuError(
        Code.REQUEST_INVALID,
        what=f"`{_shown(value)}` cannot be {place} of {operation}",
        why=f"{reason[:1].lower()}{reason[1:]}; it takes: {', '.join(takes) or 'nothing'}",
        fix="give a value of that kind, or leave out a field that is not needed",
    )


def _describe(field: msgspec.structs.FieldInfo) -> str:
    """A field of a schema, with the values that would do where they are few."""
    if isinstance(field.type, type) and issubclass(field.type, Enum):
        return f"{field.name} ({', '.join(choice.value for choice in field.type)})"
    return field.name


def _shown(value: object) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        text = repr(value)
    return text if len(text) <= _SHOWN_CHARS_MAX else text[: _SHOWN_CHARS_MAX - 1] + "…"


def _maybe_address(emulator: Emulator, actor: str | None) -> InstanceId | None:
    return None if actor is None else emulator.address(actor)


# --- the server itself, and calls --------------------------------------------------------------


async def _status(emulator: Emulator, _: schemas.NoParams, caller: Caller) -> dict[str, Any]:
    error = emulator.load_error
    return {
        "name": emulator.config.name,
        "pid": os.getpid(),
        "port": caller.port,
        "seed": emulator.seed,
        **emulator.clock.read(),
        "functions": emulator.list_functions(),
        "load_error": None if error is None else error.as_json()["error"],
        "waiting": emulator.waiting(),
    }


async def _reload(emulator: Emulator, _: schemas.NoParams, __: Caller) -> dict[str, Any]:
    emulator.reload()
    return {"reloaded": True}


async def _call(emulator: Emulator, params: schemas.Call, caller: Caller) -> Any:
    instance = emulator.address(params.actor)
    try:
        args = dump(params.args)
    except CodecError as error:
        raise EdgeemuError(
            Code.VALUE_INVALID,
            what=f"an argument of {params.method} of {instance} cannot be passed on",
            why=str(error),
            fix='give JSON; special values carry a tag, such as {"$date": 1893456000000}',
        ) from None
    call = emulator.start_call(instance, params.method, args, cause=caller.cause)
    return parse(await call.wait_encoded())


async def _fetch(emulator: Emulator, params: schemas.Fetch, caller: Caller) -> dict[str, Any]:
    try:
        body = base64.b64decode(params.body, validate=True)
    except (binascii.Error, ValueError) as error:
        raise EdgeemuError(
            Code.REQUEST_INVALID,
            what=f"`{_shown(params.body)}` cannot be `body` of fetch",
            why=f"it is not base64: {error}",
            fix="encode the bytes of the body as base64",
        ) from None
    request = front_request(
        emulator, params.path, params.method, params.headers, body, port=caller.port
    )
    failures: list[EdgeemuError] = []
    response = await answer_front(
        emulator,
        request,
        function=params.function,
        cause=caller.cause,
        on_failure=failures.append,
    )
    joined: dict[str, str] = {}
    for name, value in response.headers:
        joined[name] = f"{joined[name]}, {value}" if name in joined else value
    return {
        "status": response.status,
        "headers": joined,
        "body": base64.b64encode(response.body).decode("ascii"),
        # For whoever develops the project: a caller over HTTP sees the response and no more.
        "error": failures[0].as_json()["error"] if failures else None,
    }


async def _connect(emulator: Emulator, params: schemas.Connect, caller: Caller) -> dict[str, Any]:
    request = front_request(emulator, params.path, "GET", params.headers, b"", port=caller.port)
    return await converse(
        emulator,
        request,
        function=params.function,
        protocols=params.protocols,
        messages=params.send,
        cause=caller.cause,
    )


async def _evict(emulator: Emulator, params: schemas.Evict, caller: Caller) -> dict[str, Any]:
    instance = _maybe_address(emulator, params.actor)
    return {"evicted": await emulator.evict(instance, crash=params.crash, cause=caller.cause)}


async def _log(emulator: Emulator, params: schemas.Log, _: Caller) -> list[dict[str, Any]]:
    return emulator.journal(
        instance=_maybe_address(emulator, params.actor),
        since_seq=params.since_seq,
        since_ms=params.since_ms,
        oldest_first=params.oldest_first,
        limit=params.limit,
    )


# --- the clock ---------------------------------------------------------------------------------


async def _clock_read(emulator: Emulator, _: schemas.NoParams, __: Caller) -> dict[str, Any]:
    return emulator.clock.read()


async def _clock_freeze(emulator: Emulator, _: schemas.NoParams, __: Caller) -> dict[str, Any]:
    return emulator.clock.freeze()


async def _clock_resume(emulator: Emulator, _: schemas.NoParams, __: Caller) -> dict[str, Any]:
    return emulator.clock.resume()


async def _clock_rate(emulator: Emulator, params: schemas.Rate, _: Caller) -> dict[str, Any]:
    return emulator.clock.set_rate(params.rate)


async def _clock_advance(emulator: Emulator, params: schemas.Advance, _: Caller) -> dict[str, Any]:
    return await emulator.clock.advance(params.duration_ms)


async def _clock_set(emulator: Emulator, params: schemas.SetClock, _: Caller) -> dict[str, Any]:
    return await emulator.clock.set_to(params.instant_ms)


async def _clock_next(emulator: Emulator, _: schemas.NoParams, __: Caller) -> dict[str, Any]:
    return await emulator.clock.next()


async def _clock_idle(emulator: Emulator, _: schemas.NoParams, __: Caller) -> dict[str, Any]:
    return await emulator.clock.idle()


# --- instances ---------------------------------------------------------------------------------


async def _actors_list(
    emulator: Emulator, params: schemas.OfType, _: Caller
) -> list[dict[str, Any]]:
    return emulator.list_instances(params.type)


async def _actors_show(emulator: Emulator, params: schemas.OfActor, _: Caller) -> dict[str, Any]:
    return emulator.show_instance(emulator.address(params.actor))


async def _actors_names(emulator: Emulator, params: schemas.Prefix, _: Caller) -> list[str]:
    return emulator.names(params.prefix)


# --- alarms ------------------------------------------------------------------------------------


async def _alarms_list(
    emulator: Emulator, params: schemas.ListAlarms, _: Caller
) -> list[dict[str, Any]]:
    return emulator.alarms.list(type_name=params.type, ended=params.ended)


async def _alarms_fire(
    emulator: Emulator, params: schemas.OfActor, caller: Caller
) -> dict[str, Any]:
    return await emulator.alarms.fire(emulator.address(params.actor), cause=caller.cause)


async def _alarms_fail(
    emulator: Emulator, params: schemas.FailAlarm, caller: Caller
) -> dict[str, Any]:
    instance = emulator.address(params.actor)
    if params.now and emulator.alarms.of(instance) is None:
        raise problems.no_alarm(instance, "no alarm is set, so no fault was planned")
    message = {} if params.error is None else {"message": params.error}
    planned = await emulator.alarms.fail(
        instance, times=params.times, how=params.how, cause=caller.cause, **message
    )
    if params.now:
        return await emulator.alarms.fire(instance, cause=caller.cause)
    return planned


async def _alarms_set(
    emulator: Emulator, params: schemas.SetAlarm, caller: Caller
) -> dict[str, Any] | None:
    instance = emulator.address(params.actor)
    return await emulator.alarms.set(instance, params.when_ms, cause=caller.cause)


async def _alarms_clear(
    emulator: Emulator, params: schemas.OfActor, caller: Caller
) -> dict[str, Any]:
    return await emulator.alarms.clear(emulator.address(params.actor), cause=caller.cause)


async def _alarms_history(
    emulator: Emulator, params: schemas.OfActor, _: Caller
) -> list[dict[str, Any]]:
    return emulator.alarms.history(emulator.address(params.actor))


async def _alarms_why(emulator: Emulator, params: schemas.OfActor, _: Caller) -> list[str]:
    return list(emulator.alarms.why(emulator.address(params.actor)))


# --- storage -----------------------------------------------------------------------------------


async def _storage_list(
    emulator: Emulator, params: schemas.ListStorage, _: Caller
) -> dict[str, Any]:
    return emulator.storage.list(emulator.address(params.actor), prefix=params.prefix)


async def _storage_get(emulator: Emulator, params: schemas.OfKey, _: Caller) -> Any:
    return emulator.storage.get(emulator.address(params.actor), params.key)


async def _storage_put(
    emulator: Emulator, params: schemas.PutStorage, caller: Caller
) -> dict[str, Any]:
    instance = emulator.address(params.actor)
    return await emulator.storage.put(instance, params.key, params.value, cause=caller.cause)


async def _storage_delete(
    emulator: Emulator, params: schemas.OfKey, caller: Caller
) -> dict[str, Any]:
    instance = emulator.address(params.actor)
    return await emulator.storage.delete(instance, params.key, cause=caller.cause)


async def _storage_sql(
    emulator: Emulator, params: schemas.Sql, caller: Caller
) -> list[dict[str, Any]]:
    instance = emulator.address(params.actor)
    return await emulator.storage.sql(instance, params.query, params.params, cause=caller.cause)


async def _storage_export(emulator: Emulator, params: schemas.OfActor, _: Caller) -> dict[str, Any]:
    return emulator.storage.export(emulator.address(params.actor))


async def _storage_import(
    emulator: Emulator, params: schemas.ImportStorage, caller: Caller
) -> dict[str, Any]:
    instance = emulator.address(params.actor)
    return await emulator.storage.import_(instance, params.document, cause=caller.cause)


# --- the table ---------------------------------------------------------------------------------


def _now(params: Mapping[str, Any]) -> bool:
    return params.get("now") is True


def _move(name: str, params: type[msgspec.Struct], handler: Handler, doc: str) -> Operation:
    """An operation that moves time, perhaps for long: it stops when its client goes away."""
    return Operation(name, params, handler, doc, moves=True, stops=True)


_TABLE = (
    Operation("status", schemas.NoParams, _status, "what runs, where, and on which clock"),
    Operation("call", schemas.Call, _call, "call a method of an instance", moves=True),
    Operation("fetch", schemas.Fetch, _fetch, "one request through the front", moves=True),
    Operation("connect", schemas.Connect, _connect, "one conversation on a WebSocket", moves=True),
    Operation("evict", schemas.Evict, _evict, "drop instances from memory"),
    Operation("log", schemas.Log, _log, "a page of the journal in its order"),
    Operation("reload", schemas.NoParams, _reload, "load the project's code again"),
    Operation("clock.read", schemas.NoParams, _clock_read, "the instant, and how time moves"),
    Operation("clock.freeze", schemas.NoParams, _clock_freeze, "stop the time"),
    Operation("clock.resume", schemas.NoParams, _clock_resume, "let time pass as it really does"),
    Operation("clock.rate", schemas.Rate, _clock_rate, "let time pass at a rate"),
    _move("clock.advance", schemas.Advance, _clock_advance, "move time forward"),
    _move("clock.set", schemas.SetClock, _clock_set, "jump to an instant"),
    _move("clock.next", schemas.NoParams, _clock_next, "move to the next instant"),
    _move("clock.idle", schemas.NoParams, _clock_idle, "move until nothing is due"),
    Operation("actors.list", schemas.OfType, _actors_list, "the instances that exist"),
    Operation("actors.show", schemas.OfActor, _actors_show, "one instance"),
    Operation("actors.names", schemas.Prefix, _actors_names, "names, for completion"),
    Operation("alarms.list", schemas.ListAlarms, _alarms_list, "pending alarms, soonest first"),
    Operation("alarms.fire", schemas.OfActor, _alarms_fire, "deliver an alarm now", moves=True),
    Operation("alarms.fail", schemas.FailAlarm, _alarms_fail, "plan failed deliveries", moves=_now),
    Operation("alarms.set", schemas.SetAlarm, _alarms_set, "set an alarm from outside"),
    Operation("alarms.clear", schemas.OfActor, _alarms_clear, "clear an alarm from outside"),
    Operation("alarms.history", schemas.OfActor, _alarms_history, "what became of an alarm"),
    Operation("alarms.why", schemas.OfActor, _alarms_why, "the same in words"),
    Operation("storage.list", schemas.ListStorage, _storage_list, "keys and values"),
    Operation("storage.get", schemas.OfKey, _storage_get, "one value"),
    Operation("storage.put", schemas.PutStorage, _storage_put, "write a value"),
    Operation("storage.delete", schemas.OfKey, _storage_delete, "delete a key"),
    Operation("storage.sql", schemas.Sql, _storage_sql, "run SQL; the rows of the last statement"),
    Operation("storage.export", schemas.OfActor, _storage_export, "keys and alarm as a document"),
    Operation("kv.list", schemas.ListKv, kv.kv_list, "the keys of a KV namespace"),
    Operation("kv.get", schemas.OfKvKey, kv.kv_get, "the text under a key of one"),
    Operation("kv.put", schemas.PutKv, kv.kv_put, "write a text"),
    Operation("kv.delete", schemas.OfKvKey, kv.kv_delete, "delete a key of one"),
    Operation("storage.import", schemas.ImportStorage, _storage_import, "take such a document"),
)

OPERATIONS: Mapping[str, Operation] = {operation.name: operation for operation in _TABLE}
"""Every operation by its name."""
