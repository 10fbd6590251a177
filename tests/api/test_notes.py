"""What is told beside a result: bounded, in a header, and never in the result itself."""

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from edgeemu.api.app import Access, App
from edgeemu.api.hints import waiting_words
from edgeemu.api.notes import Notes
from edgeemu.config import Config
from edgeemu.emulator import Emulator
from edgeemu.errors import Code, EdgeemuError
from edgeemu.limits import NOTE_CHARS_MAX, NOTES_FAILED_MAX, NOTES_WARNINGS_MAX
from tests.support.emulators import T0_MS, run_with
from tests.support.projects import write_api_project

AUTH = {"authorization": "Bearer t"}


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return write_api_project(tmp_path)


def app_of(emulator: Emulator) -> App:
    return App(emulator, Access("t", "127.0.0.1", 8787))


def client_of(emulator: Emulator) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app=app_of(emulator))
    return httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=AUTH)


def notes_in(response: httpx.Response) -> list[dict[str, str]]:
    found: list[dict[str, str]] = json.loads(response.headers.get("edgeemu-notes", "[]"))
    return found


def test_warnings_come_with_the_operation_in_which_they_arose(config: Config) -> None:
    async def body(emulator: Emulator) -> None:
        emulator.warn("W_WATCH", "of somebody else")
        async with client_of(emulator) as http:
            quiet = await http.post("/_edgeemu/call", json={"actor": "A/x", "method": "echo"})
            assert (quiet.json(), notes_in(quiet)) == ([], [])
            told = await http.post("/_edgeemu/fetch", json={"path": "/bad"})
            [note] = notes_in(told)
            assert note["level"] == "warning"
            assert note["text"].startswith("W_RESPONSE_HEADER: GET http://")

    run_with(config, body)


def test_old_code_is_told_with_errors_too_and_only_where_code_runs(config: Config) -> None:
    async def body(emulator: Emulator) -> None:
        broken = EdgeemuError(Code.PROJECT_SYNTAX, what="main.py is broken", why="-", fix="-")
        emulator.reload_failed(broken)
        async with client_of(emulator) as http:
            failed = await http.post("/_edgeemu/call", json={"actor": "A/x", "method": "boom"})
            assert failed.status_code == 422
            text = "old code is serving: main.py is broken; see what `edgeemu dev` says"
            assert notes_in(failed) == [{"level": "note", "text": text}]
            assert notes_in(await http.post("/_edgeemu/alarms/list")) == []

    run_with(config, body)


def test_notes_are_few_and_short(config: Config) -> None:
    async def body(emulator: Emulator) -> list[dict[str, str]]:
        notes = Notes(of_code=True, of_failures=True)
        with notes.watching(emulator):
            for index in range(50):
                emulator.warn("W_WATCH", f"{index} " + "\U0001f98a" * 5_000)
            for index in range(9):
                instance = emulator.address(f"A/{index}")
                await emulator.storage.put(instance, "broken", True)
                await emulator.alarms.set(instance, T0_MS + 5)
            await emulator.clock.advance(5)
        return notes.as_json()

    found = run_with(config, body)
    assert max(len(note["text"]) for note in found) <= NOTE_CHARS_MAX
    warnings = [note["text"] for note in found if note["level"] == "warning"]
    assert len(warnings) == NOTES_WARNINGS_MAX + 1
    assert warnings[-1] == "and 45 more: see `edgeemu log`"
    failed = [note["text"] for note in found if note["level"] == "failed"]
    assert len(failed) == NOTES_FAILED_MAX + 1
    assert failed[0].startswith("A/0: ValueError: broken at main.py:")
    assert failed[-1] == "6 more instances: see `edgeemu log`"
    assert len(json.dumps(found)) < 65_536  # What a client reads of a head.


def test_a_hidden_error_of_the_front_stands_beside_its_response(config: Config) -> None:
    async def body(emulator: Emulator) -> None:
        async with client_of(emulator) as http:
            failed = (await http.post("/_edgeemu/fetch", json={"path": "/boom"})).json()
            assert failed["status"] == 500
            assert failed["error"]["what"] == "the function in front failed: ValueError: boom"
            assert "in fetch" in failed["error"]["detail"]
            fine = (await http.post("/_edgeemu/fetch", json={"path": "/fine"})).json()
            assert fine["error"] is None

    run_with(config, body)


def test_status_tells_what_waits_and_where(config: Config) -> None:
    async def body(emulator: Emulator) -> None:
        call = emulator.start_call(emulator.address("A/x"), "nap", [20_000])
        await emulator.run_present()
        async with client_of(emulator) as http:
            [turn] = (await http.post("/_edgeemu/status")).json()["waiting"]
            assert (turn["actor"], turn["outside"]) == ("A/x", False)
            assert turn["where"].startswith("main.py:")
            await emulator.clock.advance(20_000)
            await call.wait_result()
            assert (await http.post("/_edgeemu/status")).json()["waiting"] == []

    run_with(config, body)


def test_a_move_stops_when_nobody_waits_for_it(tmp_path: Path) -> None:
    config = write_api_project(tmp_path, "[limits]\nbody_bytes = 1000\n")
    source = (tmp_path / "main.py").read_text()
    again = "await self.ctx.storage.set_alarm(self.ctx.now_ms() + 60_000)\n        "
    (tmp_path / "main.py").write_text(
        source.replace('if await self.ctx.storage.get("broken")', again + "if False", 1)
    )

    async def body(emulator: Emulator) -> None:
        await emulator.call(emulator.address("A/x"), "touch")
        leaving = asyncio.Event()
        emulator.watch(lambda recorded: leaving.set() if recorded[-1].seq > 50 else None)
        messages = [{"type": "http.request", "body": b'{"duration_ms": 3000000000000}'}]
        sent: list[Any] = []

        async def receive() -> Any:
            if messages:
                return messages.pop()
            await leaving.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent.append(message)

        scope = {
            "type": "http",
            "method": "POST",
            "path": "/_edgeemu/clock/advance",
            "headers": [(b"host", b"localhost"), (b"authorization", b"Bearer t")],
        }
        await asyncio.wait_for(app_of(emulator)(scope, receive, send), 10)
        assert sent == []
        now_ms = emulator.clock.read()["now_ms"]
        assert T0_MS < now_ms < T0_MS + 100 * 60_000
        assert emulator.journal()[-1]["kind"] == "clock"  # Where it stopped is kept.
        moved = await emulator.clock.advance(60_000)  # And the next one has the way free.
        assert (moved["from_ms"], moved["deliveries"]) == (now_ms, 1)

    run_with(config, body)


# --- hints -------------------------------------------------------------------------------------

RING = {"actor": "A/r", "turn": 5, "where": None, "outside": False, "cycle": "A/r -> A/r"}
NAP = {"actor": "A/x", "turn": 1, "where": "main.py:3", "outside": False}
FRONT = {"actor": None, "turn": 2, "where": "main.py:9", "outside": False}
OTHER = {"actor": "A/y", "turn": 3, "where": None, "outside": False}
OUTSIDE = {"actor": "A/z", "turn": 4, "where": "main.py:5", "outside": True}
MOVE = (
    "for time to pass, and the clock is frozen: "
    "move it from another terminal, such as `edgeemu clock next`"
)

HINTS: list[tuple[str, dict[str, Any], str, list[Any], str | None]] = [
    ("call", {"actor": "A/x"}, "frozen", [OTHER, NAP], f"A/x waits at main.py:3 {MOVE}"),
    ("call", {"actor": "x"}, "frozen", [OTHER, NAP], f"A/x waits at main.py:3 {MOVE}"),
    ("call", {"actor": "y"}, "frozen", [OTHER, NAP], f"A/y waits {MOVE}"),
    ("call", {"actor": "b"}, "frozen", [NAP], f"this is held up: A/x waits at main.py:3 {MOVE}"),
    ("fetch", {}, "frozen", [NAP, FRONT], f"the function in front waits at main.py:9 {MOVE}"),
    (
        *("call", {"actor": "r"}, "frozen", [NAP, RING]),
        "a call waits for itself: A/r -> A/r, until its budget ends, and the clock is frozen: "
        "move it from another terminal, such as `edgeemu clock next`",
    ),
    ("call", {"actor": "x"}, "real", [NAP], None),
    ("call", {"actor": "z"}, "frozen", [OUTSIDE], None),
    ("call", {"actor": "x"}, "frozen", [], None),
    ("clock.idle", {}, "frozen", [NAP], None),
    (
        *("clock.idle", {}, "frozen", [NAP, OUTSIDE]),
        "the clock waits for A/z, which waits at main.py:5 on the outside world",
    ),
]


@pytest.mark.parametrize(("name", "params", "mode", "waiting", "words"), HINTS)
def test_hints(
    name: str, params: dict[str, Any], mode: str, waiting: list[Any], words: str | None
) -> None:
    assert waiting_words(name, params, {"mode": mode, "waiting": waiting}) == words
