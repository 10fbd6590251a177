"""One emulator beside its model: every action is taken on both, then compared."""

import asyncio
import math
import os
import signal
from collections.abc import Coroutine
from functools import partial
from pathlib import Path
from typing import Any

from edgeemu.core.rows import FaultHow
from edgeemu.emulator import Emulator, build, new_loop
from edgeemu.errors import Code, EdgeemuError
from edgeemu.sdk.errors import SqlError
from edgeemu.stores.sqlite import SqliteStore
from tests.simulation import checkers
from tests.simulation.model import Model
from tests.support.emulators import T0_MS, frozen, inst, write_project
from tests.support.journals import without_real

HERE = Path(__file__).parent
ACTORS = {"main.py": "actor.py", "main.ts": "actor.ts"}
"""The source of the actor, by the name of the main module: one in each language."""

NAMES = ("a", "b", "c")
IDLE_STEPS_MAX = 500
ACTION_S_MAX = 20


class Driver:
    """Takes actions on an emulator; the same actions on a new one must give the same journal."""

    def __init__(self, folder: Path, *, on_disk: bool, main: str) -> None:
        self._state = folder / "state" if on_disk else None
        self._main = main
        toml = f"[limits]\nidle_steps = {IDLE_STEPS_MAX}\n"
        source = (HERE / ACTORS[main]).read_text("utf-8")
        self._config = write_project(folder / "project", source, toml=toml, main=main)
        self._runner = asyncio.Runner(loop_factory=new_loop)
        self.emulator: Emulator
        self._open(T0_MS)

    def _open(self, start_ms: int | None) -> None:
        options = frozen(self._state, start_ms=start_ms)
        self.emulator = self._runner.run(Emulator.open(self._config, options))

    async def _ended(self, action: Coroutine[Any, Any, Any]) -> Any:
        """What an action gave; an error that the loop met instead may leave it without an end."""
        task = asyncio.ensure_future(action)
        errors: list[BaseException] = []

        def stop(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
            errors.append(context.get("exception") or AssertionError(context["message"]))
            task.cancel()

        self._runner.get_loop().set_exception_handler(stop)
        try:
            async with asyncio.timeout(ACTION_S_MAX):
                return await task
        except asyncio.CancelledError:
            assert not errors, f"the loop met {errors[0]!r}"
            raise

    def close(self) -> None:
        self._runner.run(self.emulator.close())
        self._runner.close()

    def take(self, action: str, *args: Any) -> Any:
        """Take one action; what it gave, or the code of its error."""
        try:
            given = getattr(self, f"_{action}")(*args)
            return self._runner.run(self._ended(given)) if asyncio.iscoroutine(given) else given
        except EdgeemuError as error:
            return error.code
        finally:
            self.emulator.journal(limit=1)  # Whoever looks sees all of it, a kill or not.

    def rows(self, name: str) -> tuple[dict[str, int], list[int]]:
        """The rows of an instance and the numbers in its ledger, as the store has them."""
        instance, store = inst(f"A/{name}"), self.emulator._parts.store
        if not store.measure_sql(instance):
            return {}, []
        try:
            sql = store.sql(instance)
            rows = sql.exec("SELECT key, value FROM rows").rows
            ledger = sql.exec("SELECT number FROM ledger ORDER BY rowid").rows
        except SqlError:  # Its first turn with SQL was undone.
            return {}, []
        finally:
            store.rollback_sql(instance)
        return dict(rows), [number for (number,) in ledger]

    # --- actions ---------------------------------------------------------------------------

    async def _call(self, name: str, method: str, *args: Any) -> Any:
        return await self.emulator.call(inst(f"A/{name}"), method, args)

    async def _crash_inside(self, name: str, row: bool) -> None:
        """Lose an instance in the middle of a turn that has written."""
        turn = asyncio.ensure_future(self._call(name, "slow", "lost", 1, row))
        await self.emulator.run_present()
        await self.emulator.evict(inst(f"A/{name}"), crash=True)
        await asyncio.gather(turn, return_exceptions=True)

    async def _unwritable(self, name: str, method: str, *args: Any) -> Any:
        """Write while the store cannot, once."""
        store = self.emulator._parts.store
        apply = store.apply

        def fail(_: Any) -> Any:
            vars(store).pop("apply")
            raise EdgeemuError(Code.STATE_UNWRITABLE, what="full", why="full", fix="none")

        await self._call(name, "look")  # Awake, so that the commit that fails is that of the call.
        self.emulator._shell.flush()
        vars(store)["apply"] = fail
        assert apply is not None
        return await self._call(name, method, *args)

    async def _fail(self, name: str, how: str, times: int) -> Any:
        return await self.emulator.alarms.fail(inst(f"A/{name}"), how=FaultHow(how), times=times)

    async def _fire(self, name: str) -> Any:
        return (await self.emulator.alarms.fire(inst(f"A/{name}")))["outcome"]

    async def _set_alarm(self, name: str, when_ms: int) -> Any:
        return await self.emulator.alarms.set(inst(f"A/{name}"), when_ms)

    async def _advance(self, duration_ms: int) -> Any:
        return await self.emulator.clock.advance(duration_ms)

    async def _next(self) -> Any:
        return await self.emulator.clock.next()

    async def _idle(self) -> Any:
        return await self.emulator.clock.idle()

    async def _evict(self, name: str | None, crash: bool) -> Any:
        instance = None if name is None else inst(f"A/{name}")
        return await self.emulator.evict(instance, crash=crash)

    async def _reload(self) -> None:
        self.emulator.reload([self._main])

    def _restart(self) -> None:
        """Stop in good order, and start again."""
        self._runner.run(self.emulator.close())
        self._open(None)

    def _kill(self) -> None:
        """Stop at once: what was not stored by now is lost."""
        self._stop_at_once()
        self._open(None)

    def _stop_at_once(self) -> None:
        self.emulator._parts.engine.close()
        self.emulator._parts.store.close()
        self._runner.close()
        self._runner = asyncio.Runner(loop_factory=new_loop)

    def _die_inside(self, name: str, word: str, at: int, fires: bool) -> bool:
        """Kill a process inside a turn, before its `at`-th statement that begins with `word`.

        Returns:
            Whether the turn had been answered by then.
        """
        self._stop_at_once()
        child = os.fork()
        if child == 0:
            try:
                self._live(name, word, at, fires)
            finally:
                os._exit(1)
        _, status = os.waitpid(child, 0)
        ended = os.waitstatus_to_exitcode(status)
        assert ended in (0, -signal.SIGKILL), f"the process that was to die ended with {ended}"
        self._open(None)
        return ended == 0

    def _live(self, name: str, word: str, at: int, fires: bool) -> None:
        left = math.inf

        def step(sql: str) -> None:
            nonlocal left
            left -= sql.startswith(word)
            if left <= 0:
                os.kill(os.getpid(), signal.SIGKILL)

        vars(build)["SqliteStore"] = partial(SqliteStore, before_statement=step)
        self._open(None)
        self._runner.run(self._call(name, "look"))
        left = at
        self._runner.run(self._fire(name) if fires else self._call(name, "enter", 700, "lands"))
        os._exit(0)


class World:
    """A driver and the model, in step."""

    def __init__(self, folder: Path, *, on_disk: bool, main: str = "main.py") -> None:
        self._folder = folder
        self._on_disk = on_disk
        self._main = main
        self.driver = Driver(folder / "first", on_disk=on_disk, main=main)
        self.model = Model(T0_MS)
        self.taken: list[tuple[Any, ...]] = []
        self._checked: list[dict[str, Any]] = []
        self._seq = 0

    def close(self) -> None:
        self.driver.close()

    def take(self, action: str, *args: Any) -> Any:
        """Take an action on the emulator."""
        self.taken.append((action, *args))
        return self.driver.take(action, *args)

    def kept_count(self, name: str) -> int:
        """How many entries of a ledger and deliveries of an alarm the journal tells of."""
        told = self.driver.emulator.journal(instance=inst(f"A/{name}"))
        return sum(each["kind"] == "alarm" or each.get("method") == "enter" for each in told)

    def check(self) -> None:
        """Compare, and look at every promise that can be seen now."""
        emulator, model = self.driver.emulator, self.model
        assert emulator.clock.read()["now_ms"] == model.now_ms, "the clock (promise 6)"
        listed = emulator.alarms.list()
        found = {item["actor"]: item for item in listed}
        for name, instance in model.instances.items():
            keys = emulator.storage.list(inst(f"A/{name}"))
            assert keys == instance.keys, f"the keys of {name} (promise 5)"
            wanted_rows = (instance.rows, list(range(1, instance.entries_count + 1)))
            assert self.driver.rows(name) == wanted_rows, f"the rows of {name} (promise 5)"
            alarm = found.pop(f"A/{name}", None)
            shown = None
            if alarm is not None:
                shown = (alarm["due_at_ms"], alarm["next_attempt_at_ms"], alarm["attempt"])
            wanted = None
            if instance.alarm is not None:
                pending = instance.alarm
                wanted = (pending.due_ms, pending.eligible_ms, pending.retry_count)
            assert shown == wanted, f"the alarm of {name} (promises 2 and 4)"
        assert not found, f"alarms that nobody set: {found}"
        self._check_journal(listed)

    def _check_journal(self, listed: list[dict[str, Any]]) -> None:
        new = self.driver.emulator.journal(since_seq=self._seq)
        self._checked += new
        self._seq = new[-1]["seq"] if new else self._seq
        entries = self._checked
        pending = {item["actor"] for item in listed}
        wrong = [
            *checkers.early_alarms(new),
            *checkers.several_alarms(listed),
            *checkers.overlapping_turns(entries),
            *checkers.wrong_redeliveries(entries),
            *checkers.unanswered_failures(entries, pending),
            *checkers.steps_back(entries),
            *checkers.failed_promises_of_actors(new),
        ]
        assert not wrong, "\n".join(wrong)
        told = [
            (entry["started_at_ms"], entry["actor"][2:], entry["retry_count"], entry["outcome"])
            for entry in entries
            if entry["kind"] == "alarm"
        ]
        # At one instant an instance that has to be constructed first comes to its end later.
        assert sorted(told) == sorted(self.model.deliveries), "the deliveries (promises 1 and 4)"

    def check_replay(self) -> None:
        """Promise 8: the same actions on a new emulator give the same journal."""
        other = Driver(self._folder / "again", on_disk=self._on_disk, main=self._main)
        try:
            for action in self.taken:
                other.take(*action)
            one, two = self.driver.emulator.journal(), other.emulator.journal()
        finally:
            other.close()
        difference = checkers.first_difference(without_real(one), without_real(two))
        assert difference is None, f"promise 8: {difference}"
