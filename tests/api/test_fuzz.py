"""The control API under a rain of requests: each one is answered as it should, and all goes on.

Requests come by the dozen to one emulator, in process: every operation with parameters of right and
wrong kinds, bodies that are no JSON, paths, methods and headers of all sorts, clients that leave.
`EDGEEMU_SIMULATIONS=5000` searches for longer.
"""

import asyncio
import json
import os
import tempfile
from collections.abc import MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from edgeemu.api import schemas
from edgeemu.api.app import Access, App
from edgeemu.api.operations import OPERATIONS
from edgeemu.config import Config
from edgeemu.emulator import Emulator
from edgeemu.errors import ExitStatus, error_from_json
from edgeemu.limits import CONTROL_BODY_BYTES_MAX
from tests.support.emulators import frozen, run_with, write_project

EXAMPLES = int(os.environ.get("EDGEEMU_SIMULATIONS", "120"))
TOKEN = "a-token"
NAP_MS = 60_000
ROUNDS_MAX = 50
"""Moves of time after which nothing can wait for time any more."""

SOURCE = """
class A(StatefulActor):
    async def touch(self):
        await self.ctx.storage.put("seen", self.ctx.now_ms())
        await self.ctx.storage.set_alarm(self.ctx.now_ms() + 60_000)
    async def alarm(self, info):
        await self.ctx.storage.put("fired", info.retry_count)
    async def echo(self, *values):
        return list(values)
    async def boom(self, *values):
        raise ValueError(*values)
    async def nap(self, *_):
        await asyncio.sleep(60)
    async def rows(self):
        self.ctx.storage.sql.exec("CREATE TABLE IF NOT EXISTS t(x); INSERT INTO t VALUES (1)")
    async def web_socket(self, ws, request):
        @ws.on("message")
        async def said(data):
            if data == "nap":
                await asyncio.sleep(60)
            if data == "boom":
                raise ValueError(data)
            if data == "bye":
                ws.close(4000, "bye")
            self.ctx.broadcast(data)
    def _private(self): ...
async def fetch(request, env):
    if request.path == "/boom":
        raise ValueError("boom")
    if request.path == "/ws":
        return await env.A.id_from_name("x").fetch(request)
    return Response(await request.bytes(), headers={"x-was": request.url})
"""
TOML = """
[storage.kv.CACHE]
id = "c"
"""


# --- what is asked -----------------------------------------------------------------------------

HALF = "\ud800"
texts = (
    st.sampled_from(["", "k", "seen", "ä/\0 ", HALF, "_edgeemu_x"])
    | st.sampled_from([2_049, 20_000]).map(lambda length: "x" * length)
    | st.text(max_size=8)
)
numbers = st.sampled_from(
    [0, -1, 1, 10**3, 2**53, -(2**53), 2**63, 10**30, -(10**400), 0.5, -0.0, 1e308, 8.64e15]
)
TAGS = ["$date", "$bytes", "$set", "$map", "$bigint", "$number", "$undefined", "$regexp", "$", "$$"]


def nested(depth: int) -> Any:
    value: Any = []
    for level in range(depth):
        value = {"k": value} if level % 2 else [value]
    return value


scalars = st.none() | st.booleans() | numbers | texts
tagged = st.dictionaries(st.sampled_from(TAGS), scalars | st.lists(scalars, max_size=2), max_size=2)
deep = st.sampled_from([30, 300, 600, 900]).map(nested)
values = st.recursive(
    scalars | tagged,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
anything = values | deep

actors = st.sampled_from(["A/x", "A/y", "x"]) | st.sampled_from(
    ["A/x", "A/", "/x", "B/x", "A/" + HALF, "A/a/b", "A/../\0"]
)
methods = st.sampled_from(["touch", "echo", "boom", "nap", "rows"]) | st.sampled_from(
    ["touch", "_private", "alarm", "ctx", "constructor", "nope"]
)
instants = st.sampled_from(
    [0, 1, -1, 60_000, 1_893_456_000_000, 1_893_456_000_000 + NAP_MS, 8_640_000_000_000_000]
)
queries = st.sampled_from(
    [
        "SELECT 1",
        "CREATE TABLE t(x)",
        "INSERT INTO t VALUES (?)",
        "SELECT * FROM t; SELECT ?",
        "BEGIN",
        "SELECT x'00' AS b, 1e999 AS i, NULL AS n",
        "ATTACH 'x' AS y",
        "",
        ";",
        "'",
    ]
)
documents = st.fixed_dictionaries(
    {
        "format": st.sampled_from([1, 1, 1, 1, "1"]),
        "keys": st.dictionaries(texts, values, max_size=2) | values,
        "alarm_due_at_ms": st.none() | instants | scalars,
    },
    optional={"more": anything},
)
headers = st.sampled_from(["x-a", "host", "X-Ä", "a b", "", "content-length", "x\r\ny"])

# Right kinds by the name of the parameter; a new parameter must be given one here.
RIGHT: dict[str, st.SearchStrategy[Any]] = {
    "actor": actors,
    "args": st.lists(values, max_size=3),
    "body": st.sampled_from(["", "AAAA", "A", "ä"]),
    "crash": st.booleans(),
    "document": documents,
    "duration_ms": instants,
    "ended": st.booleans(),
    "error": texts,
    "expiration_ttl": numbers | st.none(),
    "function": st.sampled_from(["test", "nope", ""]) | st.none(),
    "headers": st.lists(st.tuples(headers, texts), max_size=3),
    "how": st.sampled_from(["throw", "timeout", "crash-before-commit", "crash-after-commit"]),
    "instant_ms": instants,
    "key": texts,
    "limit": st.integers(1, 10_000),
    "method": methods,
    "namespace": st.sampled_from(["CACHE", "NOPE", ""]),
    "now": st.booleans(),
    "oldest_first": st.booleans(),
    "params": st.lists(values, max_size=2),
    "path": st.sampled_from(
        ["/", "/boom", "/ws", "/ws", "//", "http://[::1", "http://x/y?z", "\0", "?", "x y"]
    ),
    "prefix": texts,
    "protocols": st.lists(st.sampled_from(["chat", "a, b", "", HALF]), max_size=2),
    "query": queries,
    "rate": numbers,
    "send": st.lists(st.sampled_from(["boom", "nap", "bye"]) | texts, max_size=4),
    "since_ms": instants | st.none(),
    "since_seq": st.integers(0, 2**53),
    "times": numbers,
    "type": st.sampled_from(["A", "B", ""]) | st.none(),
    "value": texts | anything,
    "when_ms": instants,
}


@dataclass(frozen=True)
class Asked:
    """One request, and whether its client goes away at once."""

    path: str
    body: bytes
    method: str = "POST"
    headers: tuple[tuple[bytes, bytes], ...] = ()
    query: bytes = b""
    leaves: bool = False


seldom = st.sampled_from([False] * 11 + [True])


@st.composite
def right_requests(draw: st.DrawFn) -> Asked:
    """An operation with its own parameters, most of them of the right kinds."""
    name = draw(st.sampled_from(sorted(OPERATIONS)))
    params = {}
    for field in msgspec.structs.fields(OPERATIONS[name].params):
        if field.required or draw(st.booleans()):
            params[field.name] = draw(anything if draw(seldom) else RIGHT[field.name])
    if draw(seldom):
        params[draw(texts)] = draw(values)
    return Asked(name.replace(".", "/"), json.dumps(params).encode(), leaves=draw(seldom))


bodies = (
    anything.map(lambda value: json.dumps(value).encode())
    | st.binary(max_size=30)
    | st.sampled_from([b"[", b'{"actor":', b"9"]).map(lambda part: part * 20_000)
    | st.sampled_from([b"NaN", b'"\\ud800"', b"{} {}"])
)
paths = (
    st.sampled_from(sorted(OPERATIONS)).map(lambda name: name.replace(".", "/"))
    | st.sampled_from(
        ["", "/", "clock", "clock.read", "CALL", "call/", "log/follow", "../x", "%2e"]
    )
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
)
some_headers = st.sampled_from(
    [
        (b"host", b"evil.example"),
        (b"host", b""),
        (b"origin", b"https://evil.example"),
        (b"origin", b"\xff"),
        (b"authorization", b"Bearer x"),
        (b"authorization", b"Bearer " + TOKEN.encode()),
        (b"edgeemu-cause", b"turn 1"),
        (b"edgeemu-cause", b"inspector"),
        (b"content-length", b"9" * 30),
        (b"content-length", b"-1"),
        (b"content-length", str(CONTROL_BODY_BYTES_MAX + 1).encode()),
    ]
)
wrong_requests = st.builds(
    Asked,
    path=paths,
    body=bodies,
    method=st.sampled_from(["POST", "POST", "POST", "GET", "PUT", "HEAD", "OPTIONS", "X"]),
    headers=st.lists(some_headers, max_size=2).map(tuple),
    query=st.sampled_from([b"", b"actor=A/x", b"since_seq=-1", b"\xff=%ff", b"actor=A/%ff&x=1"]),
    leaves=seldom,
)


# --- asking ------------------------------------------------------------------------------------


class Answer:
    """The messages of one response."""

    def __init__(self) -> None:
        self.messages: list[MutableMapping[str, Any]] = []

    async def take(self, message: MutableMapping[str, Any]) -> None:
        self.messages.append(message)

    @property
    def status(self) -> int:
        status: int = self.messages[0]["status"]
        return status

    @property
    def body(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.messages)


async def ask(app: App, asked: Asked) -> Answer:
    """Ask as a server would; who sends no headers of a kind gets those of a good client."""
    given = {name for name, _ in asked.headers}
    usual = ((b"host", b"localhost"), (b"authorization", b"Bearer " + TOKEN.encode()))
    scope = {
        "type": "http",
        "method": asked.method,
        "scheme": "http",
        "path": "/_edgeemu/" + asked.path,
        "raw_path": b"/",
        "query_string": asked.query,
        "headers": [*asked.headers, *(pair for pair in usual if pair[0] not in given)],
    }
    news = iter([{"type": "http.request", "body": asked.body}])

    async def receive() -> MutableMapping[str, Any]:
        message = next(news, None)
        if message is None and not (asked.leaves or asked.path == "log/follow"):
            await asyncio.Event().wait()
        return message or {"type": "http.disconnect"}

    answer = Answer()
    await app(scope, receive, answer.take)
    return answer


FAMILIES = {
    ExitStatus.USAGE: {400, 401, 403, 404, 405, 413},
    ExitStatus.ACTOR_FAILED: {422},
}


def check(asked: Asked, answer: Answer) -> None:
    """A result, or an error of the one shape with a status that its code may have."""
    if not answer.messages:
        assert asked.leaves, "no answer"
        return
    if asked.method == "HEAD":
        assert (answer.status >= 400, answer.body) == (True, b"")
    elif asked.path == "log/follow" and answer.status == 200:
        for line in answer.body.splitlines():
            assert "seq" in json.loads(line)
    elif answer.status == 200:
        json.loads(answer.body)
    else:
        error = error_from_json(json.loads(answer.body))
        assert error is not None
        assert all((error.what, error.why, error.fix))
        assert answer.status in FAMILIES.get(error.code.exit_status, set()), answer.body


async def rain(emulator: Emulator, requests: list[Asked]) -> None:
    """Ask all, each when nothing goes on without time; then move time until all have an answer."""
    app = App(emulator, Access(TOKEN, "127.0.0.1", 8787))
    tasks = []
    for asked in requests:
        tasks.append(asyncio.ensure_future(ask(app, asked)))
        await emulator.run_present()
        await asyncio.wait(tasks[-1:], timeout=0)
    for _ in range(ROUNDS_MAX):
        await ask(app, Asked("clock/advance", b'{"duration_ms": %d}' % NAP_MS))
        if (await asyncio.wait(tasks, timeout=0))[1] == set():
            break
    for asked, task in zip(requests, tasks, strict=True):
        assert task.done(), f"{asked} has no answer"
        check(asked, task.result())
    params = {"actor": "A/after", "method": "echo", "args": ["alive"]}
    answer = await ask(app, Asked("call", json.dumps(params).encode()))
    assert (answer.status, json.loads(answer.body)) == (200, ["alive"])


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Config:
    return write_project(tmp_path_factory.mktemp("fuzz"), SOURCE, toml=TOML)


def test_each_parameter_has_right_values() -> None:
    named = {
        field.name
        for operation in OPERATIONS.values()
        for field in msgspec.structs.fields(operation.params)
    }
    assert set(RIGHT) == named | {field.name for field in msgspec.structs.fields(schemas.Follow)}


@pytest.mark.slow
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    requests=st.lists(right_requests() | right_requests() | wrong_requests, min_size=5, max_size=25)
)
@example(requests=[Asked("status", b'{"\\ud800": 1}')])
def test_whatever_is_asked_is_answered(config: Config, requests: list[Asked]) -> None:
    run_with(config, lambda emulator: rain(emulator, requests), frozen())


@pytest.mark.slow
@settings(max_examples=EXAMPLES // 6, deadline=None, suppress_health_check=list(HealthCheck))
@given(requests=st.lists(right_requests(), min_size=5, max_size=25))
def test_whatever_is_asked_is_answered_on_disk(config: Config, requests: list[Asked]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        run_with(config, lambda emulator: rain(emulator, requests), frozen(Path(folder)))
