"""The one codec of storage, calls and the journal: values as JSON, readable with `sqlite3`.

What JSON lacks is written as an object with one key, a tag:

    {"$date": 1735689600000}     an instant        {"$undefined": true}    undefined in a value
    {"$bytes": "aGk="}           bytes             {"$float": "NaN"}       also Infinity, -0
    {"$array": ["h", "AQA="]}    a typed array     {"$bigint": "123"}      beyond 2^53 - 1
    {"$map": [[key, value]]}     a map             {"$regexp": ["a", "i"]} a pattern
    {"$set": [element]}          a set             {"$object": {"$a": 1}}  an object like a tag

A decoded value shares nothing with the encoded one. What cannot be stored is refused when it is
written, with the path to it. Source: spec/telnyx-actors.md section 7; for numbers, section 18.

What every encoder, in any language, keeps to:

- There is one kind of number: 5.0 is written `5`. An integral one beyond 2^53 - 1 has a fraction
  or an exponent, or is text in `$float`; a bare integer of that size reads as a big integer.
- Arrays are little-endian, with the codes b B h H i I q Q f d of Python's `array`. Only other
  languages write A (a buffer), C (clamped) and V (a view): here bytes, an array of B, and bytes.
- Text is UTF-16 at heart: a lone surrogate is written as its JSON escape and round-trips.

Differs: Python has one `dict` and no order in sets. A map with string keys only, or none, encodes
as an object, a set in the order of its encoded elements. Keys of maps and elements of sets decode
frozen: a list as a tuple, a set as a frozenset.
"""

import binascii
import json
import re
import warnings
from array import array
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any, Final, Literal

import msgspec

from edgeemu.limits import INTEGER_MAX
from edgeemu.sdk.errors import CodecError
from edgeemu.units import instant_from_datetime

DEPTH_MAX = 512
"""Levels of brackets in what `encode` writes: a map has three (the platform publishes no limit)."""

_PLAIN_DEPTH_MAX = 32
_PATH_CHARS_MAX = 200
_IN_KEY, _IN_SET = b"{key}", b"{element}"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DATE_MS_MIN = instant_from_datetime(datetime.min.replace(tzinfo=UTC))
_DATE_MS_MAX = instant_from_datetime(datetime.max.replace(tzinfo=UTC))

_dump_json = msgspec.json.Encoder().encode
_parse_json = msgspec.json.Decoder().decode


class Undefined(Enum):
    """The type of `UNDEFINED`, its one member."""

    UNDEFINED = "undefined"

    def __bool__(self) -> Literal[False]:
        return False

    def __repr__(self) -> str:
        return "UNDEFINED"


UNDEFINED: Final = Undefined.UNDEFINED
"""JavaScript's `undefined`, which differs from null (spec section 18). It is false."""


def encode(value: object, *, top_undefined: bool = False) -> bytes:
    """The bytes that stand for a value; equal values give equal bytes.

    Args:
        value: what to store or send.
        top_undefined: whether `value` itself may be `UNDEFINED`, as the result of a call may.

    Returns:
        UTF-8 JSON with tags.

    Raises:
        CodecError: a part of the value cannot be stored; the message has the path to it.
    """
    try:
        if _is_plain((value,), _PLAIN_DEPTH_MAX):
            try:
                return _dump_json(value)
            except UnicodeEncodeError:
                pass  # a lone surrogate, which the general way knows how to write
        elif value is UNDEFINED and not top_undefined:
            raise CodecError("value: undefined is not storable; use `delete` to remove a key")
        return _dump(to_json(value))
    except RecursionError:
        raise _too_deep() from None


def decode(data: bytes) -> object:
    """The value that `encode` was given, as a fresh copy.

    Args:
        data: what `encode`, here or in another language, returned.

    Returns:
        The value. Instants are `datetime` in UTC; tuples come back as lists.

    Raises:
        CodecError: the bytes are damaged, or have no Python twin (a map with objects as keys).
    """
    try:
        parsed = _parse_json(data)
    except RecursionError:
        raise _too_deep() from None
    except ValueError as error:
        parsed = _parse_escaped(data, str(error))
    return parsed if data.find(b'"$') < 0 else from_json(parsed)


def to_json(value: object) -> object:
    """The form of `encode` as plain dicts, lists, strings and numbers, ready for a JSON writer.

    Args:
        value: what to show; it may be `UNDEFINED`.

    Returns:
        A structure that shares nothing with `value`: what a JSON reader makes of `encode(value)`.

    Raises:
        CodecError: a part of the value cannot be stored; the message has the path to it.
    """
    try:
        return _TAGGERS.get(type(value), _refuse)(value, DEPTH_MAX, None)
    except RecursionError:
        raise _too_deep() from None


def from_json(obj: object) -> object:
    """The value that a JSON structure with tags stands for: the inverse of `to_json`.

    Args:
        obj: parsed JSON, such as what a user typed.

    Returns:
        The value, which shares nothing with `obj`. A bare integer beyond 2^53 - 1 stays exact.

    Raises:
        CodecError: a tag is unknown or its content is wrong; the message has the path to it.
    """
    try:
        return _READERS.get(type(obj), _not_json)(obj, False, None)
    except RecursionError:
        raise _too_deep() from None


# --- refusing ----------------------------------------------------------------------------------

_Trail = tuple[Any, object, int | str | bytes] | None
"""Where a part is: the trail of its container, the container, and the step from there: an index, a
key of an object, or ready text. It becomes a path only when something is refused."""


def _error(trail: _Trail, reason: str) -> CodecError:
    """The error for the part at `trail`."""
    steps: list[str] = []
    while trail is not None:
        trail, _, step = trail
        if isinstance(step, str):
            steps.append(f".{step}" if step.isidentifier() else f"[{json.dumps(step)}]")
        else:
            steps.append(step.decode() if isinstance(step, bytes) else f"[{step}]")
    path = "value" + "".join(reversed(steps))
    half = _PATH_CHARS_MAX // 2
    path = path if len(path) <= _PATH_CHARS_MAX else f"{path[:half]}...{path[-half:]}"
    return CodecError(f"{path}: {reason}")


def _too_deep(trail: _Trail = None) -> CodecError:
    """The error for what is nested too deeply, which mostly is a circle: that is told apart."""
    levels: list[tuple[Any, object, object]] = []
    while trail is not None:
        levels.insert(0, trail)
        trail = trail[0]
    seen = set()
    for level in levels:
        if id(level[1]) in seen:
            return _error(level[0], "circular structure is not storable")
        seen.add(id(level[1]))
    return CodecError(f"value: nested deeper than {DEPTH_MAX} levels, or than the stack allows")


def _refuse(value: Any, _depth: int, trail: _Trail) -> object:
    """This refuses what is not of exactly one of the known types, and says what to do instead."""
    kind = type(value)
    name = f"class {value.__name__}" if issubclass(kind, type) else kind.__name__
    bases = {f"{base.__module__}.{base.__qualname__}" for base in kind.__mro__}
    name = "what is not awaited" if kind.__module__.endswith("python.awaitables") else name
    hints = [hint for hint, names in _HINTS.items() if not bases.isdisjoint(names.split())]
    hints += ["store `dataclasses.asdict(...)`"] * hasattr(kind, "__dataclass_fields__")
    hints += [f"store `{base.__name__}(...)`" for base in kind.__mro__ if base in _TAGGERS]
    raise _error(trail, "; ".join([f"{name} is not storable", *hints[:1]]))


# By full name, so that nothing is imported for a hint. The first that fits is given.
_HINTS = {
    "write `await`, as in `return await ...`": "edgeemu.engines.python.awaitables.UnawaitedResult",
    "write `.to_list()` behind the call": "edgeemu.engines.python.sql.SqlCursor",
    "store its `value`": "enum.Enum",
    "store `str(...)`": "decimal.Decimal fractions.Fraction uuid.UUID builtins.BaseException "
    "pathlib.PurePath pathlib._local.PurePath",
    "store `isoformat()`, or an aware `datetime`": "datetime.date datetime.time",
    "store milliseconds": "datetime.timedelta",
    "await it first": "builtins.coroutine _asyncio.Future asyncio.futures.Future",
    "store `list(...)`": "builtins.generator builtins.range collections.deque",
}


# --- encoding ----------------------------------------------------------------------------------


def _is_plain(items: Iterable[Any], depth: int) -> bool:
    """Whether the JSON writer alone gives the right bytes. Exact types: subclasses are refused."""
    for item in items:
        kind = type(item)
        if kind is str or kind is bool or item is None:
            continue
        if kind is int:
            if -INTEGER_MAX <= item <= INTEGER_MAX:
                continue
        elif kind is float:
            # False for integral numbers, which become integers, and for NaN and infinity.
            if item % 1.0 > 0.0:
                continue
        elif kind is dict:
            for key in item:
                if type(key) is not str:
                    return False
            is_like_tag = len(item) == 1 and key[:1] == "$"
            if depth and not is_like_tag and _is_plain(item.values(), depth - 1):
                continue
        elif (kind is list or kind is tuple) and depth and _is_plain(item, depth - 1):
            continue
        return False
    return True


def _dump(tagged: object) -> bytes:
    """The bytes of a tagged structure, lone surrogates included."""
    try:
        return _dump_json(tagged)
    except UnicodeEncodeError:
        text = json.dumps(tagged, separators=(",", ":"))
    if json.loads(text) != tagged:
        raise CodecError("value: text with a surrogate pair as two characters is not storable")
    return text.encode()


def _tag_number(value: int | float, _depth: int, trail: _Trail) -> object:
    if isinstance(value, float):
        text = _FLOAT_TEXTS.get(repr(value))
        return {"$float": text} if text else _as_number(value)
    if -INTEGER_MAX <= value <= INTEGER_MAX:
        return value
    try:
        return {"$bigint": str(value)}
    except ValueError:
        raise _error(trail, "int with so many digits is not storable; store bytes") from None


def _as_number(value: float) -> int | float:
    """An integral float as the integer that looks the same, as far as JavaScript has it exactly."""
    if value.is_integer() and abs(value) <= INTEGER_MAX and repr(value) != "-0.0":
        return int(value)
    return value


def _tag_bytes(value: bytes | bytearray | memoryview, _depth: int, trail: _Trail) -> object:
    try:
        return {"$bytes": binascii.b2a_base64(bytes(value), newline=False).decode()}
    except ValueError:
        raise _error(trail, "released memoryview is not storable") from None


def _tag_array(value: "array[Any]", _depth: int, trail: _Trail) -> object:
    # The size of `l` and `L` depends on the machine, so the code that says the size is written.
    codes = {"l": "?iq"[value.itemsize // 4], "L": "?IQ"[value.itemsize // 4]}
    code = codes.get(value.typecode, value.typecode)
    if code not in _ARRAY_KINDS:
        raise _error(trail, f"array of type {code} is not storable; store a str")
    return {"$array": [code, binascii.b2a_base64(value, newline=False).decode()]}


def _tag_datetime(value: datetime, _depth: int, trail: _Trail) -> object:
    if value.utcoffset() is None:
        raise _error(trail, "naive datetime is not storable; use an aware one, with a `tzinfo`")
    date_ms = instant_from_datetime(value)
    if not _DATE_MS_MIN <= date_ms <= _DATE_MS_MAX:
        raise _error(trail, "datetime outside the years 1 to 9999 of UTC is not storable")
    return {"$date": date_ms}


def _tag_pattern(value: "re.Pattern[Any]", _depth: int, trail: _Trail) -> object:
    if type(value.pattern) is not str:
        raise _error(trail, "Pattern over bytes is not storable; use one over str")
    if others := value.flags & ~(re.I | re.M | re.S | re.U):
        raise _error(trail, f"Pattern with {re.RegexFlag(others)!r} is not storable")
    flags = [letter for letter, flag in _REGEXP_FLAGS.items() if value.flags & flag]
    return {"$regexp": [value.pattern, "".join(flags)]}


def _tag_list(value: list[Any] | tuple[Any, ...], depth: int, trail: _Trail) -> object:
    if depth < 1:
        raise _too_deep(trail)
    tagged: list[object] = []
    for index, item in enumerate(value):
        tagged.append(_TAGGERS.get(type(item), _refuse)(item, depth - 1, (trail, value, index)))
    return tagged


def _tag_dict(value: dict[Any, Any], depth: int, trail: _Trail) -> object:
    for key in value:
        if type(key) is not str:
            return _tag_map(value, depth - 3, trail)
    is_like_tag = len(value) == 1 and key[:1] == "$"
    depth -= 2 if is_like_tag else 1
    if depth < 0:
        raise _too_deep(trail)
    tagged: dict[str, object] = {}
    for key, item in value.items():
        tagged[key] = _TAGGERS.get(type(item), _refuse)(item, depth, (trail, value, key))
    return {"$object": tagged} if is_like_tag else tagged


def _tag_map(value: dict[Any, Any], depth: int, trail: _Trail) -> object:
    if depth < 0:
        raise _too_deep(trail)
    pairs: dict[bytes, object] = {}
    for key, item in value.items():
        tagged_key = _TAGGERS.get(type(key), _refuse)(key, depth, (trail, value, _IN_KEY))
        text = _dump(tagged_key)
        here = (trail, value, b"[%b]" % text)
        pairs[text] = [tagged_key, _TAGGERS.get(type(item), _refuse)(item, depth, here)]
    if len(pairs) < len(value):
        raise _error(trail, "two keys of the dict are the same once they are stored")
    return {"$map": list(pairs.values())}


def _tag_set(value: set[Any] | frozenset[Any], depth: int, trail: _Trail) -> object:
    if depth < 2:
        raise _too_deep(trail)
    elements: dict[bytes, object] = {}
    for item in value:
        tagged = _TAGGERS.get(type(item), _refuse)(item, depth - 2, (trail, value, _IN_SET))
        elements[_dump(tagged)] = tagged
    if len(elements) < len(value):
        raise _error(trail, "two elements of the set are the same once they are stored")
    return {"$set": [elements[text] for text in sorted(elements)]}


_FLOAT_TEXTS = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity", "-0.0": "-0"}
_REGEXP_FLAGS = {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL}
# The code of Python for each code that is written; None means bytes.
_ARRAY_KINDS = {**{code: code for code in "bBhHiIqQfd"}, "A": None, "C": "B", "V": None}

_TAGGERS: dict[type, Callable[[Any, int, _Trail], object]] = {
    **dict.fromkeys((type(None), bool, str), lambda value, *_: value),
    **dict.fromkeys((int, float), _tag_number),
    **dict.fromkeys((bytes, bytearray, memoryview), _tag_bytes),
    array: _tag_array,
    datetime: _tag_datetime,
    re.Pattern: _tag_pattern,
    Undefined: lambda *_: {"$undefined": True},
    **dict.fromkeys((list, tuple), _tag_list),
    dict: _tag_dict,
    **dict.fromkeys((set, frozenset), _tag_set),
}


# --- decoding ----------------------------------------------------------------------------------


def _parse_escaped(data: bytes, damage: str) -> object:
    """This reads JSON with lone surrogates, which the fast reader refuses, or tells the damage."""
    if _SURROGATE.search(data):
        with suppress(ValueError, RecursionError):
            return json.loads(data.decode(), parse_constant=int)
    raise CodecError(f"stored value is damaged: {damage}") from None


def _not_json(value: object, _frozen: bool, trail: _Trail) -> object:
    raise _error(trail, f"{type(value).__name__} is not JSON")


def _read_list(value: list[Any], frozen: bool, trail: _Trail) -> object:
    items: list[object] = []
    for index, item in enumerate(value):
        items.append(_READERS.get(type(item), _not_json)(item, frozen, (trail, value, index)))
    return tuple(items) if frozen else items


def _read_dict(value: dict[Any, Any], frozen: bool, trail: _Trail) -> object:
    if len(value) == 1:
        [(tag, content)] = value.items()
        if type(tag) is str and tag[:1] == "$":
            if tag != "$object" or type(content) is not dict:
                return _read_tag(tag, content, frozen, trail)
            value = content
    items: dict[str, object] = {}
    for key, item in value.items():
        if type(key) is not str:
            raise _error(trail, f"the key {key!r} is not JSON; keys are strings")
        items[key] = _READERS.get(type(item), _not_json)(item, frozen, (trail, value, key))
    return items


def _read_tag(tag: str, content: Any, frozen: bool, trail: _Trail) -> object:
    if tag not in _CONTENTS:
        raise _error(trail, f"unknown tag `{tag}`; known are {', '.join(_CONTENTS)}")
    try:
        if tag == "$map" and type(content) is list:
            return _read_map(content, frozen, trail)
        if tag == "$set" and type(content) is list:
            return _read_set(content, frozen, trail)
        return _read_leaf(tag, content)
    except (ValueError, TypeError, KeyError, OverflowError, re.error):
        raise _error(trail, f"content of `{tag}` is wrong; it takes {_CONTENTS[tag]}") from None


def _read_leaf(tag: str, content: Any) -> object:
    """The value of a tag that holds no other values; wrong content raises one of many errors."""
    match tag, content:
        case "$date", int() if type(content) is int:
            return _EPOCH + timedelta(milliseconds=content)
        case "$bytes", str():
            return binascii.a2b_base64(content, strict_mode=True)
        case "$array", [str(code), str(text)]:
            raw = binascii.a2b_base64(text, strict_mode=True)
            kind = _ARRAY_KINDS[code]
            return array(kind, raw) if kind else raw
        case "$undefined", True:
            return UNDEFINED
        case "$float", str() if _FLOAT.fullmatch(content):
            return _as_number(float(content))
        case "$bigint", str() if re.fullmatch(r"-?[0-9]+", content):
            return int(content)
        case "$regexp", [str(text), str(letters)] if set(letters) <= set("dgimsuvy"):
            flags = sum(flag for letter, flag in _REGEXP_FLAGS.items() if letter in letters)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return re.compile(text, flags)
    raise ValueError


def _read_map(content: list[list[Any]], frozen: bool, trail: _Trail) -> object:
    items: dict[object, object] = {}
    for index, pair in enumerate(content):
        if type(pair) is not list:
            raise TypeError
        key, item = pair
        frozen_key = _READERS.get(type(key), _not_json)(key, True, (trail, content, _IN_KEY))
        read = _READERS.get(type(item), _not_json)
        items[frozen_key] = read(item, frozen, (trail, content, index))
    if len(items) < len(content):
        raise _error(trail, "two keys of the map are equal in Python")
    return items


def _read_set(content: list[Any], frozen: bool, trail: _Trail) -> object:
    items: set[object] = set()
    for item in content:
        items.add(_READERS.get(type(item), _not_json)(item, True, (trail, content, _IN_SET)))
    if len(items) < len(content):
        raise _error(trail, "two elements of the set are equal in Python")
    return frozenset(items) if frozen else items


_FLOAT = re.compile(r"NaN|-?Infinity|-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")

_READERS: dict[type, Callable[[Any, bool, _Trail], object]] = {
    **dict.fromkeys((type(None), bool, str, int), lambda value, *_: value),
    float: lambda value, *_: _as_number(value),
    list: _read_list,
    dict: _read_dict,
}

# What each tag takes, for the message when its content is something else.
_CONTENTS = {
    "$date": "whole milliseconds since 1970, in the years 1 to 9999",
    "$bytes": "base64",
    "$array": 'a type code and base64, such as ["h", "AQA="]',
    "$map": "a list of pairs, with keys that Python can hash",
    "$set": "a list, with elements that Python can hash",
    "$undefined": "true",
    "$float": "NaN, Infinity, -Infinity, -0 or another number, as text",
    "$bigint": "the digits of an integer, as text",
    "$regexp": "a pattern that Python can read, and its flags",
    "$object": "an object",
}
