"""The `ws` of an actor in Python, and clients that do what no scenario can say (section 11)."""

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from edgeemu.emulator import Emulator, PlainRequest
from edgeemu.engines.port import Upgrade
from edgeemu.errors import EdgeemuError
from tests.support.emulators import inst, run_with, settle, write_project

FRONT = """
async def fetch(request, env):
    return await env.A.id_from_name("x").fetch(request)
"""


def ask(path: str = "/") -> PlainRequest:
    return PlainRequest("GET", f"http://localhost{path}", (), b"")


def play(folder: Path, source: str, body: Callable[[Emulator], Coroutine[Any, Any, Any]]) -> Any:
    return run_with(write_project(folder, source + FRONT), body)


def warnings(emulator: Emulator, code: str) -> list[dict[str, Any]]:
    return [entry for entry in emulator.journal() if entry.get("code") == code]


class SlowPeer:
    """A client that never reads."""

    def __init__(self) -> None:
        self.unread = 0
        self.ended: list[str] = []

    def deliver(self, data: str | bytes) -> None:
        self.unread += len(data)

    def finish(self, code: int | None, reason: str) -> None:
        self.ended.append("closed")

    def sever(self) -> None:
        self.ended.append("severed")

    def unsent_bytes(self) -> int:
        return self.unread


LISTENERS = """
class A(StatefulActor):
    async def web_socket(self, ws, request):
        self.ws = ws
        ws.on("message", self.first)
        ws.on("message", lambda: ws.send("none"))

        @ws.on("message")
        async def third(data, is_binary):
            await asyncio.sleep(0)
            ws.send(f"{data!r} {is_binary}")

        @ws.on("close")
        def left():
            self.left = True

    def first(self, data):
        self.ws.send(data)

    async def late(self):
        self.ws.on("message", print)

    async def try_(self, what):
        try:
            return eval(what, {"ws": self.ws, "ctx": self.ctx})
        except Exception as error:
            return f"{type(error).__name__}: {error}"

    async def has_left(self):
        return self.left
"""


def test_listeners_run_in_order_with_what_they_take(tmp_path: Path) -> None:
    async def body(emulator: Emulator) -> None:
        client = await emulator.connect(ask())
        client.send("a")
        await settle(emulator)
        assert client.received == ["a", "none", "'a' False"]
        client.close()
        await settle(emulator)
        assert await emulator.call(inst("A/x"), "has_left")

    play(tmp_path, LISTENERS, body)


@pytest.mark.parametrize(
    ("what", "says"),
    [
        ("ws.on('message', print)", "ActorError: listeners are registered before web_socket"),
        ("ws.on('open', print)", "ValueError: a socket has the events message, close and error"),
        ("ws.send(5)", "TypeError: a message is str or bytes, not int; for JSON send"),
        ("ws.send('\\ud800')", "TypeError: a text frame cannot hold a lone surrogate"),
        ("ctx.broadcast({})", "TypeError: a message is str or bytes, not dict"),
        ("ws.close(1006)", "TypeError: a close code is 1000 to 1003, 1007 to 1014 or 3000"),
        ("ws.close(reason='x')", "ValueError: a reason needs a code"),
        ("ws.accept()", "AttributeError: a socket has no 'accept'"),
        ("ws.bufferedAmount", "AttributeError: a socket has no 'bufferedAmount'; did you mean"),
    ],
)
def test_what_cannot_be_done(tmp_path: Path, what: str, says: str) -> None:
    async def body(emulator: Emulator) -> None:
        await emulator.connect(ask())
        await settle(emulator)
        assert str(await emulator.call(inst("A/x"), "try_", [what])).startswith(says)

    play(tmp_path, LISTENERS, body)


def test_listener_that_wants_more_than_there_is(tmp_path: Path) -> None:
    source = """
    class A(StatefulActor):
        async def web_socket(self, ws, request):
            ws.on("close", lambda code, reason: None)
    """

    async def body(emulator: Emulator) -> None:
        client = await emulator.connect(ask())
        await settle(emulator)
        assert client.closed == (1011, "")
        (failed,) = [entry for entry in emulator.journal() if entry.get("error")]
        assert "a listener for close takes at most 1 arguments" in failed["error"]["message"]

    from textwrap import dedent

    play(tmp_path, dedent(source), body)


@pytest.mark.parametrize("data", ["b'ab'", "bytearray(b'ab')", "memoryview(b'xabx')[1:3]"])
def test_bytes_of_every_kind_are_a_binary_frame(tmp_path: Path, data: str) -> None:
    async def body(emulator: Emulator) -> None:
        client = await emulator.connect(ask())
        await settle(emulator)
        await emulator.call(inst("A/x"), "try_", [f"ws.send({data})"])
        assert await emulator.call(inst("A/x"), "try_", [f"ctx.broadcast({data})"]) == 1
        await settle(emulator)
        assert client.received == [b"ab", b"ab"]

    play(tmp_path, LISTENERS, body)


def test_send_on_a_closed_socket_goes_nowhere_with_a_warning(tmp_path: Path) -> None:
    async def body(emulator: Emulator) -> None:
        client = await emulator.connect(ask())
        await settle(emulator)
        assert await emulator.call(inst("A/x"), "try_", ["ws.close()"]) is None
        assert await emulator.call(inst("A/x"), "try_", ["ws.send('x')"]) is None
        assert await emulator.call(inst("A/x"), "try_", ["ctx.count()"]) == 0
        assert (client.received, client.closed) == ([], (1005, ""))
        (warning,) = warnings(emulator, "W_SOCKET_CLOSED")
        assert warning["actor"] == "A/x"

    play(tmp_path, LISTENERS, body)


def test_both_sides_close_at_once(tmp_path: Path) -> None:
    async def body(emulator: Emulator) -> None:
        client = await emulator.connect(ask())
        await settle(emulator)
        call = emulator.start_call(inst("A/x"), "try_", ["ws.close(4001)"])
        client.close(4000)
        await call.wait_result()
        await settle(emulator)
        assert client.closed == (4000, "")
        closed = [entry for entry in emulator.journal() if entry["kind"] == "socket_closed"]
        assert [(entry["code"], entry["by"]) for entry in closed] == [(4000, "client")]
        assert emulator.show_instance(inst("A/x"))["sockets"] == 0

    play(tmp_path, LISTENERS, body)


def test_client_that_never_reads_is_severed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("edgeemu.emulator.sockets.SOCKET_UNSENT_BYTES_MAX", 10)

    async def body(emulator: Emulator) -> None:
        peer = SlowPeer()
        emulator.sockets.open(Upgrade(inst("A/x"), ask(), ""), peer, "test")
        await settle(emulator)
        for _ in range(2):
            await emulator.call(inst("A/x"), "try_", ["ws.send('12345')"])
        assert await emulator.call(inst("A/x"), "try_", ["ws.buffered_amount"]) == 10
        assert peer.ended == []
        await emulator.call(inst("A/x"), "try_", ["ws.send('6')"])
        await settle(emulator)
        assert peer.ended == ["severed"]
        assert len(warnings(emulator, "W_SOCKET_SLOW")) == 1
        assert await emulator.call(inst("A/x"), "has_left")

    play(tmp_path, LISTENERS, body)


def test_what_waits_for_a_client_is_counted_in_bytes(tmp_path: Path) -> None:
    async def body(emulator: Emulator) -> None:
        emulator.sockets.open(Upgrade(inst("A/x"), ask(), ""), SlowPeer(), "test")
        await settle(emulator)
        seen = "[ws.send('\\u00e9\\u20ac'), ws.buffered_amount][1]"
        assert await emulator.call(inst("A/x"), "try_", [seen]) == 5

    play(tmp_path, LISTENERS, body)


def test_client_that_leaves_before_its_handler_runs_is_still_heard(tmp_path: Path) -> None:
    source = LISTENERS + "    async def nap(self):\n        await asyncio.sleep(1)\n"

    async def body(emulator: Emulator) -> None:
        napping = emulator.start_call(inst("A/x"), "nap")
        await settle(emulator)
        client = await emulator.connect(ask())
        client.send("a")
        client.close()
        await emulator.clock.advance(1_000)
        await napping.wait_result()
        turns = [entry for entry in emulator.journal() if entry["kind"] == "socket"]
        assert [entry["method"] for entry in turns] == ["open", "message", "close"]
        assert {entry["outcome"] for entry in turns} == {"succeeded"}
        assert not emulator.sockets._links, "a socket is left over"

    play(tmp_path, source, body)


def test_client_that_leaves_before_a_handler_that_never_runs_leaves_nothing(tmp_path: Path) -> None:
    source = LISTENERS + "    async def nap(self):\n        await asyncio.sleep(1)\n"

    async def body(emulator: Emulator) -> None:
        emulator.start_call(inst("A/x"), "nap")
        await settle(emulator)
        (await emulator.connect(ask())).close()
        assert emulator.sockets._links
        await emulator.wind_down()
        assert not emulator.sockets._links

    play(tmp_path, source, body)


def test_upgrade_that_nobody_asked_for_is_426(tmp_path: Path) -> None:
    source = """
async def fetch(request, env):
    from edgeemu import Request
    asking = Request("/", headers={"upgrade": "websocket"}, method=request.method)
    return await env.A.id_from_name("x").fetch(asking)
"""

    async def body(emulator: Emulator) -> None:
        assert (await emulator.fetch(ask())).status == 426
        post = PlainRequest("POST", "http://localhost/", (), b"")
        assert (await emulator.fetch(post)).status == 400
        assert emulator.list_instances() == []

    run_with(write_project(tmp_path, LISTENERS + source), body)


def test_upgrade_that_is_made_up_is_an_error_of_the_front(tmp_path: Path) -> None:
    source = """
async def fetch(request, env):
    return Response(None, status=101)
"""

    async def body(emulator: Emulator) -> None:
        with pytest.raises(EdgeemuError, match="HTTP 500") as raised:
            await emulator.connect(ask())
        assert "return the response of an upgrade as it is" in raised.value.why

    run_with(write_project(tmp_path, LISTENERS + source), body)


def test_actor_may_pass_an_upgrade_on(tmp_path: Path) -> None:
    """A stub answers before any code of the instance ran, to whoever asks."""
    source = (
        LISTENERS
        + """
class B(StatefulActor):
    async def fetch(self, request):
        asking = Request(request.url, headers={**request.headers, "upgrade": "websocket"})
        return await self.env.A.id_from_name("far").fetch(asking)


async def fetch(request, env):
    headers = {name: value for name, value in request.headers.items() if name != "upgrade"}
    return await env.B.id_from_name("near").fetch(Request(request.url, headers=headers))
"""
    )

    async def body(emulator: Emulator) -> None:
        client = await emulator.connect(ask())
        client.send("hi")
        await settle(emulator)
        assert client.received[0] == "hi"
        assert emulator.show_instance(inst("A/far"))["sockets"] == 1

    run_with(write_project(tmp_path, source, types=("A", "B")), body)
