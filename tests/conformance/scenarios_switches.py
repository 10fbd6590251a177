"""U15, U16 and U25: what is warned of, or refused when the configuration says so."""

from tests.conformance.scenario import Scenario, call, journal

_KEY, _VALUE = 2 * 1024, 1024 * 1024
_STRICT = "[limits]\nstrict = true\n"


def _switch(case: str, title: str, source: str, *steps, toml: str = "") -> Scenario:
    source = f"spec/telnyx-actors.md {source}"
    return Scenario(case, title, source, "switches", steps, toml=toml)


SCENARIOS = [
    _switch(
        "S6 sizes",
        "a large key or value is kept, and warned of once a line",
        "section 6, section 16.2, U25",
        call("A/x", "put_key", _KEY, "k", gives="kept"),
        call("A/x", "put_value", _VALUE, gives="kept"),
        journal("warning", 0),
        call("A/x", "put_key", _KEY + 1, "k", gives="kept"),
        journal("warning", 1),
        call("A/x", "put_value", _VALUE + 1, gives="kept"),
        journal("warning", 1),
        call("A/x", "put_value_in_transaction", _VALUE + 1, gives="kept"),
        journal("warning", 2),
    ),
    _switch(
        "S6 sizes strict",
        "strict mode refuses what is larger, counted in bytes",
        "section 6, U25",
        call("A/x", "put_key", _KEY, "k", gives="kept"),
        call("A/x", "put_key", _KEY + 1, "k", gives="refused"),
        call("A/x", "put_key", _KEY // 2, "é", gives="kept"),
        call("A/x", "put_key", _KEY // 2 + 1, "é", gives="refused"),
        call("A/x", "put_value", _VALUE, gives="kept"),
        call("A/x", "put_value", _VALUE + 1, gives="refused"),
        call("A/x", "put_value_in_transaction", _VALUE + 1, gives="refused"),
        journal("warning", 0),
        toml=_STRICT,
    ),
    _switch(
        "S4 names strict",
        "strict mode refuses odd names, wherever they come from",
        "section 4, U15",
        call(
            "A/x",
            "names",
            ["a.B_0-9", "a b", "ä", "tenant:room", "+1"],
            gives=["a.B_0-9", "refused", "refused", "refused", "refused"],
        ),
        call("A/a b", "touch", fails="E_ADDRESS_INVALID", says="strict"),
        toml=_STRICT,
    ),
    _switch(
        "S4 unique",
        "a unique id works if it is told to: 32 hex digits, to be reached again by its id",
        "section 4, U16",
        call("A/x", "unique", gives=[32, True, True, True]),
        toml="[dev]\nnew_unique_id = true\n",
    ),
]
