"""The ASGI application in process: user requests, one shape of errors, who may come in."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from edgeemu.api.app import Access, App
from edgeemu.api.operations import OPERATIONS
from edgeemu.clock import pause_real_ms
from edgeemu.config import Config
from edgeemu.core.journal import Entry, Kind
from edgeemu.emulator import Emulator
from edgeemu.errors import error_from_json
from edgeemu.stores.port import Batch
from tests.support.emulators import run_with
from tests.support.projects import write_api_project
from tests.support.raw_requests import TOKEN, RawRequest

AUTH = {"authorization": f"Bearer {TOKEN}"}
Body = Callable[[App, httpx.AsyncClient], Awaitable[Any]]


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return write_api_project(tmp_path)


def with_client(config: Config, body: Body, *, host: str = "127.0.0.1") -> Any:
    async def main(emulator: Emulator) -> Any:
        app = App(emulator, Access(TOKEN, host, 8787))
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost:8787") as http:
            return await body(app, http)

    return run_with(config, main)


def check_error(response: httpx.Response, status: int, code: str) -> dict[str, str]:
    """The one shape of an error, on whatever route."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/json"
    assert response.headers["cache-control"] == "no-store"
    body = response.json()
    assert list(body) == ["error"]
    fields: dict[str, str] = body["error"]
    assert set(fields) >= {"code", "what", "why", "fix"}
    assert all(fields.values())
    assert fields["code"] == code
    error = error_from_json(body)
    assert error is not None
    assert error.as_json() == body
    return fields


# --- requests of the project's users -----------------------------------------------------------


def test_front_gets_the_request_as_it_was_sent(config: Config) -> None:
    async def body(_: App, http: httpx.AsyncClient) -> None:
        response = await http.post("/a%2Fb/c?x=1&x=%20", content=b"\x00", headers={"X-Me": "1"})
        assert response.status_code == 200
        seen = response.json()
        assert seen["url"] == "http://localhost:8787/a%2Fb/c?x=1&x=%20"
        assert (seen["method"], seen["body"], seen["headers"]) == ("POST", "00", {"x-me": "1"})

    with_client(config, body)


def test_front_is_asked_whatever_host_or_origin_a_request_has(config: Config) -> None:
    async def body(_: App, http: httpx.AsyncClient) -> None:
        headers = {"host": "shop.example", "origin": "https://evil.example"}
        response = await http.get("/x", headers=headers)
        assert response.json()["url"] == "http://shop.example/x"

    with_client(config, body)


def test_head_has_the_length_and_no_body(config: Config) -> None:
    async def body(_: App, http: httpx.AsyncClient) -> None:
        whole = await http.get("/headers")
        head = await http.head("/headers")
        assert (whole.content, head.content) == (b"four", b"")
        assert whole.headers["content-length"] == head.headers["content-length"] == "4"
        assert whole.headers["x-kept"] == "yes"
        assert "connection" not in whole.headers

    with_client(config, body)


def test_statuses_without_a_body_have_none(config: Config) -> None:
    async def body(_: App, http: httpx.AsyncClient) -> None:
        for status in (204, 304):
            response = await http.get(f"/status?code={status}")
            assert (response.status_code, response.content) == (status, b"")
            assert "content-length" not in response.headers

    with_client(config, body)


def test_errors_of_the_front_are_responses(config: Config) -> None:
    async def body(_: App, http: httpx.AsyncClient) -> None:
        for path in ("/boom", "/bad", "/long", "/status?code=42", "/status"):
            response = await http.get(path)
            assert (response.status_code, response.text) == (500, "Internal Server Error")
        assert (await http.get("/fine")).status_code == 200

    with_client(config, body)


def test_body_is_bounded_declared_or_not(config: Config) -> None:
    async def chunks(count: int) -> AsyncIterator[bytes]:
        for _ in range(count):
            yield b"x" * 250

    async def body(_: App, http: httpx.AsyncClient) -> None:
        assert (await http.post("/", content=b"x" * 1_000)).status_code == 200
        assert (await http.post("/", content=chunks(4))).status_code == 200
        for content in (b"x" * 1_001, chunks(5)):
            response = await http.post("/", content=content)
            assert response.status_code == 413
            assert "1000 bytes" in response.text
            assert response.headers["connection"] == "close"

    with_client(config, body)


def test_bug_in_edgeemu_is_status_500_and_the_server_lives_on(
    config: Config, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a planted bug")

    async def body(app: App, http: httpx.AsyncClient) -> None:
        with monkeypatch.context() as planted:
            planted.setattr(app.emulator, "fetch", fail)
            planted.setattr(app.emulator, "evict", fail)
            assert (await http.get("/")).status_code == 500
            response = await http.post("/_edgeemu/evict", headers=AUTH)
            fields = check_error(response, 500, "E_INTERNAL")
            assert "a planted bug" in fields["what"]
            assert "seed 1" in fields["fix"]
        assert (await http.get("/")).status_code == 200

    with_client(config, body)
    assert [record.levelname for record in caplog.records] == ["ERROR", "ERROR"]


# --- the control API ---------------------------------------------------------------------------


def test_every_operation_is_a_route_with_the_one_error_shape(config: Config) -> None:
    async def body(_: App, http: httpx.AsyncClient) -> None:
        for name in OPERATIONS:
            path = "/_edgeemu/" + name.replace(".", "/")
            wrong = await http.post(path, json={"?": 1}, headers=AUTH)
            check_error(wrong, 400, "E_REQUEST_INVALID")
            check_error(await http.post(path, content=b"{", headers=AUTH), 400, "E_JSON_INVALID")
            check_error(await http.post(path), 401, "E_FORBIDDEN")
            refused = await http.get(path, headers=AUTH)
            check_error(refused, 405, "E_ROUTE_UNKNOWN")
            assert refused.headers["allow"] == "POST"

    with_client(config, body)


def test_results_are_json(config: Config) -> None:
    async def body(_: App, http: httpx.AsyncClient) -> None:
        params = {"actor": "A/x", "method": "echo", "args": [1, "\ud800"]}
        response = await http.post("/_edgeemu/call", content=json.dumps(params), headers=AUTH)
        assert (response.status_code, json.loads(response.content)) == (200, [1, "\ud800"])
        status = await http.post("/_edgeemu/status", headers=AUTH)
        assert status.json()["port"] == 8787

    with_client(config, body)


@pytest.mark.parametrize(
    ("name", "params", "status", "code"),
    [
        ("call", {"actor": "A/x", "method": "boom"}, 422, "E_ACTOR_FAILED"),
        ("call", {"actor": "A/x", "method": "nope"}, 422, "E_METHOD_UNKNOWN"),
        ("call", {"actor": "B/x", "method": "boom"}, 400, "E_ACTOR_UNKNOWN"),
        ("alarms/fire", {"actor": "A/x"}, 400, "E_ALARM_NONE"),
    ],
)
def test_status_follows_the_family_of_the_error(
    name: str, params: dict[str, Any], status: int, code: str, config: Config
) -> None:
    async def body(_: App, http: httpx.AsyncClient) -> None:
        response = await http.post(f"/_edgeemu/{name}", json=params, headers=AUTH)
        fields = check_error(response, status, code)
        if code == "E_ACTOR_FAILED":
            assert fields["message"] == "boom"

    with_client(config, body)


@pytest.mark.parametrize("path", ["", "/", "/nope", "/clock.read", "/clock/read/", "/clock//read"])
def test_unknown_path_is_404(path: str, config: Config) -> None:
    async def body(_: App, http: httpx.AsyncClient) -> None:
        response = await http.post(f"/_edgeemu{path}", headers=AUTH)
        check_error(response, 404, "E_ROUTE_UNKNOWN")

    with_client(config, body)


@pytest.mark.parametrize(
    "content", [b"{", b"\xff", b'{"rate": NaN}', b"[" * 100_000, b"9" * 5_000, b"{} {}"]
)
def test_body_that_is_no_json_is_400(content: bytes, config: Config) -> None:
    async def body(_: App, http: httpx.AsyncClient) -> None:
        response = await http.post("/_edgeemu/clock/rate", content=content, headers=AUTH)
        check_error(response, 400, "E_JSON_INVALID")

    with_client(config, body)


def test_request_to_the_control_api_is_bounded(config: Config) -> None:
    async def body(_: App, http: httpx.AsyncClient) -> None:
        headers = {**AUTH, "content-length": str(10**9)}
        response = await http.post("/_edgeemu/status", content=b"{}", headers=headers)
        check_error(response, 413, "E_REQUEST_INVALID")

    with_client(config, body)


def test_cause_is_one_of_a_few(config: Config) -> None:
    async def body(app: App, http: httpx.AsyncClient) -> None:
        params = {"actor": "A/x", "when_ms": 1_893_456_001_000}
        for given, seen in (("cli", "cli"), (None, "http")):
            cause = {} if given is None else {"edgeemu-cause": given}
            found = await http.post("/_edgeemu/alarms/set", json=params, headers={**AUTH, **cause})
            assert found.json()["set_by"].startswith(seen)
        forged = {**AUTH, "edgeemu-cause": "turn 1"}
        response = await http.post("/_edgeemu/alarms/set", json=params, headers=forged)
        check_error(response, 400, "E_REQUEST_INVALID")

    with_client(config, body)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": ""},
        {"authorization": TOKEN},
        {"authorization": f"Bearer {TOKEN}x"},
        {"authorization": f"bearer {TOKEN}"},
        {"authorization": "Bearer \xff".encode("latin-1")},
    ],
)
def test_without_the_token_nobody_comes_in(headers: dict[str, Any], config: Config) -> None:
    async def body(_: App, http: httpx.AsyncClient) -> None:
        for method, path in (("POST", "status"), ("GET", "log/follow"), ("POST", "nope")):
            response = await http.request(method, f"/_edgeemu/{path}", headers=headers)
            check_error(response, 401, "E_FORBIDDEN")
            assert response.headers["www-authenticate"] == "Bearer"

    with_client(config, body)


@pytest.mark.parametrize(
    ("headers", "bound", "status"),
    [
        ({"host": "127.0.0.1"}, "127.0.0.1", 200),
        ({"host": "LOCALHOST:1"}, "127.0.0.1", 200),
        ({"host": "[::1]:8787"}, "127.0.0.1", 200),
        ({"host": "box.lan:8787"}, "Box.lan", 200),
        ({"host": "192.168.1.5:8787"}, "0.0.0.0", 200),
        ({"host": "192.168.1.5:8787"}, "127.0.0.1", 403),
        ({"host": "evil.example:8787"}, "0.0.0.0", 403),
        ({"host": "localhost.evil.example"}, "127.0.0.1", 403),
        ({"host": "127.0.0.1@evil.example"}, "127.0.0.1", 403),
        ({"host": "evil.example#@127.0.0.1"}, "127.0.0.1", 403),
        ({"host": "localhost/evil.example"}, "127.0.0.1", 403),
        ({"host": "[::1"}, "127.0.0.1", 403),
        ({"host": ""}, "127.0.0.1", 403),
        ({"origin": "http://localhost:3000"}, "127.0.0.1", 200),
        ({"origin": "https://evil.example"}, "127.0.0.1", 403),
        ({"origin": "null"}, "127.0.0.1", 403),
        ({"origin": "file://"}, "127.0.0.1", 403),
        ({"origin": "chrome-extension://localhost"}, "127.0.0.1", 403),
    ],
)
def test_foreign_hosts_and_origins_are_refused(
    headers: dict[str, str], bound: str, status: int, config: Config
) -> None:
    async def body(_: App, http: httpx.AsyncClient) -> None:
        response = await http.post("/_edgeemu/clock/read", headers={**AUTH, **headers})
        if status == 200:
            assert response.status_code == 200, response.text
        else:
            check_error(response, status, "E_FORBIDDEN")

    with_client(config, body, host=bound)


# --- streams and stopping ----------------------------------------------------------------------


def test_followers_get_what_is_there_and_what_comes(config: Config) -> None:
    async def body(app: App, _: httpx.AsyncClient) -> None:
        instance = app.emulator.address("A/x")
        await app.emulator.call(instance, "touch")
        follower = RawRequest(app, "GET", "/_edgeemu/log/follow", "actor=A/x&since_seq=1")
        start = await follower.wait_message()
        assert start["status"] == 200
        assert (b"content-type", b"application/x-ndjson") in start["headers"]
        before = await follower.wait_entries()
        assert before == app.emulator.journal(instance=instance, since_seq=1)
        await app.emulator.call(app.emulator.address("A/other"), "touch")
        await app.emulator.call(instance, "echo")
        (entry,) = await follower.wait_entries()
        assert (entry["kind"], entry["method"]) == ("call", "echo")
        follower.leave()
        assert (await follower.wait_message())["body"] == b""
        await asyncio.wait_for(follower.task, 5)

    with_client(config, body)


@pytest.mark.parametrize("since_seq", [0, 5])
def test_follower_gets_every_page(
    since_seq: int, config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("edgeemu.api.control.JOURNAL_PAGE_MAX", 3)

    async def body(app: App, _: httpx.AsyncClient) -> None:
        for index in range(10):
            await app.emulator.call(app.emulator.address(f"A/{index}"), "touch")
        expected = app.emulator.journal(since_seq=since_seq)
        assert len(expected) > 10
        follower = RawRequest(app, "GET", "/_edgeemu/log/follow", f"since_seq={since_seq}")
        await follower.wait_message()
        found: list[dict[str, Any]] = []
        while len(found) < len(expected):
            page = await follower.wait_entries()
            assert len(page) <= 3
            found += page
        assert found == expected
        follower.leave()
        await asyncio.wait_for(follower.task, 5)

    with_client(config, body)


@pytest.mark.parametrize(("since_seq", "missed"), [(0, 900), (400, 500)])
def test_follower_is_told_of_what_is_gone(since_seq: int, missed: int, tmp_path: Path) -> None:
    config = write_api_project(tmp_path, "[limits]\njournal_entries = 100\n")

    async def body(app: App, _: httpx.AsyncClient) -> None:
        app.emulator._parts.store.apply(Batch(entries=[Entry(Kind.STARTED, 0)] * 1_000))
        follower = RawRequest(app, "GET", "/_edgeemu/log/follow", f"since_seq={since_seq}")
        await follower.wait_message()
        gap, *rest = await follower.wait_entries()
        assert (gap["kind"], gap["missed"], gap["seq"], gap["actor"]) == ("gap", missed, 900, None)
        assert [entry["seq"] for entry in rest] == list(range(901, 1_001))
        follower.leave()
        await asyncio.wait_for(follower.task, 5)

    with_client(config, body)


def test_follower_of_one_actor_is_not_told_of_what_others_did(tmp_path: Path) -> None:
    config = write_api_project(tmp_path, "[limits]\njournal_entries = 100\n")

    async def body(app: App, __: httpx.AsyncClient) -> None:
        instance = app.emulator.address("A/x")
        await app.emulator.call(instance, "echo")
        follower = RawRequest(app, "GET", "/_edgeemu/log/follow", "actor=A/x")
        await follower.wait_message()
        assert await follower.wait_entries()
        other = app.emulator.address("A/other")
        for count in (950, 60):  # Behind the 1,000th, all but 100 leave the journal.
            for _ in range(count):
                app.emulator._shell.record(Entry(Kind.CLOCK, 0, other))
            app.emulator.flush()
            await pause_real_ms(1)  # The follower looks, and finds nothing of its own.
        assert app.emulator.journal()[0]["kind"] == "gap"
        await app.emulator.call(instance, "echo")
        entry = (await follower.wait_entries())[0]
        assert (entry["kind"], entry["method"]) == ("call", "echo")
        follower.leave()
        await asyncio.wait_for(follower.task, 5)

    with_client(config, body)


@pytest.mark.parametrize("query", ["since_seq=x", "since_seq=-1", "actor=B/x", "nope=1"])
def test_following_checks_its_parameters(query: str, config: Config) -> None:
    async def body(_: App, http: httpx.AsyncClient) -> None:
        response = await http.get(f"/_edgeemu/log/follow?{query}", headers=AUTH)
        code = "E_ACTOR_UNKNOWN" if "actor" in query else "E_REQUEST_INVALID"
        check_error(response, 400, code)
        refused = await http.post("/_edgeemu/log/follow", headers=AUTH)
        check_error(refused, 405, "E_ROUTE_UNKNOWN")

    with_client(config, body)


def test_client_that_leaves_in_the_middle_of_its_body_gets_nothing(config: Config) -> None:
    async def body(app: App, _: httpx.AsyncClient) -> None:
        request = RawRequest(app, "POST", "/", whole=False)
        request.leave()
        await asyncio.wait_for(request.task, 5)
        assert request.messages.empty()

    with_client(config, body)


def test_stopping_answers_what_waits_and_ends_streams(config: Config) -> None:
    async def body(app: App, _: httpx.AsyncClient) -> None:
        user = RawRequest(app, "GET", "/nap")
        follower = RawRequest(app, "GET", "/_edgeemu/log/follow")
        assert (await follower.wait_message())["status"] == 200
        await app.emulator.run_present()
        await pause_real_ms(1)
        app.stop()
        assert (await user.wait_message())["status"] == 503
        while (await follower.wait_message()).get("more_body"):
            pass
        await asyncio.wait_for(asyncio.gather(user.task, follower.task), 5)

    with_client(config, body)


def test_stopping_tells_a_command_with_an_error_of_the_one_shape(config: Config) -> None:
    async def body(app: App, _: httpx.AsyncClient) -> None:
        params = {"actor": "A/x", "method": "nap", "args": [1_000]}
        calling = RawRequest(app, "POST", "/_edgeemu/call", body=json.dumps(params).encode())
        await app.emulator.run_present()
        await pause_real_ms(1)
        app.stop()
        assert (await calling.wait_message())["status"] == 503
        error = error_from_json(json.loads((await calling.wait_message())["body"]))
        assert error is not None and error.code.text == "E_SERVER_UNREACHABLE"
        await asyncio.wait_for(calling.task, 5)

    with_client(config, body)
