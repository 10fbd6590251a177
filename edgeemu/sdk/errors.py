"""The errors that actor code and callers of stubs see, told apart by their `name`.

A failed stub call arrives as one of these. Their names are those of the platform, so code that
compares `error.name` works there too; the classes are a convenience for `except`.

Source of the names: Telnyx Stateful Actors documentation, Errors; those of edgeemu's own say so.
"""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Raised:
    """Where an error arose that came out of a call of another actor.

    Attributes:
        place: such as `deposit of Account/q at src/main.py:95`.
        way: the frames of the project on the way there, as text; a head tells whose they are.
    """

    place: str
    way: str


class ActorError(Exception):
    """This is the base of every error that a call to an actor fails with.

    Args:
        message: what happened, for the caller.
        name: the name to carry when there is no class for it; None means the class's own.
    """

    def __init__(self, message: str = "", *, name: str | None = None) -> None:
        super().__init__(message)
        self._name = name
        self._raised: Raised | None = None

    @property
    def name(self) -> str:
        """The platform's name of this error, by which callers tell errors apart."""
        return self._name or type(self).__name__


class ActorMethodError(ActorError):
    """The method threw; its message is preserved."""


class ActorPrivateMethodError(ActorError):
    """The method's name starts with `_`, so no stub can call it."""


class ActorUnknownMethodError(ActorError):
    """The actor has no such method."""


class ActorMethodTimeoutError(ActorError):
    """A call of a method took longer than its limit."""


class ActorFetchTimeoutError(ActorError):
    """The actor's `fetch` took longer than its limit."""


class ActorAlarmTimeoutError(ActorError):
    """The alarm handler took longer than its limit; edgeemu's own."""


class ActorSocketTimeoutError(ActorError):
    """A handler of a WebSocket took longer than its limit; edgeemu's own."""


class ActorOutputGateError(ActorError):
    """A write failed after the method returned, or a transaction threw."""


class BlockConcurrencyTimeoutError(ActorError):
    """The callback that initialises the instance took longer than its limit."""


class ActorCrashedError(ActorError):
    """The host failed in the middle of the turn; edgeemu's own."""


class ActorHangError(ActorError):
    """The code ran on without ever waiting and was stopped; edgeemu's own."""


class CodecError(ActorError):
    """A value cannot be encoded, or stored bytes cannot be decoded."""


class SqlError(ActorError):
    """SQLite refused a statement; its message is SQLite's own. The name is edgeemu's own."""


class SqlTransactionControlError(SqlError):
    """A statement would begin or end a transaction, which turns and `transaction_sync` do."""


class SqlAsyncTransactionError(SqlError):
    """The function given to `transaction_sync` is `async`; nothing of it was kept."""


class SqlParameterTooLargeError(SqlError):
    """A bound value has more than 2 MiB."""


class RangeError(ActorError):
    """An integer that was read from SQL is beyond 2^53 - 1, which the platform cannot give."""


def positional_text(method: str, named: Iterable[str]) -> str:
    """What to say of arguments that a call of an actor's method gives by name."""
    names = ", ".join(f"`{name}=`" for name in named)
    return f"arguments are positional, as on the platform: call {method}(...) without {names}"


CLASSES_BY_NAME: dict[str, type[ActorError]] = {
    kind.__name__: kind
    for kind in (
        ActorMethodError,
        ActorPrivateMethodError,
        ActorUnknownMethodError,
        ActorMethodTimeoutError,
        ActorFetchTimeoutError,
        ActorAlarmTimeoutError,
        ActorSocketTimeoutError,
        ActorOutputGateError,
        BlockConcurrencyTimeoutError,
        ActorCrashedError,
        ActorHangError,
        CodecError,
        SqlError,
        SqlTransactionControlError,
        SqlAsyncTransactionError,
        SqlParameterTooLargeError,
        RangeError,
    )
}
"""Every class, by the name that a caller compares."""


def raised_elsewhere(error: BaseException) -> Raised | None:
    """Where an error arose, if it came out of a call of another actor."""
    return error._raised if isinstance(error, ActorError) else None


def error_named(name: str, message: str, raised: Raised | None = None) -> ActorError:
    """The error that a name and a message describe, such as those that came from another process.

    Args:
        name: the platform's name of the error.
        message: its message, kept as it is.
        raised: where it arose; code that catches it does not see that.

    Returns:
        An instance of the class of that name; an `ActorError` that carries the name if there is
        no such class.
    """
    kind = CLASSES_BY_NAME.get(name)
    error = kind(message) if kind else ActorError(message, name=name)
    error._raised = raised
    return error
