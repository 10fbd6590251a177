"""`edgeemu dev --inspect`: a debugger attaches and stops in the user's line, and only then."""

import json
import re
import threading
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.client import ClientConnection, connect

from tests.cli.conftest import Server, run_process
from tests.support.script_modules import HEAD, write_modules

SOURCE = (
    HEAD
    + """
export class A extends StatefulActor {
  async run(count: number) {
    const twice: number = 2 * count;
    return twice;
  }
}
"""
)
WAIT_SECONDS = 20


class Debugger:
    """A client of the debugger's protocol."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._number = 0

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """The result of one method."""
        self._number += 1
        self._socket.send(json.dumps({"id": self._number, "method": method, "params": params}))
        told: dict[str, Any] = self._until(lambda it: it.get("id") == self._number)
        result: dict[str, Any] = told.get("result", told)
        return result

    def wait(self, event: str) -> dict[str, Any]:
        """What an event tells."""
        told: dict[str, Any] = self._until(lambda it: it.get("method") == event)["params"]
        return told

    def _until(self, wanted: Any) -> dict[str, Any]:
        while True:
            told: dict[str, Any] = json.loads(self._socket.recv(timeout=WAIT_SECONDS))
            if wanted(told):
                return told


def address_in(said: str) -> str:
    found = re.findall(r"127\.0\.0\.1:\d+(?=, which moves| now)", said)
    assert found, said
    return str(found[-1])


def targets(address: str) -> list[dict[str, Any]]:
    with urllib.request.urlopen(f"http://{address}/json", timeout=WAIT_SECONDS) as response:
        found: list[dict[str, Any]] = json.load(response)
        return found


@pytest.mark.slow
def test_a_debugger_stops_in_the_line_of_the_user(tmp_path: Path) -> None:
    write_modules(tmp_path, {"src/index.ts": SOURCE}, toml="[limits]\nwatchdog_ms = 100\n")
    server = Server(tmp_path, "--inspect")
    try:
        (target,) = targets(address_in(server.said))
        with connect(target["webSocketDebuggerUrl"], open_timeout=WAIT_SECONDS) as socket:
            debugger = Debugger(socket)
            debugger.ask("Runtime.enable")
            debugger.ask("Debugger.enable")
            debugger.ask("Debugger.setBreakpointByUrl", urlRegex=r".*/src/index\.ts$", lineNumber=4)
            ended = []
            caller = threading.Thread(
                target=lambda: ended.append(run_process("call", "A/x", "run", "21", cwd=tmp_path))
            )
            caller.start()
            frame = debugger.wait("Debugger.paused")["callFrames"][0]
            asked = {"callFrameId": frame["callFrameId"], "expression": "[count, this.ctx.id]"}
            seen = debugger.ask("Debugger.evaluateOnCallFrame", **asked, returnByValue=True)
            debugger.ask("Debugger.resume")
            caller.join(WAIT_SECONDS)
        assert frame["functionName"] == "run"
        assert seen["result"]["value"] == [21, "x"]
        assert ended[0].out.strip() == "42", ended[0].shown()
        assert "W_BLOCKED_LOOP" not in server.said
        (tmp_path / "src/index.ts").write_text(SOURCE.replace("2 *", "3 *"))
        server.wait_said("a debugger attaches to")
        assert targets(address_in(server.said))
        assert run_process("call", "A/x", "run", "1", cwd=tmp_path).out.strip() == "3"
    finally:
        assert server.stop() == 0


@pytest.mark.slow
def test_nothing_of_it_is_there_without_the_option(tmp_path: Path) -> None:
    write_modules(tmp_path, {"src/index.ts": SOURCE})
    server = Server(tmp_path)
    try:
        assert "debugger" not in server.said
        pids = [server._process.pid]
        children = Path(f"/proc/{pids[0]}/task").glob("*/children")
        pids += [int(pid) for path in children for pid in path.read_text().split()]
        assert len(pids) == 2
        listening = Path("/proc/net/tcp").read_text().splitlines()[1:]
        inodes = {line.split()[9]: line.split()[1] for line in listening if line.split()[3] == "0A"}
        ports = [port for pid in pids for port in _ports_of(pid, inodes)]
        assert len(ports) == 1  # that of the server itself
    finally:
        assert server.stop() == 0


def _ports_of(pid: int, inodes: dict[str, str]) -> list[str]:
    links = [str(link.readlink()) for link in Path(f"/proc/{pid}/fd").iterdir()]
    numbers = [link.removeprefix("socket:[").removesuffix("]") for link in links]
    return [inodes[number] for number in numbers if number in inodes]
