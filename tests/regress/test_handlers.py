"""Handlers of the platform that are named or declared wrongly are told how they are written."""

from pathlib import Path
from typing import Any

import pytest

from edgeemu.emulator import Emulator
from edgeemu.engines.port import PlainRequest
from tests.support.emulators import inst, run_with, write_project

X = inst("A/x")

PYTHON = """
class A(StatefulActor):
    async def arm(self):
        await self.ctx.storage.set_alarm(self.ctx.now_ms() + 60_000)

    async def alarm(self):
        pass

    async def webSocket(self, ws):
        pass

async def fetch(request, env):
    if request.path == "/none":
        return None
    return await env.A.id_from_name("x").fetch(request)
"""
SCRIPT = """
import { StatefulActor } from "@telnyx/edge-runtime";

export class A extends StatefulActor<any> {
  async web_socket(ws: any) {}
}

export default {
  fetch: (request: Request, env: any) => env.A.idFromName("x").fetch(request),
};
"""


def _get(path: str) -> PlainRequest:
    return PlainRequest("GET", f"http://localhost{path}", (), b"")


@pytest.mark.parametrize(
    ("main", "source", "told"),
    [
        ("main.py", PYTHON, "A has webSocket; did you mean web_socket(self, ws, request)?"),
        ("main.ts", SCRIPT, "A has web_socket; did you mean webSocket(ws, request)?"),
    ],
    ids=["python", "typescript"],
)
def test_socket_handler_with_a_wrong_name_is_named(
    tmp_path: Path, main: str, source: str, told: str
) -> None:
    async def story(emulator: Emulator) -> tuple[Any, list[Any]]:
        client = await emulator.connect(_get("/"))
        await emulator.run_present()
        return client.closed, emulator.journal()

    closed, journal = run_with(write_project(tmp_path, source, main=main), story)
    assert closed == (1011, "actor has no webSocket handler")  # As on the platform.
    (failed,) = [entry["error"] for entry in journal if entry["kind"] == "socket"]
    assert told in failed["trace"]


def test_alarm_handler_without_its_argument_is_told_how_to_be_written(tmp_path: Path) -> None:
    async def story(emulator: Emulator) -> list[Any]:
        await emulator.call(X, "arm")
        await emulator.clock.advance(1_860)
        await emulator.clock.idle()
        return emulator.journal()

    journal = run_with(write_project(tmp_path, PYTHON), story)
    failed = next(entry for entry in journal if entry["kind"] == "alarm")["error"]
    assert "takes no arguments" in failed["message"]
    assert "write `async def alarm(self, info)`" in failed["message"]
    short, long = [entry for entry in journal if entry["kind"] == "clock"]
    assert (short["moved_ms"], short["deliveries"]) == (1_860, 0)
    assert short["next_due_at_ms"] - short["now_ms"] == 60_000 - 1_860
    assert (long["deliveries"], long["next_due_at_ms"]) == (4, None)


def test_front_without_a_response_says_that_a_path_returns_nothing(tmp_path: Path) -> None:
    async def story(emulator: Emulator) -> list[Any]:
        await emulator.fetch(_get("/none"))
        await emulator.fetch(_get("/"))
        return [entry for entry in emulator.journal() if entry["kind"] == "front"]

    failed, _ = run_with(write_project(tmp_path, PYTHON), story)
    assert "a path through it returns nothing" in failed["error"]["message"]
