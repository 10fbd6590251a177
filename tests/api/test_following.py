"""`POST connect/follow`: a WebSocket that stays open, over HTTP.

Goal: whatever comes in, and however slowly it is read, the answer has the one shape and a bound.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from edgeemu.api.app import Access, App
from edgeemu.clock import pause_real_ms
from edgeemu.emulator import Emulator
from tests.support.emulators import run_with
from tests.support.projects import write_api_project
from tests.support.raw_requests import TOKEN, RawRequest

UNSENT_BYTES_MAX = 10_000


def with_app(folder: Path, body: Callable[[App], Awaitable[Any]]) -> Any:
    async def main(emulator: Emulator) -> Any:
        return await body(App(emulator, Access(TOKEN, "127.0.0.1", 8787)))

    return run_with(write_api_project(folder), main)


def follow(app: App, params: Any, **options: Any) -> RawRequest:
    body = params if isinstance(params, bytes) else json.dumps(params).encode()
    return RawRequest(app, "POST", "/_edgeemu/connect/follow", body=body, **options)


async def shout(app: App, text: str) -> int:
    """What the actor sends to everyone at once; to how many."""
    ended = await app.emulator.call(app.emulator.address("A/x"), "shout_to_all", [text])
    assert isinstance(ended, int)
    return ended


def test_follower_hears_what_comes_until_it_leaves(tmp_path: Path) -> None:
    async def body(app: App) -> None:
        follower = follow(app, {"path": "/ws", "send": ["one"]})
        assert (await follower.wait_message())["status"] == 200
        assert [entry["data"] for entry in await follower.wait_entries()] == ["one"]
        assert await shout(app, "two") == 1
        (entry,) = await follower.wait_entries()
        assert entry == {"at_ms": app.emulator.clock.read()["now_ms"], "data": "two"}
        follower.leave()
        assert await follower.wait_rest() == []
        assert await shout(app, "three") == 0

    with_app(tmp_path, body)


def test_follower_that_reads_too_slowly_is_cut_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("edgeemu.emulator.sockets.SOCKET_UNSENT_BYTES_MAX", UNSENT_BYTES_MAX)

    async def body(app: App) -> None:
        slow = follow(app, {"path": "/ws"}, unread_max=1)
        quick = follow(app, {"path": "/ws"})
        await app.emulator.run_present()
        sent = 0
        while await shout(app, "x" * 1_000) == 2:
            sent += 1
            assert sent <= 100, "nobody is cut off"
            await pause_real_ms(1)  # The slow one takes its first message, and then no more.
        heard = await slow.wait_rest()
        bodies = [entry for entry in heard if "data" in entry]
        assert heard[-1]["closed"] == {"code": 1006, "reason": ""}
        assert UNSENT_BYTES_MAX <= sum(len(entry["data"]) for entry in bodies) <= sent * 1_000
        assert await shout(app, "still here") == 1
        quick.leave()
        told = [entry for entry in await quick.wait_rest() if "data" in entry]
        assert told[-1]["data"] == "still here"
        codes = [entry.get("code") for entry in app.emulator.journal()]
        assert codes.count("W_SOCKET_SLOW") == 1

    with_app(tmp_path, body)


def test_stopping_ends_what_follows(tmp_path: Path) -> None:
    async def body(app: App) -> None:
        follower = follow(app, {"path": "/ws", "send": ["one"]})
        await follower.wait_message()
        await follower.wait_entries()
        app.stop()
        assert await follower.wait_rest() == []

    with_app(tmp_path, body)


@pytest.mark.parametrize(
    ("params", "code"),
    [
        (b"", "E_REQUEST_INVALID"),
        (b"{", "E_JSON_INVALID"),
        (b"\xff\x00", "E_JSON_INVALID"),
        (b"[" * 100_000, "E_JSON_INVALID"),
        (b'{"path": NaN}', "E_JSON_INVALID"),
        (b'{"path": "\\ud800"}', "E_SOCKET_REFUSED"),
        ([], "E_REQUEST_INVALID"),
        (None, "E_REQUEST_INVALID"),
        ("/ws", "E_REQUEST_INVALID"),
        ({"path": 1}, "E_REQUEST_INVALID"),
        ({"path": "no path"}, "E_SOCKET_REFUSED"),
        ({"path": "http://[::1/ws"}, "E_REQUEST_INVALID"),
        ({"path": "/ws", "nope": 1}, "E_REQUEST_INVALID"),
        ({"path": "/ws", "send": "one"}, "E_REQUEST_INVALID"),
        ({"path": "/ws", "send": [1]}, "E_REQUEST_INVALID"),
        ({"path": "/ws", "send": ["\ud800"]}, "E_REQUEST_INVALID"),
        ({"path": "/ws", "headers": {"x": "y"}}, "E_REQUEST_INVALID"),
        ({"path": "/ws", "headers": [["x"]]}, "E_REQUEST_INVALID"),
        ({"path": "/ws", "protocols": "chat"}, "E_REQUEST_INVALID"),
        ({"path": "/ws", "function": 1}, "E_REQUEST_INVALID"),
        ({"path": "/ws", "function": "nobody"}, "E_FUNCTION_UNKNOWN"),
        ({"path": "/closed"}, "E_SOCKET_REFUSED"),
        ({"path": "/boom"}, "E_SOCKET_REFUSED"),
    ],
)
def test_hostile_body_is_an_error_of_the_one_shape(params: Any, code: str, tmp_path: Path) -> None:
    async def body(app: App) -> None:
        asked = follow(app, params)
        start = await asked.wait_message()
        assert 400 <= start["status"] < 500
        error = json.loads((await asked.wait_message())["body"])["error"]
        assert error["code"] == code, error
        assert all(error[part] for part in ("what", "why", "fix"))
        await asyncio.wait_for(asked.task, 5)

    with_app(tmp_path, body)


@pytest.mark.parametrize(
    "more",
    [
        {"headers": [["x y", "z"]]},
        {"headers": [["x", "a\r\nb: c"]]},
        {"headers": [["x", "\ud800"]]},
        {"protocols": ["a b"]},
        {"protocols": ["é\n"]},
        {"protocols": ["\ud800"]},
    ],
)
def test_what_http_cannot_carry_is_no_bug(more: dict[str, Any], tmp_path: Path) -> None:
    async def body(app: App) -> None:
        asked = follow(app, {"path": "/ws", **more})
        assert (await asked.wait_message())["status"] in (200, 400, 422)
        asked.leave()
        await asked.wait_rest()

    with_app(tmp_path, body)


def test_nobody_follows_without_the_token_or_by_another_method(tmp_path: Path) -> None:
    async def body(app: App) -> None:
        for asked, status in (
            (follow(app, {"path": "/ws"}, token=False), 401),
            (follow(app, b"{", token=False), 401),
            (RawRequest(app, "GET", "/_edgeemu/connect/follow"), 405),
        ):
            assert (await asked.wait_message())["status"] == status
            await asyncio.wait_for(asked.task, 5)
        assert [entry for entry in app.emulator.journal() if entry["kind"] == "front"] == []

    with_app(tmp_path, body)
