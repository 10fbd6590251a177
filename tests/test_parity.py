"""What the emulator can do, every skin can: by an operation, a route, a command, a test's call.

The tables name for each public method of the facade where it is found. A new method belongs to none
of them and fails here, until it has its place or a reason not to have one.
"""

import inspect
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

from edgeemu.api.app import Access, App
from edgeemu.api.operations import OPERATIONS
from edgeemu.cli.app import make_command
from edgeemu.emulator import Emulator
from edgeemu.emulator.alarms import AlarmControl
from edgeemu.emulator.clockwork import ClockControl
from edgeemu.emulator.kv import KvControl
from edgeemu.emulator.storage import StorageControl
from edgeemu.testing import fixture, handles
from tests.support.emulators import run_with
from tests.support.projects import write_api_project

CLASSES: Mapping[str, type] = {
    "emulator": Emulator,
    "clock": ClockControl,
    "alarms": AlarmControl,
    "storage": StorageControl,
    "kv": KvControl,
}
CLI = Path(__file__).parents[1] / "edgeemu/cli"


class Skins(NamedTuple):
    """Where a method is found: its operation (and so its route), command, and call in a test."""

    operation: str
    command: str | None
    fixture: str | None
    reason: str = ""
    """Why there is no command, or no call in a test."""


PARITY: Mapping[str, Skins] = {
    "emulator.call": Skins("call", "call", "MethodHandle.__call__"),
    "emulator.fetch": Skins("fetch", "fetch", "EdgeemuFixture.fetch"),
    "emulator.connect": Skins("connect", "connect", "EdgeemuFixture.connect"),
    "emulator.evict": Skins("evict", "evict", "ActorHandle.evict"),
    "emulator.journal": Skins("log", "log", "EdgeemuFixture.journal"),
    "emulator.list_instances": Skins(
        "actors.list", "actors list", None, "a test makes its own, and asks each by its name"
    ),
    "emulator.show_instance": Skins(
        "actors.show", "actors show", None, "the handles of an actor have each part of it"
    ),
    "emulator.names": Skins("actors.names", None, None, "it is what shell completion asks for"),
    "emulator.list_functions": Skins(
        "status", None, None, "`edgeemu dev` and `check` name them; a test has their configuration"
    ),
    "emulator.reload": Skins("reload", None, None, "`dev` reloads by itself; a test has one code"),
    "emulator.waiting": Skins("status", None, None, "a command that gets no answer tells of it"),
    "clock.read": Skins("clock.read", "clock", "ClockHandle.read"),
    "clock.freeze": Skins("clock.freeze", "clock freeze", "ClockHandle.freeze"),
    "clock.resume": Skins("clock.resume", "clock resume", "ClockHandle.resume"),
    "clock.set_rate": Skins(
        "clock.rate", "clock rate", None, "a test that hangs on real time is no good test"
    ),
    "clock.advance": Skins("clock.advance", "clock advance", "ClockHandle.advance"),
    "clock.set_to": Skins("clock.set", "clock set", "ClockHandle.set"),
    "clock.next": Skins("clock.next", "clock next", "ClockHandle.next"),
    "clock.idle": Skins("clock.idle", "clock idle", "ClockHandle.idle"),
    "alarms.list": Skins("alarms.list", "alarms list", "EdgeemuFixture.alarms"),
    "alarms.fire": Skins("alarms.fire", "alarms fire", "AlarmHandle.fire"),
    "alarms.fail": Skins("alarms.fail", "alarms fail", "AlarmHandle.fail"),
    "alarms.set": Skins("alarms.set", "alarms set", "AlarmHandle.set"),
    "alarms.clear": Skins("alarms.clear", "alarms clear", "AlarmHandle.clear"),
    "alarms.history": Skins("alarms.history", "alarms history", "AlarmHandle.history"),
    "alarms.why": Skins("alarms.why", "alarms why", "AlarmHandle.why"),
    "storage.list": Skins("storage.list", "storage list", "StorageHandle.list"),
    "storage.get": Skins("storage.get", "storage get", "StorageHandle.__getitem__"),
    "storage.put": Skins("storage.put", "storage put", "StorageHandle.put"),
    "storage.delete": Skins("storage.delete", "storage delete", "StorageHandle.delete"),
    "storage.sql": Skins("storage.sql", "storage sql", "StorageHandle.sql"),
    "storage.export": Skins(
        "storage.export", "storage export", None, "`dict(actor.storage)` and `actor.alarm` do"
    ),
    "storage.import_": Skins(
        "storage.import", "storage import", None, "`actor.storage.update(...)` and `set` do"
    ),
    "kv.list": Skins("kv.list", "kv list", "KvHandle.list"),
    "kv.get": Skins("kv.get", "kv get", "KvHandle.get"),
    "kv.put": Skins("kv.put", "kv put", "KvHandle.put"),
    "kv.delete": Skins("kv.delete", "kv delete", "KvHandle.delete"),
}
"""Every method that people use."""

VIA: Mapping[str, str] = {
    "emulator.call": "emulator.start_call(",
    "emulator.fetch": "answer_front(",
    "emulator.connect": "converse(\n        emulator,",
}
"""What an operation calls where it does not call the method itself."""

INSIDE: Mapping[str, str] = {
    "emulator.open": "a skin opens the emulator",
    "emulator.load": "a skin opens the emulator",
    "emulator.start": "`dev` starts it; a command and a test move time themselves",
    "emulator.let_time_pass": "a skin runs one command on a clock that runs",
    "emulator.wind_down": "a skin stops the emulator",
    "emulator.close": "a skin stops the emulator",
    "emulator.flush": "a skin has what happened told at once",
    "emulator.watch": "`log --follow`, the live log and strictness stand on it",
    "emulator.on_broken": "a skin is told of a bug",
    "emulator.fail_fast": "the fixture asks for it",
    "emulator.take_failed_assertion": "the fixture asks for it",
    "emulator.types": "the configuration has them",
    "emulator.debugger": "the banner of `dev --inspect` tells it; only `dev` has one",
    "emulator.address": "every skin reads addresses with it",
    "emulator.start_call": "in one process only: `actor.method.start(...)` of the fixture",
    "emulator.settle": "a skin waits until nothing goes on: `connect` reads what has arrived",
    "emulator.run_present": "every skin runs what is due around an operation",
    "emulator.reload_failed": "the watcher tells of code that it could not read",
    "emulator.warn": "a skin warns",
    "alarms.of": "`alarms list` and `actors show` have it; the handle of an alarm reads it",
}
"""Every other public method, and why it has no place of its own in the skins."""


def public_methods(classes: Mapping[str, type]) -> set[str]:
    return {
        f"{part}.{name}"
        for part, kind in classes.items()
        for name, member in vars(kind).items()
        if not name.startswith("_")
        and (callable(member) or isinstance(member, property | classmethod | staticmethod))
    }


def homeless(classes: Mapping[str, type]) -> set[str]:
    """Public methods that no table names."""
    return public_methods(classes) - set(PARITY) - set(INSIDE)


def commands(command: Any, path: str = "") -> set[str]:
    """Every command and group, as typed behind `edgeemu`."""
    found = {path} if path else set()
    context = command.make_context("edgeemu", [], resilient_parsing=True)
    for name in getattr(command, "list_commands", lambda _: [])(context):
        child = command.get_command(context, name)
        found |= commands(child, f"{path} {name}".strip())
    return found


def test_every_public_method_has_its_place_or_a_reason() -> None:
    found = homeless(CLASSES)
    assert not found, (
        f"{sorted(found)}: give each an operation, a command and a call of the fixture, and a row "
        "in PARITY; or a reason in INSIDE"
    )
    gone = {*PARITY, *INSIDE} - public_methods(CLASSES)
    assert not gone, f"{sorted(gone)}: there are no such methods any more"
    assert not set(PARITY) & set(INSIDE)


def test_a_new_method_is_found() -> None:
    class Newer(Emulator):
        def rewind(self) -> None:
            """Something that nobody can reach."""

        @property
        def mood(self) -> str:
            return "good"

        @classmethod
        async def reopen(cls) -> None: ...

        def _hidden(self) -> None: ...

    found = homeless({"emulator": Newer})
    assert found == {"emulator.rewind", "emulator.mood", "emulator.reopen"}


@pytest.mark.parametrize("method", PARITY)
def test_operation_calls_the_method(method: str) -> None:
    part, _, name = method.partition(".")
    receiver = "emulator" if part == "emulator" else f"emulator.{part}"
    handler = inspect.getsource(OPERATIONS[PARITY[method].operation].handler)
    assert VIA.get(method, f"{receiver}.{name}(") in handler


def test_every_operation_belongs_to_a_method() -> None:
    assert {row.operation for row in PARITY.values()} == set(OPERATIONS)


def test_every_operation_has_a_route(tmp_path: Path) -> None:
    async def body(emulator: Emulator) -> None:
        app = App(emulator, Access("a-token", "127.0.0.1", 8787))
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
            for name in OPERATIONS:
                # A field that no operation has is refused by the operation, not by the router.
                response = await http.post(
                    f"/_edgeemu/{name.replace('.', '/')}",
                    headers={"authorization": "Bearer a-token"},
                    json={"?": 1},
                )
                assert response.json()["error"]["code"] == "E_REQUEST_INVALID", name

    run_with(write_api_project(tmp_path), body)


def test_every_operation_has_a_command_that_asks_for_it() -> None:
    known = commands(make_command())
    source = "".join(path.read_text(encoding="utf-8") for path in CLI.glob("*.py"))
    for method, row in PARITY.items():
        if row.command is not None:
            assert row.command in known, method
            asks = rf'perform\((run, )?\s*"{re.escape(row.operation)}"'
            assert re.search(asks, source), f"no command asks for {row.operation}"


def test_every_call_of_the_fixture_is_there() -> None:
    for method, row in PARITY.items():
        if row.fixture is not None:
            kind, _, name = row.fixture.partition(".")
            owner = getattr(handles, kind, None) or getattr(fixture, kind)
            assert name in vars(owner), f"{row.fixture} of {method}"


def test_every_exception_has_its_reason() -> None:
    for method, row in PARITY.items():
        missing = row.command is None or row.fixture is None
        assert bool(row.reason) is missing, method
    assert all(INSIDE.values())
