"""What JavaScript actor code asks of its host, carried out at once while its step runs."""

import asyncio
import base64
import linecache
import re
from asyncio import Future
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from edgeemu.codec import decode, encode
from edgeemu.core.events import Failure
from edgeemu.core.kv import KvPage, KvRefusedError
from edgeemu.core.overlay import KeyRange
from edgeemu.core.profile import Profile
from edgeemu.core.sockets import check_close
from edgeemu.engines.javascript import frames
from edgeemu.engines.javascript.frames import Frame, Plain
from edgeemu.engines.javascript.project import ScriptProject
from edgeemu.engines.port import Host, PlainRequest, PlainResponse, Upgrade
from edgeemu.ids import InstanceId
from edgeemu.limits import KV_LIST_MAX
from edgeemu.sdk.errors import ActorError, raised_elsewhere
from edgeemu.units import format_instant

_SECONDS_LIKE_MAX = 100_000_000_000
_DONE = b'["ok",null]'
_json = msgspec.json.Encoder().encode

Ask = Callable[[int, int, bool, "Future[Any]", Callable[[Any], Any]], None]
"""Has a ticket of a turn settled when a future is done: turn, ticket, whether it waits on the
outside, the future, and how its value is written."""


class HostCalls:
    """Serves the frames of one child that ask something of the host of a turn.

    Args:
        project: what bindings stand for.
        profile: the platform's rules.
        host_of: the host of a turn.
        ask: see `Ask`.
    """

    def __init__(
        self,
        project: ScriptProject,
        profile: Profile,
        host_of: Callable[[int], Host],
        ask: Ask,
    ) -> None:
        self._project = project
        self._profile = profile
        self._host_of = host_of
        self._ask = ask
        self.place: str | None = None
        """Of the code that asks right now, where the frame told."""
        self._handlers: dict[type[Any], Callable[[Any, Any], bytes | None]] = {
            frames.Put: self._put,
            frames.TryPut: self._put,
            frames.Get: self._get,
            frames.Delete: lambda host, frame: _ok(host.delete(frame.key, frame.txn)),
            frames.List: self._list,
            frames.Clear: lambda host, frame: host.clear(lambda: frame.place),
            frames.Begin: lambda host, frame: _ok(host.begin(frame.within)),
            frames.Commit: lambda host, frame: host.commit(frame.txn),
            frames.RollBack: self._roll_back,
            frames.SetAlarm: self._set_alarm,
            frames.GetAlarm: lambda host, _: _ok(host.get_alarm()),
            frames.Sql: self._sql,
            frames.Savepoint: lambda host, _: host.sql_savepoint(),
            frames.Release: lambda host, _: host.sql_release(),
            frames.RollbackTo: lambda host, _: host.sql_rollback_to(),
            frames.Call: self._call,
            frames.Fetch: self._fetch,
            frames.Send: self._send,
            frames.Reach: self._reach,
            frames.Random: self._random,
            frames.Name: lambda host, frame: host.name_instance(frame.name, lambda: frame.place),
            frames.UniqueName: lambda host, _: _ok(host.unique_name()),
            frames.Kv: self._kv,
            frames.Allow: self._allow,
            frames.Sockets: lambda host, _: _ok(list(host.sockets())),
            frames.SocketSend: self._socket_send,
            frames.SocketClose: self._socket_close,
            frames.Unsent: lambda host, frame: _ok(host.socket_unsent_bytes(frame.socket)),
            frames.Warn: self._warn,
            frames.NoHandler: self._no_handler,
            frames.Late: self._late,
        }

    def serve(self, frame: Frame) -> bytes | None:
        """Carry out what a frame asks for; the answer as JSON. None for a frame of other kind."""
        handler = self._handlers.get(type(frame))
        if handler is None:
            return None
        self.place = getattr(frame, "place", None)
        try:
            host = self._host_of(frame.turn)  # type: ignore[union-attr, arg-type]
            return handler(host, frame) or _DONE
        except Exception as error:
            if not isinstance(frame, frames.Asked):
                return _DONE  # The code was told already why it is refused, or its turn is over.
            return _json(["error", *seen_error(error)])
        finally:
            self.place = None

    # --- storage ---------------------------------------------------------------------------

    def _put(self, host: Host, frame: frames.Put | frames.TryPut) -> None:
        host.put(frame.key, bytes(frame.value), frame.txn)

    def _get(self, host: Host, frame: frames.Get) -> bytes | None:
        data = host.get(frame.key, frame.txn)
        return None if data is None else b'["ok",[%b]]' % data

    def _list(self, host: Host, frame: frames.List) -> bytes:
        asked = frame.range
        limit = self._profile.list_limit_default if asked.limit is None else asked.limit
        lowers = [asked.start] if asked.start is not None else []
        if asked.start_after is not None:
            lowers.append(asked.start_after + "\x00")  # the first key behind it
        keys = KeyRange(
            max(lowers, default=None), asked.end, asked.prefix or "", asked.reverse, limit
        )
        place = (lambda: frame.place) if asked.limit is None else None
        found = host.list(keys, place, frame.txn)
        return b'["ok",[%b]]' % b",".join(b"[%b,%b]" % (_json(key), data) for key, data in found)

    def _roll_back(self, host: Host, frame: frames.RollBack) -> None:
        name, message = frame.error
        host.roll_back(frame.txn, Failure(name, message))

    def _set_alarm(self, host: Host, frame: frames.SetAlarm) -> None:
        when_ms = frame.when_ms
        if when_ms is not None and 0 < when_ms < _SECONDS_LIKE_MAX:
            message = (
                f"setAlarm({frame.given:.15g}) looks like seconds, or like a delay: as "
                f"milliseconds since the epoch that is {format_instant(when_ms)}, so the alarm is "
                "due at once; for later, add the delay in ms to Date.now()"
            )
            host.warn("W_ALARM_SECONDS", message, frame.place)
        host.set_alarm(when_ms, frame.place)

    def _sql(self, host: Host, frame: frames.Sql) -> bytes:
        bindings = decode(bytes(frame.bindings))
        found = host.sql_exec(frame.query, bindings if isinstance(bindings, list) else [])
        return b'["ok",[%b,%b]]' % (_json(list(found.columns)), encode([*found.rows]))

    # --- the rest of the world -------------------------------------------------------------

    def _call(self, host: Host, frame: frames.Call) -> None:
        instance = InstanceId(*frame.instance)
        asked = _asked(lambda: host.call(instance, frame.method, bytes(frame.args)))
        self._ask(frame.turn, frame.ticket, False, asked, msgspec.Raw)

    def _fetch(self, host: Host, frame: frames.Fetch) -> None:
        asked = _asked(lambda: host.fetch(InstanceId(*frame.instance), request_of(frame.request)))
        self._ask(frame.turn, frame.ticket, False, asked, response_as_json)

    def _send(self, host: Host, frame: frames.Send) -> None:
        service = self._project.services[frame.at]
        asked = _asked(lambda: host.send(service, request_of(frame.request)))
        self._ask(frame.turn, frame.ticket, True, asked, response_as_json)

    def _reach(self, host: Host, frame: frames.Reach) -> None:
        request = request_of(frame.request)
        service = self._project.service_at(request.url)
        asked = _asked(lambda: host.send(service, request))
        self._ask(frame.turn, frame.ticket, True, asked, response_as_json)

    def _random(self, host: Host, _: frames.Random) -> bytes:
        bits = host.random().getrandbits(128)
        return _ok([bits >> shift & 0xFFFFFFFF for shift in (0, 32, 64, 96)])

    def _kv(self, host: Host, frame: frames.Kv) -> bytes | None:
        namespace = frame.namespace
        match frame.operation, frame.args:
            case "get", [key]:
                return _ok(host.kv_get(namespace, key))
            case "put", [key, value, ttl_s]:
                host.kv_put(namespace, key, value, ttl_s)
            case "delete", [key]:
                host.kv_delete(namespace, key)
            case "list", [prefix, limit, cursor]:
                limit = KV_LIST_MAX if limit is None else limit
                return _ok(_shown(host.kv_list(namespace, prefix, limit, cursor)))
            case _:
                raise TypeError("a KV operation takes other arguments")
        return None

    def _allow(self, host: Host, frame: frames.Allow) -> bytes:
        return _ok(host.allow(self._project.rates[frame.at], frame.key))

    def _socket_send(self, host: Host, frame: frames.SocketSend) -> bytes:
        data = frame.data if frame.kind == "text" else base64.b64decode(frame.data)
        return _ok(host.socket_send(frame.socket, data))

    def _socket_close(self, host: Host, frame: frames.SocketClose) -> None:
        check_close(frame.code, frame.reason)
        host.socket_close(frame.socket, frame.code, frame.reason)

    def _warn(self, host: Host, frame: frames.Warn) -> None:
        if not (frame.code.endswith("_NOT_AWAITED") and self._says_void(frame.place)):
            host.warn(frame.code, frame.message, frame.place)

    def _says_void(self, place: str | None) -> bool:
        """Whether a line says that what it calls is left alone on purpose, as linters have it."""
        file, _, line = (place or "").rpartition(":")
        path = str(Path(self._project.root) / file)
        linecache.checkcache(path)
        return re.match(r"\s*void\b", linecache.getline(path, int(line or 0))) is not None

    def _no_handler(self, host: Host, frame: frames.NoHandler) -> None:
        text = f"{frame.class_name} has no `alarm` method, so its alarm was spent on nothing"
        host.warn("W_ALARM_NO_HANDLER", text, None)

    def _late(self, host: Host, _: frames.Late) -> None:
        host.get_alarm()  # The host refuses, and tells the user.


def _ok(value: Any) -> bytes:
    return _json(["ok", value])


def _asked(ask: Callable[[], Any]) -> "Future[Any]":
    """The future of what a host is asked, also where it refuses at once.

    What a host gives is a future of the loop; the port only promises an awaitable.
    """
    try:
        asked = ask()
    except Exception as error:
        refused: Future[Any] = asyncio.get_running_loop().create_future()
        refused.set_exception(error)
        return refused
    if not isinstance(asked, Future):
        raise TypeError("the host gave no future")
    return asked


def seen_error(error: Exception) -> tuple[str, str]:
    """Name and message of an error as JavaScript sees it."""
    if isinstance(error, ActorError):
        return error.name, str(error)
    if isinstance(error, ValueError):
        return "RangeError", str(error)
    if isinstance(error, KvRefusedError | ConnectionError | TimeoutError):
        return "Error", str(error)
    return type(error).__name__, str(error)


def told_error(error: Exception) -> dict[str, Any]:
    """An error with which a call ends, and where in another actor it arose."""
    name, message = seen_error(error)
    return {"name": name, "message": message, "raised": raised_elsewhere(error)}


def request_of(plain: Plain) -> PlainRequest:
    """A request as it crosses to the emulator."""
    method, url, headers, body = plain
    return PlainRequest(method, url, tuple(headers), base64.b64decode(body))


def request_as_json(request: PlainRequest) -> list[Any]:
    """A request as the host of JavaScript takes it."""
    body = base64.b64encode(request.body).decode()
    return [request.method, request.url, [list(pair) for pair in request.headers], body]


def response_as_json(response: PlainResponse) -> list[Any]:
    """A response as the host of JavaScript takes it."""
    body = base64.b64encode(response.body).decode()
    upgrade = response.upgrade
    opened = None
    if upgrade is not None:
        instance = [upgrade.instance.type, upgrade.instance.name]
        opened = [instance, request_as_json(upgrade.request), upgrade.protocol]
    return [response.status, [list(pair) for pair in response.headers], body, opened]


_Opened = tuple[tuple[str, str], Plain, str]
_decode_response = msgspec.json.Decoder(
    tuple[int, list[tuple[str, str]], str, _Opened | None]
).decode


def response_of(data: bytes) -> PlainResponse:
    """A response as it crosses to the emulator."""
    status, headers, body, opened = _decode_response(data)
    upgrade = None
    if opened is not None:
        instance, request, protocol = opened
        upgrade = Upgrade(InstanceId(*instance), request_of(request), protocol)
    return PlainResponse(status, tuple(headers), base64.b64decode(body), upgrade)


def _shown(page: KvPage) -> dict[str, Any]:
    keys = [
        {
            "name": name,
            "sizeBytes": item.size_bytes,
            "updatedAt": format_instant(item.updated_at_ms),
        }
        for name, item in page.items
    ]
    more = {} if page.cursor is None else {"cursor": page.cursor}
    return {"keys": keys, "list_complete": page.cursor is None, **more}
