"""The parameters of the operations: each struct is one shape, and a field that it lacks is refused.

A value or an argument is any JSON with the codec's tags (design D7), so it is typed `Any` here and
read by the codec later. `actor` is what the user typed; the emulator's `address` reads it.
"""

from typing import Annotated, Any

from msgspec import Meta, Struct

from edgeemu.core.rows import FaultHow
from edgeemu.limits import JOURNAL_PAGE_MAX
from edgeemu.units import INSTANT_MS_MAX

InstantParam = Annotated[int, Meta(ge=-INSTANT_MS_MAX, le=INSTANT_MS_MAX)]
"""An instant in ms since the epoch, or a duration in ms: as far as a JavaScript `Date` reaches."""


class NoParams(Struct, forbid_unknown_fields=True):
    """For operations that take nothing."""


class Call(Struct, forbid_unknown_fields=True):
    """A method, and its positional arguments as tagged JSON."""

    actor: str
    method: str
    args: list[Any] = []


class Fetch(Struct, forbid_unknown_fields=True):
    """One HTTP request; the body is base64.

    Where no function is named, the host of the URL may name one.
    """

    path: str
    method: str = "GET"
    headers: list[tuple[str, str]] = []
    body: str = ""
    function: str | None = None


class Connect(Struct, forbid_unknown_fields=True):
    """One WebSocket: the subprotocols that are offered, and the text messages that are sent."""

    path: str
    headers: list[tuple[str, str]] = []
    protocols: list[str] = []
    send: list[str] = []
    function: str | None = None


class Evict(Struct, forbid_unknown_fields=True):
    """One instance, or all where `actor` is null; in the middle of a turn with `crash`."""

    actor: str | None = None
    crash: bool = False


class Log(Struct, forbid_unknown_fields=True):
    """Which entries of the journal: of whom, after which number, from which emulated instant on.

    The newest `limit` of them, or with `oldest_first` the oldest; the last number of such a page is
    the `since_seq` of the next.
    """

    actor: str | None = None
    since_ms: InstantParam | None = None
    since_seq: Annotated[int, Meta(ge=0, le=2**53)] = 0
    oldest_first: bool = False
    limit: Annotated[int, Meta(ge=1, le=JOURNAL_PAGE_MAX)] = JOURNAL_PAGE_MAX


class Follow(Struct, forbid_unknown_fields=True):
    """As `Log`, for entries as they come."""

    actor: str | None = None
    since_ms: InstantParam | None = None
    since_seq: Annotated[int, Meta(ge=0, le=2**53)] = 0


class Rate(Struct, forbid_unknown_fields=True):
    """Virtual milliseconds for each real one."""

    rate: float


class Advance(Struct, forbid_unknown_fields=True):
    """How far; the emulator itself refuses to go back."""

    duration_ms: InstantParam


class SetClock(Struct, forbid_unknown_fields=True):
    """Where to."""

    instant_ms: InstantParam


class OfType(Struct, forbid_unknown_fields=True):
    """Those of one actor type, or all."""

    type: str | None = None


class OfActor(Struct, forbid_unknown_fields=True):
    """One instance."""

    actor: str


class Prefix(Struct, forbid_unknown_fields=True):
    """What has been typed so far."""

    prefix: str = ""


class ListAlarms(Struct, forbid_unknown_fields=True):
    """Pending alarms, and with `ended` the last one that ended of each instance."""

    type: str | None = None
    ended: bool = False


class FailAlarm(Struct, forbid_unknown_fields=True):
    """How the next deliveries fail; with `now` the first of them takes place at once."""

    actor: str
    times: int = 1
    error: str | None = None
    how: FaultHow = FaultHow.THROW
    now: bool = False


class SetAlarm(Struct, forbid_unknown_fields=True):
    """When it is due."""

    actor: str
    when_ms: InstantParam


class ListStorage(Struct, forbid_unknown_fields=True):
    """The keys that begin with `prefix`."""

    actor: str
    prefix: str = ""


class OfKey(Struct, forbid_unknown_fields=True):
    """One key of an instance."""

    actor: str
    key: str


class PutStorage(Struct, forbid_unknown_fields=True):
    """A key and its value as tagged JSON."""

    actor: str
    key: str
    value: Any


class Sql(Struct, forbid_unknown_fields=True):
    """SQL, and as tagged JSON what is given for its `?`."""

    actor: str
    query: str
    params: list[Any] = []


class ImportStorage(Struct, forbid_unknown_fields=True):
    """A document that `storage.export` gave; it is read by the emulator."""

    actor: str
    document: Any


class ListKv(Struct, forbid_unknown_fields=True):
    """The keys of a KV namespace that begin with `prefix`."""

    namespace: str
    prefix: str = ""


class OfKvKey(Struct, forbid_unknown_fields=True):
    """One key of a KV namespace."""

    namespace: str
    key: str


class PutKv(Struct, forbid_unknown_fields=True):
    """A key and its text, with how long it lives in virtual seconds, or None for ever."""

    namespace: str
    key: str
    value: str
    expiration_ttl: float | None = None
