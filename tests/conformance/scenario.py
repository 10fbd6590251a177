"""What a scenario is: an actor source, steps, and what each step must give. Data, no decisions.

A scenario names its actors by file stem below `actors/`, so a second language adds a file and no
scenario. Names of options and of parts are the platform's (`startAfter`). Values in steps are JSON
with the codec's tags. Durations are milliseconds or text such as `60s`; instants are milliseconds
after the start.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

TELNYX_T0_MS: Final = 1_700_000_000_000
"""Where the clock of the cases C01 to C61 stands at first."""

LOCAL_T0_MS: Final = 1_893_456_000_000
"""Where the clock of the local-development cases stands at first: 2030-01-01T00:00:00Z."""

ANY: Final = "<any>"
"""Stands for a result that a step does not look at."""

NOTHING: Final = "<nothing>"
"""Stands for the result of a method that returns none, which each language has its own word for."""


@dataclass(frozen=True)
class Step:
    """One thing that is done, and what it must give."""

    op: str
    params: Mapping[str, Any] = field(default_factory=dict)
    gives: Any = ANY
    fails: str | None = None
    says: str = ""


@dataclass(frozen=True)
class Scenario:
    """One behaviour case.

    Attributes:
        case: its number and, after a blank, what tells it from others of the same number.
        title: what it shows.
        source: where the behaviour is written down.
        actors: file stem of the actor source.
        steps: in order.
        types: actor types, each bound under its own name.
        start_ms, lateness_ms: of the clock.
        toml: further configuration.
        kept_only: why it makes no sense with evictions between steps; empty if it does.
        functions: further functions: name, file stem of its source, and the types it declares.
        disk_only: whether it restarts, and so needs a state folder.
        only: the one language that has what it looks at; empty for all.
    """

    case: str
    title: str
    source: str
    actors: str
    steps: tuple[Step, ...]
    types: tuple[str, ...] = ("A",)
    start_ms: int = TELNYX_T0_MS
    lateness_ms: int = 1
    toml: str = ""
    kept_only: str = ""
    disk_only: bool = False
    functions: tuple[tuple[str, str, tuple[str, ...]], ...] = ()
    only: str = ""


# --- steps -------------------------------------------------------------------------------------


def call(
    actor: str, method: str, *args: Any, gives: Any = ANY, fails: str | None = None, says: str = ""
) -> Step:
    """Call a method and wait for the answer."""
    params = {"actor": actor, "method": method, "args": list(args)}
    return Step("call", params, gives, fails, says)


def start(label: str, actor: str, method: str, *args: Any) -> Step:
    """Call a method and do not wait; `ended` looks at the answer."""
    params = {"label": label, "actor": actor, "method": method, "args": list(args)}
    return Step("start", params)


def start_fetch(label: str, path: str) -> Step:
    """Send a request to the function in front and do not wait."""
    return Step("start_fetch", {"label": label, "path": path})


def waits(label: str) -> Step:
    """What was started has not ended."""
    return Step("waits", {"label": label})


def ended(label: str, *, gives: Any = ANY, fails: str | None = None, says: str = "") -> Step:
    """What was started has ended so."""
    return Step("ended", {"label": label}, gives, fails, says)


def fetch(path: str, *, status: int, body: str | None = None, function: str | None = None) -> Step:
    """Send a request to the function in front, or to a further one."""
    expected = {"status": status} if body is None else {"status": status, "body": body}
    return Step("fetch", {"path": path, "function": function}, expected)


def advance(duration: str, **expected: int) -> Step:
    """Advance; `expected` may name `deliveries`, `succeeded`, `failed`, `gave_up`, `at` (ms)."""
    return Step("advance", {"duration": duration}, expected)


def jump(at_ms: int, **expected: int) -> Step:
    """Set the clock, in ms after the start."""
    return Step("jump", {"at_ms": at_ms}, expected)


def idle(*, fails: str | None = None, says: str = "", **expected: int) -> Step:
    """Advance until nothing is due."""
    return Step("idle", {}, expected, fails, says)


def storms(duration: str, says: str) -> Step:
    """Advance, and be stopped by the guard against storms."""
    return Step("advance", {"duration": duration}, fails="E_ALARM_STORM", says=says)


def alarm(actor: str, at_ms: int | None, **expected: Any) -> Step:
    """The pending alarm as the emulator shows it; `at_ms` is after the start."""
    return Step("alarm", {"actor": actor, "at_ms": at_ms}, expected)


def alarms(*expected: tuple[str, int]) -> Step:
    """All pending alarms, soonest first: instance and ms after the start."""
    return Step("alarms", {}, [list(item) for item in expected])


def fire(actor: str, *, fails: str | None = None, **expected: Any) -> Step:
    """Deliver the pending alarm now."""
    return Step("fire", {"actor": actor}, expected, fails)


def fail(actor: str, times: int, how: str = "throw") -> Step:
    """Make the next deliveries fail."""
    return Step("fail", {"actor": actor, "times": times, "how": how})


def set_alarm(actor: str, at_ms: int) -> Step:
    """Set the alarm from outside, in ms after the start."""
    return Step("set_alarm", {"actor": actor, "at_ms": at_ms})


def keys(actor: str, expected: Mapping[str, Any]) -> Step:
    """All keys of an instance, seen from outside."""
    return Step("keys", {"actor": actor}, dict(expected))


def put(actor: str, key: str, value: Any) -> Step:
    """Write a key from outside."""
    return Step("put", {"actor": actor, "key": key, "value": value})


def sql(actor: str, query: str, *params: Any, gives: Any = ANY, fails: str | None = None) -> Step:
    """Run SQL from outside."""
    return Step("sql", {"actor": actor, "query": query, "params": list(params)}, gives, fails)


def evict(actor: str, *, crash: bool = False, gives: Any = ANY) -> Step:
    """Drop an instance from memory."""
    return Step("evict", {"actor": actor, "crash": crash}, gives)


def state(actor: str, expected: str) -> Step:
    """Where an instance is in its life."""
    return Step("state", {"actor": actor}, expected)


def instances(*expected: str) -> Step:
    """All instances that there are, in order."""
    return Step("instances", {}, list(expected))


def reload(actors: str | None = None) -> Step:
    """Load the code anew, from another source if one is named."""
    return Step("reload", {"actors": actors})


def restart(at_ms: int) -> Step:
    """Stop the emulator, and start it again with the clock `at_ms` after the start."""
    return Step("restart", {"at_ms": at_ms})


def journal(kind: str, count: int, actor: str | None = None) -> Step:
    """How many entries of a kind the journal has."""
    return Step("journal", {"kind": kind, "actor": actor}, count)


# --- WebSockets --------------------------------------------------------------------------------


def connect(
    label: str, path: str, *, protocols: Sequence[str] = (), fails: str | None = None
) -> Step:
    """Open a WebSocket through the function in front."""
    params = {"label": label, "path": path, "protocols": list(protocols)}
    return Step("connect", params, fails=fails)


def says(label: str, *data: Any) -> Step:
    """A client sends messages, one after the other at once; bytes carry a tag."""
    return Step("says", {"label": label, "data": list(data)})


def hangs_up(label: str, code: int | None = 1000, reason: str = "") -> Step:
    """A client closes its WebSocket; without a word for 1006."""
    return Step("hangs_up", {"label": label, "code": code, "reason": reason})


def receives(label: str, *expected: Any) -> Step:
    """What has arrived at a client since it was last asked."""
    return Step("receives", {"label": label}, list(expected))


def closed(label: str, code: int | None, reason: str = "") -> Step:
    """How a WebSocket was closed, seen from its client; None while it is open."""
    return Step("closed", {"label": label}, None if code is None else [code, reason])
