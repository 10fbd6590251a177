"""The one table of operations: complete, checked in one place, JSON-safe both ways."""

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from edgeemu.api.operations import OPERATIONS, perform
from edgeemu.config import Config
from edgeemu.emulator import Emulator
from edgeemu.errors import Code, EdgeemuError
from tests.support.emulators import T0_MS, frozen, run_with
from tests.support.projects import write_api_project

MINIMAL: dict[str, dict[str, Any]] = {
    "status": {},
    "call": {"actor": "A/x", "method": "touch"},
    "fetch": {"path": "/"},
    "connect": {"path": "/ws"},
    "evict": {},
    "log": {},
    "reload": {},
    "clock.read": {},
    "clock.freeze": {},
    "clock.resume": {},
    "clock.rate": {"rate": 60},
    "clock.advance": {"duration_ms": 1},
    "clock.set": {"instant_ms": T0_MS + 5},
    "clock.next": {},
    "clock.idle": {},
    "actors.list": {},
    "actors.show": {"actor": "A/x"},
    "actors.names": {},
    "alarms.list": {},
    "alarms.fire": {"actor": "A/x"},
    "alarms.fail": {"actor": "A/x"},
    "alarms.set": {"actor": "A/x", "when_ms": T0_MS + 1_000},
    "alarms.clear": {"actor": "A/x"},
    "alarms.history": {"actor": "A/x"},
    "alarms.why": {"actor": "A/x"},
    "storage.list": {"actor": "A/x"},
    "storage.get": {"actor": "A/x", "key": "seen"},
    "storage.put": {"actor": "A/x", "key": "k", "value": 1},
    "storage.delete": {"actor": "A/x", "key": "k"},
    "storage.sql": {"actor": "A/x", "query": "SELECT 1"},
    "kv.put": {"namespace": "CACHE", "key": "k", "value": "v"},
    "kv.get": {"namespace": "CACHE", "key": "k"},
    "kv.list": {"namespace": "CACHE"},
    "kv.delete": {"namespace": "CACHE", "key": "k"},
    "storage.export": {"actor": "A/x"},
    "storage.import": {"actor": "A/x", "document": {"format": 1, "keys": {}}},
}

BAD = [
    ("clock.advance", {"duration_ms": "5m"}, '`"5m"`', "`duration_ms`"),
    ("clock.advance", {}, "`{}`", "duration_ms"),
    ("clock.advance", {"duration_ms": 1, "until": 2}, "`2`", "`until`"),
    ("clock.advance", {"duration_ms": True}, "`true`", "`duration_ms`"),
    ("clock.advance", {"duration_ms": 10**16}, "`10000000000000000`", "<= 8640000000000000"),
    ("clock.advance", [], "`[]`", "the parameters"),
    ("clock.read", {"x": None}, "`null`", "it takes: nothing"),
    ("alarms.fail", {"actor": "A/x", "how": "loudly"}, '`"loudly"`', "crash-before-commit"),
    ("fetch", {"path": "/", "headers": [["a", 3]]}, "`3`", "`headers.0.1`"),
    ("fetch", {"path": "/", "body": "?"}, '`"?"`', "base64"),
    ("log", {"limit": 0}, "`0`", "`limit`"),
]


@pytest.fixture
def config(tmp_path: Path) -> Config:
    limits = "[limits]\nbody_bytes = 1000\n"
    return write_api_project(tmp_path, f'{limits}[storage.kv.CACHE]\nid = "one"\n')


def asks(emulator: Emulator) -> Callable[..., Any]:
    async def ask(name: str, /, **params: Any) -> Any:
        result = await perform(emulator, name, params, cause="cli", port=8787)
        return json.loads(json.dumps(result, allow_nan=False))

    return ask


def error_of(config: Config, name: str, params: object) -> EdgeemuError:
    async def body(emulator: Emulator) -> EdgeemuError:
        with pytest.raises(EdgeemuError) as raised:
            await perform(emulator, name, params, cause="cli")
        return raised.value

    found: EdgeemuError = run_with(config, body)
    return found


def test_every_operation_gives_json(config: Config) -> None:
    assert set(MINIMAL) == set(OPERATIONS)

    async def body(emulator: Emulator) -> None:
        ask = asks(emulator)
        for name, params in MINIMAL.items():
            await ask("call", actor="A/x", method="touch")
            await ask(name, **params)

    run_with(config, body)


def test_every_operation_has_one_line_of_words_and_strict_parameters() -> None:
    for operation in OPERATIONS.values():
        assert operation.doc and "\n" not in operation.doc
        with pytest.raises(msgspec.ValidationError, match="unknown field"):
            msgspec.convert({**MINIMAL[operation.name], "?": 1}, operation.params)


def test_only_what_runs_or_moves_something_says_so() -> None:
    moving = {name for name in OPERATIONS if OPERATIONS[name].moves_with(MINIMAL[name])}
    moves = {f"clock.{name}" for name in ("advance", "set", "next", "idle")}
    assert moving == {"call", "fetch", "connect", "alarms.fire", *moves}
    fail = OPERATIONS["alarms.fail"]
    assert fail.moves_with({"now": True})
    assert not fail.moves_with({"now": 1})
    assert not fail.moves_with(None)


@pytest.mark.parametrize(("name", "params", "shown", "why"), BAD)
def test_wrong_parameters_are_named(
    name: str, params: object, shown: str, why: str, config: Config
) -> None:
    error = error_of(config, name, params)
    assert error.code is Code.REQUEST_INVALID
    assert shown in error.what
    assert why in error.what + error.why


def test_unknown_operation_lists_those_that_are_there(config: Config) -> None:
    error = error_of(config, "clock.stop", {})
    assert error.code is Code.ROUTE_UNKNOWN
    assert "clock.freeze" in error.why


@pytest.mark.parametrize(
    ("name", "params", "code"),
    [
        ("call", {"actor": "B/x", "method": "touch"}, Code.ACTOR_UNKNOWN),
        ("call", {"actor": "A/x", "method": "_no"}, Code.METHOD_PRIVATE),
        ("call", {"actor": "A/x", "method": "boom"}, Code.ACTOR_FAILED),
        ("call", {"actor": "A/x", "method": "echo", "args": [{"$no": 1}]}, Code.VALUE_INVALID),
        ("storage.put", {"actor": "A/x", "key": "", "value": 1}, Code.KEY_INVALID),
        ("storage.put", {"actor": "A/x", "key": "k", "value": {"$no": 1}}, Code.VALUE_INVALID),
        ("storage.import", {"actor": "A/x", "document": []}, Code.VALUE_INVALID),
        ("alarms.fire", {"actor": "A/x"}, Code.ALARM_NONE),
        ("alarms.fail", {"actor": "A/x", "now": True}, Code.ALARM_NONE),
        ("alarms.fail", {"actor": "A/x", "times": -1}, Code.NUMBER_INVALID),
        ("clock.advance", {"duration_ms": -1}, Code.ADVANCE_NEGATIVE),
        ("clock.rate", {"rate": 0}, Code.RATE_INVALID),
        ("actors.show", {"actor": "A/x"}, Code.INSTANCE_UNKNOWN),
        ("actors.list", {"type": "B"}, Code.ACTOR_UNKNOWN),
    ],
)
def test_wrong_use_has_the_code_of_the_emulator(
    name: str, params: dict[str, Any], code: Code, config: Config
) -> None:
    assert error_of(config, name, params).code is code


def test_failing_now_plans_nothing_without_an_alarm(config: Config) -> None:
    async def body(emulator: Emulator) -> None:
        ask = asks(emulator)
        await ask("call", actor="A/x", method="echo")
        with pytest.raises(EdgeemuError):
            await ask("alarms.fail", actor="A/x", now=True)
        assert (await ask("actors.show", actor="A/x"))["faults"] == []
        await ask("call", actor="A/x", method="touch")
        fired = await ask("alarms.fail", actor="A/x", error="no", now=True)
        assert fired["outcome"] == "failed"
        assert fired["error"]["message"] == "no"

    run_with(config, body)


def test_values_cross_with_their_tags(config: Config) -> None:
    args = [{"$date": 1893456000000}, {"$bytes": "AAE="}, None, [1, {"a": True}]]

    async def body(emulator: Emulator) -> None:
        ask = asks(emulator)
        assert await ask("call", actor="A/x", method="echo", args=args) == args
        await ask("storage.put", actor="A/x", key="k", value=args)
        assert await ask("storage.get", actor="A/x", key="k") == args

    run_with(config, body)


def test_status_tells_what_runs(config: Config) -> None:
    async def body(emulator: Emulator) -> None:
        ask = asks(emulator)
        status = await ask("status")
        assert (status["name"], status["port"], status["seed"]) == ("test", 8787, 1)
        assert (status["now_ms"], status["mode"], status["load_error"]) == (T0_MS, "frozen", None)
        (config.root / "main.py").write_text("def (")
        with pytest.raises(EdgeemuError):
            await ask("reload")
        assert (await ask("status"))["load_error"]["code"] == "E_PROJECT_SYNTAX"

    run_with(config, body)


def test_fetch_goes_through_the_front(config: Config) -> None:
    async def body(emulator: Emulator) -> None:
        ask = asks(emulator)
        body = base64.b64encode(b"\x00\xff").decode()
        sent = {"method": "put", "headers": [["X-A", "1"]], "body": body}
        found = await ask("fetch", path="/p?q=%20", **sent)
        assert found["status"] == 200
        seen = json.loads(base64.b64decode(found["body"]))
        assert seen["url"] == "http://127.0.0.1:8787/p?q=%20"
        assert (seen["method"], seen["body"]) == ("PUT", "00ff")
        assert seen["headers"] == {"x-a": "1"}
        for path, status in (("/boom", 500), ("/bad", 500), ("/long", 500)):
            assert (await ask("fetch", path=path))["status"] == status
        long = base64.b64encode(b"x" * 1_001).decode()
        assert (await ask("fetch", path="/", body=long))["status"] == 413
        assert (await ask("fetch", path="relative"))["status"] == 200

    run_with(config, body)


@pytest.mark.parametrize(
    ("target", "url"),
    [
        ("http://127.0.0.1:8787/p?q=1", "http://127.0.0.1:8787/p?q=1"),
        ("http://localhost/x#part", "http://localhost/x"),
        ("https://localhost", "https://localhost/"),
        ("http://user:secret@localhost:1/x", "http://localhost:1/x"),
        ("/see?at=http://shop/x", "http://127.0.0.1:8787/see?at=http://shop/x"),
    ],
)
def test_fetch_of_a_url(config: Config, target: str, url: str) -> None:
    async def body(emulator: Emulator) -> None:
        found = await asks(emulator)("fetch", path=target)
        assert json.loads(base64.b64decode(found["body"]))["url"] == url

    run_with(config, body)


def test_fetch_tells_of_a_response_that_http_cannot_carry(config: Config) -> None:
    async def body(emulator: Emulator) -> None:
        await asks(emulator)("fetch", path="/bad")
        await asks(emulator)("fetch", path="/long")
        warnings = [entry for entry in emulator.journal() if entry["kind"] == "warning"]
        assert [entry["code"] for entry in warnings] == ["W_RESPONSE_HEADER", "W_RESPONSE_SIZE"]
        assert "x-broken" in warnings[0]["message"]

    run_with(config, body)


def test_log_is_filtered(config: Config) -> None:
    async def body(emulator: Emulator) -> None:
        ask = asks(emulator)
        await ask("call", actor="A/x", method="touch")
        await ask("clock.advance", duration_ms=10)
        await ask("call", actor="A/y", method="touch")
        everything = await ask("log")
        assert {entry["actor"] for entry in await ask("log", actor="A/y")} == {"A/y"}
        assert await ask("log", limit=1) == everything[-1:]
        assert await ask("log", limit=2, oldest_first=True) == everything[:2]
        page = await ask("log", limit=2, oldest_first=True, since_seq=everything[1]["seq"])
        assert page == everything[2:4]
        seq = everything[2]["seq"]
        assert await ask("log", since_seq=seq) == everything[3:]
        late = await ask("log", since_ms=T0_MS + 10)
        assert late and all(entry["now_ms"] >= T0_MS + 10 for entry in late)

    run_with(config, body, frozen())
