"""`edgeemu connect`: one conversation on a WebSocket, the same with a server and without one."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Run, Server

ROOM = """

async def web_socket(self, ws, request):
    @ws.on("message")
    async def said(data):
        if data == "boom":
            raise ValueError("no such words")
        if data == "bye":
            ws.close(4001, "as you like")
        else:
            await self.ctx.storage.put("said", data)
            ws.send(data)

    ws.send(f"{ws.protocol or 'hello'}, {request.headers.get('x-name')}")
    ws.send(b"\\x00\\xff")


Session.web_socket = web_socket
before = fetch


async def fetch(request, env):
    if request.headers.get("upgrade") != "websocket" or request.path == "/closed":
        return await before(request, env)
    return await env.SESSION.id_from_name("room").fetch(request)
"""


@pytest.fixture(params=["local", "server"])
def world(request: pytest.FixtureRequest, project: Path) -> Iterator[str]:
    """With a running server, and without."""
    main = project / "src/main.py"
    main.write_text(main.read_text() + ROOM)
    if request.param == "local":
        yield "local"
        return
    server = Server(project)
    yield "server"
    server.stop()


SHOWN = {
    "connect /room": """\
exit 0
--- stdout
hello, None
{"$bytes": "AP8="}
--- stderr
the socket was still open, and is closed now
""",
    "connect room --protocol chat -H x-name:ada --send one --send two": """\
exit 0
--- stdout
chat, ada
{"$bytes": "AP8="}
one
two
--- stderr
the socket was still open, and is closed now
""",
    "connect /room --send bye --send lost": """\
exit 0
--- stdout
hello, None
{"$bytes": "AP8="}
--- stderr
closed 4001  as you like
""",
    "connect /room --send boom": """\
exit 0
--- stdout
hello, None
{"$bytes": "AP8="}
--- stderr
failed: Session/room: ValueError: no such words at src/main.py:LINE; see `edgeemu log --actor \
Session/room`
closed 1011
""",
    "connect /closed": """\
exit 1
--- stderr
error[E_SOCKET_REFUSED]: `http://127.0.0.1:PORT/closed` opened no WebSocket: HTTP 404
why: the function in front answered: {"method": "GET", "path": "/closed", "tag": null, "body": ""}
fix: send the path and the headers that it wants, if it means to refuse; else let the function in \
front return, for a request with `Upgrade: websocket`, what `stub.fetch(request)` gives it, as it is
""",
}


FILTERS = [(r"main\.py:\d+", "main.py:LINE")]


@pytest.mark.slow
def test_conversations_in_words(world: str, run: Run) -> None:
    for command, shown in SHOWN.items():
        ended = run(*command.split())
        assert ended.shown(*FILTERS) == shown, command


@pytest.mark.slow
def test_url_reaches_what_its_path_does(world: str, run: Run) -> None:
    plain = run("connect", "/room")
    for url in ("ws://localhost/room", "http://127.0.0.1:9/room"):
        assert run("connect", url) == plain, url


@pytest.mark.parametrize("world", ["local"], indirect=True)
def test_lines_on_stdin_are_not_dropped_in_silence(
    world: str, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "lines").write_text("bye\n")
    with (tmp_path / "lines").open() as lines:
        monkeypatch.setattr("sys.stdin", lines)
        ended = run("connect", "/room")
        assert "what stands on stdin was not sent: give each message with --send" in ended.err
        assert "stdin" not in run("connect", "/room", "--send", "bye").err
    with Path(os.devnull).open() as nothing:
        monkeypatch.setattr("sys.stdin", nothing)
        assert "stdin" not in run("connect", "/room").err


@pytest.mark.slow
def test_conversation_as_json_and_in_the_log(world: str, run: Run) -> None:
    found = json.loads(run("connect", "/room", "--send", "bye", "--json").out)
    assert found == {
        "protocol": "",
        "received": ["hello, None", {"$bytes": "AP8="}],
        "closed": {"code": 4001, "reason": "as you like"},
    }
    log = run("log", "--actor", "room").out
    lines = [line.partition("Session/room")[2].strip() for line in log.splitlines()]
    assert [line.partition("  ")[0] for line in lines] == [
        "socket 2 opened",
        "init",
        "socket open",
        "socket 2 closed by the actor: 4001 as you like, after 0s",
        "socket message",
        "socket close",
    ]


def follower(project: Path, *words: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "edgeemu", "connect", "/room", "--follow", *words]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=project, stdout=pipe, stderr=pipe, text=True)


@pytest.mark.slow
@pytest.mark.parametrize("world", ["server"], indirect=True)
def test_follower_stays_until_the_socket_closes(world: str, run: Run, project: Path) -> None:
    now_ms = json.loads(run("clock", "--json").out)["now_ms"]
    with follower(project, "--json", "--send", "one") as listening:
        assert listening.stdout is not None
        found = [json.loads(listening.stdout.readline()) for _ in range(3)]
        assert [entry["data"] for entry in found] == ["hello, None", {"$bytes": "AP8="}, "one"]
        assert all(entry["at_ms"] >= now_ms for entry in found)
        run("evict", "room")
        end = json.loads(listening.stdout.read())
        assert end["closed"] == {"code": 1001, "reason": "actor going away"}
    assert listening.returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("world", ["server"], indirect=True)
def test_follower_ends_with_ctrl_c_and_its_socket_too(world: str, run: Run, project: Path) -> None:
    with follower(project) as listening:
        assert listening.stdout is not None
        instant, text = listening.stdout.readline().split("  ")
        assert instant.endswith("Z")
        assert text == "hello, None\n"
        listening.stdout.readline()
        listening.send_signal(signal.SIGINT)
        assert listening.stdout.read() == ""
    assert listening.returncode == 0
    # A further conversation ends only when nothing goes on any more: the first has closed by then.
    run("connect", "/room")
    assert "closed by the client: 1000" in run("log", "--actor", "room").out


@pytest.mark.slow
@pytest.mark.parametrize("how", ["stop", "kill"])
def test_follower_says_that_the_server_has_stopped(how: str, project: Path) -> None:
    main = project / "src/main.py"
    main.write_text(main.read_text() + ROOM)
    server = Server(project)
    try:
        with follower(project) as listening:
            assert listening.stdout is not None and listening.stderr is not None
            listening.stdout.readline()
            listening.stdout.readline()
            getattr(server, how)()
            assert listening.stdout.read() == ""
            told = listening.stderr.read()
            assert "the server has stopped" in told
        assert listening.returncode == 0
    finally:
        if server.runs:
            server.stop()


@pytest.mark.parametrize("world", ["local"], indirect=True)
def test_follower_needs_a_server(world: str, run: Run) -> None:
    ended = run("connect", "/room", "--follow")
    assert ended.status == 2
    assert "E_SERVER_UNREACHABLE" in ended.err
