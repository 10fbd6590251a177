"""Rows of section 7: each type that comes back, and each that is refused, wherever it travels."""

from tests.conformance.scenario import Scenario, alarm, call, journal, keys


def _codec(case: str, title: str, source: str, *steps, **more) -> Scenario:
    source = f"spec/telnyx-actors.md {source}"
    return Scenario(case, title, source, "codec", steps, types=("A", "B"), **more)


_BAD = [
    "function",
    "closure",
    "class",
    "instance",
    "instance inside",
    "instance as a key",
    "instance in a set",
    "circular",
    "promise",
    "promise inside",
    "stream",
    "generator",
    "error",
    "symbol",
    "enumeration",
    "weak set",
]

_BAD_AS_RESULT = [name for name in _BAD if name != "promise"]
"""JavaScript waits for a promise that a method gives back."""

_BAD_IN_JAVASCRIPT = [
    "weak map",
    "weak reference",
    "proxy",
    "proxy of an array",
    "blob",
    "url",
    "headers",
    "request",
    "symbol inside",
    "boxed number",
    "boxed string",
    "subclass of Map",
    "subclass of Array",
    "subclass of Date",
    "shared memory",
    "global",
]

_BYTES = "AQACAAMABAAFAAYABwAIAA=="
"""Sixteen bytes, which every kind of array can hold."""

_NESTED = [
    {"$map": [["a", {"$map": [[1, {"$set": [1, 2]}]]}], [{"$date": 0}, None]]},
    {"$set": [{"$bytes": "aGk="}, {"$date": -1}]},
    {"deep": [[[{"$regexp": ["^a|b$", "ims"]}]]]},
    {"$date": -62_135_596_800_000},
    {"$bigint": str(-(2**70))},
    {"$bigint": str(2**53)},
    2**53 - 1,
    -0.5,
    "\U0001f600 \x00 é",
    [[], {}, "", 0, False, None],
    {"$object": {"$date": 1}},
]


def _echoed(values: list) -> list:
    """Each value through an RPC and through the storage."""
    return [
        step
        for value in values
        for step in (
            call("A/x", "echo", value, gives=value),
            call("A/x", "get", "echo", gives=value),
        )
    ]


SCENARIOS = [
    Scenario(
        "C40 arrays",
        "every typed array comes back as the same kind",
        "spec/telnyx-actors.md section 7",
        "storage",
        tuple(_echoed([{"$array": [code, _BYTES]} for code in "bhHiIqQfd"])),
    ),
    Scenario(
        "C40 bytes",
        "an array of bytes comes back as one; JavaScript has one kind, which is bytes",
        "spec/telnyx-actors.md section 7",
        "storage",
        tuple(_echoed([{"$array": ["B", _BYTES]}])),
        only="python",
    ),
    Scenario(
        "C40 nested",
        "maps, sets, dates, patterns and numbers come back at any depth",
        "spec/telnyx-actors.md section 7, U40, U41",
        "storage",
        tuple(_echoed(_NESTED)),
    ),
    _codec(
        "C41 stored",
        "what has no place in the codec is refused at the write",
        "section 7, U42",
        call("A/x", "stores", _BAD, gives=[]),
        keys("A/x", {"k": "old"}),
    ),
    _codec(
        "C41 javascript",
        "what only JavaScript has is refused, too: stored, sent and given back",
        "section 7, U42",
        call("A/x", "stores", _BAD_IN_JAVASCRIPT, gives=[]),
        call("A/x", "sends", _BAD_IN_JAVASCRIPT, gives=[]),
        call("A/x", "receives", _BAD_IN_JAVASCRIPT, gives=[]),
        keys("A/x", {"k": "old"}),
        keys("B/y", {}),
        only="typescript",
    ),
    _codec(
        "C41 sent",
        "the same as an argument: refused, and the method does not run",
        "section 7, U42",
        call("A/x", "sends", _BAD, gives=[]),
        journal("call", 0, "B/y"),
        keys("B/y", {}),
    ),
    _codec(
        "C41 received",
        "the same as a result: refused, and the turn keeps nothing",
        "section 7, U42, U78",
        call("A/x", "receives", _BAD_AS_RESULT, gives=[]),
        journal("call", len(_BAD_AS_RESULT), "B/y"),
        keys("B/y", {}),
        alarm("B/y", None),
    ),
    _codec(
        "C42 undefined",
        "undefined is no value to store, and travels in calls",
        "section 7, U39, U40",
        call("A/x", "undefined", gives=[True, True]),
    ),
    _codec(
        "C42 buffers",
        "buffers and views come back as bytes",
        "section 7, U43, U44",
        call("A/x", "buffers", gives=[[104, 105], [104, 101]]),
    ),
    _codec(
        "S18 numbers",
        "there is one kind of number: 5 and 5.0 look the same",
        "section 18",
        call("A/x", "whole_number", gives=[5, 5, True]),
        keys("A/x", {"k": 5, "l": 5}),
    ),
]
