"""Hot reload of TypeScript: what counts as a change, what stays, and a storm of saves."""

import asyncio
import http.client
import json
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from queue import Queue
from typing import Any

import pytest

from edgeemu.clock import stopwatch_ns
from edgeemu.config import load_config
from edgeemu.emulator import Emulator
from edgeemu.errors import Code
from edgeemu.reload import Reloaded, Reloader, is_project_file, is_test_file, take_snapshot
from tests.cli.conftest import Server
from tests.support.emulators import inst, run_with
from tests.support.script_modules import HEAD, write_files, write_modules

VERSION = (
    HEAD.replace("{", "{{").replace("}", "}}")
    + "export class A extends StatefulActor {{ run() {{ return {version} }} }}\n"
)


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("a.ts", True),
        ("a.tsx", True),
        ("a.mjs", True),
        ("a.cjs", True),
        ("package.json", True),
        ("tsconfig.json", True),
        ("data.json", True),
        ("pnpm-lock.yaml", True),
        ("telnyx-env.d.ts", False),
        (".eslintrc.json", False),
        ("readme.md", False),
    ],
)
def test_which_files_count(name: str, counts: bool) -> None:
    assert is_project_file(name) is counts


@pytest.mark.parametrize(
    ("path", "is_test"),
    [
        ("src/a.test.ts", True),
        ("src/a.spec.tsx", True),
        ("src/__tests__/a.ts", True),
        ("src/test.ts", False),
        ("src/contest.ts", False),
    ],
)
def test_which_files_are_tests(path: str, is_test: bool) -> None:
    assert is_test_file(path) is is_test


def test_an_installation_is_seen_and_packages_are_not(tmp_path: Path) -> None:
    before = take_snapshot(tmp_path, tmp_path / ".edgeemu")
    write_files(tmp_path, {"node_modules/p/index.js": "", "node_modules/.package-lock.json": "{}"})
    after = take_snapshot(tmp_path, tmp_path / ".edgeemu")
    note = tmp_path / "node_modules/.package-lock.json"
    assert after.changed_since(before) == [str(note)]
    assert str(tmp_path / "node_modules/p") not in after.folders


def test_data_of_a_project_in_python_does_not_count(tmp_path: Path) -> None:
    write_files(tmp_path, {"main.py": "", "edgeemu.toml": 'name = "x"\nmain = "main.py"\n'})

    async def body(emulator: Emulator) -> list[str]:
        reloader = Reloader(tmp_path, tmp_path / ".edgeemu", lambda: emulator.config)
        return reloader.relevant(emulator, ["data.json", "x.ts", "main.py"])

    assert run_with(load_config(tmp_path), body) == ["main.py"]


def test_what_does_not_load_leaves_the_old_code_serving(tmp_path: Path) -> None:
    main = "src/index.ts"
    config = write_modules(tmp_path, {main: VERSION.format(version=1)})

    async def body(emulator: Emulator) -> None:
        reloader = Reloader(tmp_path, tmp_path / ".edgeemu", lambda: load_config(tmp_path))

        async def run() -> Any:
            return await emulator.call(inst("A/x"), "run")

        assert await run() == 1
        write_files(tmp_path, {main: "export class {"})
        done = reloader.apply(emulator, [main])
        assert done.error is not None and done.error.code is Code.PROJECT_SYNTAX
        assert "> " in (done.error.detail or "")
        assert await run() == 1
        write_files(tmp_path, {main: 'import { v } from "p";\n' + VERSION.format(version="v")})
        done = reloader.apply(emulator, [main])
        assert done.error is not None and "npm install p" in done.error.fix
        write_files(tmp_path, {"node_modules/p/index.js": "exports.v = 3"})
        installed = reloader.relevant(emulator, ["node_modules/.package-lock.json"])
        assert reloader.apply(emulator, installed).error is None
        assert await run() == 3

    run_with(config, body)


@pytest.mark.slow
def test_a_package_of_the_workspace_is_watched(tmp_path: Path) -> None:
    """Its source lies beside the function, and is linked into `node_modules`."""
    shared = {"package.json": '{"main": "index.ts"}', "index.ts": "export const v = 1;"}
    write_files(tmp_path / "shared", shared)
    (tmp_path / "fn/node_modules").mkdir(parents=True)
    (tmp_path / "fn/node_modules/shared").symlink_to("../../shared")
    source = 'import { v } from "shared";\n' + VERSION.format(version="v")
    config = write_modules(tmp_path / "fn", {"src/index.ts": source})

    async def body(emulator: Emulator) -> tuple[Any, Any]:
        root, stop, done = config.root, asyncio.Event(), asyncio.Queue[Reloaded]()
        reloader = Reloader(root, root / ".edgeemu", lambda: load_config(root), done.put_nowait)
        watching = asyncio.ensure_future(reloader.run(emulator, stop))
        before = await emulator.call(inst("A/x"), "run")
        write_files(tmp_path / "shared", {"index.ts": "export const v = 22;"})
        reloaded = await asyncio.wait_for(done.get(), STORM_SECONDS)
        assert reloaded.files == ("../shared/index.ts",)
        stop.set()
        await watching
        return before, await emulator.call(inst("A/x"), "run")

    assert run_with(config, body) == (1, 22)


@pytest.mark.slow
def test_fifty_reloads_leave_one_process_and_no_memory(tmp_path: Path) -> None:
    main = "src/index.ts"
    config = write_modules(tmp_path, {main: VERSION.format(version=0)})

    async def body(emulator: Emulator) -> tuple[list[int], int, int]:
        sizes, took_ns = [], 0
        for version in range(50):
            write_files(tmp_path, {main: VERSION.format(version=version)})
            started_ns = stopwatch_ns()
            emulator.reload([main])
            assert await emulator.call(inst("A/x"), "run") == version
            took_ns += stopwatch_ns() - started_ns
            sizes.append(_resident_kb())
        return sizes, _children(), took_ns // 50_000_000

    sizes, children, took_ms = run_with(config, body)
    assert children <= 1
    assert sizes[-1] - sizes[9] < 4_000, sizes
    assert took_ms < 1_000


def _resident_kb() -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0])


def _children() -> int:
    tasks = Path("/proc/self/task")
    return sum(len((task / "children").read_text().split()) for task in tasks.iterdir())


# --- a storm -----------------------------------------------------------------------------------

SAVES = 50
CLIENTS = 16
STORM_SECONDS = 60
"""Real seconds that the storm may take before the test fails."""

STORM = """
import { StatefulActor } from "@telnyx/edge-runtime";

const VERSION = %d;

export class A extends StatefulActor {
  async inc() {
    const value = ((await this.ctx.storage.get("value")) ?? 0) + 1;
    await this.ctx.storage.put("value", value);
    if ((await this.ctx.storage.getAlarm()) === null) await this.ctx.setAlarm(Date.now() + 50);
    return { value, version: VERSION };
  }

  async alarm() {
    await this.ctx.storage.put("fired", ((await this.ctx.storage.get("fired")) ?? 0) + 1);
    await this.ctx.setAlarm(Date.now() + 50);
  }

  async read() {
    return [await this.ctx.storage.get("value"), await this.ctx.storage.get("fired")];
  }
}

export default {
  async fetch(request, env) {
    const [, method, name] = new URL(request.url).pathname.split("/");
    return Response.json(await env.A.idFromName(name)[method]());
  },
};
"""


def _client(port: int, name: str, halt: threading.Event, answers: "Queue[Any]") -> None:
    """Increment a counter until told to stop, and tell each answer; an error ends it."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=STORM_SECONDS)
    try:
        while not halt.is_set():
            connection.request("GET", f"/inc/{name}")
            response = connection.getresponse()
            text = response.read()
            assert response.status == 200, (response.status, text)
            answers.put((name, json.loads(text)))
    except (OSError, AssertionError, http.client.HTTPException) as error:
        answers.put((name, error))
    finally:
        connection.close()


def _until(
    answers: "Queue[Any]", counts: dict[str, int], is_there: Callable[[dict[str, int]], bool]
) -> None:
    """Take answers until one is as wanted; each counts one further than that before it."""
    while True:
        name, answer = answers.get(timeout=STORM_SECONDS)
        assert not isinstance(answer, Exception), answer
        counts[name] = counts.get(name, 0) + 1
        if is_there(answer):
            return


@pytest.mark.slow
def test_a_storm_of_saves_under_load_loses_nothing(tmp_path: Path) -> None:
    """Fifty saves, each as soon as the one before is live, while sixteen clients count."""
    main = "src/index.ts"
    write_modules(tmp_path, {main: STORM % 0})
    server = Server(tmp_path)
    try:
        port = json.loads((tmp_path / ".edgeemu/dev.json").read_text())["port"]
        halt, answers, counts = threading.Event(), Queue[Any](), dict[str, int]()
        names = [f"c{number % 8}" for number in range(CLIENTS)]
        clients = [
            threading.Thread(target=_client, args=(port, name, halt, answers)) for name in names
        ]
        for client in clients:
            client.start()
        try:
            for version in range(1, SAVES + 1):
                write_files(tmp_path, {main: STORM % version})
                _until(answers, counts, partial(_is_version, version))
        finally:
            halt.set()
            for client in clients:
                client.join(STORM_SECONDS)
        while not answers.empty():
            _until(answers, counts, lambda _: True)
        for name, count in counts.items():
            value, fired = _get(port, f"/read/{name}")
            assert value == count, name
            assert fired > 0
        said = server.said
        assert "error[" not in said and "failed" not in said, said
    finally:
        assert server.stop() == 0


def _is_version(version: int, answer: dict[str, int]) -> bool:
    return answer["version"] == version


def _get(port: int, path: str) -> Any:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=STORM_SECONDS)
    connection.request("GET", path)
    value = json.loads(connection.getresponse().read())
    connection.close()
    return value
