"""What calls of actor code give back: awaitables that are ready, failed, or under way.

Who forgets the `await` holds one of these in the place of a value. Whatever they do with it then
says so, instead of speaking of a class that they never heard of.
"""

from collections.abc import Awaitable, Callable, Generator
from inspect import isawaitable
from typing import Any, NoReturn

_HINT = (
    "this is no value yet: the call was not awaited; write `await` in front of it, such as "
    "`await self.ctx.storage.get(...)`"
)


class UnawaitedResult:
    """An awaitable that is of no use before it is awaited, and says so."""

    __slots__ = ()

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        raise AttributeError(f"no `{name}` here: {_HINT}")

    def _refuse(self, *_: object) -> NoReturn:
        raise TypeError(_HINT)

    __bool__ = __len__ = __iter__ = __getitem__ = __contains__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = _refuse
    __floordiv__ = __mod__ = __lt__ = __le__ = __gt__ = __ge__ = __int__ = __float__ = _refuse


class AtOnce:
    """A value that is there already, for whoever awaits it all the same."""

    __slots__ = ()

    def __await__(self) -> Generator[Any, Any, Any]:
        raise TypeError("sql.exec acts at once: drop the `await` in front of it")


def needs_await(value: object) -> bool:
    """Whether something has to be awaited for its value."""
    return isawaitable(value) and not isinstance(value, AtOnce)


class Done(UnawaitedResult):
    """An awaitable whose value is there already."""

    __slots__ = ("_value",)

    def __init__(self, value: Any) -> None:
        self._value = value

    def __await__(self) -> Generator[Any, Any, Any]:
        yield from ()  # A generator is what `await` wants; this one has nothing to wait for.
        return self._value


class FailedRead(UnawaitedResult):
    """An awaitable that raises."""

    __slots__ = ("_error",)

    def __init__(self, error: Exception) -> None:
        self._error = error

    def __await__(self) -> Generator[Any, Any, Any]:
        yield from ()
        raise self._error


class RemoteValue(UnawaitedResult):
    """The awaitable of a call: the encoded answer, decoded for this caller alone."""

    __slots__ = ("_answer", "_read")

    def __init__(self, answer: Awaitable[Any], read: Callable[[Any], Any]) -> None:
        self._answer = answer
        self._read = read

    def __await__(self) -> Generator[Any, Any, Any]:
        answer = yield from self._answer.__await__()
        return self._read(answer)


NOTHING = Done(None)
"""The awaitable of a call that gives nothing back."""
