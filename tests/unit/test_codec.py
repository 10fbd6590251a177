"""The codec keeps what it accepts, refuses the rest with a path, and survives damaged bytes.

Sections are those of spec/telnyx-actors.md; C numbers are the cases that were drawn from it.
"""

import asyncio
import collections
import copy
import dataclasses
import decimal
import enum
import fractions
import io
import json
import math
import pathlib
import pickle
import re
import uuid
import warnings
from array import array
from datetime import UTC, date, datetime, time, timedelta, timezone
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from edgeemu.codec import DEPTH_MAX, UNDEFINED, decode, encode, from_json, to_json
from edgeemu.limits import INTEGER_MAX
from edgeemu.sdk import errors
from edgeemu.sdk.errors import ActorError, CodecError, error_named

MOMENT = datetime(2030, 1, 2, 3, 4, 5, 678_000, tzinfo=UTC)
NAN = float("nan")


def same(left: Any, right: Any) -> bool:
    """Whether two values are equal in every type, every order that counts, and every sign."""
    if type(left) is not type(right):
        return False
    if isinstance(left, float):
        return repr(left) == repr(right)
    if isinstance(left, list | tuple):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict):
        return same(list(left.items()), list(right.items()))
    if isinstance(left, set | frozenset):
        return left == right and {type(item) for item in left} == {type(item) for item in right}
    if isinstance(left, array):
        return left.typecode == right.typecode and left.tobytes() == right.tobytes()
    return bool(left == right)


# --- what comes back ---------------------------------------------------------------------------

SAME: list[tuple[object, str]] = [
    (None, "null"),
    (True, "true"),
    (False, "false"),
    (0, "0"),
    (-7, "-7"),
    (INTEGER_MAX, "9007199254740991"),
    (-INTEGER_MAX, "-9007199254740991"),
    (INTEGER_MAX + 1, '{"$bigint":"9007199254740992"}'),
    (-(2**70), '{"$bigint":"-1180591620717411303424"}'),
    (1.5, "1.5"),
    (-0.25, "-0.25"),
    (5e-324, "5e-324"),
    (-1e-20, "-1e-20"),
    (1e300, "1e300"),
    (2.0**53, "9007199254740992.0"),
    (-1e20, "-1e20"),
    (-0.0, '{"$float":"-0"}'),
    (NAN, '{"$float":"NaN"}'),
    (math.inf, '{"$float":"Infinity"}'),
    (-math.inf, '{"$float":"-Infinity"}'),
    ("", '""'),
    ("naïve 😀 \x00\u2028", '"naïve 😀 \\u0000\u2028"'),
    ("\ud800 cut", '"\\ud800 cut"'),
    (b"", '{"$bytes":""}'),
    (b"hi\x00\xff", '{"$bytes":"aGkA/w=="}'),
    (array("h", [1, -2]), '{"$array":["h","AQD+/w=="]}'),
    (array("B", [7]), '{"$array":["B","Bw=="]}'),
    (array("d", [0.5]), '{"$array":["d","AAAAAAAA4D8="]}'),
    (array("f"), '{"$array":["f",""]}'),
    (MOMENT, '{"$date":1893553445678}'),
    (datetime(1969, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC), '{"$date":-1}'),
    (datetime(1, 1, 1, tzinfo=UTC), '{"$date":-62135596800000}'),
    (re.compile("a+b", re.IGNORECASE), '{"$regexp":["a+b","i"]}'),
    (re.compile("^.$", re.S | re.M | re.I), '{"$regexp":["^.$","ims"]}'),
    ({}, "{}"),
    ([], "[]"),
    (set(), '{"$set":[]}'),
    ({"b": 1, "a": [1, {"c": None}]}, '{"b":1,"a":[1,{"c":null}]}'),
    ({1: "a", "k": {"v": 2}, None: 3}, '{"$map":[[1,"a"],["k",{"v":2}],[null,3]]}'),
    ({(1, (2,)): 1, frozenset({3}): 2}, '{"$map":[[[1,[2]],1],[{"$set":[3]},2]]}'),
    ({"b", "a", 10, 9}, '{"$set":["a","b",10,9]}'),
    ({frozenset({1}), (1, 2)}, '{"$set":[[1,2],{"$set":[1]}]}'),
    ({"a": UNDEFINED, "b": [UNDEFINED]}, '{"a":{"$undefined":true},"b":[{"$undefined":true}]}'),
    ({"$date": 5}, '{"$object":{"$date":5}}'),
    ({"$other": 5}, '{"$object":{"$other":5}}'),
    ({"$object": {"$set": []}}, '{"$object":{"$object":{"$object":{"$set":[]}}}}'),
    ({"$date": 5, "b": 1}, '{"$date":5,"b":1}'),
    ({"price": "$5", "$": ""}, '{"price":"$5","$":""}'),
    ("$date", '"$date"'),
    ([MOMENT, {"at": MOMENT}], '[{"$date":1893553445678},{"at":{"$date":1893553445678}}]'),
]


@pytest.mark.parametrize(("value", "text"), SAME)
def test_value_comes_back_as_it_was_and_its_bytes_stay(value: object, text: str) -> None:
    """C40, C42, section 7: each type round-trips, in bytes that old state files have too."""
    assert encode(value) == text.encode()
    assert same(decode(encode(value)), value)


@pytest.mark.parametrize(("value", "text"), SAME)
def test_json_form_is_the_parsed_bytes(value: object, text: str) -> None:
    """C40: `to_json` shows what is stored, and `from_json` reads it back."""
    assert same(to_json(value), json.loads(text))
    assert same(from_json(json.loads(text)), value)


OTHER: list[tuple[object, object]] = [
    (5.0, 5),
    (-3.0, -3),
    (float(INTEGER_MAX), INTEGER_MAX),
    ([0.0, {"a": 2.0}], [0, {"a": 2}]),
    ((1, (2, "x")), [1, [2, "x"]]),
    ({"t": ()}, {"t": []}),
    (bytearray(b"ab"), b"ab"),
    (memoryview(b"abcdef")[::2], b"ace"),
    (memoryview(array("h", [1])), b"\x01\x00"),
    (frozenset({1}), {1}),
    ({2.0: "x"}, {2: "x"}),
    (array("l", [1]), array("q" if array("l").itemsize == 8 else "i", [1])),
    (array("L", [1]), array("Q" if array("L").itemsize == 8 else "I", [1])),
    (MOMENT.replace(microsecond=678_999), MOMENT),
    (MOMENT.astimezone(timezone(timedelta(hours=5, minutes=30))), MOMENT),
    ({MOMENT: 1.0}, {MOMENT: 1}),
]


@pytest.mark.parametrize(("value", "expected"), OTHER)
def test_value_comes_back_as_its_twin(value: object, expected: object) -> None:
    """C40, U44, section 18: one number type, one array type, Buffer as bytes, ms in dates."""
    assert same(decode(encode(value)), expected)
    assert encode(value) == encode(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"$array":["A","AQI="]}', b"\x01\x02"),
        ('{"$array":["V","AQI="]}', b"\x01\x02"),
        ('{"$array":["C","AQI="]}', array("B", [1, 2])),
        ('{"$regexp":["a+b","gi"]}', re.compile("a+b", re.IGNORECASE)),
        ('{"$regexp":["[[a]","dgimsuy"]}', re.compile(r"[\[a]", re.I | re.M | re.S)),
        ('{"$float":"1e+21"}', 1e21),
        ('{"$float":"5"}', 5),
        ('{"$bigint":"5"}', 5),
        ("100000000000000000000", 10**20),
        ('"cut \\udc00"', "cut \udc00"),
        ('{"\\ud800":{"$set":[1]}}', {"\ud800": {1}}),
        ('"\\ud83d\\ude00"', "😀"),
        ('{"$map":[]}', {}),
    ],
)
def test_bytes_of_another_language_are_read(text: str, expected: object) -> None:
    """C40: kinds that only JavaScript has come as their nearest Python twin."""
    value = decode(text.encode())
    if isinstance(expected, re.Pattern):
        assert isinstance(value, re.Pattern)
        assert value.flags == expected.flags
    else:
        assert same(value, expected)


def test_undefined_is_one_false_thing_apart_from_none() -> None:
    """U39, U40, section 18: `undefined` and null differ."""
    assert not UNDEFINED
    assert UNDEFINED is not None
    assert repr(UNDEFINED) == "UNDEFINED"
    assert copy.deepcopy([UNDEFINED])[0] is UNDEFINED
    assert pickle.loads(pickle.dumps(UNDEFINED)) is UNDEFINED
    assert decode(encode({"a": UNDEFINED}))["a"] is UNDEFINED  # type: ignore[index]


def test_undefined_alone_is_refused_unless_it_is_allowed() -> None:
    """U39, C42: `put(key, undefined)` is a mistake; the result of a call may be undefined."""
    with pytest.raises(CodecError, match=r"^value: undefined is not storable; use `delete`"):
        encode(UNDEFINED)
    assert decode(encode(UNDEFINED, top_undefined=True)) is UNDEFINED
    assert to_json(UNDEFINED) == {"$undefined": True}


def test_maps_keep_their_order_and_so_do_objects() -> None:
    """C40: the order of entries is part of the value."""
    for value in ({3: 0, 1: 0, 2: 0}, {"c": 0, "a": 0, "b": 0}):
        assert list(decode(encode(value))) == list(value)  # type: ignore[call-overload]
        assert encode(value) != encode(dict(sorted(value.items())))


def test_sets_do_not_depend_on_how_they_were_made() -> None:
    """C40: a set has no order in Python, so its bytes come from its elements alone."""
    up = {number * 8 for number in range(50)}
    down = {number * 8 for number in range(49, -1, -1)}
    assert encode(up) == encode(down) == encode(frozenset(up))


def test_values_are_copied_both_ways() -> None:
    """C12, U45: no side can change the other's value; what is shared becomes two copies."""
    shared = {"a": 1}
    value = {"x": shared, "y": shared, "when": MOMENT}
    for result in (decode(encode(value)), from_json(to_json(value))):
        assert isinstance(result, dict)
        result["x"]["a"] = 2
        assert result["y"] == shared == {"a": 1}
    shown = to_json(value)
    assert isinstance(shown, dict)
    shown["x"]["a"] = 3
    read = from_json({"x": shared, "when": {"$date": 0}})
    assert isinstance(read, dict)
    read["x"]["a"] = 4
    assert shared == {"a": 1}


# --- what is refused ---------------------------------------------------------------------------


class Colour(enum.IntEnum):
    RED = 1


class Name(str):
    __slots__ = ()


class Point(NamedTuple):
    x: int


@dataclasses.dataclass
class Plain:
    x: int = 1


class Record(msgspec.Struct):
    x: int


class Thing:
    pass


class Moment(datetime):
    pass


async def coroutine() -> None:
    """A coroutine that nobody awaits."""


def closed(awaitable: Any) -> Any:
    awaitable.close()
    return awaitable


def future() -> object:
    loop = asyncio.new_event_loop()
    try:
        return loop.create_future()
    finally:
        loop.close()


def released() -> memoryview:
    view = memoryview(b"a")
    view.release()
    return view


REFUSED: list[tuple[object, str]] = [
    (lambda: 1, "function is not storable"),
    (len, "builtin_function_or_method is not storable"),
    ("".join, "builtin_function_or_method is not storable"),
    (Thing, "class Thing is not storable"),
    (Thing(), "Thing is not storable"),
    (object(), "object is not storable"),
    (Plain(), "Plain is not storable; store `dataclasses.asdict(...)`"),
    (Record(1), "Record is not storable"),
    (Point(1), "Point is not storable; store `tuple(...)`"),
    (Colour.RED, "Colour is not storable; store its `value`"),
    (Name("x"), "Name is not storable; store `str(...)`"),
    (collections.OrderedDict(a=1), "OrderedDict is not storable; store `dict(...)`"),
    (collections.deque([1]), "deque is not storable; store `list(...)`"),
    (range(3), "range is not storable; store `list(...)`"),
    (closed(coroutine()), "coroutine is not storable; await it first"),
    (future(), "Future is not storable; await it first"),
    ((item for item in [1]), "generator is not storable; store `list(...)`"),
    (io.BytesIO(b"x"), "BytesIO is not storable"),
    (ValueError("x"), "ValueError is not storable; store `str(...)`"),
    (decimal.Decimal("1.5"), "Decimal is not storable; store `str(...)`"),
    (fractions.Fraction(1, 3), "Fraction is not storable; store `str(...)`"),
    (pathlib.PurePosixPath("/a"), "PurePosixPath is not storable; store `str(...)`"),
    (uuid.UUID(int=1), "UUID is not storable; store `str(...)`"),
    (1 + 2j, "complex is not storable"),
    (date(2030, 1, 1), "date is not storable; store `isoformat()`, or an aware `datetime`"),
    (time(1, 2), "time is not storable; store `isoformat()`, or an aware `datetime`"),
    (timedelta(1), "timedelta is not storable; store milliseconds"),
    (Moment(2030, 1, 1, tzinfo=UTC), "Moment is not storable"),
    (datetime(2030, 1, 1), "naive datetime is not storable; use an aware one"),
    (datetime.min.replace(tzinfo=timezone(timedelta(hours=1))), "outside the years 1 to 9999"),
    (re.compile(b"x"), "Pattern over bytes is not storable"),
    (re.compile("x", re.VERBOSE), "Pattern with re.VERBOSE is not storable"),
    (re.compile("x", re.ASCII), "Pattern with re.ASCII is not storable"),
    (released(), "released memoryview is not storable"),
    (10**5_000, "int with so many digits is not storable"),
    (UNDEFINED.__class__, "class Undefined is not storable"),
]


@pytest.mark.parametrize(("value", "message"), REFUSED, ids=[row[1] for row in REFUSED])
def test_value_is_refused_wherever_it_hides(value: object, message: str) -> None:
    """C13, C41, U42, U46, section 7: the write is refused, naming the type and the path to it."""
    for whole, path in [
        (value, "value"),
        ([1, (2, value)], "value[1][1]"),
        ({"items": [0, 1, 2, {"callback": value}]}, "value.items[3].callback"),
        ({"a b": {"$x": value}}, 'value["a b"]["$x"]'),
        ({(1, "k"): value}, 'value[[1,"k"]]'),
        ({"k": {2: {3: value}}}, "value.k[2][3]"),
    ]:
        for form in (encode, to_json):
            with pytest.raises(CodecError) as caught:
                form(whole)
            assert str(caught.value).startswith(f"{path}: ")
            assert message in str(caught.value)


@pytest.mark.parametrize("value", [Thing(), Name("x"), Colour.RED, Point(1), frozenset({len})])
def test_keys_and_elements_are_refused_too(value: Any) -> None:
    """C41: a class instance does not slip through as a key, even one that equals a string."""
    for whole, path in [
        ({value: 1}, "value{key}"),
        ({"a": 1, value: 1}, "value{key}"),
        ([{value}], "value[0]{element}"),
    ]:
        with pytest.raises(CodecError) as caught:
            encode(whole)
        assert str(caught.value).startswith(path)


def test_array_of_text_is_refused() -> None:
    """Section 7: typed arrays hold numbers; Python's array of characters is none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        text = array("u", "a")
    with pytest.raises(CodecError, match="array of type u is not storable; store a str"):
        encode({"a": text})


def test_circular_structures_are_refused_and_shared_ones_are_not() -> None:
    """C41, U45: the circle is named where it closes."""
    node: dict[str, Any] = {"name": "a"}
    node["self"] = node
    with pytest.raises(CodecError, match=r"^value\.self: circular structure is not storable$"):
        encode(node)
    items: list[Any] = [1, {"up": None}]
    items[1]["up"] = items
    with pytest.raises(CodecError, match=r"^value\.x\[1\]\.up: circular structure"):
        to_json({"x": items})
    numbers: dict[Any, Any] = {}
    numbers[1] = [numbers]
    with pytest.raises(CodecError, match=r"^value\[1\]\[0\]: circular structure"):
        encode(numbers)
    both = [[], []]  # type: list[Any]
    both[0].extend([both, both])
    with pytest.raises(CodecError, match="circular structure"):
        encode(both)
    shared = [1]
    assert decode(encode([shared, [shared]])) == [[1], [[1]]]


def nested(levels: int, wrap: Any, innermost: object) -> object:
    value = innermost
    for _ in range(levels):
        value = wrap(value)
    return value


@pytest.mark.parametrize(
    ("wrap", "brackets"),
    [
        (lambda value: [value], 1),
        (lambda value: (value,), 1),
        (lambda value: {"k": value}, 1),
        (lambda value: {"$k": value}, 2),
        (lambda value: {1: value}, 3),
        (lambda value: frozenset([value]), 2),
    ],
)
def test_nesting_is_bounded_by_a_clear_error(wrap: Any, brackets: int) -> None:
    """Section 7 leaves the depth open: 512 levels of brackets pass, one more is refused."""
    levels = DEPTH_MAX // brackets
    for innermost in (7, b"x"):
        data = encode(nested(levels, wrap, innermost))
        assert encode(decode(data)) == data
    # Python itself does not hash a set of sets of sets ... at any depth.
    much_more = levels + 1 if isinstance(wrap(7), frozenset) else 100_000
    for more in (levels + 1, much_more):
        with pytest.raises(CodecError, match=r"^value: nested deeper than 512 levels"):
            encode(nested(more, wrap, 7))


def test_values_that_would_become_one_are_refused() -> None:
    """Section 18: dates have milliseconds, so two keys may differ in Python only."""
    close = [MOMENT, MOMENT.replace(microsecond=678_001)]
    with pytest.raises(CodecError, match=r"^value\.m: two keys of the dict are the same"):
        encode({"m": dict.fromkeys(close)})
    with pytest.raises(CodecError, match=r"^value: two elements of the set are the same"):
        encode(set(close))


def test_surrogates_round_trip_alone_and_are_refused_as_a_split_pair() -> None:
    """Section 7 is silent: a lone surrogate is text there; a split pair is one character."""
    value = {"\ud800": ["x\udfff", b"y"], "é": {"\udc00"}}
    assert same(decode(encode(value)), value)
    for split in ("\ud83d\ude00", {"k": ["\ud83d\ude00"]}, {"\ud83d\ude00": b"x"}):
        with pytest.raises(CodecError, match="surrogate pair as two characters"):
            encode(split)


# --- what is read ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b'{"a":1',
        b"[1] 2",
        b"nul",
        b"NaN",
        b'{"$set":[NaN]}',
        b'["\\ud800",NaN]',
        b'"\xff"',
        b'{"$bytes":"aGk=\xff"}',
        b"1e400",
        b"9" * 10_000,
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'["\\ud800",' + b"[" * 100_000,
        b'[{"$set":' * 30_000 + b"[]" + b"}]" * 30_000,
        b"\x00\x01",
    ],
    ids=lambda data: repr(data[:20]),
)
def test_damaged_bytes_are_a_codec_error(data: bytes) -> None:
    """Section 16.1: whatever is in the file, the caller sees the one error."""
    with pytest.raises(CodecError):
        decode(data)


CONTENTS: list[tuple[str, str]] = [
    ('{"$nope":1}', "^value: unknown tag `\\$nope`; known are \\$date, "),
    ('{"$":1}', "unknown tag `\\$`"),
    ('{"a":[0,{"$date":"x"}]}', "^value\\.a\\[1\\]: content of `\\$date` is wrong; it takes whole"),
    ('{"$date":true}', "`\\$date`"),
    ('{"$date":1.5}', "`\\$date`"),
    ('{"$date":null}', "`\\$date`"),  # U47: Python has no invalid date
    ('{"$date":8640000000000000}', "in the years 1 to 9999"),
    ('{"$date":' + "9" * 400 + "}", "`\\$date`"),
    ('{"$bytes":"a"}', "it takes base64"),
    ('{"$bytes":"a*b="}', "it takes base64"),
    ('{"$bytes":"é"}', "it takes base64"),
    ('{"$bytes":[1]}', "it takes base64"),
    ('{"$array":["h"]}', "`\\$array`"),
    ('{"$array":["h","AQ=="]}', "`\\$array`"),
    ('{"$array":["u","AQ=="]}', "`\\$array`"),
    ('{"$array":"hA"}', "`\\$array`"),
    ('{"$array":[["h"],"AQI="]}', "`\\$array`"),
    ('{"$map":{}}', "a list of pairs"),
    ('{"$map":["ab"]}', "a list of pairs"),
    ('{"$map":[[1]]}', "a list of pairs"),
    ('{"$map":[[1,2,3]]}', "a list of pairs"),
    ('{"$map":[[{"a":1},2]]}', "keys that Python can hash"),
    ('{"$map":[[{"$array":["B",""]},2]]}', "keys that Python can hash"),
    ('{"$map":[[1,2],[true,3]]}', "two keys of the map are equal in Python"),
    ('{"$map":[[1,{"$nope":1}]]}', "^value\\[0\\]: unknown tag"),
    ('{"$map":[[{"$nope":1},1]]}', "^value{key}: unknown tag"),
    ('{"$set":"ab"}', "`\\$set`"),
    ('{"$set":{"a":1}}', "`\\$set`"),
    ('{"$set":[{"a":1}]}', "elements that Python can hash"),
    ('{"$set":[1,true]}', "two elements of the set are equal in Python"),
    ('{"$undefined":1}', "it takes true"),
    ('{"$undefined":false}', "it takes true"),
    ('{"$float":1.5}', "`\\$float`"),
    ('{"$float":"inf"}', "`\\$float`"),
    ('{"$float":"1_0"}', "`\\$float`"),
    ('{"$bigint":"1.5"}', "`\\$bigint`"),
    ('{"$bigint":"\\uff11"}', "`\\$bigint`"),
    ('{"$bigint":5}', "`\\$bigint`"),
    ('{"$bigint":"' + "9" * 5_000 + '"}', "`\\$bigint`"),
    ('{"$regexp":["(",""]}', "a pattern that Python can read"),
    ('{"$regexp":["a","x"]}', "`\\$regexp`"),
    ('{"$regexp":"ai"}', "`\\$regexp`"),
    ('{"$regexp":[1,""]}', "`\\$regexp`"),
    ('{"$object":[1]}', "it takes an object"),
    ('{"$object":{"$x":{"$date":"x"}}}', '^value\\["\\$x"\\]: content of `\\$date`'),
]


@pytest.mark.parametrize(("text", "message"), CONTENTS, ids=[row[0][:40] for row in CONTENTS])
def test_wrong_tags_are_refused_with_the_path(text: str, message: str) -> None:
    """Section 7, and D7 for input of commands: a wrong tag says what it takes."""
    for read in (lambda: decode(text.encode()), lambda: from_json(msgspec.json.decode(text))):
        with pytest.raises(CodecError, match=message):
            read()


def test_json_that_people_write_is_read_like_numbers_of_javascript() -> None:
    """D7: `5.0` is 5, and an integer beyond 2^53 - 1 keeps its digits as a big integer."""
    typed = json.loads('{"a": 5.0, "b": -0.0, "c": 1e300, "d": 9007199254740993, "e": [1.5]}')
    value = from_json(typed)
    assert same(value, {"a": 5, "b": -0.0, "c": 1e300, "d": 9007199254740993, "e": [1.5]})


@pytest.mark.parametrize("obj", [(1,), {1: 2}, {"a": b"x"}, {"a": MOMENT}, [{2, 3}], Name("x")])
def test_what_is_not_json_is_refused(obj: object) -> None:
    """D7: `from_json` takes parsed JSON and nothing else."""
    with pytest.raises(CodecError, match="is not JSON"):
        from_json(obj)


def test_circular_json_is_refused() -> None:
    """D7: no structure makes the reader run for ever."""
    items: list[Any] = []
    items.append(items)
    with pytest.raises(CodecError, match="nested deeper"):
        from_json(items)


# --- properties --------------------------------------------------------------------------------

DATES = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.just(UTC)).map(
    lambda moment: moment.replace(microsecond=moment.microsecond // 1_000 * 1_000)
)
KEYS = st.recursive(
    st.none() | st.integers() | st.text() | st.binary() | DATES | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3).map(tuple) | st.frozensets(inner, max_size=3),
    max_leaves=4,
)
LEAVES = (
    KEYS
    | st.booleans()
    | st.floats()
    | st.just(UNDEFINED)
    | st.sampled_from([re.compile("a"), re.compile("b+", re.S), {"$set": [1]}, {"$undefined": 1}])
    | st.lists(st.integers(-9, 9)).map(lambda numbers: array("h", numbers))
    | st.sets(KEYS, max_size=4)
)
NAMES = st.text(max_size=8) | st.sampled_from(["$date", "$object", "$map", "$"])
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.dictionaries(NAMES, inner, max_size=5)
        | st.dictionaries(KEYS, inner, max_size=3)
    ),
    max_leaves=12,
)


def twin(value: Any, *, frozen: bool = False) -> Any:
    """What a value is expected to come back as, said independently of the codec."""
    if isinstance(value, float) and value.is_integer() and abs(value) <= INTEGER_MAX:
        return value if repr(value) == "-0.0" else int(value)
    if isinstance(value, list | tuple):
        items = [twin(item, frozen=frozen) for item in value]
        return tuple(items) if frozen else items
    if isinstance(value, set | frozenset):
        elements = frozenset(twin(item, frozen=True) for item in value)
        return elements if frozen else set(elements)
    if isinstance(value, dict):
        return {twin(key, frozen=True): twin(item) for key, item in value.items()}
    return value


@pytest.mark.slow
@given(VALUES)
@example({"$date": UNDEFINED})
@example([{(5.0, -0.0): {"$": -0.0}}])
def test_any_value_comes_back(value: Any) -> None:
    """C40, C42: for all values, decoding gives the twin, and its bytes are the same again."""
    data = encode(value, top_undefined=True)
    result = decode(data)
    assert same(result, twin(value))
    assert encode(result, top_undefined=True) == data
    assert same(from_json(to_json(value)), result)
    assert same(to_json(value), json.loads(data))


@pytest.mark.slow
@given(VALUES, st.data())
def test_any_damage_gives_a_value_or_a_codec_error(value: Any, data: st.DataObject) -> None:
    """Section 16.1: bytes that were cut or changed never raise anything else."""
    whole = bytearray(encode(value, top_undefined=True))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(whole)))
        whole[at : at + data.draw(st.integers(0, 4))] = data.draw(st.binary(max_size=3))
    try:
        decode(bytes(whole))
    except CodecError as error:
        assert error.name == "CodecError"


TAGS = ["$date", "$bytes", "$array", "$map", "$set", "$float", "$bigint", "$regexp", "$object"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just("AQI="),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=4), inner, max_size=3)
        | st.builds(
            lambda tag, content: {tag: content},
            st.sampled_from(TAGS),
            inner,
        )
    ),
    max_leaves=12,
)


@given(JSON)
def test_any_json_gives_a_value_that_can_be_stored_or_a_codec_error(obj: Any) -> None:
    """D7: what a user typed is either refused at once or storable."""
    try:
        value = from_json(obj)
    except CodecError:
        return
    assert same(decode(encode(value, top_undefined=True)), value)


# --- the errors that actor code sees -----------------------------------------------------------

NAMES_OF_ERRORS = [
    "ActorMethodError",
    "ActorPrivateMethodError",
    "ActorUnknownMethodError",
    "ActorMethodTimeoutError",
    "ActorFetchTimeoutError",
    "ActorAlarmTimeoutError",
    "ActorOutputGateError",
    "BlockConcurrencyTimeoutError",
    "ActorCrashedError",
    "ActorHangError",
    "CodecError",
]


@pytest.mark.parametrize("name", NAMES_OF_ERRORS)
def test_error_has_the_name_of_the_platform(name: str) -> None:
    """Section 16.1: callers tell errors apart by name, and the message is kept."""
    error = error_named(name, "the message")
    assert type(error) is getattr(errors, name)
    assert isinstance(error, ActorError)
    assert (error.name, str(error)) == (name, "the message")


def test_error_without_a_class_keeps_its_name() -> None:
    """Section 16.1: a name that this version does not know still reaches the caller."""
    error = error_named("QuotaError", "the message")
    assert type(error) is ActorError
    assert (error.name, str(error)) == ("QuotaError", "the message")
    again = pickle.loads(pickle.dumps(error))
    assert (again.name, str(again)) == ("QuotaError", "the message")
