"""Runs of many instances: the same journal twice, thirty days in order, storms, and many at once.

Cases 3 and 11 of local development, C59 and C61; spec/telnyx-actors.md section 8 and U63, U64.
"""

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from edgeemu.clock import wait_event_real_ms
from edgeemu.core.rows import FaultHow
from edgeemu.emulator import Emulator
from edgeemu.errors import Code, EdgeemuError
from tests.support.emulators import T0_MS, frozen, inst, opened, run, run_with, write_project
from tests.support.journals import without_real

DAY_MS = 86_400_000

MANY = """
import time
class A(StatefulActor):
    async def begin(self, index):
        await self.ctx.storage.put("index", index)
        await self.ctx.storage.set_alarm(self.ctx.now_ms() + 86_400_000 + index * 1000)
    async def alarm(self, info):
        now_ms = self.ctx.now_ms()
        assert time.time() * 1000 == now_ms
        await self.env.Log.id_from_name("log").append(self.ctx.id, now_ms)
        await self.ctx.storage.set_alarm(now_ms + 86_400_000)
class Log(StatefulActor):
    async def append(self, name, now_ms):
        count = await self.ctx.storage.get("count", 0)
        await self.ctx.storage.put(f"{count:06d}", [name, now_ms])
        await self.ctx.storage.put("count", count + 1)
"""


MANY_SCRIPT = """
import { StatefulActor } from "@telnyx/edge-runtime";

export class A extends StatefulActor<any> {
  async begin(index: number) {
    await this.ctx.storage.put("index", index);
    await this.ctx.storage.setAlarm(Date.now() + 86_400_000 + index * 1000);
  }

  async alarm() {
    const now = Date.now();
    await this.env.Log.idFromName("log").append(this.ctx.id, now);
    await this.ctx.storage.setAlarm(now + 86_400_000);
  }
}

export class Log extends StatefulActor {
  async append(name: string, now: number) {
    const count = (await this.ctx.storage.get<number>("count")) ?? 0;
    await this.ctx.storage.put(String(count).padStart(6, "0"), [name, now]);
    await this.ctx.storage.put("count", count + 1);
  }
}
"""


@pytest.mark.slow
@pytest.mark.parametrize("disk", [False, True], ids=["memory", "sqlite"])
@pytest.mark.parametrize("main", ["main.py", "main.ts"])
def test_thirty_days_of_two_hundred_instances(tmp_path: Path, main: str, disk: bool) -> None:
    # Case 11. With no lateness, the instant that a handler sees is its due instant.
    source = {"main.py": MANY, "main.ts": MANY_SCRIPT}[main]
    config = write_project(tmp_path, source, types=("A", "Log"), main=main)

    async def body(emulator: Emulator) -> tuple[dict[str, Any], dict[str, Any]]:
        for index in range(200):
            await emulator.call(inst(f"A/{index:03d}"), "begin", [index])
        moved = await emulator.clock.advance(30 * DAY_MS + 200_000)
        return moved, emulator.storage.list(inst("Log/log"))

    options = frozen(tmp_path / "state" if disk else None)
    moved, log = run_with(config, body, options)
    assert (moved["deliveries"], moved["succeeded"], moved["failed"]) == (6_000, 6_000, 0)
    assert log.pop("count") == 6_000
    expected = [
        [f"{index:03d}", T0_MS + day * DAY_MS + index * 1_000]
        for day in range(1, 31)
        for index in range(200)
    ]
    assert list(log.values()) == expected


BUSY = """
class A(StatefulActor):
    async def begin(self):
        await self.ctx.storage.set_alarm(self.ctx.now_ms() + self.ctx.random.randrange(60_000))
    async def touch(self, depth):
        await self.ctx.storage.put("touched", await self.ctx.storage.get("touched", 0) + 1)
        await asyncio.sleep(self.ctx.random.random())
        if depth:
            name = str(self.ctx.random.randrange(10) + 10 * depth)
            return await self.env.A.id_from_name(name).touch(depth - 1)
        return self.ctx.random.random()
    async def alarm(self, info):
        others = [self.env.A.id_from_name(str(30 + self.ctx.random.randrange(5))) for _ in range(3)]
        got = await asyncio.gather(*(each.touch(2) for each in others), return_exceptions=True)
        await self.ctx.storage.put("got", [str(each) for each in got])
        if self.ctx.random.random() < 0.3:
            raise ValueError("unlucky")
        await self.begin()
"""


BUSY_SCRIPT = """
import { StatefulActor } from "@telnyx/edge-runtime";

const below = (bound: number) => Math.floor(Math.random() * bound);
const atLoad = Math.random();

export class A extends StatefulActor<any> {
  async begin() {
    await this.ctx.storage.setAlarm(Date.now() + below(60_000));
  }

  async touch(depth: number): Promise<unknown> {
    const touched = (await this.ctx.storage.get<number>("touched")) ?? 0;
    await this.ctx.storage.put("touched", touched + 1);
    await new Promise((done) => setTimeout(done, below(1_000)));
    if (depth > 0) {
      const name = String(below(10) + 10 * depth);
      return await this.env.A.idFromName(name).touch(depth - 1);
    }
    const bytes = crypto.getRandomValues(new Uint8Array(4));
    return [Math.random(), crypto.randomUUID(), bytes, performance.now(), new Date(), atLoad];
  }

  async alarm() {
    const others = [1, 2, 3].map(() => this.env.A.idFromName(String(30 + below(5))));
    const got = await Promise.allSettled(others.map((each) => each.touch(2)));
    await this.ctx.storage.put("got", got.map((each) => JSON.stringify(each)));
    if (Math.random() < 0.3) throw new Error(`unlucky ${Math.random()}`);
    await this.begin();
  }
}
"""

SOURCES = {"main.py": BUSY, "main.ts": BUSY_SCRIPT}


def play_busy(folder: Path, seed: int, *, disk: bool, main: str) -> list[dict[str, Any]]:
    """A run with calls between actors, gathers, random draws and faults; its journal and keys."""
    config = write_project(folder, SOURCES[main], lateness_ms=1, main=main)

    async def play() -> list[dict[str, Any]]:
        state_dir = folder / "state" if disk else None
        async with opened(config, frozen(state_dir, seed=seed)) as emulator:
            for index in range(10):
                await emulator.call(inst(f"A/{index}"), "begin")
            await emulator.alarms.fail(inst("A/3"), times=2, how=FaultHow.CRASH_AFTER_COMMIT)
            await emulator.alarms.fail(inst("A/4"), times=9)
            for minute in range(5):
                await emulator.clock.advance(60_000)
                await emulator.evict(inst(f"A/{minute}"), crash=True)
                if minute == 2:
                    emulator.reload()
            found = [{"keys": emulator.storage.list(inst(f"A/{index}"))} for index in range(10)]
            return [*without_real(emulator.journal()), *found]

    return run(play())


@pytest.mark.parametrize("main", SOURCES)
def test_one_seed_and_one_input_give_one_journal(tmp_path: Path, main: str) -> None:
    first = play_busy(tmp_path / "a", 7, disk=False, main=main)
    again = play_busy(tmp_path / "b", 7, disk=False, main=main)
    stored = play_busy(tmp_path / "c", 7, disk=True, main=main)
    assert len(first) > 500
    for other in (again, stored):
        differs = [pair for pair in zip(first, other, strict=True) if pair[0] != pair[1]]
        assert not differs, f"the first difference: {differs[0]}"


@pytest.mark.parametrize("main", SOURCES)
def test_other_seeds_give_other_journals(tmp_path: Path, main: str) -> None:
    one, other = (play_busy(tmp_path / str(seed), seed, disk=False, main=main) for seed in (7, 8))
    assert one != other


STORM = """
class A(StatefulActor):
    async def begin(self):
        await self.ctx.storage.set_alarm(self.ctx.now_ms() + 1000)
    async def alarm(self, info):
        runs = await self.ctx.storage.get("runs", 0) + 1
        await self.ctx.storage.put("runs", runs)
        if self.ctx.id == "stormy":
            await self.ctx.storage.set_alarm(self.ctx.now_ms())
        elif self.ctx.id == "often":
            await self.ctx.storage.set_alarm(self.ctx.now_ms() + 1000)
"""


@pytest.mark.slow
def test_storm_ends_the_command_and_the_emulator_lives_on(tmp_path: Path) -> None:
    # Case 3 and C59, with the default bound.
    async def body(emulator: Emulator) -> None:
        for name in ("stormy", "other"):
            await emulator.call(inst(f"A/{name}"), "begin")
        with pytest.raises(EdgeemuError) as raised:
            await emulator.clock.idle()
        assert raised.value.code is Code.ALARM_STORM
        assert "A/stormy was delivered its alarm 1000 times" in raised.value.what
        assert emulator.storage.get(inst("A/other"), "runs") == 1
        assert emulator.storage.get(inst("A/stormy"), "runs") == 1_000
        await emulator.alarms.clear(inst("A/stormy"))
        assert (await emulator.clock.idle())["deliveries"] == 0

    run_with(write_project(tmp_path, STORM), body)


@pytest.mark.slow
def test_many_deliveries_a_second_apart_are_no_storm(tmp_path: Path) -> None:
    async def body(emulator: Emulator) -> None:
        await emulator.call(inst("A/often"), "begin")
        assert (await emulator.clock.advance(1_500_000))["deliveries"] == 1_500

    run_with(write_project(tmp_path, STORM), body)


def test_what_never_becomes_idle_is_told(tmp_path: Path) -> None:
    async def body(emulator: Emulator) -> None:
        await emulator.call(inst("A/often"), "begin")
        with pytest.raises(EdgeemuError) as raised:
            await emulator.clock.idle()
        assert raised.value.code is Code.NEVER_IDLE
        assert "A/often" in raised.value.what
        assert emulator.storage.get(inst("A/often"), "runs") == 20

    run_with(write_project(tmp_path, STORM, toml="[limits]\nidle_steps = 20\n"), body)


@pytest.mark.slow
def test_ten_thousand_due_at_one_instant_are_no_storm(tmp_path: Path) -> None:
    count = 10_000
    source = """
    class A(StatefulActor):
        async def alarm(self, info):
            await self.ctx.storage.put("ran", self.ctx.now_ms())
    """

    async def body(emulator: Emulator) -> None:
        due_at_ms = T0_MS + 60_000
        setting = (emulator.alarms.set(inst(f"A/{each:05d}"), due_at_ms) for each in range(count))
        await asyncio.gather(*setting)
        moved = await emulator.clock.advance(60_000)
        assert (moved["deliveries"], moved["succeeded"], moved["now_ms"]) == (
            count,
            count,
            due_at_ms,
        )
        started = [entry["actor"] for entry in emulator.journal() if entry["kind"] == "alarm"]
        assert started == sorted(started)

    run_with(write_project(tmp_path, source), body)


SLOW = """
class A(StatefulActor):
    async def begin(self):
        await self.ctx.storage.set_alarm(self.ctx.now_ms() + 1000)
    async def work(self, seconds):
        began_ms = self.ctx.now_ms()
        await asyncio.sleep(seconds)
        return [began_ms, self.ctx.now_ms()]
    async def alarm(self, info):
        began_ms = self.ctx.now_ms()
        await asyncio.sleep(10)
        await self.ctx.storage.put("ran", [began_ms, self.ctx.now_ms()])
    async def ring(self, names):
        if names:
            return await self.env.A.id_from_name(names[0]).ring(names[1:])
        return await self.env.A.id_from_name("a").work(0)
"""


def test_handler_that_sleeps_and_calls_that_overlap_never_meet(tmp_path: Path) -> None:
    async def body(emulator: Emulator) -> None:
        x = inst("A/x")
        await emulator.call(x, "begin")
        calls = [asyncio.ensure_future(emulator.call(x, "work", [seconds])) for seconds in (3, 4)]
        await emulator.clock.advance(60_000)
        spans = [await call for call in calls]
        spans.append(emulator.storage.get(x, "ran"))
        relative = [[begin - T0_MS, end - T0_MS] for begin, end in spans]
        assert relative == [[0, 3_000], [3_000, 7_000], [7_000, 17_000]]

    run_with(write_project(tmp_path, SLOW), body)


def test_cycle_of_calls_ends_by_its_budget_with_a_warning(tmp_path: Path) -> None:
    # U17: a calls b calls c calls a.
    async def body(emulator: Emulator) -> None:
        ring = asyncio.ensure_future(emulator.call(inst("A/a"), "ring", [["b", "c"]]))
        await emulator.run_present()
        warned = [entry for entry in emulator.journal() if entry["kind"] == "warning"]
        assert [entry["code"] for entry in warned] == ["W_CALL_CYCLE"]
        assert "A/a -> A/b -> A/c -> A/a" in warned[0]["message"]
        assert "to its own timeout or its budget" in warned[0]["message"]
        assert {row["cycle"] for row in emulator.waiting()} == {"A/a -> A/b -> A/c -> A/a"}
        assert not ring.done()
        await emulator.clock.advance(30_000)
        assert emulator.waiting() == []
        with pytest.raises(EdgeemuError) as raised:
            await ring
        assert raised.value.name == "ActorMethodTimeoutError"
        assert (await emulator.call(inst("A/a"), "work", [0]))[0] == T0_MS + 30_000

    run_with(write_project(tmp_path, SLOW), body)


def test_two_turns_that_wait_for_one_another_are_a_cycle_too(tmp_path: Path) -> None:
    # U17: x asks y, while a turn of y that began by itself asks x. Neither stands above the other.
    source = """
class A(StatefulActor):
    async def cross(self, other):
        await asyncio.sleep(1)
        return await self.env.A.id_from_name(other).work()
    async def work(self):
        return 1
"""

    async def body(emulator: Emulator) -> None:
        calls = [
            asyncio.ensure_future(emulator.call(inst(f"A/{one}"), "cross", [other]))
            for one, other in (("x", "y"), ("y", "x"))
        ]
        await emulator.clock.advance(1_000)
        warned = [entry for entry in emulator.journal() if entry["kind"] == "warning"]
        assert [entry["code"] for entry in warned] == ["W_CALL_CYCLE"]
        assert "A/x -> A/y -> A/x" in warned[0]["message"]
        await emulator.clock.advance(30_000)
        assert [type(each) for each in await asyncio.gather(*calls, return_exceptions=True)] == [
            EdgeemuError
        ] * 2

    run_with(write_project(tmp_path, source), body)


LEAK = """
class A(StatefulActor):
    async def begin(self):
        await self.ctx.storage.put("k", 1)
        await self.ctx.storage.set_alarm(self.ctx.now_ms() + 1000)
"""


@pytest.mark.parametrize("order", [("begins", "looks"), ("looks", "begins")])
def test_emulators_in_one_process_share_nothing(tmp_path: Path, order: tuple[str, str]) -> None:
    # Case 13, at the level of the emulator.
    config = write_project(tmp_path, LEAK)

    async def body(what: str, emulator: Emulator) -> None:
        assert emulator.list_instances() == []
        assert (await emulator.clock.advance(3_600_000))["deliveries"] == 0
        if what == "begins":
            await emulator.call(inst("A/x"), "begin")
            assert len(emulator.alarms.list()) == 1

    for what in order:
        run_with(config, partial(body, what))


@pytest.mark.parametrize("hold", [False, True], ids=["fires", "holds"])
def test_overdue_at_start_fires_by_itself_unless_it_is_held(tmp_path: Path, hold: bool) -> None:
    # Case 2 and U62; what is held fires with the next command that moves time.
    config = write_project(tmp_path, LEAK)
    state_dir = tmp_path / "state"

    async def arm(emulator: Emulator) -> None:
        await emulator.alarms.set(inst("A/o1"), T0_MS + 3_600_000)
        await emulator.alarms.set(inst("A/o2"), T0_MS + 1_800_000)

    def delivered(emulator: Emulator) -> list[tuple[str, int]]:
        told = [entry for entry in emulator.journal() if entry["kind"] == "alarm"]
        return [(entry["actor"], entry["late_ms"] // 60_000) for entry in told]

    async def look(emulator: Emulator) -> None:
        fired = asyncio.Event()
        emulator.watch(lambda _: fired.set() if len(delivered(emulator)) == 2 else None)
        emulator.start(hold_overdue=hold)
        assert await wait_event_real_ms(fired, 20 if hold else 5_000) is not hold
        if hold:
            assert [item["due_in_ms"] for item in emulator.alarms.list()] == [
                -5_400_000,
                -3_600_000,
            ]
            assert (await emulator.clock.advance(0))["deliveries"] == 2
        assert delivered(emulator) == [("A/o2", 90), ("A/o1", 60)]
        assert emulator.alarms.list() == []

    run_with(config, arm, frozen(state_dir))
    run_with(config, look, frozen(state_dir, start_ms=T0_MS + 7_200_000))
