"""What is the state's fault, or a refusal, never costs an alarm, nor leaves anybody waiting."""

import asyncio
import shutil
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from edgeemu.clock import ClockMode, wait_event_real_ms
from edgeemu.core.journal import Recorded
from edgeemu.core.machine import Machine
from edgeemu.emulator import Emulator
from edgeemu.errors import Code, EdgeemuError, InvariantError
from edgeemu.stores.own_file import path_of
from edgeemu.stores.port import Batch
from tests.support.emulators import T0_MS, frozen, inst, run_with, write_project

SOURCE = """
class A(StatefulActor):
    async def arm(self, after_ms):
        self.ctx.storage.sql.exec("CREATE TABLE IF NOT EXISTS t (v)")
        await self.ctx.storage.put("k", 1)
        await self.ctx.storage.set_alarm(self.ctx.now_ms() + after_ms)
    async def alarm(self, info):
        await self.ctx.storage.put("ran", await self.ctx.storage.get("k"))
    async def look(self):
        return await self.ctx.storage.get("ran", "never"), await self.ctx.storage.get_alarm()
    async def swallow(self):
        try:
            await self.ctx.storage.get("k")
        except Exception:
            return "as if nothing had happened"
"""
X = inst("A/x")
STRICT = "[limits]\nstrict = true\n"
OWN = path_of(Path(), X)


async def _arm(emulator: Emulator, after_ms: int = 60_000) -> None:
    await emulator.call(X, "arm", [after_ms])


async def refused(code: Code, doing: Any) -> EdgeemuError:
    """The error that something ends with."""
    with pytest.raises(EdgeemuError) as raised:
        await doing
    assert raised.value.code is code
    return raised.value


# --- strict mode ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "value"), [("k" * 3_000, 1), ("big", "v" * 1_100_000)], ids=["key", "value"]
)
def test_refused_edit_changes_nothing_and_costs_no_alarm(
    tmp_path: Path, key: str, value: object
) -> None:
    async def body(emulator: Emulator) -> Any:
        await _arm(emulator)
        put = emulator.storage.put(X, key, value)
        assert "strict = true" in (await refused(Code.VALUE_INVALID, put)).fix
        document = emulator.storage.export(X)
        document["keys"][key] = value
        await refused(Code.VALUE_INVALID, emulator.storage.import_(X, document))
        moved = await emulator.clock.advance(60_000)
        assert moved["succeeded"] == 1
        return await emulator.call(X, "look")

    assert run_with(write_project(tmp_path, SOURCE, toml=STRICT), body) == [1, None]


def test_strict_project_refuses_an_odd_name_in_edits_as_in_calls(tmp_path: Path) -> None:
    async def body(emulator: Emulator) -> None:
        odd = inst("A/+1")
        await refused(Code.ADDRESS_INVALID, emulator.call(odd, "look"))
        await refused(Code.ADDRESS_INVALID, emulator.storage.put(odd, "k", 1))
        await refused(Code.ADDRESS_INVALID, emulator.storage.sql(odd, "SELECT 1"))
        await refused(Code.ADDRESS_INVALID, emulator.alarms.set(odd, T0_MS))
        assert emulator.list_instances() == []

    run_with(write_project(tmp_path, SOURCE, toml=STRICT), body)


def test_edit_that_the_host_refuses_ends_and_frees_the_instance(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The switch may be thrown between the check and the turn of an edit that waits."""

    async def body(emulator: Emulator) -> Any:
        with monkeypatch.context() as patch:
            patch.setattr("edgeemu.emulator.storage.oversize_text", lambda *_: None)
            await refused(Code.ACTOR_FAILED, emulator.storage.put(X, "k" * 3_000, 1))
        return await emulator.call(X, "look")

    assert run_with(write_project(tmp_path, SOURCE, toml=STRICT), body) == ["never", None]


# --- a file of an instance that is not as it was left --------------------------------------------


@pytest.mark.parametrize(("first_ms", "second_ms"), [(60_000, 10_000), (10_000, 60_000)])
def test_alarm_of_a_copy_that_was_put_back_is_delivered(
    tmp_path: Path, first_ms: int, second_ms: int
) -> None:
    """The one that the copy knows, when the instance is looked at, and no storm before."""
    config, state = write_project(tmp_path, SOURCE), tmp_path / "state"
    run_with(config, lambda emulator: _arm(emulator, first_ms), frozen(state))
    shutil.copy(state / OWN, tmp_path / "copy")
    run_with(config, lambda emulator: _arm(emulator, second_ms), frozen(state))
    shutil.copy(tmp_path / "copy", state / OWN)

    async def body(emulator: Emulator) -> Any:
        first = await emulator.clock.advance(20_000)
        second = await emulator.clock.advance(50_000)
        seen = first["succeeded"], second["succeeded"]
        return seen, await emulator.call(X, "look")

    # An alarm that only the file knows as earlier is found with the index's own, at 60 s.
    assert run_with(config, body, frozen(state)) == ((0, 1), [1, None])


def _spoil_keys(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("DROP TABLE _edgeemu_keys")
    db.close()


def test_damage_that_a_handler_meets_uses_up_no_attempt(tmp_path: Path) -> None:
    config, state = write_project(tmp_path, SOURCE), tmp_path / "state"
    run_with(config, _arm, frozen(state))
    shutil.copy(state / OWN, tmp_path / "good")
    _spoil_keys(state / OWN)

    async def body(emulator: Emulator) -> None:
        for _ in range(6):
            assert (await emulator.clock.advance(60_000))["deliveries"] <= 1
        (pending,) = emulator.alarms.list()
        assert (pending["state"], pending["attempt"]) == ("waiting", 0)
        assert "crashed" in {entry.get("outcome") for entry in emulator.journal()}

    run_with(config, body, frozen(state))
    # Mended by hand, the alarm is there to be delivered.
    for rest in state.glob(f"{OWN}*"):
        rest.unlink()
    shutil.copy(tmp_path / "good", state / OWN)

    async def mended(emulator: Emulator) -> Any:
        await emulator.run_present()
        await emulator.clock.advance(60_000)
        return await emulator.call(X, "look")

    assert run_with(config, mended, frozen(state)) == [1, None]


def test_damage_that_a_method_meets_fails_it_even_where_it_looks_away(tmp_path: Path) -> None:
    config, state = write_project(tmp_path, SOURCE), tmp_path / "state"
    run_with(config, _arm, frozen(state))
    _spoil_keys(state / OWN)

    async def body(emulator: Emulator) -> None:
        error = await refused(Code.STATE_DAMAGED, emulator.call(X, "swallow"))
        assert "x.sqlite" in error.what

    run_with(config, body, frozen(state))


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE _edgeemu_turn SET number = 'abc'",
        f"UPDATE _edgeemu_turn SET number = {2**63 - 1}",
        "UPDATE _edgeemu_turn SET format = 'x'",
        "UPDATE _edgeemu_turn SET number = 7, entries = '[1,2]'",
        "UPDATE _edgeemu_turn SET number = 7, entries = '1'",
        "UPDATE _edgeemu_turn SET number = 7, meta = '[1]'",
        "UPDATE _edgeemu_turn SET row = '[1, \"two\"]'",
        "UPDATE _edgeemu_turn SET row = replace(row, '[', '[\"text\",')",
    ],
)
def test_values_that_no_edgeemu_wrote_are_damage_of_that_instance(
    tmp_path: Path, change: str
) -> None:
    config, state = write_project(tmp_path, SOURCE), tmp_path / "state"
    run_with(config, _arm, frozen(state))
    with sqlite3.connect(state / OWN) as db:
        db.execute(change)
    db.close()

    async def body(emulator: Emulator) -> None:
        await refused(Code.STATE_DAMAGED, emulator.call(X, "look"))
        await emulator.call(inst("A/other"), "arm", [60_000])
        for deliveries in (1, 0):  # The other one's; and nobody waits for ever.
            assert (await emulator.clock.advance(120_000))["deliveries"] == deliveries
        assert [each["state"] for each in emulator.alarms.list()] == ["waiting"]
        warned = [entry for entry in emulator.journal() if entry["kind"] == "warning"]
        assert [(each["code"], each["actor"]) for each in warned] == [
            ("W_STATE_AT_FAULT", "A/x")
        ] * 3, "the call and each move tell of it"
        other, broken = emulator.list_instances()
        assert (other["state"], other["state_error"], other["keys"]) == ("evicted", None, 2)
        assert (broken["state"], broken["keys"]) == ("broken", None)
        assert broken["alarm"]["due_at_ms"] == T0_MS + 60_000
        shown = emulator.show_instance(X)
        assert shown["state_error"] == broken["state_error"]
        assert "x.sqlite" in shown["state_error"]["what"]

    run_with(config, body, frozen(state))


def test_damaged_file_holds_up_no_other_while_time_passes_by_itself(tmp_path: Path) -> None:
    config, state = write_project(tmp_path, SOURCE), tmp_path / "state"
    run_with(config, lambda emulator: _arm(emulator, 0), frozen(state))
    good = (state / OWN).read_bytes()
    (state / OWN).write_bytes(b"x" * 4_096)
    (state / OWN).with_name("x.sqlite-wal").unlink(missing_ok=True)

    async def body(emulator: Emulator) -> Any:
        warned, delivered = asyncio.Event(), asyncio.Event()

        def note(batch: list[Any]) -> None:
            kinds = {str(item.entry.kind): item.entry.instance for item in batch}
            if "warning" in kinds:
                warned.set()
            if "alarm" in kinds:
                delivered.set()

        emulator.watch(note)
        emulator.start()
        await wait_event_real_ms(warned, 5_000)
        await emulator.call(inst("A/other"), "arm", [0])
        await wait_event_real_ms(delivered, 5_000)
        assert await emulator.call(inst("A/other"), "look") == [1, None]
        (state / OWN).write_bytes(good)  # Put back while the server runs.
        await emulator.run_present()
        return await emulator.call(X, "look")

    assert run_with(config, body, frozen(state, mode=ClockMode.REAL)) == [1, None]


def test_alarm_that_could_not_be_kept_is_tried_again_though_nothing_else_happens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk is full for a moment, or another program holds a transaction open."""

    async def soon(_: float) -> None:
        await wait_event_real_ms(asyncio.Event(), 1)

    async def body(emulator: Emulator) -> Any:
        store = emulator._parts.store
        keep, refused_count, kept = store.apply, 0, asyncio.Event()

        def apply(batch: Batch) -> list[Recorded]:
            nonlocal refused_count
            if refused_count < 3:
                refused_count += bool(batch.turns)
                why = "no room is left"
                raise EdgeemuError(Code.STATE_UNWRITABLE, what="not written", why=why, fix="-")
            return keep(batch)

        def note(batch: list[Recorded]) -> None:
            if any(item.entry.kind == "alarm" for item in batch):
                kept.set()

        await _arm(emulator, 0)
        monkeypatch.setattr(store, "apply", apply)
        monkeypatch.setattr("edgeemu.emulator.mover.pause_real_ms", soon)
        emulator.watch(note)
        emulator.start()
        assert await wait_event_real_ms(kept, 5_000), "it is tried until it can be kept"
        told = [each["message"] for each in emulator.journal() if each["kind"] == "warning"]
        assert len(told) == 1
        assert "no room is left" in told[0]
        return await emulator.call(X, "look")

    config = write_project(tmp_path, SOURCE)
    options = frozen(tmp_path / "state", mode=ClockMode.REAL)
    assert run_with(config, body, options) == [1, None]


def test_call_that_could_not_be_kept_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def body(emulator: Emulator) -> None:
        await _arm(emulator)

        def apply(_: Batch) -> list[Recorded]:
            raise EdgeemuError(Code.STATE_UNWRITABLE, what="full", why="no room", fix="make room")

        monkeypatch.setattr(emulator._parts.store, "apply", apply)
        for doing in (emulator.call(X, "look"), emulator.alarms.fire(X)):
            error = await refused(Code.STATE_UNWRITABLE, doing)
            assert (error.why, error.fix) == ("no room", "make room")
        monkeypatch.undo()

    run_with(write_project(tmp_path, SOURCE), body, frozen(tmp_path / "state"))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows keeps open files from being deleted")
@pytest.mark.parametrize("put_back", [False, True], ids=["deleted", "replaced"])
@pytest.mark.parametrize("method", ["arm", "count"], ids=["with SQL", "keys alone"])
def test_turn_whose_file_is_gone_is_not_counted_as_done(
    tmp_path: Path, method: str, put_back: bool
) -> None:
    source = SOURCE + (
        "    async def count(self, n):\n        await self.ctx.storage.put('ran', n)\n"
    )
    config, state = write_project(tmp_path, source), tmp_path / "state"

    async def body(emulator: Emulator) -> Any:
        await _arm(emulator)
        emulator.flush()
        copy = [(path, path.read_bytes()) for path in state.glob(f"{OWN}*")]
        for path, _ in copy:
            path.unlink()
        for path, data in copy if put_back else ():
            if not path.name.endswith("-shm"):
                path.write_bytes(data)
        error = await refused(Code.STATE_DAMAGED, emulator.call(X, method, [5]))
        assert "x.sqlite" in error.what
        if put_back:
            return await emulator.call(X, "look")
        await refused(Code.STATE_DAMAGED, emulator.call(X, "look"))
        (shown,) = emulator.list_instances()
        assert shown["state"] == "broken"
        assert [each["attempt"] for each in emulator.alarms.list()] == [0]
        assert not list((state / OWN).parent.iterdir()), "a new file hides the loss"
        return None

    found = run_with(config, body, frozen(state))
    if put_back:
        assert found == ["never", T0_MS + 60_000]
        assert run_with(config, lambda emulator: emulator.call(X, "look"), frozen(state)) == found


def test_text_in_a_column_of_numbers_is_damage(tmp_path: Path) -> None:
    config, state = write_project(tmp_path, SOURCE), tmp_path / "state"

    async def put(emulator: Emulator) -> None:
        await emulator.storage.put(inst("A/y"), "k", 1)

    run_with(config, put, frozen(state))
    with sqlite3.connect(state / "state.sqlite") as db:
        db.execute("UPDATE instances SET last_delivery_at_ms = 'soon'")
    db.close()

    async def body(emulator: Emulator) -> None:
        error = await refused(Code.STATE_DAMAGED, emulator.call(inst("A/y"), "look"))
        assert "last_delivery_at_ms" in error.why

    run_with(config, body, frozen(state))


# --- a bug of ours --------------------------------------------------------------------------------


def test_bug_in_the_middle_of_carrying_out_leaves_nobody_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    step: Callable[..., Any] = Machine.step

    async def body(emulator: Emulator) -> None:
        await emulator.call(X, "look")

        def answer_nonsense(machine: Machine, event: Any) -> Any:
            step(machine, event)
            raise LookupError("planted")

        monkeypatch.setattr(Machine, "step", answer_nonsense)
        with pytest.raises(InvariantError, match="planted"):
            await emulator.call(X, "look")
        monkeypatch.undo()
        with pytest.raises(InvariantError, match="planted"):
            await emulator.call(X, "look")

    run_with(write_project(tmp_path, SOURCE), body)
