"""Which method of an actor a turn runs, and whether what it is given fits."""

import inspect
import re
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import Any

from edgeemu.core.profile import Profile
from edgeemu.engines.python.awaitables import needs_await
from edgeemu.engines.python.scope import Scope
from edgeemu.sdk.actor import StatefulActor
from edgeemu.sdk.errors import ActorMethodError, ActorPrivateMethodError, ActorUnknownMethodError

_BY_THE_PLATFORM = {
    "alarm": "the platform calls alarm when it is due: use `edgeemu alarms fire`",
    "fetch": "fetch is called with a request, as stub.fetch(request)",
    "web_socket": "web_socket is called for a request that asks for an upgrade",
}


_SIGNATURES = {
    "alarm": "async def alarm(self, info)",
    "fetch": "async def fetch(self, request)",
    "web_socket": "async def web_socket(self, ws, request)",
}
"""How the methods are declared that the platform calls (spec/telnyx-actors.md sections 5 to 11)."""


def public_methods(made: type[Any]) -> list[str]:
    """The methods that a stub may call on an actor class, in order of their names."""
    names = set()
    for base in made.__mro__:
        if base in (StatefulActor, object):
            continue
        for name, value in vars(base).items():
            if not name.startswith("_") and inspect.isfunction(inspect.unwrap(value)):
                names.add(name)
    return sorted(names - {"alarm", "fetch", "web_socket"})


class Dispatch:
    """Finds methods by name, under the rules of spec/telnyx-actors.md section 3.1."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._methods: dict[type[Any], list[str]] = {}

    def forget(self) -> None:
        """New code is in place."""
        self._methods.clear()

    def method(self, target: Any, name: str) -> Callable[..., Any]:
        """The method that a caller may invoke.

        Raises:
            ActorPrivateMethodError: for a name with the private prefix.
            ActorUnknownMethodError: for the special names, those of the base classes, properties
                and names that are not there (U6); the message offers what is.
        """
        if name.startswith(self._profile.private_prefix):
            raise ActorPrivateMethodError(
                f"{name} is private: a name that starts with "
                f"{self._profile.private_prefix} cannot be called through a stub"
            )
        made = type(target)
        known = self._methods.get(made)
        if known is None:
            known = self._methods[made] = public_methods(made)
        if name in known:
            method: Callable[..., Any] = getattr(target, name)
            return method
        if name in _BY_THE_PLATFORM:
            raise ActorUnknownMethodError(
                f"{name} of {made.__name__} is no method for callers; {_BY_THE_PLATFORM[name]}"
            )
        near = get_close_matches(snake_case(name), known, n=1)
        hint = f"did you mean {near[0]}?" if near else f"it has: {', '.join(known) or 'none'}"
        raise ActorUnknownMethodError(f"{made.__name__} has no method {name}; {hint}")


def invoke(scope: Scope, function: Callable[..., Any], args: Sequence[Any]) -> Any:
    """Call a method; what it gives back, awaited or not.

    Raises:
        ActorMethodError: when the arguments do not fit, which is the caller's mistake or that of
            the signature, but not an error of the body.
    """
    try:
        return function(*args)
    except TypeError as error:
        if error.__traceback__ is None or error.__traceback__.tb_next is not None:
            raise  # The body was entered, so this is its own.
        raise scope.refuse(ActorMethodError(_misfit(function, args))) from None


def _misfit(function: Callable[..., Any], args: Sequence[Any]) -> str:
    name = getattr(function, "__name__", "the method")
    code = getattr(inspect.unwrap(function), "__code__", None)
    where = f" (line {code.co_firstlineno})" if code is not None else ""
    try:
        takes = str(inspect.signature(function))
    except (TypeError, ValueError):
        takes = "no `self`"
    takes = "no arguments" if takes == "()" else takes
    given = "1 argument was" if len(args) == 1 else f"{len(args)} arguments were"
    meant = f"; write `{_SIGNATURES[name]}`" if name in _SIGNATURES else ""
    return f"{name}{where} takes {takes}, and {given} given{meant}"


async def settled(value: Any) -> Any:
    """The value of a method that may or may not be `async`."""
    return await value if needs_await(value) else value


def has_alarm_handler(target: Any) -> bool:
    """Whether the class has an `alarm` of its own."""
    return type(target).alarm is not StatefulActor.alarm


def likely_handler(target: Any) -> str | None:
    """The method of a class without a handler that was probably meant to be it."""
    near = [name for name in public_methods(type(target)) if "alarm" in name.lower()]
    return near[0] if near else None


def missing_handler_text(target: Any) -> str:
    """What to say of an alarm that was delivered to a class without a handler."""
    made, near = type(target), likely_handler(target)
    hint = f"; did you mean `{near}` to be it?" if near else ""
    return f"{made.__name__} has no `alarm` method, so its alarm was spent on nothing{hint}"


def misnamed_socket_handler(target: Any) -> str | None:
    """The method of a class without `web_socket` that was probably meant to be it."""
    near = [name for name in public_methods(type(target)) if _plain(name) in _SOCKET_NAMES]
    return near[0] if near else None


def _plain(name: str) -> str:
    return name.replace("_", "").lower()


_SOCKET_NAMES = ("websocket", "onwebsocket", "handlewebsocket")


def snake_case(name: str) -> str:
    """`setAlarm` as `set_alarm`: who comes from the platform's TypeScript types that first."""
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()


def missing_attribute(holder: str, name: str, known: Sequence[str], later: str) -> str:
    """What to say of a name that an object of the platform does not have.

    Args:
        holder: the object, such as `ctx.storage`.
        name: what was asked for.
        known: the names that it has.
        later: names that the platform has and edgeemu does not, with blanks between.
    """
    if snake_case(name) in later.split():
        return f"{holder}.{name} is not emulated in this version of edgeemu (docs/differences.md)"
    public = [one for one in known if not one.startswith("_")]
    near = get_close_matches(snake_case(name), public, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]}?" if near else f"it has: {', '.join(public)}"
    return f"{holder} has no {name!r}; {hint}"
