"""What Python actor code holds in its hands: `ctx`, `ctx.storage`, `env`, namespaces and stubs.

Calls act when they are called and return an awaitable; errors arrive through it (design D8). Names
are the platform's in Python spelling, so that an actor can be ported method by method.
"""

import math
from collections.abc import Awaitable, Callable, Collection, Mapping
from datetime import datetime
from functools import partial
from typing import Any, NoReturn

from edgeemu.codec import decode, encode
from edgeemu.engines.port import PlainRequest, PlainResponse, Upgrade
from edgeemu.engines.python.awaitables import (
    NOTHING,
    Done,
    FailedRead,
    RemoteValue,
    UnawaitedResult,
)
from edgeemu.engines.python.dispatch import missing_attribute
from edgeemu.engines.python.keys import KeyCalls, failed_write
from edgeemu.engines.python.reading import note_discarded
from edgeemu.engines.python.scope import caller_place, current, current_scope
from edgeemu.engines.python.sockets import ActorSocket, SocketTable, plain_message
from edgeemu.engines.python.sql import SqlCalls
from edgeemu.engines.python.transaction import Transaction, begin
from edgeemu.ids import InstanceId
from edgeemu.limits import NAME_CHARS_MAX
from edgeemu.rng import Random
from edgeemu.sdk.context import Message
from edgeemu.sdk.errors import ActorError, ActorPrivateMethodError, positional_text
from edgeemu.sdk.http import Request, Response
from edgeemu.units import INSTANT_MS_MAX, format_instant, instant_from_datetime

_SECONDS_LIKE_MAX = 100_000_000_000
"""Below this, milliseconds since the epoch lie before March 1973: rather seconds (spec U48)."""


class ActorStorage(KeyCalls, SqlCalls):
    """`ctx.storage`: keys, SQL, and the alarm. Every write of a turn commits as one, at its end.

    Emulates: `ActorStorage`. Source: spec/telnyx-actors.md section 6.
    """

    def delete_all(self) -> Awaitable[None]:
        """Delete every key at once. A pending alarm stays."""
        try:
            scope = current_scope()
            if scope.peeks_left:
                note_discarded(scope, "storage.delete_all", "W_WRITE_NOT_AWAITED", self._root)
            scope.host.clear(self._place)
        except Exception as error:
            return failed_write(error)
        return NOTHING

    def transaction(self, function: Callable[[Transaction], Awaitable[Any]]) -> Awaitable[Any]:
        """Run `function(txn)`; what it writes through `txn` is kept together, or not at all.

        The error of a function that raises arrives through the awaitable, and the turn fails with
        `ActorOutputGateError` even if it is caught there; its other writes are kept (section 6.3).

        Raises (from the awaitable):
            ActorError: inside another transaction (U36).
        """
        try:
            scope = current_scope()
            if scope.peeks_left:
                note_discarded(scope, "storage.transaction", "W_WRITE_NOT_AWAITED", self._root)
            return begin(self._profile, self._root, function)
        except Exception as error:
            return failed_write(error)

    def set_alarm(self, when: int | float | datetime) -> Awaitable[None]:
        """Set the one alarm, replacing any earlier one.

        Args:
            when: milliseconds since the epoch (fractions are cut off, U50), or an aware `datetime`.

        Raises (from the awaitable):
            TypeError: for anything else, a naive `datetime` included (U49); the alarm stays as is.
        """
        try:
            scope = current_scope()
            if scope.peeks_left:
                note_discarded(scope, "set_alarm", "W_ALARM_NOT_AWAITED", self._root)
            when_ms = _alarm_instant_ms(when)
            where = caller_place(self._root)
            if when_ms < _SECONDS_LIKE_MAX and when_ms > 0:
                message = (
                    f"set_alarm({when!r}) looks like seconds, or like a delay: as milliseconds "
                    f"since the epoch that is {format_instant(when_ms)}, so the alarm is due at "
                    "once; for later, add the delay in ms to self.ctx.now_ms()"
                )
                scope.host.warn("W_ALARM_SECONDS", message, where)
            scope.host.set_alarm(when_ms, where)
        except Exception as error:
            return failed_write(error)
        return NOTHING

    def get_alarm(self) -> Awaitable[int | None]:
        """When the alarm is due, in ms since the epoch, or None; None inside its own delivery."""
        try:
            return Done(current_scope().host.get_alarm())
        except Exception as error:
            return FailedRead(error)

    def delete_alarm(self) -> Awaitable[None]:
        """Clear the alarm, and with it the redeliveries that are left."""
        try:
            scope = current_scope()
            if scope.peeks_left:
                note_discarded(scope, "delete_alarm", "W_ALARM_NOT_AWAITED", self._root)
            scope.host.set_alarm(None, caller_place(self._root))
        except Exception as error:
            return failed_write(error)
        return NOTHING

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(missing_attribute("ctx.storage", name, dir(type(self)), ""))


class ActorContext:
    """`self.ctx`: who the instance is, its storage, its time and its randomness.

    Emulates: `ActorContext`. Source: spec/telnyx-actors.md section 5.
    """

    def __init__(self, instance: InstanceId, storage: ActorStorage, sockets: SocketTable) -> None:
        self._instance = instance
        self._storage = storage
        self._sockets = sockets

    @property
    def id(self) -> str:
        """The name of the instance, verbatim."""
        return self._instance.name

    @property
    def storage(self) -> ActorStorage:
        """The private durable storage."""
        return self._storage

    @property
    def random(self) -> Random:
        """Random numbers from the run's seed: the same run draws the same."""
        return current_scope().host.random()

    def now_ms(self) -> int:
        """The emulated instant, in ms since the epoch."""
        return current_scope().host.now_ms()

    def set_alarm(self, when: int | float | datetime) -> Awaitable[None]:
        """The same as `storage.set_alarm`."""
        return self._storage.set_alarm(when)

    def block_concurrency_while(self, function: Callable[[], Awaitable[Any]]) -> Awaitable[Any]:
        """Run `function` before any other turn of the instance; meant for the constructor.

        In the constructor it runs, and is waited for, right after the constructor returns, inside
        the same activation (U21). Elsewhere it runs inside the current turn (U22).
        """
        scope = current_scope()
        if scope.in_constructor:
            scope.init.append(function)
            return NOTHING
        return function()

    def count(self) -> int:
        """How many WebSockets of this instance are open."""
        return len(self.sockets())

    def broadcast(self, data: Message) -> int:
        """Send a message to every open WebSocket of this instance at once; to how many.

        Raises:
            TypeError: for anything but `str` and bytes.
        """
        plain, host = plain_message(data), current_scope().host
        return sum(host.socket_send(socket.number, plain) for socket in self.sockets())

    def sockets(self) -> list[ActorSocket]:
        """The open WebSockets of this instance, oldest first (U19)."""
        return self._sockets.open_of(current_scope().host)

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(missing_attribute("ctx", name, dir(type(self)), ""))


def _alarm_instant_ms(when: object) -> int:
    if isinstance(when, datetime):
        if when.tzinfo is None:
            raise TypeError("set_alarm takes an aware datetime: this one has no time zone")
        return instant_from_datetime(when)
    if isinstance(when, bool) or not isinstance(when, int | float):
        raise TypeError(
            f"set_alarm takes milliseconds since the epoch or an aware datetime, "
            f"not {type(when).__name__}"
        )
    if not math.isfinite(when) or abs(when) > INSTANT_MS_MAX:
        raise TypeError(f"set_alarm takes a finite instant up to {INSTANT_MS_MAX} ms: {when}")
    return math.floor(when)


# --- other actors ------------------------------------------------------------------------------


class Stub:
    """A handle on one instance; making it starts nothing. Any name can be called on it.

    Emulates: `ActorStub`. Source: spec/telnyx-actors.md section 4.
    """

    def __init__(self, instance: InstanceId, root: str) -> None:
        self._instance = instance
        self._root = root

    @property
    def id(self) -> str:
        """The name of the instance, exactly as given."""
        return self._instance.name

    def fetch(self, request: Request | str) -> Awaitable[Response]:
        """Send a request to the actor's `fetch`."""
        try:
            plain = plain_request(request)
            return RemoteValue(current_scope().host.fetch(self._instance, plain), rich_response)
        except Exception as error:
            return FailedRead(error)

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)

        def method(*args: Any, **named: Any) -> Awaitable[Any]:
            try:
                if named:
                    raise TypeError(positional_text(f"stub.{name}", named))
                if name.startswith("_"):
                    raise ActorPrivateMethodError(f"{name} is private: its name starts with _")
                scope, data = current_scope(), encode(list(args))
                if scope.peeks_left:
                    note_discarded(scope, f"stub.{name}", "W_CALL_NOT_AWAITED", self._root)
                return RemoteValue(scope.host.call(self._instance, name, data), decode)
            except Exception as error:
                return FailedRead(error)

        method.__name__ = name
        return method

    def __repr__(self) -> str:
        return f"<stub of {self._instance}>"


class Namespace:
    """`env.<BINDING>`: reaches every instance of one type by name."""

    def __init__(self, type_name: str, root: str) -> None:
        self._type = type_name
        self._root = root

    def id_from_name(self, name: str, *, location_hint: str | None = None) -> Stub:
        """A stub for the instance of that name; `location_hint` is accepted and ignored.

        Raises:
            TypeError: for an empty name or one that is no string (U15).
        """
        del location_hint
        if type(name) is not str or not 1 <= len(name) <= NAME_CHARS_MAX:
            raise TypeError(f"a name is a str of 1 to {NAME_CHARS_MAX} characters: {name!r}")
        scope = current.get()
        if scope is not None:
            scope.host.name_instance(name, partial(caller_place, self._root))
        return Stub(InstanceId(self._type, name), self._root)

    def new_unique_id(self, *, location_hint: str | None = None) -> Stub:
        """A stub for an instance of a random name: its `id` is the way to reach it again.

        Raises:
            ActorError: as on the platform today, unless the configuration makes it work (U16).
        """
        del location_hint
        return Stub(InstanceId(self._type, current_scope().host.unique_name()), self._root)

    def __getattr__(self, name: str) -> NoReturn:
        if name == "get":
            raise AttributeError("a namespace has no get: id_from_name(name) gives the stub itself")
        raise AttributeError(missing_attribute("a namespace", name, dir(type(self)), ""))


class Secrets:
    """`env.SECRETS`: secrets by handle, from the configuration and the `.env` file."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = values

    def get(self, handle: str) -> Awaitable[str]:
        """The secret of that handle.

        Raises (from the awaitable):
            ActorError: naming the handle, if there is none (U5).
        """
        if handle in self._values:
            return Done(self._values[handle])
        return FailedRead(ActorError(f"there is no secret {handle!r}: give it a value in .env"))


class Env:
    """`env`: what the configuration binds, by name.

    Args:
        bindings: by name.
        function_only: names of plain variables that only the function in front sees.
    """

    __slots__ = ("__dict__", "_function_only")

    def __init__(self, bindings: Mapping[str, Any], *, function_only: Collection[str] = ()) -> None:
        self._function_only = function_only
        self.__dict__.update(bindings)

    def __getattr__(self, name: str) -> NoReturn:
        secrets = self.__dict__.get("SECRETS")
        if isinstance(secrets, Secrets) and name in secrets._values:
            raise AttributeError(
                f"env has no binding {name!r}; the secret is read by its handle: "
                f"`await self.env.SECRETS.get({name!r})`"
            )
        if name in self._function_only:
            raise AttributeError(
                f"env.{name} is a plain variable, and those of [vars] reach the function in front "
                "only, as on the platform: pass it with the call, make it a secret, or write "
                "`actor_vars = true` under [dev]"
            )
        known = ", ".join(sorted(self.__dict__)) or "nothing"
        raise AttributeError(f"env has no binding {name!r}; the configuration binds: {known}")


# --- requests and responses as plain data ------------------------------------------------------


def plain_request(request: Request | str) -> PlainRequest:
    """A request as it crosses to another engine."""
    if isinstance(request, str):
        request = Request(request)
    if not isinstance(request, Request):
        raise TypeError(f"fetch takes a Request or a URL, not {type(request).__name__}")
    headers = tuple(request.headers.lines())
    return PlainRequest(request.method, request.url, headers, request.body)


def rich_request(plain: PlainRequest) -> Request:
    """A request as actor code sees it."""
    return Request(plain.url, method=plain.method, headers=plain.headers, body=plain.body)


def plain_response(response: object) -> PlainResponse:
    """A response as it crosses to another engine or to the server.

    Raises:
        TypeError: for anything but a `Response`.
    """
    if isinstance(response, UnawaitedResult):
        raise TypeError(
            "fetch must return a Response, and returns what a call gives that was not awaited: "
            "write `return await ...`"
        )
    if response is None:
        raise TypeError("fetch must return a Response, and a path through it returns nothing")
    if not isinstance(response, Response):
        raise TypeError(
            f"fetch must return a Response, not {type(response).__name__}; "
            "for JSON return Response.json(value)"
        )
    headers = tuple(response.headers.lines())
    upgrade = response.upgrade if isinstance(response, UpgradeResponse) else None
    return PlainResponse(response.status, headers, response.body, upgrade)


class UpgradeResponse(Response):
    """What a stub answers to a request for a WebSocket; it is returned to the client as it is."""

    def __init__(self, upgrade: Upgrade, headers: tuple[tuple[str, str], ...]) -> None:
        super().__init__(headers=headers)
        self.status = 101
        self.upgrade = upgrade


def rich_response(plain: PlainResponse) -> Response:
    """A response as actor code sees it."""
    if plain.upgrade is not None:
        return UpgradeResponse(plain.upgrade, plain.headers)
    return Response(plain.body, status=plain.status, headers=plain.headers)
