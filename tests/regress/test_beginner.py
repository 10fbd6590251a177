"""What beginners do wrong is told to them in their own words, not in ours."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from edgeemu.emulator import Emulator
from edgeemu.engines.port import PlainRequest
from edgeemu.errors import Code, EdgeemuError
from tests.support.emulators import frozen, inst, run_with, write_project

X = inst("A/x")

SOURCE = """
class A(StatefulActor):
    async def _arm(self):
        await self.ctx.storage.set_alarm(self.ctx.now_ms() + 1_000)

    async def forgets_helper(self):
        self._arm()

    async def adds_unawaited(self):
        return self.ctx.storage.get("n", 0) + 1

    async def reads_unawaited(self):
        return self.ctx.storage.list().items()

    async def tests_unawaited(self):
        return 1 if self.ctx.storage.get("n") else 0

    async def awaits_all(self):
        await self._arm()

    async def two(self, first, second):
        return first

    async def raises_type_error(self):
        return len(1)

    async def javascript(self):
        await self.ctx.storage.setAlarm(1)

    async def deep(self):
        def down(n):
            return down(n + 1)
        return down(0)

    async def calls_itself(self):
        return await self.env.A.id_from_name(self.ctx.id).awaits_all()

    async def on_alarm(self, info):
        pass

    async def returns_unawaited(self):
        return self.ctx.storage.get("n")

    async def returns_unawaited_call(self):
        return {"all": [self.env.A.id_from_name("other").two(1, 2)]}

    async def puts_unawaited(self):
        await self.ctx.storage.put("n", self.ctx.storage.get("m"))

    async def returns_cursor(self):
        return self.ctx.storage.sql.exec("SELECT 1 AS one")

    async def awaits_cursor(self):
        await self.ctx.storage.sql.exec("SELECT 1 AS one")

    async def names_arguments(self):
        await self.env.A.id_from_name("other").two(1, second=2)

    async def reads_a_variable(self):
        return self.env.PLAN

    async def reads_a_secret(self):
        return self.env.COUPON

    async def binds_a_tuple(self):
        self.ctx.storage.sql.exec("SELECT ?, ?", (1, 2))

    async def binds_a_dict(self):
        self.ctx.storage.sql.exec("SELECT ?", {"a": 1})

    async def binds_unawaited(self):
        self.ctx.storage.sql.exec("SELECT ?", self.ctx.storage.get("n"))

    async def gets_a_stub(self):
        return self.env.A.get("other")

    async def puts_a_dict(self):
        await self.ctx.storage.put({"n": 1})

    def gives_rows(self):
        rows = self.ctx.storage.transaction_sync(
            lambda: self.ctx.storage.sql.exec("SELECT 1 AS one")
        )
        return rows.to_list()

    async def lists(self, limit):
        return await self.ctx.storage.list(limit=limit)


async def fetch(request, env):
    if request.path == "/actor":
        return env.A.id_from_name("x").fetch(request)
    return Response(env.PLAN)
"""


TOML = '[vars]\nPLAN = "gold"\n[secrets]\nCOUPON = "half"\n'


def _failure(tmp_path: Path, method: str, *args: Any) -> EdgeemuError:
    async def story(emulator: Emulator) -> EdgeemuError:
        with pytest.raises(EdgeemuError) as caught:
            await emulator.call(X, method, args)
        return caught.value

    config = write_project(tmp_path, SOURCE, toml=TOML)
    error: EdgeemuError = run_with(config, story, frozen(alone=True))
    return error


@pytest.mark.parametrize("method", ["adds_unawaited", "reads_unawaited", "tests_unawaited"])
def test_a_result_that_was_not_awaited_says_so(tmp_path: Path, method: str) -> None:
    assert "was not awaited" in (_failure(tmp_path, method).message or "")


@pytest.mark.parametrize(
    ("method", "said"),
    [
        ("returns_unawaited", "the result of returns_unawaited: what is not awaited is not"),
        ("returns_unawaited", "write `await`, as in `return await ...`"),
        (
            "returns_unawaited_call",
            "the result of returns_unawaited_call.all[0]: what is not awaited",
        ),
        ("puts_unawaited", "the value of 'n': what is not awaited"),
        ("returns_cursor", "write `.to_list()` behind the call"),
        ("awaits_cursor", "drop the `await`"),
        ("names_arguments", "arguments are positional"),
        ("names_arguments", "stub.two(...) without `second=`"),
        ("reads_a_variable", "reach the function in front only"),
        ("reads_a_variable", "`actor_vars = true` under [dev]"),
        ("reads_a_secret", "`await self.env.SECRETS.get('COUPON')`"),
        ("binds_a_tuple", "one argument for each `?`"),
        ("binds_a_dict", "one argument for each `?`"),
        ("binds_unawaited", "write `await` in front of it"),
        ("gets_a_stub", "id_from_name(name) gives the stub"),
        ("puts_a_dict", "put takes a key and a value"),
    ],
)
def test_what_was_meant_is_said(tmp_path: Path, method: str, said: str) -> None:
    error = _failure(tmp_path, method)
    assert said in (error.message or "")
    assert "main.py:" in error.fix


def test_a_front_that_does_not_await_a_stub_is_told_so(tmp_path: Path) -> None:
    failures: list[EdgeemuError] = []

    async def story(emulator: Emulator) -> None:
        request = PlainRequest("GET", "http://localhost/actor", (), b"")
        answer = await emulator.fetch(request, on_failure=failures.append)
        assert answer.status == 500

    run_with(write_project(tmp_path, SOURCE), story)
    assert "write `return await ...`" in failures[0].what


def test_rows_may_leave_a_transaction_and_a_whole_float_is_a_limit(tmp_path: Path) -> None:
    """Spec/telnyx-actors.md section 18: 5 and 5.0 are one number."""

    async def story(emulator: Emulator) -> None:
        assert await emulator.call(X, "gives_rows") == [{"one": 1}]
        assert await emulator.call(X, "lists", [5.0]) == {}

    run_with(write_project(tmp_path, SOURCE), story)


@pytest.mark.parametrize("limit", [True, 0.5, 1.5, 0.0, 1_001.0, "5"])
def test_what_is_no_whole_number_is_no_limit(tmp_path: Path, limit: object) -> None:
    assert "limit is a whole number" in (_failure(tmp_path, "lists", limit).message or "")


@pytest.mark.parametrize("args", [(), (1,), (1, 2, 3)])
def test_arguments_that_do_not_fit_are_named(tmp_path: Path, args: tuple[int, ...]) -> None:
    error = _failure(tmp_path, "two", *args)
    assert "two" in error.what
    assert "(first, second)" in error.what
    assert "arguments" in error.why


def test_a_type_error_of_the_body_is_its_own(tmp_path: Path) -> None:
    error = _failure(tmp_path, "raises_type_error")
    assert "TypeError was raised at main.py" in error.why


def test_names_of_the_platform_are_translated(tmp_path: Path) -> None:
    assert "did you mean set_alarm?" in _failure(tmp_path, "javascript").what


def test_a_recursion_without_end_is_folded(tmp_path: Path) -> None:
    detail = _failure(tmp_path, "deep").detail or ""
    assert " more" in detail
    assert len(detail.splitlines()) < 30


def test_a_call_cycle_is_named_where_nobody_can_move_time(tmp_path: Path) -> None:
    """U17: without a server the command would wait for a budget that never ends."""
    error = _failure(tmp_path, "calls_itself")
    assert error.code is Code.ACTOR_FAILED
    assert "A/x -> A/x" in error.what


def test_a_helper_that_was_not_awaited_is_told_with_its_line(tmp_path: Path) -> None:
    async def story(emulator: Emulator) -> list[dict[str, Any]]:
        await emulator.call(X, "forgets_helper")
        return [entry for entry in emulator.journal() if entry["kind"] == "warning"]

    (warning,) = run_with(write_project(tmp_path, SOURCE), story)
    assert warning["code"] == "W_NOT_AWAITED"
    assert "_arm" in warning["message"]
    assert warning["where"].startswith("main.py:")
    assert warning["actor"] == "A/x"


def test_python_still_warns_of_coroutines_outside_of_actors(tmp_path: Path) -> None:
    async def story(emulator: Emulator) -> None:
        await emulator.call(X, "awaits_all")
        with pytest.warns(RuntimeWarning, match="never awaited"):
            asyncio.Event().wait()  # type: ignore[unused-coroutine]

    run_with(write_project(tmp_path, SOURCE), story)


def test_an_alarm_without_a_handler_is_no_silent_success(tmp_path: Path) -> None:
    async def story(emulator: Emulator) -> list[dict[str, Any]]:
        await emulator.call(X, "awaits_all")
        await emulator.clock.advance(2_000)
        return [entry for entry in emulator.journal() if entry["kind"] == "warning"]

    (warning,) = run_with(write_project(tmp_path, SOURCE), story)
    assert warning["code"] == "W_ALARM_NO_HANDLER"
    assert "`on_alarm`" in warning["message"]
    source = (tmp_path / "main.py").read_text().splitlines()
    assert warning["where"] == f"main.py:{source.index('    async def on_alarm(self, info):') + 1}"


def test_a_cleared_alarm_is_the_last_word_of_why(tmp_path: Path) -> None:
    async def story(emulator: Emulator) -> str:
        await emulator.call(X, "awaits_all")
        await emulator.clock.advance(2_000)
        await emulator.call(X, "awaits_all")
        await emulator.alarms.clear(X)
        return emulator.alarms.why(X)[-1]

    assert "was cleared at" in run_with(write_project(tmp_path, SOURCE), story)


def test_planned_faults_can_be_taken_back(tmp_path: Path) -> None:
    async def story(emulator: Emulator) -> int:
        await emulator.call(X, "awaits_all")
        await emulator.alarms.fail(X, times=9)
        await emulator.alarms.fail(X, times=0)
        moved = await emulator.clock.advance(2_000)
        failed: int = moved["failed"]
        return failed

    assert run_with(write_project(tmp_path, SOURCE), story) == 0


TASKS = """
class A(StatefulActor):
    async def starts(self, kind):
        async def go():
            if kind == "assert":
                assert 1 == 2
            raise ValueError("in the background")
        self.task = asyncio.create_task(go())

    async def handles(self):
        async def go():
            raise ValueError("seen")
        try:
            await asyncio.create_task(go())
        except ValueError:
            return "handled"

    async def stubs(self):
        task = asyncio.create_task(self.env.A.id_from_name("other").handles())
        async with asyncio.TaskGroup() as group:
            second = group.create_task(self.env.A.id_from_name("third").handles())
        return [await task, second.result()]
"""


def _warnings(emulator: Emulator) -> list[dict[str, Any]]:
    return [entry for entry in emulator.journal() if entry["kind"] == "warning"]


def test_an_error_in_a_task_that_nobody_awaits_is_in_the_journal(tmp_path: Path) -> None:
    async def story(emulator: Emulator) -> list[dict[str, Any]]:
        await emulator.call(X, "starts", ["value"])
        await emulator.clock.advance(1)
        assert await emulator.call(X, "handles") == "handled"
        await emulator.clock.advance(1)
        return _warnings(emulator)

    (warning,) = run_with(write_project(tmp_path, TASKS), story)
    assert warning["code"] == "W_TASK_FAILED"
    assert "ValueError: in the background" in warning["message"]
    assert warning["where"].startswith("main.py:")


def test_an_assertion_in_a_task_ends_the_next_command(tmp_path: Path) -> None:
    """Issue: an assertion that fails inside an actor fails the test at once."""

    async def story(emulator: Emulator) -> None:
        emulator.fail_fast()
        await emulator.call(X, "starts", ["assert"])
        with pytest.raises(AssertionError):
            await emulator.clock.advance(1)

    run_with(write_project(tmp_path, TASKS), story)


def test_a_call_of_a_stub_may_be_made_a_task(tmp_path: Path) -> None:
    async def story(emulator: Emulator) -> Any:
        return await emulator.call(X, "stubs")

    assert run_with(write_project(tmp_path, TASKS), story) == ["handled", "handled"]


def test_code_of_a_virtual_environment_inside_the_project_is_not_the_users() -> None:
    from edgeemu.engines.python.scope import is_project_file

    assert is_project_file("/home/me/shop/src/main.py", "/home/me/shop")
    assert not is_project_file("/home/me/shop/.venv/lib/x/site-packages/y.py", "/home/me/shop")
    assert not is_project_file("/home/me/shop2/main.py", "/home/me/shop")


LATE = """
class A(StatefulActor):
    async def leaves_a_task(self):
        async def late():
            try:
                await self.ctx.storage.put("late", 1)
            except Exception as error:
                self.said = str(error)
        await self.ctx.storage.put("k", 1)
        self.task = asyncio.create_task(late())
        return "answered"

    async def what_was_said(self):
        return [self.said, await self.ctx.storage.get("late")]
"""


def test_storage_of_a_turn_that_has_ended_is_closed(tmp_path: Path) -> None:
    """U11: what code still writes after its turn is neither kept nor slipped into the commit."""

    async def story(emulator: Emulator) -> Any:
        assert await emulator.call(X, "leaves_a_task") == "answered"
        await emulator.clock.advance(1)
        assert emulator.storage.list(X) == {"k": 1}
        told = [(warning["code"], warning["where"]) for warning in _warnings(emulator)]
        return await emulator.call(X, "what_was_said"), told

    (said, late), told = run_with(write_project(tmp_path, LATE), story)
    assert "has ended" in said
    assert late is None
    source = (tmp_path / "main.py").read_text().splitlines()
    line = source.index('                await self.ctx.storage.put("late", 1)') + 1
    assert told == [("W_LATE_STORAGE", f"main.py:{line}")]


def test_the_clock_ends_with_year_9999(tmp_path: Path) -> None:
    async def story(emulator: Emulator) -> str:
        await emulator.clock.set_to(253_402_300_799_000)
        with pytest.raises(EdgeemuError) as caught:
            await emulator.clock.advance(1_000)
        return caught.value.code.text

    assert run_with(write_project(tmp_path, SOURCE), story) == "E_INSTANT_INVALID"


def test_every_entry_says_what_led_to_it(tmp_path: Path) -> None:
    """Issue, item 2: entries carry a cause."""

    async def story(emulator: Emulator) -> list[dict[str, Any]]:
        emulator.start()
        await emulator.call(X, "awaits_all")
        await emulator.evict(X)
        await emulator.clock.advance(2_000)
        await emulator.alarms.fail(X)
        emulator.reload()
        emulator.clock.freeze()
        return emulator.journal()

    entries = run_with(write_project(tmp_path, SOURCE), story)
    assert {entry["kind"] for entry in entries} >= {"started", "init", "evicted", "clock", "reload"}
    assert [entry for entry in entries if not entry["cause"]] == []
