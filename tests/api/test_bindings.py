"""Services, KV namespaces and what is not emulated, through the whole emulator and its skins."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from edgeemu.api.operations import perform
from edgeemu.config import load_config
from edgeemu.core.journal import Kind, Recorded
from edgeemu.emulator import Emulator
from edgeemu.errors import EdgeemuError
from tests.support.emulators import T0_MS, frozen, inst, run, run_with, write_project

SOURCE = """
class A(StatefulActor):
    async def charge(self, path, body=None):
        request = Request(path, method="POST", body=body, headers={"x-key": "k", "host": "shop"})
        response = await self.env.PAYMENTS.fetch(request)
        return [response.status, await response.text(), response.headers.get("x-seen")]

    async def caught(self, path):
        try:
            await self.env.PAYMENTS.fetch(path)
        except OSError as error:
            return [type(error).__name__, str(error)]

    async def careless(self):
        self.env.PAYMENTS.fetch("/late")
        return "gone on"

    async def in_thread(self):
        await asyncio.to_thread(lambda: self.env.CACHE.put("k", "v").__await__().send(None))

    async def use(self, name):
        return await getattr(self.env, name).query("SELECT 1")
"""


class Bank:
    """A server of the outside world, which answers as it is told."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, str], bytes]] = []
        self.answer = b"HTTP/1.1 201 Created\r\nx-seen: yes\r\ncontent-length: 2\r\n\r\nok"
        self.silent = False
        self._held = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = dict(line.split(": ", 1) for line in head[1:] if line)
        headers = {name.lower(): value for name, value in headers.items()}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        self.asked.append((head[0], headers, body))
        if self.silent:
            await self._held.wait()
        writer.write(self.answer)
        await writer.drain()
        writer.close()

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[int]:
        server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        try:
            yield server.sockets[0].getsockname()[1]
        finally:
            self._held.set()
            server.close()
            await server.wait_closed()


def with_bank(
    folder: Path, body: Callable[[Emulator, Bank], Awaitable[Any]], toml: str = "", path: str = ""
) -> None:
    async def main() -> None:
        bank = Bank()
        async with bank.listening() as port:
            service = f'[services.PAYMENTS]\nurl = "http://127.0.0.1:{port}{path}"\n{toml}'
            config = write_project(folder, SOURCE, toml=service)
            emulator = await Emulator.open(config, frozen(alone=True))
            try:
                await body(emulator, bank)
            finally:
                await emulator.close()

    run(main())


def service_entries(emulator: Emulator) -> list[dict[str, Any]]:
    return [entry for entry in emulator.journal() if entry["kind"] == "service"]


# --- services -----------------------------------------------------------------------------------


def test_request_is_forwarded_and_told(tmp_path: Path) -> None:
    async def body(emulator: Emulator, bank: Bank) -> None:
        given = await emulator.call(inst("A/x"), "charge", ["/charge?id=1", "five"])
        assert given == [201, "ok", "yes"]
        ((line, headers, sent),) = bank.asked
        assert (line, sent) == ("POST /v1/charge?id=1 HTTP/1.1", b"five")
        assert headers["x-key"] == "k"
        assert headers["host"].startswith("127.0.0.1:")
        (entry,) = service_entries(emulator)
        assert (entry["service"], entry["method"], entry["status"]) == (
            "PAYMENTS",
            "POST /charge",
            201,
        )
        assert (entry["actor"], entry["cause"]) == ("A/x", f"turn {entry['turn']}")
        assert entry["real_took_ms"] >= 0

    with_bank(tmp_path, body, path="/v1")


def test_what_a_service_with_ready_answers_was_sent_is_in_the_journal(tmp_path: Path) -> None:
    config = write_project(tmp_path, SOURCE, toml="[services.PAYMENTS.respond]\nstatus = 204\n")

    async def body(emulator: Emulator) -> None:
        await emulator.call(inst("A/x"), "charge", ["/charge?id=1", '{"to": "ada"}'])
        await emulator.call(inst("A/x"), "charge", ["/", "ü" * 3_000])
        short, long = service_entries(emulator)
        assert (short["method"], short["query"]) == ("POST /charge", "id=1")
        assert (json.loads(short["body"]), short["body_bytes"]) == ({"to": "ada"}, 13)
        assert (long["body"], long["body_bytes"]) == ("ü" * 2_000, 6_000)

    run_with(config, body)


def test_nobody_answers(tmp_path: Path) -> None:
    config = write_project(
        tmp_path, SOURCE, toml='[services.PAYMENTS]\nurl = "http://127.0.0.1:9"\n'
    )

    async def body(emulator: Emulator) -> None:
        name, text = await emulator.call(inst("A/x"), "caught", ["/"])
        assert name == "ConnectionError"
        assert text.startswith("env.PAYMENTS: http://127.0.0.1:9/ failed: ")
        (entry,) = service_entries(emulator)
        assert entry["error"]["name"] == "ConnectionError"

    run_with(config, body)


def test_answer_that_does_not_come_is_given_up(tmp_path: Path) -> None:
    async def body(emulator: Emulator, bank: Bank) -> None:
        bank.silent = True
        name, text = await emulator.call(inst("A/x"), "caught", ["/slow"])
        assert (name, text.rpartition(" within ")[2]) == ("TimeoutError", "50 ms")

    with_bank(tmp_path, body, "[limits]\nio_wait_ms = 50\n")


def test_answer_that_is_too_long_is_an_error(tmp_path: Path) -> None:
    async def body(emulator: Emulator, bank: Bank) -> None:
        bank.answer = b"HTTP/1.1 200 OK\r\ncontent-length: 101\r\n\r\n" + b"x" * 101
        name, text = await emulator.call(inst("A/x"), "caught", ["/"])
        assert (name, "more than 100 bytes" in text) == ("ConnectionError", True)
        source = emulator.config.source
        source.write_text(source.read_text().replace("body_bytes = 100", "body_bytes = 101"))
        emulator.reload(["edgeemu.toml"], load_config(emulator.config.root))
        assert await emulator.call(inst("A/x"), "caught", ["/"]) is None

    with_bank(tmp_path, body, "[limits]\nbody_bytes = 100\n")


def test_turn_that_waits_for_a_service_holds_the_clock(tmp_path: Path) -> None:
    async def body(emulator: Emulator, bank: Bank) -> None:
        bank.silent = True
        # The answer is given up long before the move would be: both have one bound in limits.
        emulator._parts.shell.around.outside.services._wait_ms = 50
        call = emulator.start_call(inst("A/x"), "caught", ["/"])
        await emulator.clock.advance(1_000)
        assert (await call.wait_result())[0] == "TimeoutError"
        (entry,) = service_entries(emulator)
        assert entry["now_ms"] == T0_MS  # The time moved on only when the wait was over.

    with_bank(tmp_path, body)


def test_request_that_nobody_awaits_leaves_all_the_same(tmp_path: Path) -> None:
    async def body(emulator: Emulator, bank: Bank) -> None:
        told = asyncio.Event()

        def note(recorded: list[Recorded]) -> None:
            if any(item.entry.kind is Kind.SERVICE for item in recorded):
                told.set()

        emulator.watch(note)
        assert await emulator.call(inst("A/x"), "careless") == "gone on"
        await asyncio.wait_for(told.wait(), 5)
        assert bank.asked[0][0] == "GET /late HTTP/1.1"
        assert service_entries(emulator)[0]["status"] == 201

    with_bank(tmp_path, body)


# --- what is not emulated -----------------------------------------------------------------------


def test_unsupported_binding_warns_and_fails_when_it_is_used(tmp_path: Path) -> None:
    """spec/telnyx-actors.md section 2.2: products beside actors."""
    config = write_project(tmp_path, SOURCE)
    config.source.rename(tmp_path / "unused")
    (tmp_path / "telnyx.toml").write_text(
        'main = "main.py"\n[[actors]]\nbinding = "A"\ntype = "A"\n'
        '[storage.sqldb.BOOKS]\nid = "x"\n[telnyx]\nbinding = "TELNYX"\n'
    )

    async def body(emulator: Emulator) -> None:
        for name, title in (("BOOKS", "[storage.sqldb.BOOKS]"), ("TELNYX", "[telnyx]")):
            with pytest.raises(EdgeemuError) as caught:
                await emulator.call(inst("A/x"), "use", [name])
            assert f"edgeemu does not emulate {title}" in str(caught.value.message)
            assert "docs/differences.md" in str(caught.value.message)
        told = [entry for entry in emulator.journal() if entry.get("code") == "W_CONFIG"]
        assert len(told) == 2

    run_with(load_config(tmp_path), body)


# --- KV from outside ----------------------------------------------------------------------------


def with_kv(folder: Path, body: Callable[[Emulator], Awaitable[Any]]) -> None:
    config = write_project(folder, SOURCE, toml='[storage.kv.CACHE]\nid = "one"\n')

    async def main(emulator: Emulator) -> None:
        await body(emulator)

    run_with(config, main)


async def kv(emulator: Emulator, name: str, **params: Any) -> Any:
    return await perform(emulator, f"kv.{name}", {"namespace": "CACHE", **params}, cause="test")


def test_kv_from_outside(tmp_path: Path) -> None:
    async def body(emulator: Emulator) -> None:
        await kv(emulator, "put", key="a/1", value="one", expiration_ttl=5)
        await kv(emulator, "put", key="b", value="")
        rows = await kv(emulator, "list", prefix="a")
        assert [(row["name"], row["size_bytes"]) for row in rows] == [("a/1", 3)]
        assert rows[0]["expires_at"] == "2030-01-01T00:00:05Z"
        assert await kv(emulator, "get", key="a/1") == "one"
        same = await perform(emulator, "kv.get", {"namespace": "one", "key": "a/1"}, cause="test")
        assert same == "one"
        await emulator.clock.advance(5_000)
        assert [row["name"] for row in await kv(emulator, "list")] == ["b"]
        assert (await kv(emulator, "delete", key="b"))["deleted"] is True
        assert (await kv(emulator, "delete", key="b"))["deleted"] is False
        assert emulator.list_instances() == []

    with_kv(tmp_path, body)


@pytest.mark.parametrize(
    ("name", "params", "code"),
    [
        ("get", {"key": "none"}, "E_KEY_UNKNOWN"),
        ("get", {"key": "a:b"}, "E_KV_REFUSED"),
        ("put", {"key": "_x", "value": ""}, "E_KV_REFUSED"),
        ("put", {"key": "x", "value": "y" * 1_048_577}, "E_KV_REFUSED"),
        ("put", {"key": "x", "value": "y", "expiration_ttl": 0.5}, "E_KV_REFUSED"),
        ("list", {"prefix": ":"}, "E_KV_REFUSED"),
        ("list", {"namespace": "OTHER"}, "E_KV_UNKNOWN"),
    ],
)
def test_kv_refuses(tmp_path: Path, name: str, params: dict[str, Any], code: str) -> None:
    async def body(emulator: Emulator) -> None:
        with pytest.raises(EdgeemuError) as caught:
            await kv(emulator, name, **params)
        assert caught.value.code.text == code

    with_kv(tmp_path, body)


def test_bindings_are_refused_in_a_thread(tmp_path: Path) -> None:
    async def body(emulator: Emulator) -> None:
        with pytest.raises(EdgeemuError) as caught:
            await emulator.call(inst("A/x"), "in_thread")
        assert "not in a thread" in str(caught.value.message)
        assert await kv(emulator, "list") == []

    with_kv(tmp_path, body)


def test_long_lists_are_whole(tmp_path: Path) -> None:
    async def body(emulator: Emulator) -> None:
        for number in range(1_005):
            emulator.kv.put("CACHE", f"k{number:04}", "v", expiration_ttl=1 if number < 3 else None)
        await emulator.clock.advance(1_000)
        rows = await kv(emulator, "list")
        assert [row["name"] for row in rows] == [f"k{number:04}" for number in range(3, 1_005)]

    with_kv(tmp_path, body)


def test_configured_answers_may_be_bytes_of_any_kind(tmp_path: Path) -> None:
    toml = (
        '[services.PAYMENTS.respond]\nstatus = 402\nheaders = { X-Seen = "no" }\njson = [1, "ü"]\n'
    )
    config = write_project(tmp_path, SOURCE, toml=toml)

    async def body(emulator: Emulator) -> None:
        status, text, seen = await emulator.call(inst("A/x"), "charge", ["/"])
        assert (status, json.loads(text), seen) == (402, [1, "ü"], "no")

    run_with(config, body)
