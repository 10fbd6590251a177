"""Cases C09, C26 to C33 and C40 to C42: keys, lists and the codec; C46: what is no instant."""

from tests.conformance.scenario import (
    LOCAL_T0_MS,
    TELNYX_T0_MS,
    Scenario,
    advance,
    alarm,
    call,
    keys,
)


def _storage(case: str, title: str, source: str, *steps, **more) -> Scenario:
    return Scenario(case, title, f"spec/telnyx-actors.md {source}", "storage", steps, **more)


_COLLATED = ["B", "a", "a/2", "a1", "b", "z", "é"]

_ROUND_TRIPS = [
    {"a": [1, {"b": [True, None, "x"]}]},
    {"$date": 1_700_000_000_123},
    {"$map": [[1, {"a": 1}], [2, {"b": 2}]]},
    {"$set": ["x", 1, 2]},
    {"$bytes": "aGk="},
    {"$array": ["h", "AQACAA=="]},
    {"$array": ["d", "AAAAAAAA8D8="]},
    {"$bigint": str(2**70)},
    {"$regexp": ["a+b", "i"]},
    [],
    {},
    "",
    0,
    False,
    None,
    1.5,
]

_ODD_ONES = [
    {"$float": "NaN"},
    {"$float": "-0"},
    {"$float": "Infinity"},
    {"$float": "-Infinity"},
    {"a": {"$undefined": True}},
]


SCENARIOS = [
    _storage(
        "C09",
        "a turn reads its own writes, and later turns read them too",
        "section 6",
        call("A/x", "own_writes", gives=[5, True, "missing", [], False]),
        call("A/x", "put", "k", 5),
        call("A/x", "get", "k", gives=5),
        call("A/x", "delete", "k", gives=True),
        call("A/x", "get", "k", gives="missing"),
        call("A/x", "delete", "k", gives=False),
    ),
    _storage(
        "C26",
        "keys are listed in the order of their UTF-8 bytes",
        "section 6.2, U30",
        call("A/x", "fill", ["b", "a", "B", "a1", "a/2", "é", "z"]),
        call("A/x", "listed", {}, gives=_COLLATED),
        call("A/x", "listed", {"reverse": True}, gives=_COLLATED[::-1]),
    ),
    _storage(
        "C27",
        "a list has 128 entries unless told, 1000 at most",
        "section 6.2, U31",
        call("A/x", "fill", [f"k{number:04d}" for number in range(1_200)]),
        call("A/x", "listed_limit", None, gives=128),
        call("A/x", "listed_limit", 1_000, gives=1_000),
        call("A/x", "listed_limit", 1_001, gives="refused"),
        call("A/x", "listed_limit", 0, gives="refused"),
        call("A/x", "listed_limit", -1, gives="refused"),
        call("A/x", "listed_limit", 1.5, gives="refused"),
    ),
    _storage(
        "C28",
        "the bounds of a list, alone and together",
        "section 6.2, U32, U33",
        call("A/x", "fill", ["a", "b", "c", "d", "e"]),
        call("A/x", "listed", {"start": "b"}, gives=["b", "c", "d", "e"]),
        call("A/x", "listed", {"startAfter": "b"}, gives=["c", "d", "e"]),
        call("A/x", "listed", {"end": "d"}, gives=["a", "b", "c"]),
        call("A/x", "listed", {"start": "b", "end": "d"}, gives=["b", "c"]),
        call("A/x", "listed", {"prefix": "c", "start": "b", "end": "e"}, gives=["c"]),
        call("A/x", "listed", {"prefix": "c", "start": "d"}, gives=[]),
        call(
            "A/x",
            "listed",
            {"reverse": True, "start": "b", "end": "e", "limit": 2},
            gives=["d", "c"],
        ),
        call("A/x", "listed", {"startAfter": "bb"}, gives=["c", "d", "e"]),
        call("A/x", "listed", {"start": "c", "startAfter": "a"}, gives=["c", "d", "e"]),
    ),
    _storage(
        "C29",
        "keys of the runtime are refused and never shown",
        "section 6, U23",
        call("A/x", "reserved", gives=[["__telnyx_a", "__telnyx_"], ["__telnyxa", "_telnyx_a"]]),
        keys("A/x", {"__telnyxa": 1, "_telnyx_a": 1}),
        alarm("A/x", 60_000),
    ),
    _storage(
        "C30",
        "deleteAll leaves the alarm",
        "section 8.1, section 6",
        call("A/x", "decommission", TELNYX_T0_MS + 10_000, gives=[[], TELNYX_T0_MS + 10_000]),
        alarm("A/x", 10_000),
        advance("10s", deliveries=1, succeeded=1),
        keys("A/x", {"seen": []}),
    ),
    _storage(
        "C32",
        "null is a value, a missing key is none",
        "section 6",
        call("A/x", "null", gives=[None, True, "missing", False]),
        call("A/x", "put", "k", None),
        call("A/x", "get", "k", gives=None),
        call("A/x", "delete", "k", gives=True),
        call("A/x", "get", "k", gives="missing"),
    ),
    _storage(
        "C33",
        "a put takes a snapshot, a get gives a copy",
        "section 6, U27",
        call("A/x", "snapshot", gives={"a": 1}),
        keys("A/x", {"k": {"a": 1}}),
    ),
    _storage(
        "C40",
        "values come back equal and of the same type",
        "section 7",
        *(
            step
            for value in _ROUND_TRIPS
            for step in (
                call("A/x", "echo", value, gives=value),
                call("A/x", "get", "echo", gives=value),
            )
        ),
    ),
    _storage(
        "C41",
        "what cannot be stored is refused at the write; the old value stays",
        "section 7, U39",
        call(
            "A/x",
            "refuses",
            gives=[
                [
                    "function CodecError",
                    "instance CodecError",
                    "deep CodecError",
                    "circular CodecError",
                    "promise CodecError",
                    "undefined CodecError",
                    "error CodecError",
                ],
                "old",
            ],
        ),
    ),
    _storage(
        "C42",
        "odd numbers and undefined inside a value are kept; shared parts become copies",
        "section 7, U39 to U47",
        *(
            step
            for value in _ODD_ONES
            for step in (
                call("A/x", "echo", value, gives=value),
                call("A/x", "get", "echo", gives=value),
            )
        ),
        call("A/x", "shared", gives={"a": 1}),
    ),
    _storage(
        "C46",
        "what is no instant is refused; the alarm before it stays",
        "U49",
        call(
            "A/x",
            "bad_times",
            gives=[["NaN", "infinity", "text", "date without zone", "nothing"], 60_000],
        ),
        alarm("A/x", 60_000),
    ),
    _storage(
        "C46 aware",
        "an aware datetime is taken, rounded down to the millisecond",
        "U49, U50",
        call("A/x", "aware", gives=LOCAL_T0_MS + 1),
        only="python",
    ),
]
