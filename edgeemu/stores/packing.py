"""How rows and journal entries become plain columns and come back: one way for both stores.

Promise: what a store gives back is equal to what it was given and shares nothing with it, so no
caller can change the state by changing a value in place. The one exception is text that UTF-8
cannot hold, a lone surrogate: in a name or a key it is refused, for two names must not become one;
anywhere else (a message that an actor made) it is written out as `\\udXXX`, for the record of a
failure must not fail.
"""

import sys
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, TypeVar, cast

import msgspec
from msgspec.structs import replace

from edgeemu.core.journal import Entry, Kind, Recorded
from edgeemu.core.overlay import KeyRange
from edgeemu.core.rows import Alarm, Fault, InstanceRow, PastAlarm, PastAlarmState
from edgeemu.errors import Code, EdgeemuError
from edgeemu.ids import InstanceId
from edgeemu.stores.port import Batch

ALARM_COLUMNS = (
    "due_at_ms",
    "eligible_at_ms",
    "fire_at_ms",
    "retry_count",
    "alarm_generation",
    "set_at_ms",
    "set_by",
    "set_turn",
)
"""One for each field of `Alarm`, in its order."""

PAST_COLUMNS = (
    "past_state",
    "past_due_at_ms",
    "past_attempts",
    "past_ended_at_ms",
    "past_set_at_ms",
    "past_set_by",
)
"""One for each field of `PastAlarm`, in its order."""

ROW_COLUMNS = (
    "created_at_ms",
    "generation",
    *ALARM_COLUMNS,
    *PAST_COLUMNS,
    "last_delivery_at_ms",
    "faults",
    "last_turn",
    "last_error",
)
"""What `pack_row` makes, in order."""

ENTRY_COLUMNS = (
    "seq",
    "now_ms",
    "real_at_ms",
    "kind",
    "type",
    "name",
    "turn",
    "cause",
    "data",
)
"""What `pack_entry` makes, in order."""

TURN_AT = ENTRY_COLUMNS.index("turn")

JOURNAL_PRUNE_ENTRIES = 1_000
"""New entries between two prunings of the journal; it holds up to so many beyond its bound."""

PackedRow = tuple[Any, ...]
PackedEntry = tuple[Any, ...]

_NO_ALARM = (None,) * len(ALARM_COLUMNS)
_NO_PAST = (None,) * len(PAST_COLUMNS)
_ALARM_AT = 2
_PAST_AT = _ALARM_AT + len(ALARM_COLUMNS)
_REST_AT = _PAST_AT + len(PAST_COLUMNS)
_TEXTS = {"set_by", "past_state", "past_set_by", "faults", "last_turn", "last_error"}
_NUMBERS_AT = [at for at, name in enumerate(ROW_COLUMNS) if name not in _TEXTS]
_NUMBER_TYPES = (int, type(None))
_KINDS = {kind.value: kind for kind in Kind}
_PAST_STATES = {state.value: state for state in PastAlarmState}

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode
_decode_faults = msgspec.json.Decoder(tuple[Fault, ...]).decode

_Unpack = TypeVar("_Unpack", bound=Callable[..., Any])
_SURROGATE_FIRST = 0xD800
_SURROGATE_LAST = 0xDFFF


class UnreadableError(Exception):
    """A row holds what no edgeemu wrote."""


def _readable(unpack: _Unpack) -> _Unpack:
    """Tell of a row that cannot be unpacked as of damage: it came from the disk."""

    @wraps(unpack)
    def wrapped(columns: Any) -> Any:
        try:
            return unpack(columns)
        except (LookupError, TypeError, ValueError) as error:
            raise UnreadableError(f"a row cannot be read: {error}") from error

    return cast(_Unpack, wrapped)


def check_instance(instance: InstanceId) -> None:
    """Refuse a type or name that UTF-8 cannot hold.

    Raises:
        EdgeemuError: `E_ADDRESS_INVALID`.
    """
    for text in instance:
        if not text.isascii() and _has_surrogates(text):
            raise EdgeemuError(
                Code.ADDRESS_INVALID,
                what=f"`{written_out(str(instance))}` cannot be the address of an instance",
                why="it holds a lone surrogate, which is half a character and cannot be stored",
                fix="use whole characters in the name",
            )


def check_filter(type_name: str | None, prefix: str = "") -> None:
    """Refuse to look for a type or the beginning of a name that UTF-8 cannot hold.

    Raises:
        EdgeemuError: `E_ADDRESS_INVALID`.
    """
    check_instance(InstanceId(type_name or "", prefix))


def check_key(key: str) -> None:
    """Refuse a key that UTF-8 cannot hold.

    Raises:
        EdgeemuError: `E_KEY_INVALID`.
    """
    if not key.isascii() and _has_surrogates(key):
        raise EdgeemuError(
            Code.KEY_INVALID,
            what=f"`{written_out(key)}` cannot be a storage key",
            why="it holds a lone surrogate, which is half a character and cannot be stored",
            fix="use whole characters in the key",
        )


def key_bounds(keys: KeyRange) -> tuple[str, str | None]:
    """The first key that a range may hold, and the first beyond it; None for no end.

    Raises:
        EdgeemuError: `E_KEY_INVALID`.
    """
    for bound in (keys.lower, keys.upper, keys.prefix):
        if bound:
            check_key(bound)
    lower = max(keys.lower or "", keys.prefix)
    upper = prefix_end(keys.prefix)
    if keys.upper is not None:
        upper = keys.upper if upper is None else min(upper, keys.upper)
    return lower, upper


def prefix_end(prefix: str) -> str | None:
    """The first text in code point order after all that begin with `prefix`; None if none is."""
    kept = prefix.rstrip(chr(sys.maxunicode))
    if not kept:
        return None
    code = ord(kept[-1]) + 1
    if _SURROGATE_FIRST <= code <= _SURROGATE_LAST:
        code = _SURROGATE_LAST + 1  # No text may end in half a character.
    return kept[:-1] + chr(code)


def storable_row(row: InstanceRow) -> InstanceRow:
    """The row as a store gives it back."""
    alarm, past = row.alarm, row.past_alarm
    texts = [fault.message for fault in row.faults]
    texts += [each.set_by for each in (alarm, past) if each is not None and each.set_by is not None]
    return row if all(map(str.isascii, texts)) else unpack_row(pack_row(row))


def pack_row(row: InstanceRow) -> PackedRow:
    """A row as plain columns, in the order of `ROW_COLUMNS`."""
    alarm, past = row.alarm, row.past_alarm
    return (
        row.created_at_ms,
        row.generation,
        *(_NO_ALARM if alarm is None else _pack_alarm(alarm)),
        *(_NO_PAST if past is None else _pack_past(past)),
        row.last_delivery_at_ms,
        to_json(row.faults) if row.faults else None,
        None if row.last_turn is None else to_json(row.last_turn),
        None if row.last_error is None else to_json(row.last_error),
    )


@_readable
def unpack_row(columns: PackedRow) -> InstanceRow:
    """The row that `pack_row` made into columns."""
    last_delivery_at_ms, faults, last_turn, last_error = columns[_REST_AT:]
    for at in _NUMBERS_AT:  # SQLite keeps any value in any column, such as one edited by hand.
        if type(columns[at]) not in _NUMBER_TYPES:
            raise ValueError(f"{ROW_COLUMNS[at]} is no whole number: {columns[at]!r}")
    return InstanceRow(
        created_at_ms=columns[0],
        generation=columns[1],
        alarm=None if columns[_ALARM_AT] is None else Alarm(*columns[_ALARM_AT:_PAST_AT]),
        past_alarm=None if columns[_PAST_AT] is None else unpack_past(columns[_PAST_AT:_REST_AT]),
        last_delivery_at_ms=last_delivery_at_ms,
        faults=() if faults is None else _decode_faults(faults),
        last_turn=None if last_turn is None else _decode(last_turn),
        last_error=None if last_error is None else _decode(last_error),
    )


@_readable
def unpack_past(columns: tuple[Any, ...]) -> PastAlarm:
    """The ended alarm in the columns of `PAST_COLUMNS`."""
    return PastAlarm(_PAST_STATES[columns[0]], *columns[1:])


def pack_entry(entry: Entry, *, seq: int, real_at_ms: int) -> tuple[Entry, PackedEntry]:
    """A journal entry as it can be stored, and as plain columns in the order of `ENTRY_COLUMNS`.

    Raises:
        EdgeemuError: `E_ADDRESS_INVALID`.
    """
    type_name = name = None
    if entry.instance is not None:
        check_instance(entry.instance)
        type_name, name = entry.instance
    try:
        if not entry.cause.isascii():
            entry.cause.encode()
        data = _encode(entry.data if type(entry.data) is dict else dict(entry.data)).decode()
    except UnicodeEncodeError:
        plain = _map_text(entry.data, written_out)
        entry = replace(entry, cause=written_out(entry.cause), data=plain)
        data = _encode(plain).decode()
    columns = (
        seq,
        entry.now_ms,
        real_at_ms,
        entry.kind.value,
        type_name,
        name,
        entry.turn,
        entry.cause,
        data,
    )
    return entry, columns


def number_entries(batch: Batch, seq_before: int) -> tuple[list[PackedEntry], list[Recorded]]:
    """The entries of a batch behind entry number `seq_before`: packed, and as they then stand.

    Raises:
        EdgeemuError: `E_ADDRESS_INVALID`.
    """
    packed: list[PackedEntry] = []
    recorded: list[Recorded] = []
    real_at_ms = batch.real_at_ms
    for seq, entry in enumerate(batch.entries, seq_before + 1):
        entry, columns = pack_entry(entry, seq=seq, real_at_ms=real_at_ms)
        packed.append(columns)
        recorded.append(Recorded(seq, real_at_ms, entry))
    return packed, recorded


def last_pruned(*, seq_before: int, seq: int, entries_max: int) -> int:
    """The number of the last entry that goes when the journal grew to `seq`; 0 for none.

    Pruning takes place once for `JOURNAL_PRUNE_ENTRIES`, so that it costs each entry little.
    """
    if seq // JOURNAL_PRUNE_ENTRIES == seq_before // JOURNAL_PRUNE_ENTRIES:
        return 0
    return max(seq - entries_max, 0)


@_readable
def unpack_entry(columns: PackedEntry) -> Recorded:
    """The journal entry that `pack_entry` made into columns."""
    seq, now_ms, real_at_ms, kind, type_name, name, turn, cause, data = columns
    instance = None if type_name is None else InstanceId(type_name, name)
    entry = Entry(_KINDS[kind], now_ms, instance, turn, cause, _decode(data))
    return Recorded(seq, real_at_ms, entry)


def to_json(value: Any) -> str:
    """JSON-safe data as JSON text, lone surrogates written out."""
    try:
        return _encode(value).decode()
    except UnicodeEncodeError:
        plain = msgspec.to_builtins(value)
        return _encode(_map_text(plain, written_out)).decode()


@_readable
def from_json(text: str) -> Any:
    """The data in JSON text."""
    return _decode(text)


def storable(text: str) -> str:
    """Text for a column, lone surrogates written out."""
    return text if text.isascii() else written_out(text)


def written_out(text: str) -> str:
    """The same text with each lone surrogate as the six characters of its escape."""
    return text.encode("utf-8", "backslashreplace").decode()


def _pack_alarm(alarm: Alarm) -> tuple[Any, ...]:
    return (
        alarm.due_at_ms,
        alarm.eligible_at_ms,
        alarm.fire_at_ms,
        alarm.retry_count,
        alarm.generation,
        alarm.set_at_ms,
        None if alarm.set_by is None else storable(alarm.set_by),
        alarm.set_turn,
    )


def _pack_past(past: PastAlarm) -> tuple[Any, ...]:
    return (
        past.state.value,
        past.due_at_ms,
        past.attempts,
        past.ended_at_ms,
        past.set_at_ms,
        None if past.set_by is None else storable(past.set_by),
    )


def _has_surrogates(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _map_text(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {_map_text(key, change): _map_text(item, change) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_map_text(item, change) for item in value]
    return value
