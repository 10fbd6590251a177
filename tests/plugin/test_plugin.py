"""The plugin as pytest runs it: marker, strictness, leaks, failures. pytest runs inside pytest."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

# Imported out here, since what an inner run imports is forgotten, and imported anew, after it.
import edgeemu.testing
from edgeemu.errors import Code, EdgeemuError
from edgeemu.testing.traces import is_told

pytest_plugins = ["pytester"]

assert edgeemu.testing.__all__ == ["EdgeemuFixture"]

ACTORS = (Path(__file__).parent / "src/main.py").read_text()
CONFIG = (Path(__file__).parent / "edgeemu.toml").read_text()


class Project:
    """A project with tests in a folder of its own."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self._pytester = pytester
        self.path = pytester.path
        self.write("edgeemu.toml", CONFIG)
        self.write("src/main.py", ACTORS)

    def write(self, name: str, text: str) -> None:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def run(self, test: str, *args: str) -> pytest.RunResult:
        """Run one module of tests; every warning is an error, so that nothing can be left open."""
        self.write("tests/test_it.py", test)
        fixed = ("-p", "no:randomly", "-p", "no:cacheprovider", "-W", "error")
        return self._pytester.runpytest_inprocess(*fixed, *args)


@pytest.fixture
def project(pytester: pytest.Pytester) -> Project:
    return Project(pytester)


def failed(result: pytest.RunResult, *lines: str, **outcomes: int) -> None:
    result.assert_outcomes(**outcomes)
    result.stdout.fnmatch_lines([f"*{line}*" for line in lines])


# --- where the project is, and the marker ------------------------------------------------------


def test_fixture_finds_the_project_from_the_test_upwards(project):
    result = project.run("def test_it(edgeemu): assert edgeemu.actor('Box/a').echo(1) == [1]")
    result.assert_outcomes(passed=1)


def test_fixture_finds_the_project_from_the_rootdir_too(project, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside")
    (outside / "test_out.py").write_text("def test_it(edgeemu): edgeemu.actor('Box/a').echo()")
    result = project.run("", f"--rootdir={project.path}", str(outside))
    result.assert_outcomes(passed=1)


def test_missing_project_is_told_in_three_lines(pytester):
    pytester.makepyfile("def test_it(edgeemu): pass")
    result = pytester.runpytest_inprocess("-p", "no:randomly")
    failed(result, "error[[]E_CONFIG_MISSING[]]*", "why: *", "fix: *edgeemu new*", errors=1)
    result.stdout.no_fnmatch_line("*Traceback*")


def test_project_that_does_not_load_is_told_with_its_line(project):
    project.write("src/main.py", "class Box(:\n")
    result = project.run("def test_it(edgeemu): pass")
    failed(result, "error[[]E_PROJECT_SYNTAX[]]*src/main.py*line 1*", ">    1 | *", errors=1)


def test_marker_sets_start_seed_and_configuration(project):
    result = project.run("""
import pytest
from datetime import UTC, datetime

pytestmark = pytest.mark.edgeemu(seed=7, config={"clock.alarm_lateness_ms": 5})

@pytest.mark.edgeemu(start="2031-05-01T00:00:00Z")
def test_near_and_far(edgeemu):
    assert edgeemu.clock.now == "2031-05-01T00:00:00Z"
    assert edgeemu.seed == 7
    edgeemu.actor("Box/a").arm(1_000)
    assert edgeemu.clock.idle().now == "2031-05-01T00:00:01.005Z"

@pytest.mark.edgeemu(seed=8, start=datetime(2032, 1, 1, tzinfo=UTC), platform="telnyx",
    config={"limits.storm_count": 3, "clock.alarm_lateness_ms": 0})
def test_near_wins(edgeemu):
    assert (edgeemu.seed, edgeemu.clock.now) == (8, "2032-01-01T00:00:00Z")
    edgeemu.actor("Box/a").arm(1_000)
    assert edgeemu.clock.idle().now == "2032-01-01T00:00:01Z"
""")
    result.assert_outcomes(passed=2)


def test_lateness_comes_from_the_configuration_of_the_project(project):
    project.write("edgeemu.toml", CONFIG + "\n[clock]\nalarm_lateness_ms = 40\n")
    result = project.run("""
def test_it(edgeemu):
    edgeemu.actor("Box/a").arm(1_000)
    assert edgeemu.clock.idle().now == "2030-01-01T00:00:01.040Z"
""")
    result.assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("marker", "what", "fix"),
    [
        ("'2030-01-01'", "`2030-01-01` is not right for the marker", "write one of start=*"),
        ("sede=1", "`sede` is not right for the marker", "write seed="),
        ("colour=1", "`colour` is not right for the marker", "write one of start=*"),
        ("seed='x'", "`x` is not right for seed", "write seed=1"),
        ("seed=-1", "`-1` cannot be a seed", "*"),
        ("start='soon'", "`soon` is not an instant", "*"),
        ("platform='mars'", "*mars*", "*telnyx*"),
        ("config=['x']", "*is not right for config*", 'write config={"*'),
        ("config={'clock.strat': 1}", "unknown key `strat`*", "*"),
        ("config={'seed': 1}", "`seed` is not right for config", "write seed= in the marker"),
        ("config={'clock.mode': 'real'}", "`clock.mode` is not right*", "use edgeemu.clock*"),
        ("allow='ValueError'", "`ValueError` is not right for allow", 'write allow=["ValueError"]'),
        ("alarm_left='cry'", "`cry` is not right for alarm_left", 'write alarm_left="fail"'),
    ],
)
def test_wrong_marker_is_told_before_the_test_runs(project, marker, what, fix):
    result = project.run(f"""
import pytest
@pytest.mark.edgeemu({marker})
def test_it(edgeemu): raise SystemExit("it ran")
""")
    what, fix = (text.replace("[", "[[]") for text in (what, fix))
    failed(result, f"error[[]E_*]: {what}", f"fix: {fix}", errors=1)


# --- each test is alone ------------------------------------------------------------------------

LEAKS = """
def test_leaves_a_key_and_an_alarm(edgeemu):
    box = edgeemu.actor("Box/a")
    assert box.storage == {} and not box.alarm
    box.put("key", 1)
    box.arm(1_000)

def test_sees_neither(edgeemu):
    box = edgeemu.actor("Box/a")
    assert edgeemu.clock.advance("1h").deliveries == 0
    assert box.storage == {}
    assert edgeemu.journal.of("alarm") == []
"""
FIRST, SECOND = (
    "tests/test_it.py::test_leaves_a_key_and_an_alarm",
    "tests/test_it.py::test_sees_neither",
)


@pytest.mark.parametrize("order", [(FIRST, SECOND), (SECOND, FIRST)], ids=["forth", "back"])
def test_each_test_has_a_store_of_its_own(project, order):
    project.run(LEAKS, *order).assert_outcomes(passed=2)


@pytest.mark.parametrize("order", [(FIRST, SECOND), (SECOND, FIRST)], ids=["forth", "back"])
def test_alarm_that_is_left_fails_its_test_by_option(project, order):
    result = project.run(LEAKS, "-o", "edgeemu_alarm_left=fail", *order)
    failed(
        result,
        "*ERROR at teardown of test_leaves_a_key_and_an_alarm*",
        "error[[]E_TEST_STRICT[]]: something went wrong that the test did not expect",
        "why: the alarm of Box/a is still pending",
        'fix: *@pytest.mark.edgeemu(allow=[[]"alarm_left"[]])',
        passed=2,
        errors=1,
    )


@pytest.mark.parametrize("order", [(FIRST, SECOND), (SECOND, FIRST)], ids=["forth", "back"])
def test_alarm_that_is_left_warns_by_option(project, order):
    default = ("-W", "default::edgeemu.pytest_plugin.AlarmLeftWarning")
    result = project.run(LEAKS, "-o", "edgeemu_alarm_left=warn", *default, *order)
    failed(
        result,
        "*AlarmLeftWarning: *test_leaves_a_key_and_an_alarm left alarms pending: Box/a",
        passed=2,
        warnings=1,
    )


def test_alarm_that_is_left_is_judged_by_marker_and_allowed_by_name(project):
    result = project.run("""
import pytest

def arm(edgeemu): edgeemu.actor("Box/a").arm(1_000)

@pytest.mark.edgeemu(alarm_left="fail")
def test_fails(edgeemu): arm(edgeemu)

@pytest.mark.edgeemu(alarm_left="fail", allow=["alarm_left"])
def test_allows(edgeemu): arm(edgeemu)

@pytest.mark.edgeemu(alarm_left="warn", allow=["alarm_left"])
def test_allows_too(edgeemu): arm(edgeemu)

@pytest.mark.edgeemu(alarm_left="fail")
def test_leaves_none(edgeemu):
    arm(edgeemu)
    edgeemu.clock.idle()
""")
    result.assert_outcomes(passed=4, errors=1)


def test_code_of_the_project_is_loaded_afresh_for_each_test(project):
    project.write("src/shared.py", "seen = []\n")
    project.write(
        "src/main.py",
        """
from edgeemu import StatefulActor
from shared import seen
class Box(StatefulActor):
    async def note(self):
        seen.append(1)
        return len(seen)
""",
    )
    result = project.run("""
def test_one(edgeemu): assert edgeemu.actor("Box/a").note() == 1
def test_two(edgeemu): assert edgeemu.actor("Box/a").note() == 1
def test_three():
    import sys
    assert not {"shared", "main", "src.main", "src.shared"} & set(sys.modules)
""")
    result.assert_outcomes(passed=3)


# --- strictness --------------------------------------------------------------------------------


def test_error_of_an_alarm_fails_the_test_at_its_end(project):
    result = project.run("""
def test_it(edgeemu):
    edgeemu.actor("Box/a").arm(1_000, "raise once")
    edgeemu.clock.idle()
    assert edgeemu.actor("Box/a").storage["alarms"] == 1
""")
    failed(
        result,
        "*ERROR at teardown of test_it*",
        "error[[]E_TEST_STRICT[]]: something went wrong that the test did not expect",
        "why: the alarm of Box/a failed at 2030-01-01T00:00:01.001Z: "
        "ValueError: the alarm broke once (src/main.py:*)",
        'fix: mend the actor, or expect it: @pytest.mark.edgeemu(allow=[[]"ValueError"[]])',
        "  src/main.py:* in alarm",
        passed=1,
        errors=1,
    )


def test_error_of_a_socket_fails_the_test_at_its_end(project):
    result = project.run("""
def test_it(edgeemu):
    socket = edgeemu.connect("/room")
    socket.send("boom")
    assert socket.closed_code == 1011
""")
    failed(
        result,
        "why: message of a WebSocket of Box/room failed at 2030-01-01T00:00:00Z: "
        "ValueError: no such words (src/main.py:*)",
        'fix: mend the actor, or expect it: @pytest.mark.edgeemu(allow=[[]"ValueError"[]])',
        passed=1,
        errors=1,
    )


@pytest.mark.parametrize(
    ("allow", "said"),
    [
        ([], '5 things*allow=[[]"ValueError", "given_up"[]]'),
        (["ValueError"], 'something*allow=[[]"given_up"[]]'),
        (["given_up"], '4 things*allow=[[]"ValueError"[]]'),
        (["ValueError", "given_up"], None),
    ],
)
def test_alarm_that_is_given_up_fails_the_test_unless_allowed(project, allow, said):
    result = project.run(f"""
import pytest
@pytest.mark.edgeemu(allow={allow})
def test_it(edgeemu):
    edgeemu.actor("Box/a").arm(1_000, "raise")
    assert edgeemu.clock.idle().gave_up == 1
""")
    result.assert_outcomes(passed=1, errors=0 if said is None else 1)
    if said is not None:
        count, allowed = said.split("*")
        result.stdout.fnmatch_lines([f"*{count} went wrong*", f"*{allowed})"])


def test_error_that_the_test_received_is_no_complaint(project):
    result = project.run("""
import pytest
from edgeemu import ActorMethodError, ActorMethodTimeoutError

def test_it(edgeemu):
    box = edgeemu.actor("Box/a")
    with pytest.raises(ActorMethodError):
        box.break_down()
    with pytest.raises(ActorMethodError):
        box.pass_on("other", "break_down")
    nap = box.nap.start(31)
    edgeemu.clock.advance("30s")
    with pytest.raises(ActorMethodTimeoutError):
        nap.result()

def test_planned(edgeemu):
    edgeemu.actor("Box/a").arm(1_000)
    edgeemu.fail("Box/a", times=2)
    edgeemu.fail("Box/a", times=2, how="timeout")
    assert edgeemu.clock.idle().gave_up == 1
""")
    result.assert_outcomes(passed=2)


def test_real_error_among_planned_ones_is_a_complaint(project):
    result = project.run("""
def test_it(edgeemu):
    edgeemu.actor("Box/a").arm(1_000, "raise")
    edgeemu.fail("Box/a", times=3)
    edgeemu.clock.idle()
""")
    failed(
        result, "2 things went wrong*", 'allow=[[]"ValueError", "given_up"[]]', errors=1, passed=1
    )


def test_error_of_the_front_and_of_an_unread_call_are_complaints(project):
    result = project.run("""
def test_front(edgeemu): assert edgeemu.fetch("GET", "/raise").status == 500
def test_unread(edgeemu): edgeemu.actor("Box/a").break_down.start("lost")
def test_read_too_early(edgeemu):
    nap = edgeemu.actor("Box/a").nap.start(40)
    edgeemu.clock.advance("1m")
""")
    failed(
        result,
        "why: GET http://localhost/raise failed at *: ValueError: the front broke (src/main.py:*",
        "why: Box/a.break_down failed, and nobody read its result: ActorMethodError: lost",
        "why: Box/a.nap failed, and nobody read its result: ActorMethodTimeoutError: *",
        passed=3,
        errors=3,
    )


def test_test_that_failed_itself_is_not_judged_again(project):
    result = project.run("""
import pytest
def test_fails(edgeemu):
    edgeemu.actor("Box/a").arm(1_000, "raise")
    edgeemu.clock.idle()
    assert False

def test_skips(edgeemu):
    edgeemu.actor("Box/a").arm(1_000, "raise")
    edgeemu.clock.idle()
    pytest.skip("later")
""")
    result.assert_outcomes(failed=1, skipped=1)


# --- assertions in actors ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("act", "said"),
    [
        ("box.check(2)", "AssertionError: 2 is not 1"),
        ("box.pass_on('other', 'check', 2)", "AssertionError: 2 is not 1"),
        ("box.ask('other', 'check', 2)", "AssertionError: 2 is not 1"),
        ("box.check.start(2)", "AssertionError: 2 is not 1"),
        ("edgeemu.fetch('GET', '/check')", "AssertionError: the front differs"),
        ("box.arm(1_000, 'check'), edgeemu.clock.advance('1h')", "AssertionError: 2 is not 1"),
        ("box.arm(1_000, 'check'), edgeemu.clock.idle()", "AssertionError: 2 is not 1"),
        ("box.arm(1_000, 'check'), box.alarm.fire()", "AssertionError: 2 is not 1"),
    ],
)
def test_assertion_in_an_actor_fails_the_test_at_once(project, act, said):
    result = project.run(f"""
def test_it(edgeemu):
    box = edgeemu.actor("Box/a")
    {act}
    raise SystemExit("it went on")
""")
    failed(result, f">*{act}*", "src/main.py:*", f"E*{said}", failed=1)
    result.stdout.no_fnmatch_line("*edgeemu/emulator/*")
    result.stdout.no_fnmatch_line("*edgeemu/testing/*")


def test_assertion_in_an_alarm_is_not_tried_again(project):
    result = project.run("""
import pytest
def test_it(edgeemu):
    edgeemu.actor("Box/a").arm(1_000, "check")
    with pytest.raises(AssertionError, match="2 is not 1"):
        edgeemu.clock.advance("1h")
    assert len(edgeemu.journal.of("alarm")) == 1
    assert edgeemu.clock.now == "2030-01-01T00:00:01.001Z"
""")
    result.assert_outcomes(passed=1)


# --- what a failure shows ----------------------------------------------------------------------


def test_failure_shows_seed_and_the_end_of_the_journal(project):
    result = project.run("""
def test_it(edgeemu):
    edgeemu.actor("Box/a").arm(1_000)
    edgeemu.clock.advance("2s")
    assert edgeemu.actor("Box/a").storage == {}
""")
    failed(
        result,
        "seed 1, clock from 2030-01-01T00:00:00Z to 2030-01-01T00:00:02Z",
        "the end of the journal:",
        "2030-01-01T00:00:00Z  Box/a  call  arm  succeeded",
        "2030-01-01T00:00:00Z  Box/a  alarm_set  due 2030-01-01T00:00:01Z",
        "2030-01-01T00:00:01.001Z  Box/a  alarm  succeeded  due 2030-01-01T00:00:01Z",
        failed=1,
    )


def test_failure_leads_from_the_test_straight_to_the_actor(project):
    result = project.run("""
def test_call(edgeemu):
    edgeemu.actor("Box/a").break_down("no luck")

def test_wait(edgeemu):
    edgeemu.actor("Box/a").nap(5)
""")
    failed(
        result,
        "raise ValueError(text)",
        "E*ValueError: no luck",
        "src/main.py:*: ValueError",
        '>*edgeemu.actor("Box/a").break_down("no luck")',
        "E*edgeemu.sdk.errors.ActorMethodError: no luck",
        "E*error[[]E_ACTOR_FAILED[]]: break_down of Box/a failed*",
        "E*error[[]E_FROZEN_WAIT[]]: Box/a waits at src/main.py:*",
        failed=2,
    )
    result.stdout.no_fnmatch_line("*edgeemu/emulator/*")


# --- options and cost --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong",
    [
        "edgeemu.actor('Box/a').nope()",
        "edgeemu.actor('Box/a')._secret()",
        "edgeemu.actor('Box/a').arm(1, 2, 3)",
        "edgeemu.actor('Box/a').arm(ms=1)",
        "edgeemu.actor('Box/a').echo(object())",
        "edgeemu.actor('Box/a').storage.put('k', object())",
        "edgeemu.actor('Box/a').alarm.set('noon')",
        "edgeemu.actor('Bx/a')",
        "edgeemu.evict('Bx/a')",
        "edgeemu.kv('CASH').get('key')",
        "edgeemu.clock.advance('5 min')",
        "edgeemu.journal.of('services')",
    ],
)
def test_misuse_shows_the_line_of_the_test_and_nothing_of_edgeemu(project, wrong):
    result = project.run(f"def test_it(edgeemu):\n    {wrong}\n")
    failed(result, f">*{wrong.replace('[', '[[]')}", "test_it.py:2: *Error", failed=1)
    result.stdout.no_fnmatch_line("*edgeemu/*.py:*")
    shown = str(result.stdout).partition("= FAILURES =")[2].partition("- edgeemu -")[0]
    assert len(shown.splitlines()) < 15, shown


def test_a_bug_of_edgeemu_keeps_its_frames():
    bug = EdgeemuError(Code.INTERNAL, what="a bug", why="a promise broke", fix="report it")
    assert not is_told(bug) and not is_told(KeyError("key"))
    assert is_told(EdgeemuError(Code.USAGE, what="a misuse", why="so", fix="mend it"))


def test_option_evicts_after_every_turn(project):
    project.write(
        "src/main.py",
        """
from edgeemu import StatefulActor
class Box(StatefulActor):
    count = 0
    async def add(self):
        self.count += 1
        return self.count
""",
    )
    test = """
def test_it(edgeemu):
    box = edgeemu.actor("Box/a")
    assert [box.add(), box.add()] == [1, 2]
"""
    project.run(test).assert_outcomes(passed=1)
    project.run(test, "--edgeemu-evict-always").assert_outcomes(failed=1)


def test_async_test_is_told_to_be_plain(project):
    result = project.run("""
import asyncio
def test_it(edgeemu):
    async def body():
        edgeemu.clock.advance("1m")
    asyncio.run(body())
""")
    failed(result, "E*error[[]E_LOOP_RUNNING[]]*", "E*fix: make the test a plain `def`*", failed=1)


def test_marker_and_options_are_documented(project):
    result = project.run("", "--markers")
    result.stdout.fnmatch_lines(["@pytest.mark.edgeemu(start=, seed=*"])
    result = project.run("", "--fixtures")
    result.stdout.fnmatch_lines(["edgeemu -- *", "*frozen at 2030-01-01T00:00:00Z, with seed 1*"])
    result = project.run("", "--help")
    result.stdout.fnmatch_lines(["*--edgeemu-evict-always*", "*edgeemu_alarm_left*"])


def test_nothing_is_left_when_the_tests_are_over(project):
    before = {thread.name for thread in threading.enumerate()}
    result = project.run("""
def test_it(edgeemu):
    edgeemu.actor("Box/a").nap.start(10)
    edgeemu.actor("Box/b").nap.start(10)
    edgeemu.clock.resume()
""")
    result.assert_outcomes(passed=1)
    assert {thread.name for thread in threading.enumerate()} == before


@pytest.mark.slow
def test_plugin_loads_nothing_of_the_emulator_before_it_is_needed():
    code = (
        "import sys, pytest, edgeemu.pytest_plugin\n"
        "heavy = {'apsw', 'msgspec', 'edgeemu.errors', 'edgeemu.emulator', 'edgeemu.testing'}\n"
        "sys.exit(str(heavy & set(sys.modules)) if heavy & set(sys.modules) else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
