"""Commands without a server: as with one, and the state is as it was left."""

import json
import re
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import get_ident
from typing import Any

import httpx
import pytest

from edgeemu.api.app import Access, App
from edgeemu.api.client import Target, open_target
from edgeemu.api.local import LocalTarget
from edgeemu.clock import ClockMode
from edgeemu.config import load_config
from edgeemu.emulator import Emulator
from edgeemu.errors import Code, EdgeemuError, error_from_json
from tests.support.emulators import T0_MS, frozen, opened, run
from tests.support.projects import write_api_project

STORY: list[tuple[str, dict[str, Any]]] = [
    ("clock.read", {}),
    ("call", {"actor": "x", "method": "touch"}),
    ("call", {"actor": "A/y", "method": "touch"}),
    ("call", {"actor": "A/y", "method": "boom"}),
    ("call", {"actor": "A/y", "method": "_private"}),
    ("call", {"actor": "A/y", "method": "echo", "args": [{"$date": 0}, 2**53 - 1, 1.5, "ü\ud800"]}),
    ("call", {"actor": "B/y", "method": "touch"}),
    ("call", {"actor": "A/y"}),
    ("alarms.list", {}),
    ("alarms.list", {"type": "A"}),
    ("clock.advance", {"duration_ms": 59_999}),
    ("clock.advance", {"duration_ms": -1}),
    ("storage.put", {"actor": "A/y", "key": "broken", "value": True}),
    ("storage.put", {"actor": "A/y", "key": "k", "value": {"$map": [[1, 2]]}}),
    ("storage.list", {"actor": "A/y"}),
    ("storage.get", {"actor": "A/y", "key": "none"}),
    ("clock.next", {}),
    ("alarms.list", {}),
    ("alarms.why", {"actor": "A/y"}),
    ("alarms.fire", {"actor": "A/y"}),
    ("alarms.fail", {"actor": "A/y", "times": 9}),
    ("clock.idle", {}),
    ("alarms.list", {"ended": True}),
    ("alarms.history", {"actor": "A/y"}),
    ("alarms.set", {"actor": "A/z", "when_ms": T0_MS + 10**8}),
    ("alarms.fail", {"actor": "A/z", "how": "timeout", "now": True}),
    ("alarms.clear", {"actor": "A/z"}),
    ("storage.export", {"actor": "A/y"}),
    ("storage.import", {"actor": "A/w", "document": {"format": 1, "keys": {"a": 1}}}),
    ("storage.delete", {"actor": "A/w", "key": "a"}),
    ("fetch", {"path": "/p?q=1", "method": "POST", "headers": [["X-A", "1"]], "body": "AAE="}),
    ("fetch", {"path": "/boom"}),
    ("fetch", {"path": "/bad"}),
    ("clock.set", {"instant_ms": T0_MS}),
    ("clock.rate", {"rate": 0}),
    ("actors.list", {}),
    ("actors.show", {"actor": "A/y"}),
    ("actors.names", {"prefix": "A/"}),
    ("nope", {}),
    ("log", {}),
]
"""Operations one after another, each as a command of its own."""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_api_project(tmp_path / "shop")
    return tmp_path / "shop"


@pytest.fixture
def local(root: Path) -> Iterator[Callable[..., Any]]:
    """Performs operations, each as a command of its own."""

    def ask(name: str, /, **params: Any) -> Any:
        target = open_target(root)
        assert isinstance(target, LocalTarget)
        try:
            return target.perform(name, params)
        finally:
            target.close()

    yield ask


def leave(root: Path, **options: Any) -> None:
    """Leave a state behind, frozen at T0."""

    async def main() -> None:
        async with opened(load_config(root), frozen(root / ".edgeemu", **options)):
            pass

    run(main())


def raised_by(ask: Callable[..., Any], name: str, **params: Any) -> EdgeemuError:
    with pytest.raises(EdgeemuError) as raised:
        ask(name, **params)
    return raised.value


def outcome(ask: Callable[..., Any], name: str, params: dict[str, Any]) -> Any:
    try:
        return ask(name, **params)
    except EdgeemuError as error:
        return error.as_json()


def in_server(root: Path) -> list[Any]:
    """What a running server answers to the story."""

    async def main() -> list[Any]:
        config = load_config(root)
        emulator = await Emulator.open(config, frozen(root / ".edgeemu"))
        emulator.start()
        transport = httpx.ASGITransport(app=App(emulator, Access("t", "127.0.0.1", 8787)))
        headers = {"authorization": "Bearer t", "edgeemu-cause": "cli"}
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
            answers = []
            for name, params in STORY:
                path = "/_edgeemu/" + name.replace(".", "/")
                response = await http.post(path, content=json.dumps(params), headers=headers)
                answers.append(json.loads(response.content))
                if response.status_code != 200:
                    assert error_from_json(answers[-1]) is not None
                # Until the next command comes, the server has had the time to deliver.
                await emulator.run_present()
        await emulator.close()
        return answers

    found: list[Any] = run(main())
    return found


def shown(answer: Any) -> str:
    """An answer as text, without what real time, memory and the numbers of turns decide."""
    return re.sub(r"turn \d+", "turn", json.dumps(_comparable(answer), indent=1))


def _comparable(answer: Any) -> Any:
    if isinstance(answer, dict):
        numbers = ("seq", "turn") if "kind" in answer else ("turn",)
        return {
            key: _comparable(value)
            for key, value in answer.items()
            if not key.startswith("real_")
            and key not in numbers
            and not (key == "state" and value in ("idle", "evicted"))
        }
    if isinstance(answer, list):
        of_memory = ("started", "init", "evicted", "warning")
        return [
            _comparable(item)
            for item in answer
            if not (isinstance(item, dict) and item.get("kind") in of_memory)
        ]
    return answer


def test_commands_say_the_same_with_a_server_and_without(
    root: Path, local: Callable[..., Any], tmp_path: Path
) -> None:
    shutil.copytree(root, tmp_path / "served/shop")
    leave(root)
    served = in_server(tmp_path / "served/shop")
    alone = [outcome(local, name, params) for name, params in STORY]
    for (name, params), with_server, without in zip(STORY, served, alone, strict=True):
        assert shown(without) == shown(with_server), (name, params)


def test_overdue_alarms_fire_only_around_what_runs_or_moves(
    root: Path, local: Callable[..., Any]
) -> None:
    leave(root)
    local("call", actor="A/x", method="touch")
    local("alarms.set", actor="A/x", when_ms=T0_MS - 1)
    for name in ("alarms.list", "clock.read", "actors.list", "log"):
        local(name)
    local("storage.put", actor="A/x", key="k", value=1)
    assert [alarm["due_in_ms"] for alarm in local("alarms.list")] == [-1]
    assert local("clock.advance", duration_ms=0)["deliveries"] == 0
    assert local("alarms.list") == []
    assert local("storage.get", actor="A/x", key="fired") == T0_MS


def test_what_an_operation_makes_due_fires_after_it(root: Path, local: Callable[..., Any]) -> None:
    leave(root)
    source = (root / "main.py").read_text()
    (root / "main.py").write_text(source.replace("now_ms() + 60_000", "now_ms()"))
    local("call", actor="A/x", method="touch")
    assert local("alarms.list") == []


def test_broken_project_is_no_hindrance_to_looking_and_editing(
    root: Path, local: Callable[..., Any]
) -> None:
    leave(root)
    local("call", actor="A/x", method="touch")
    (root / "main.py").write_text("def (")
    assert len(local("alarms.list")) == 1
    assert local("storage.put", actor="A/x", key="k", value=1)["key"] == "k"
    assert local("alarms.fail", actor="A/x")["times"] == 1
    for name in ("clock.read", "clock.freeze", "log", "actors.list", "evict", "status"):
        local(name)
    for name, params in (
        ("call", {"actor": "A/x", "method": "touch"}),
        ("clock.advance", {"duration_ms": 60_000}),
        ("alarms.fire", {"actor": "A/x"}),
        ("reload", {}),
    ):
        assert raised_by(local, name, **params).code is Code.PROJECT_SYNTAX
    assert local("clock.read")["now_ms"] == T0_MS


def test_broken_configuration_is_told_by_every_operation(
    root: Path, local: Callable[..., Any]
) -> None:
    (root / "edgeemu.toml").write_text("nope = 1")
    assert raised_by(local, "clock.read").code is Code.CONFIG_UNKNOWN_KEY


def test_folder_without_a_project_says_so(tmp_path: Path) -> None:
    with pytest.raises(EdgeemuError) as raised:
        open_target(tmp_path)
    assert raised.value.code is Code.CONFIG_MISSING


def test_looking_does_not_write_into_the_journal(root: Path, local: Callable[..., Any]) -> None:
    leave(root)
    local("call", actor="A/x", method="touch")
    before = local("log")
    for name in ("alarms.list", "actors.list", "clock.read", "status"):
        local(name)
    assert local("log") == before
    assert {entry["kind"] for entry in before} == {"init", "call", "alarm_set"}


def test_words_of_an_actor_go_to_stderr(
    root: Path, local: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    source = (root / "main.py").read_text()
    (root / "main.py").write_text(source + "\nprint('words of a module')\n")
    local("call", actor="A/x", method="shout")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.split("\n")[:2] == ["words of a module", "an actor's own words"]


def test_turn_that_sleeps_goes_on_where_time_passes(root: Path, local: Callable[..., Any]) -> None:
    for options in ({"mode": ClockMode.REAL}, {"mode": ClockMode.RATE, "rate": 1_000.0}):
        leave(root, **options)
        assert local("call", actor="A/x", method="nap", args=[5]) == "rested"


def test_turn_that_waits_for_frozen_time_fails_and_leaves_nothing(
    root: Path, local: Callable[..., Any]
) -> None:
    leave(root)
    error = raised_by(local, "call", actor="A/x", method="nap", args=[5])
    assert error.code is Code.FROZEN_WAIT
    assert "main.py:" in error.what
    assert local("clock.read")["now_ms"] == T0_MS


def test_several_operations_share_one_opening(root: Path) -> None:
    leave(root)
    target = LocalTarget(root, root / ".edgeemu")
    assert target.perform("call", {"actor": "A/x", "method": "echo", "args": [1]}) == [1]
    (shown,) = target.perform("actors.list")
    assert shown["state"] == "idle"
    second = LocalTarget(root, root / ".edgeemu")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("edgeemu.emulator.build.STATE_LOCK_WAIT_MS", 1)
        with pytest.raises(EdgeemuError) as raised:
            second.perform("clock.read")
    assert raised.value.code is Code.STATE_IN_USE
    second.close()
    target.close()
    target.close()


def test_following_needs_a_server(root: Path) -> None:
    target: Target = LocalTarget(root, root / ".edgeemu")
    with pytest.raises(EdgeemuError) as raised:
        target.follow({})
    assert raised.value.code is Code.SERVER_UNREACHABLE
    assert "edgeemu dev" in raised.value.fix
    target.close()


def test_interrupt_is_clean_and_keeps_what_was_answered(
    root: Path, local: Callable[..., Any]
) -> None:
    leave(root)
    local("call", actor="A/x", method="touch")
    source = (root / "main.py").read_text()
    lines = f"import signal\n        signal.pthread_kill({get_ident()}, signal.SIGINT)\n        "
    (root / "main.py").write_text(
        source.replace("return list(values)", lines + "await asyncio.sleep(0)")
    )
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with pytest.raises(KeyboardInterrupt):
        local("call", actor="A/x", method="echo")
    assert len(local("alarms.list")) == 1


def test_clock_is_where_the_last_command_left_it(root: Path, local: Callable[..., Any]) -> None:
    leave(root)
    local("clock.advance", duration_ms=5)
    assert local("clock.rate", rate=60)["mode"] == "rate"
    assert local("clock.freeze")["now_ms"] >= T0_MS + 5
    assert local("clock.read")["mode"] == "frozen"
