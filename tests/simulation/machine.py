"""The state machine: faults at will, then none, and all due work ends."""

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from edgeemu.errors import Code
from tests.simulation.model import ATTEMPTS_MAX, ModelInstance
from tests.simulation.world import NAMES, World

names = st.sampled_from(NAMES)
keys = st.sampled_from(["k", "m"])
values = st.integers(0, 9)
hows = st.sampled_from(["throw", "timeout", "crash-before-commit", "crash-after-commit"])
after = st.sampled_from([-5_000, 0, 1, 999, 1_000, 2_000, 30_000, 86_400_000])
edits = st.sampled_from(["replace", "add", "remove", "several", "breaks", "undone", "nested"])
endings = st.sampled_from(["lands", "lands", "caught", "fails", "throws"])
commits = st.tuples(st.just("COMMIT"), st.sampled_from([1, 2, 2, 2, 3]))
points = commits | commits | st.tuples(st.just(""), st.integers(1, 46))
"""Before which statement a process dies: a commit (most turns have two, a move three), or any."""
rearms = st.sampled_from([None, None, 400, 1_000, 7_000])


def deliveries_of(moved: Any) -> int:
    """How many deliveries a move made, which must have come to its end."""
    assert isinstance(moved, dict), f"the move ended with {moved}"
    made: int = moved["deliveries"]
    return made


class Simulation(RuleBasedStateMachine):
    """One emulator, three instances, and everything that can happen to them in one process."""

    on_disk = False
    main = "main.py"

    def __init__(self) -> None:
        super().__init__()
        self._folder = Path(tempfile.mkdtemp(prefix="edgeemu-simulation-"))
        self._world: World | None = None
        self._holds = True

    @initialize()
    def begin(self) -> None:
        self._world = World(self._folder, on_disk=self.on_disk, main=self.main)

    @property
    def world(self) -> World:
        """The world; until the promises are checked again, nobody knows whether they hold."""
        assert self._world is not None
        self._holds = False
        return self._world

    @property
    def model(self):
        return self.world.model

    # --- turns -----------------------------------------------------------------------------

    @rule(name=names, key=keys, value=values)
    def put(self, name: str, key: str, value: int) -> None:
        self.world.take("call", name, "put", key, value)
        self.model.write(name, lambda instance: instance.keys.update({key: value}))

    @rule(name=names, key=keys)
    def delete(self, name: str, key: str) -> None:
        existed = key in self.model.of(name).keys
        assert self.world.take("call", name, "delete", key) == existed
        self.model.write(name, lambda instance: instance.keys.pop(key, None))

    @rule(name=names, after_ms=after)
    def arm(self, name: str, after_ms: int) -> None:
        self.world.take("call", name, "arm", after_ms)
        self.model.write(name, lambda _: self.model.arm(name, self.model.now_ms + after_ms))

    @rule(name=names)
    def clear(self, name: str) -> None:
        self.world.take("call", name, "clear")
        self.model.write(name, lambda instance: setattr(instance, "alarm", None))

    @rule(
        name=names,
        throws=st.integers(0, 4),
        rearm_ms=rearms,
        caught=st.booleans(),
        row=st.booleans(),
    )
    def plan(self, name: str, throws: int, rearm_ms: int | None, caught: bool, row: bool) -> None:
        plan = {"throws": throws, "rearm_ms": rearm_ms, "caught": caught, "row": row}
        self.world.take("call", name, "put", "plan", plan)
        self.model.write(name, lambda instance: instance.keys.update(plan=plan))

    @rule(name=names)
    def look(self, name: str) -> None:
        alarm = self.model.of(name).alarm
        wanted = [self.model.of(name).keys, alarm.due_ms if alarm else None]
        assert self.world.take("call", name, "look") == wanted

    @rule(name=names, how=edits, key=keys, value=values)
    def edit(self, name: str, how: str, key: str, value: int) -> None:
        self.world.take("call", name, "edit", how, key, value)
        self.model.write(name, lambda instance: instance.edit(how, key, value))

    @rule(name=names, after_ms=st.none() | after, how=endings)
    def enter(self, name: str, after_ms: int | None, how: str) -> None:
        """One turn that writes keys, SQL, the alarm and a transaction."""
        given = self.world.take("call", name, "enter", after_ms, how)
        if how == "lands":
            assert given == self.model.of(name).entries_count + 1
        else:
            assert given is Code.ACTOR_FAILED
        self.model.enter(name, after_ms, how)

    @rule(name=names, throws=st.booleans())
    def wipe(self, name: str, throws: bool) -> None:
        given = self.world.take("call", name, "wipe", throws)
        if throws:
            self.model.of(name)
            assert given is Code.ACTOR_FAILED
        else:
            self.model.write(name, ModelInstance.wipe)

    @rule(name=names, after_ms=after)
    def set_from_outside(self, name: str, after_ms: int) -> None:
        when_ms = self.model.now_ms + after_ms
        self.world.take("set_alarm", name, when_ms)
        self.model.of(name)
        self.model.arm(name, when_ms)

    # --- faults ----------------------------------------------------------------------------

    @rule(name=names, key=keys, value=values, method=st.sampled_from(["throws", "edit_throws"]))
    def throws(self, name: str, key: str, value: int, method: str) -> None:
        self.model.of(name)
        assert self.world.take("call", name, method, key, value) is Code.ACTOR_FAILED

    @rule(name=names, key=keys, value=values, how=st.sampled_from(["lands", "caught", "fails"]))
    def transact(self, name: str, key: str, value: int, how: str) -> None:
        """A caught failure fails the call and keeps what stands beside the transaction.

        Beside it stands another transaction, too, which sees nothing of the one that failed.
        """
        given = self.world.take("call", name, "transact", key, value, how)
        if how == "lands":
            assert given == value
            written = {key: value, "after": value}
        else:
            assert given is Code.ACTOR_FAILED
            written = {"before": value, "after": value}
        if how == "fails":
            self.model.of(name)
            return

        def change(instance: ModelInstance) -> None:
            instance.keys.update(written)
            if how == "lands":
                instance.keys.pop("before", None)

        self.model.write(name, change)

    @rule(name=names, row=st.booleans())
    def crash_inside(self, name: str, row: bool) -> None:
        # It first fires what is due, as every command does that runs something.
        self.world.take("crash_inside", name, row)
        while (found := self.model.first_due()) is not None:
            self.model.deliver(found)

    @rule(name=names, call=st.sampled_from([("put", "k", 1), ("enter", None, "lands")]))
    def unwritable(self, name: str, call: tuple[Any, ...]) -> None:
        self.model.of(name)
        assert self.world.take("unwritable", name, *call) is Code.STATE_UNWRITABLE

    @rule(name=names, how=hows, times=st.integers(1, 3))
    def fail(self, name: str, how: str, times: int) -> None:
        self.world.take("fail", name, how, times)
        self.model.of(name).faults += [how] * times

    @rule(name=st.none() | names, crash=st.booleans())
    def evict(self, name: str | None, crash: bool) -> None:
        self.world.take("evict", name, crash)

    @rule()
    def reload(self) -> None:
        self.world.take("reload")

    # --- time ------------------------------------------------------------------------------

    @rule(duration_ms=st.sampled_from([0, 1, 500, 1_000, 5_000, 61_000]))
    def advance(self, duration_ms: int) -> None:
        moved = self.world.take("advance", duration_ms)
        made = self.model.advance(self.model.now_ms + duration_ms)
        assert deliveries_of(moved) == made

    @rule()
    def next(self) -> None:
        moved = self.world.take("next")
        assert deliveries_of(moved) == self.model.next()

    @rule(name=names)
    def fire(self, name: str) -> None:
        outcome = self.world.take("fire", name)
        if self.model.of(name).alarm is None:
            assert outcome is Code.ALARM_NONE
        else:
            assert outcome == self.model.deliver(name)

    # --- promises --------------------------------------------------------------------------

    @invariant()
    def promises_hold(self) -> None:
        if self._world is None:
            return
        self.world.check()
        self._holds = True

    def teardown(self) -> None:
        """The second phase: nothing new goes wrong, and all due work ends in bounded steps."""
        try:
            if self._world is not None and self._holds:
                self._calm_down()
        finally:
            if self._world is not None:
                self.world.close()
            shutil.rmtree(self._folder, ignore_errors=True)

    def _calm_down(self) -> None:
        calm: dict[str, Any] = {"throws": 0, "rearm_ms": None, "caught": False, "row": True}
        for name in list(self.model.instances):
            self.world.take("call", name, "put", "plan", calm)
            self.model.write(name, lambda instance: instance.keys.update(plan=calm))
        planned = sum(len(each.faults) for each in self.model.instances.values())
        pending = sum(each.alarm is not None for each in self.model.instances.values())
        moved = self.world.take("idle")
        assert deliveries_of(moved) <= planned + pending * ATTEMPTS_MAX
        assert self.world.driver.emulator.alarms.list() == [], "due work is left (liveness)"
        while self.model.next():
            pass
        self.world.check()
        if len(self.world.taken) % 3 == 0:
            self.world.check_replay()


class OnDisk(Simulation):
    """The same on disk, where the process may end as well."""

    on_disk = True

    @rule(how=st.sampled_from(["restart", "kill"]))
    def restart(self, how: str) -> None:
        self.world.take(how)

    @precondition(lambda self: hasattr(os, "fork"))
    @rule(name=names, point=points, fires=st.booleans())
    def die_inside(self, name: str, point: tuple[str, int], fires: bool) -> None:
        """A turn that writes in every way is there whole or not at all, wherever a kill hits it."""
        fires = fires and self.model.of(name).alarm is not None
        before = self.world.kept_count(name)
        answered = self.world.take("die_inside", name, *point, fires)
        kept = self.world.kept_count(name) > before
        assert kept or not answered, f"an answer to {name} was lost (promise 9)"
        if kept and fires:
            self.model.deliver(name)
        elif kept:
            self.model.enter(name, 700)


class Script(Simulation):
    """The same with the actor in TypeScript."""

    main = "main.ts"


class ScriptOnDisk(OnDisk):
    """The same on disk, with the actor in TypeScript."""

    main = "main.ts"
