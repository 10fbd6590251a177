"""Each warning of a running emulator: once a place, with its line, and silent for the near miss."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from edgeemu.emulator import Emulator
from edgeemu.engines.port import PlainRequest
from edgeemu.errors import EdgeemuError, docs_link
from tests.support.emulators import PRELUDE, frozen, inst, run_with, write_project

X = inst("A/x")

SOURCE = """
class A(StatefulActor):
    async def touch(self):
        await self.ctx.storage.set_alarm(self.ctx.now_ms() + 60_000)  # line: touch

    async def remind(self):
        await self.ctx.set_alarm(self.ctx.now_ms() + 5_000)  # line: remind

    async def remind_if_none(self):
        if await self.ctx.storage.get_alarm() is None:
            await self.ctx.storage.set_alarm(self.ctx.now_ms() + 5_000)

    async def remind_anew(self):
        await self.ctx.storage.delete_alarm()
        await self.ctx.storage.set_alarm(self.ctx.now_ms() + 5_000)

    async def alarm(self, info):
        plan = await self.ctx.storage.get("plan")
        if plan in ("rearm", "rearm and raise"):
            await self.ctx.storage.set_alarm(self.ctx.now_ms() + 60_000)  # line: rearm
        if plan in ("raise", "rearm and raise"):
            raise ValueError("down")  # line: raise
        if plan == "clear":
            await self.ctx.storage.delete_all()

    async def plan(self, plan):
        await self.ctx.storage.put("plan", plan)

    async def close(self):
        await self.ctx.storage.delete_all()  # line: close

    async def close_well(self):
        await self.ctx.storage.delete_alarm()
        await self.ctx.storage.delete_all()

    async def close_backwards(self):
        await self.ctx.storage.delete_all()
        await self.ctx.storage.delete_alarm()

    async def reset(self):
        await self.ctx.storage.delete_all()
        await self.ctx.storage.put("state", "new")

    async def close_and_fail(self):
        await self.ctx.storage.delete_all()
        raise ValueError("no")

    async def fill(self, count):
        for number in range(count):
            await self.ctx.storage.put(f"k{number:04d}", number)

    async def all_keys(self):
        return len(await self.ctx.storage.list())  # line: all_keys

    async def some_keys(self):
        return len(await self.ctx.storage.list(prefix="k", limit=128))

    async def last_keys(self):
        return list(await self.ctx.storage.list(reverse=True))  # line: last_keys

    async def forget(self):
        self.ctx.storage.put("k", 1)  # line: put
        self.ctx.storage.delete("k")  # line: delete
        self.ctx.storage.delete_all()  # line: delete_all
        self.ctx.set_alarm(self.ctx.now_ms() + 60_000)  # line: set_alarm
        self.ctx.storage.delete_alarm()  # line: delete_alarm

    async def forget_later(self):
        storage = self.ctx.storage
        kept = storage.put("k", 1)
        await asyncio.gather(storage.put("l", 2), storage.put("m", 3), kept)

    async def forget_in_transaction(self):
        async def change(txn):
            txn.put("k", 1)  # line: txn.put
            await txn.put("l", 1)
            return len(await txn.list())  # line: txn.list

        self.ctx.storage.transaction(change)  # line: transaction
        await self.ctx.storage.transaction(change)

    def forget_in_plain_code(self):
        self.ctx.storage.put("k", 1)

    def hand_on(self):
        return self.ctx.storage.put("k", 1)

    async def forget_call(self):
        self.env.A.id_from_name("other").plan("x")  # line: stub

    async def await_call(self):
        await self.env.A.id_from_name("other").plan("x")

    async def name(self, *names):
        for name in names:
            self.env.A.id_from_name(name)  # line: name

    async def nap(self, seconds):  # line: nap
        await asyncio.sleep(seconds)

    def __init__(self, ctx, env):
        super().__init__(ctx, env)
        if ctx.id == "slow":
            ctx.block_concurrency_while(lambda: asyncio.sleep(24.1))

    async def log_in(self, token):
        self.token = token  # line: log_in

    async def who(self):
        return self.token  # line: who

    async def misspelt(self):
        return self.tokne
"""


SCRIPT = """
import { StatefulActor } from "@telnyx/edge-runtime";

const sleep = (seconds: number) => new Promise((done) => setTimeout(done, seconds * 1_000));

export class A extends StatefulActor<any> {
  async touch() {
    await this.ctx.storage.setAlarm(Date.now() + 60_000); // line: touch
  }

  async remind() {
    await this.ctx.setAlarm(Date.now() + 5_000); // line: remind
  }

  async remind_if_none() {
    if ((await this.ctx.storage.getAlarm()) === null) {
      await this.ctx.storage.setAlarm(Date.now() + 5_000);
    }
  }

  async remind_anew() {
    await this.ctx.storage.deleteAlarm();
    await this.ctx.storage.setAlarm(Date.now() + 5_000);
  }

  async alarm() {
    const plan: any = await this.ctx.storage.get("plan");
    if (["rearm", "rearm and raise"].includes(plan)) {
      await this.ctx.storage.setAlarm(Date.now() + 60_000); // line: rearm
    }
    if (["raise", "rearm and raise"].includes(plan)) {
      throw new Error("down"); // line: raise
    }
    if (plan === "clear") await this.ctx.storage.deleteAll();
  }

  async plan(plan: string) {
    await this.ctx.storage.put("plan", plan);
  }

  async close() {
    await this.ctx.storage.deleteAll(); // line: close
  }

  async close_well() {
    await this.ctx.storage.deleteAlarm();
    await this.ctx.storage.deleteAll();
  }

  async close_backwards() {
    await this.ctx.storage.deleteAll();
    await this.ctx.storage.deleteAlarm();
  }

  async reset() {
    await this.ctx.storage.deleteAll();
    await this.ctx.storage.put("state", "new");
  }

  async close_and_fail() {
    await this.ctx.storage.deleteAll();
    throw new Error("no");
  }

  async fill(count: number) {
    for (let number = 0; number < count; number += 1) {
      await this.ctx.storage.put(`k${String(number).padStart(4, "0")}`, number);
    }
  }

  async all_keys() {
    return (await this.ctx.storage.list()).size; // line: all_keys
  }

  async some_keys() {
    return (await this.ctx.storage.list({ prefix: "k", limit: 128 })).size;
  }

  async last_keys() {
    return [...(await this.ctx.storage.list({ reverse: true })).keys()]; // line: last_keys
  }

  async forget() {
    this.ctx.storage.put("k", 1); // line: put
    this.ctx.storage.delete("k"); // line: delete
    this.ctx.storage.deleteAll(); // line: delete_all
    this.ctx.setAlarm(Date.now() + 60_000); // line: set_alarm
    this.ctx.storage.deleteAlarm(); // line: delete_alarm
  }

  async forget_later() {
    const { storage } = this.ctx;
    const kept = storage.put("k", 1);
    await null;
    await Promise.all([storage.put("l", 2), storage.put("m", 3), kept]);
    storage.put("n", 4).catch(() => {});
    await Promise.resolve(storage.put("o", 5));
  }

  async forget_in_transaction() {
    const change = async (txn: any) => {
      txn.put("k", 1); // line: txn.put
      await txn.put("l", 1);
      return (await txn.list()).size; // line: txn.list
    };
    this.ctx.storage.transaction(change); // line: transaction
    await this.ctx.storage.transaction(change);
  }

  forget_in_plain_code() {
    this.ctx.storage.transactionSync(() => {
      this.ctx.storage.put("k", 1);
    });
  }

  hand_on() {
    return this.ctx.storage.put("k", 1);
  }

  async forget_call() {
    this.env.A.idFromName("other").plan("x"); // line: stub
  }

  async await_call() {
    await this.env.A.idFromName("other").plan("x");
  }

  async name(...names: string[]) {
    for (const name of names) this.env.A.idFromName(name); // line: name
  }

  async nap(seconds: number) { // line: nap
    await sleep(seconds);
  }

  constructor(ctx: any, env: any) {
    super(ctx, env);
    if (ctx.id === "slow") ctx.blockConcurrencyWhile(() => sleep(24.1));
  }

  async misspelt() {
    return this.tokne.length;
  }
}
"""


def line(mark: str, main: str = "main.py") -> str:
    """The place that a comment marks."""
    text, comment = {"main.py": (PRELUDE + SOURCE, "#"), "main.ts": (SCRIPT, "//")}[main]
    marked = f"{comment} line: {mark}"
    (number,) = [n for n, each in enumerate(text.splitlines(), 1) if each.endswith(marked)]
    return f"{main}:{number}"


def call(method: str, *args: Any, actor: str = "A/x") -> tuple[str, ...]:
    return ("call", actor, method, *args)


def advance(duration_ms: int) -> tuple[Any, ...]:
    return ("advance", duration_ms)


EVICT = ("evict",)
RELOAD = ("reload",)


class Case(NamedTuple):
    """What is done, twice over, and what is warned of in all: code and marked line."""

    name: str
    steps: Sequence[tuple[Any, ...]]
    warned: Sequence[tuple[str, str | None]] = ()


CASES = [
    Case(
        "given up",
        [call("plan", "raise"), call("touch"), advance(90_000)],
        [("W_ALARM_GIVEN_UP", "touch")],
    ),
    Case(
        "retried",
        [call("plan", "raise"), call("touch"), advance(60_500), call("plan", ""), advance(9_000)],
    ),
    Case(
        "re-arm then raise",
        [call("plan", "rearm and raise"), call("touch"), advance(60_500), call("close_well")],
        [("W_REARM_THEN_RAISE", "rearm")],
    ),
    Case("re-arm", [call("plan", "rearm"), call("touch"), advance(150_000), call("close_well")]),
    Case(
        "delete_all",
        [call("touch"), call("close"), call("close_well")],
        [("W_DELETE_ALL_ALARM", "close")],
    ),
    Case("delete_all well", [call("touch"), call("close_well"), call("close")]),
    Case("delete_all backwards", [call("touch"), call("close_backwards")]),
    Case("delete_all to begin anew", [call("touch"), call("reset"), call("close_well")]),
    Case("delete_all undone", [call("touch"), call("close_and_fail"), call("close_well")]),
    Case("delete_all in the delivery", [call("plan", "clear"), call("touch"), advance(61_000)]),
    Case(
        "list cut",
        [call("fill", 129), call("all_keys"), EVICT, call("last_keys")],
        [("W_LIST_CUT", "all_keys"), ("W_LIST_CUT", "last_keys")],
    ),
    Case("list just whole", [call("fill", 128), call("all_keys")]),
    Case("list with a limit", [call("fill", 129), call("some_keys")]),
    Case(
        "two writers",
        [call("touch"), call("remind"), call("close_well")],
        [("W_ALARM_TWO_WRITERS", "remind")],
    ),
    Case(
        "two writers, evicted",
        [call("touch"), EVICT, call("remind"), call("close_well")],
        [("W_ALARM_TWO_WRITERS", "remind")],
    ),
    Case(
        "two writers, two instances and new code",
        [
            *(call("touch"), call("remind")),
            *(call("touch", actor="A/y"), call("remind", actor="A/y")),
            RELOAD,
        ],
        [("W_ALARM_TWO_WRITERS", "remind"), ("W_ALARM_TWO_WRITERS", "remind")],
    ),
    Case("one writer", [call("touch"), call("touch")]),
    Case(
        "a writer that looks",
        [call("touch"), call("remind_if_none"), call("remind_anew"), call("close_well")],
    ),
    Case(
        "a handler and a writer",
        [call("plan", "rearm"), call("touch"), advance(61_000), call("remind"), call("close_well")],
    ),
    Case(
        "other code",
        [call("touch"), RELOAD, call("remind"), RELOAD, call("touch"), call("close_well")],
    ),
    Case(
        "not awaited",
        [call("forget")],
        [
            ("W_WRITE_NOT_AWAITED", "put"),
            ("W_WRITE_NOT_AWAITED", "delete"),
            ("W_WRITE_NOT_AWAITED", "delete_all"),
            ("W_ALARM_NOT_AWAITED", "set_alarm"),
            ("W_ALARM_NOT_AWAITED", "delete_alarm"),
        ],
    ),
    Case("awaited later", [call("forget_later"), call("hand_on"), call("forget_in_plain_code")]),
    Case(
        "not awaited in a transaction",
        [call("fill", 129), call("forget_in_transaction")],
        [
            ("W_WRITE_NOT_AWAITED", "transaction"),
            ("W_WRITE_NOT_AWAITED", "txn.put"),
            ("W_LIST_CUT", "txn.list"),
        ],
    ),
    Case("call not awaited", [call("forget_call")], [("W_CALL_NOT_AWAITED", "stub")]),
    Case("call awaited", [call("await_call")]),
    Case(
        "odd names",
        [call("name", "a:b", "ok", "a:b", "+1")],
        [("W_NAME_ODD", "name"), ("W_NAME_ODD", "name")],
    ),
    Case("odd name from outside", [call("touch", actor="A/a b")], [("W_NAME_ODD", None)]),
    Case("near the budget", [("nap", 24.1)], [("W_BUDGET_NEAR", "nap")]),
    Case("within the budget", [("nap", 24)]),
    Case(
        "memory lost",
        [call("log_in", "t"), call("who"), EVICT, call("who")],
        [("W_MEMORY_LOST", "who")],
    ),
    Case("memory there", [call("log_in", "t"), call("who")]),
    Case("misspelt", [call("misspelt")]),
]


async def _take(emulator: Emulator, step: tuple[Any, ...]) -> None:
    kind, *rest = step
    if kind == "advance":
        await emulator.clock.advance(rest[0])
    elif kind == "evict":
        await emulator.evict(X)
    elif kind == "reload":
        emulator.reload()
    elif kind == "nap":
        started = asyncio.ensure_future(emulator.call(X, "nap", rest))
        await emulator.run_present()
        await emulator.clock.advance(30_000)
        await started
    else:
        actor, method, *args = rest
        try:
            await emulator.call(inst(actor), method, args)
        except EdgeemuError:
            assert method in ("close_and_fail", "who", "misspelt")


def warnings_of(emulator: Emulator) -> list[dict[str, Any]]:
    return [entry for entry in emulator.journal() if entry["kind"] == "warning"]


@pytest.mark.parametrize("main", ["main.py", "main.ts"])
@pytest.mark.parametrize("evict_always", [False, True], ids=["kept", "evicted"])
@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_warnings(case: Case, evict_always: bool, main: str, tmp_path: Path) -> None:
    if case.name == "memory there" and evict_always:
        pytest.skip("there is none")
    if case.name.startswith("memory") and main == "main.ts":
        pytest.skip("a field that is not there is undefined in JavaScript, and no error")

    async def body(emulator: Emulator) -> list[dict[str, Any]]:
        for _ in range(2):  # What is done again in the same place is not told again.
            for step in case.steps:
                await _take(emulator, step)
        await emulator.run_present()
        return warnings_of(emulator)

    options = frozen(evict_always=evict_always)
    source = {"main.py": SOURCE, "main.ts": SCRIPT}[main]
    found = run_with(write_project(tmp_path, source, main=main), body, options)
    told = [(entry["code"], entry["where"]) for entry in found]
    wanted = [(code, mark and line(mark, main)) for code, mark in case.warned]
    # JavaScript tells what was not awaited when the code has ended, Python at once.
    assert sorted(told, key=str) == sorted(wanted, key=str)
    assert [entry["see"] for entry in found] == [docs_link(entry["code"]) for entry in found]


def _message(tmp_path: Path, *steps: tuple[Any, ...]) -> str:
    async def body(emulator: Emulator) -> str:
        for step in steps:
            await _take(emulator, step)
        [warning] = warnings_of(emulator)
        return str(warning["message"])

    message: str = run_with(write_project(tmp_path, SOURCE), body)
    return message


def test_each_line_is_told_anew_when_the_code_was_reloaded(tmp_path: Path) -> None:
    async def body(emulator: Emulator) -> list[str]:
        for step in [call("close"), call("touch"), call("close"), RELOAD] * 2:
            await _take(emulator, step)
        return [entry["code"] for entry in warnings_of(emulator)]

    found = run_with(write_project(tmp_path, SOURCE), body)
    assert found == ["W_DELETE_ALL_ALARM"] * 2


def test_given_up_names_instance_attempts_last_error_and_line(tmp_path: Path) -> None:
    steps = (call("plan", "raise"), call("touch"), advance(90_000))
    message = _message(tmp_path, *steps)
    start = f"the alarm of A/x, set by {line('touch')}, failed 4 times and is deleted"
    assert message.startswith(f"{start}; the last error was ValueError: down")


def test_two_writers_names_both_lines(tmp_path: Path) -> None:
    message = _message(tmp_path, call("touch"), call("remind"))
    assert line("touch") in message
    assert line("remind") in message


def test_memory_lost_names_who_sets_the_field(tmp_path: Path) -> None:
    message = _message(tmp_path, call("log_in", "t"), EVICT, call("who"))
    assert message.startswith(f"self.token is not there: only log_in ({line('log_in')}) sets it")


def test_rearm_then_raise_names_the_line_that_raised(tmp_path: Path) -> None:
    message = _message(tmp_path, call("plan", "rearm and raise"), call("touch"), advance(60_500))
    assert f"then failed at {line('raise')} (ValueError: down)" in message


def test_warnings_of_one_code_have_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("edgeemu.emulator.notices.WARNED_PLACES_MAX", 3)

    async def body(emulator: Emulator) -> int:
        await emulator.call(X, "name", [f"{number}:" for number in range(9)])
        return len(warnings_of(emulator))

    assert run_with(write_project(tmp_path, SOURCE), body) == 3


def test_activation_and_the_function_in_front_have_budgets_too(tmp_path: Path) -> None:
    front = """
async def fetch(request, env):
    await asyncio.sleep(float(request.path.strip("/")))
    return Response("")
"""

    async def body(emulator: Emulator) -> list[tuple[str, str | None]]:
        for seconds in ("24", "24.1", "24.2"):
            request = PlainRequest("GET", f"http://localhost/{seconds}", (), b"")
            started = asyncio.ensure_future(emulator.fetch(request))
            await emulator.run_present()
            await emulator.clock.advance(30_000)
            await started
        call = asyncio.ensure_future(emulator.call(inst("A/slow"), "touch"))
        await emulator.run_present()
        await emulator.clock.advance(30_000)
        await call
        return [
            (entry["message"].split(" took ")[0], entry["code"]) for entry in warnings_of(emulator)
        ]

    found = run_with(write_project(tmp_path, SOURCE + front), body)
    near = "W_BUDGET_NEAR"
    assert found == [("the function in front", near), ("init of A/slow", near)]
