"""HTTP through the function in front, as a client sees it.

Source: spec/telnyx-actors.md section 16, U76 and U77.
"""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx

from edgeemu.api.app import Access, App
from edgeemu.emulator import Emulator
from tests.support.emulators import run_with, write_project

SOURCE = """
class A(StatefulActor):
    async def fetch(self, request):
        if request.path == "/boom":
            raise ValueError("boom")
        headers = [("set-cookie", "a=1; Path=/"), ("set-cookie", "b=2")]
        return Response(await request.bytes(), status=203, headers=headers)


async def fetch(request, env):
    stub = env.A.id_from_name("x")
    if request.path == "/caught":
        try:
            await stub.fetch(Request("/boom"))
        except Exception as error:
            return Response(f"{error.name}: {error}")
    if request.path == "/stream":
        return Response(part for part in ["a", "b"])
    return await stub.fetch(request)
"""


def with_client(
    folder: Path, body: Callable[[Emulator, httpx.AsyncClient], Awaitable[Any]]
) -> None:
    async def main(emulator: Emulator) -> None:
        app = App(emulator, Access("a-token", "127.0.0.1", 8787))
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
            await body(emulator, http)

    run_with(write_project(folder, SOURCE), main)


def test_bytes_and_cookies_pass_through_function_and_actor(tmp_path: Path) -> None:
    async def body(emulator: Emulator, http: httpx.AsyncClient) -> None:
        data = bytes(range(256))
        answer = await http.post("/", content=data)
        assert (answer.status_code, answer.content) == (203, data)
        assert answer.headers.get_list("set-cookie") == ["a=1; Path=/", "b=2"]

    with_client(tmp_path, body)


def test_head_has_the_headers_and_no_body(tmp_path: Path) -> None:
    async def body(emulator: Emulator, http: httpx.AsyncClient) -> None:
        answer = await http.request("HEAD", "/", content=b"four")
        assert (answer.status_code, answer.content) == (203, b"")
        assert answer.headers["content-length"] == "4"

    with_client(tmp_path, body)


def test_error_of_the_actor_is_told_by_its_name(tmp_path: Path) -> None:
    """section 16.1: the function tells errors apart by `error.name`."""

    async def body(emulator: Emulator, http: httpx.AsyncClient) -> None:
        assert (await http.get("/caught")).text == "ActorMethodError: boom"

    with_client(tmp_path, body)


def test_what_escapes_is_500_with_the_stack_in_the_log(tmp_path: Path) -> None:
    """U77; a stream is such an error, and says so."""

    async def body(emulator: Emulator, http: httpx.AsyncClient) -> None:
        answer = await http.get("/stream")
        assert (answer.status_code, answer.text) == (500, "Internal Server Error")
        assert answer.headers["content-type"].startswith("text/plain")
        (front,) = [entry for entry in emulator.journal() if entry["kind"] == "front"]
        assert "streams are not supported" in front["error"]["message"]
        assert "main.py" in front["error"]["trace"]

    with_client(tmp_path, body)
