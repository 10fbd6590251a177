"""The templates: each is a whole project, passes its own tests, and holds under any fault.

Goal: what a beginner starts from is right. Method: every template is scaffolded as `edgeemu new`
does it. The tests of all of them run in one pytest of their own, several times: twice as they are,
whose journals must be equal; with actors evicted after every turn; with alarms that are not late.
Then each delivery of each story is made to fail, one at a time and in every way.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from edgeemu.cli.advise import review
from edgeemu.config import load_config
from edgeemu.core.rows import FaultHow
from edgeemu.scaffold import create_project, list_templates
from edgeemu.testing import EdgeemuFixture
from edgeemu.testing.settings import FixtureSettings
from tests.support.journals import without_real

ROOT = Path(__file__).resolve().parents[2]
NAMES = (
    "account",
    "blank",
    "chat-room",
    "coalesced-drain",
    "counter",
    "retry-backoff",
    "scheduler",
    "session-timeout",
    "ttl-expiry",
)

CONFTEST = """
import json, os, pathlib, pytest

@pytest.fixture(autouse=True)
def keep_journal(edgeemu, request):
    yield
    name = request.node.nodeid.replace("/", "__")
    folder = pathlib.Path(os.environ["JOURNALS"])
    (folder / name).write_text(json.dumps(edgeemu.journal))
"""

NOT_LATE = """
def pytest_collection_modifyitems(items):
    for item in items:
        item.add_marker(pytest.mark.edgeemu(config={"clock.alarm_lateness_ms": 0}))
"""

LANGUAGES = ("python", "typescript")


def scaffold(folder: Path, name: str, language: str) -> Path:
    return create_project(f"my-{name}", template=name, language=language, parent=folder).path


@pytest.fixture(scope="module", params=LANGUAGES)
def language(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def projects(tmp_path_factory: pytest.TempPathFactory, language: str) -> Path:
    folder = tmp_path_factory.mktemp("projects")
    for name in NAMES:
        scaffold(folder, name, language)
    (folder / "conftest.py").write_text(CONFTEST)
    return folder


def run_tests(projects: Path, journals: Path, *args: str) -> dict[str, list[dict]]:
    """Run the tests of all projects in one pytest; the journal of each test."""
    journals.mkdir()
    plugins = ("-p", "no:randomly", "-p", "no:cacheprovider", "-p", "no:hypothesispytest")
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-W", "error", *plugins, *args, str(projects)],
        cwd=projects,
        env={**os.environ, "JOURNALS": str(journals)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return {path.name: json.loads(path.read_text()) for path in sorted(journals.iterdir())}


def test_there_are_nine_and_each_says_what_it_shows():
    templates = list_templates()
    assert tuple(template.name for template in templates) == NAMES
    assert all(template.description for template in templates)
    assert all(template.languages == LANGUAGES for template in templates)


@pytest.mark.parametrize("name", NAMES)
def test_project_is_whole(projects, language, name):
    path = projects / f"my-{name}"
    # Other tests run in the same projects, and leave the compiler's and pytest's caches behind.
    files = {
        file.relative_to(path).as_posix()
        for file in path.rglob("*")
        if file.is_file() and "cache" not in file.parent.name and ".edgeemu" not in file.parts
    }
    tests = {file for file in files if file.startswith("tests/test_")}
    assert len(tests) == 1
    expected = {".gitignore", "README.md", "edgeemu.toml", "src/main.py"}
    if language == "typescript":
        classes = {f"src/{file.stem}.ts" for file in (path / "src").iterdir()}
        expected = {".gitignore", "README.md", "telnyx.toml", "package.json", "tsconfig.json"}
        expected |= {"telnyx-env.d.ts", *classes}
        # The values of the secrets that telnyx.toml names.
        expected |= {".env.example"} if load_config(path).secret_handles else set()
        assert len(classes) == 1 + len(load_config(path).actors)
    assert files - tests == expected
    assert all("{{" not in (path / file).read_text() for file in files)
    assert (path / "README.md").read_text().startswith(f"# my-{name}\n")
    assert ".edgeemu/" in (path / ".gitignore").read_text().splitlines()


@pytest.mark.parametrize("name", NAMES)
def test_project_is_configured_and_has_no_risky_code(projects, name):
    config = load_config(projects / f"my-{name}")
    assert (config.name, config.warnings) == (f"my-{name}", ())
    assert all(actor.binding.isupper() for actor in config.actors)
    assert [*review(config)] == []


@pytest.mark.slow
def test_own_tests_pass_and_two_runs_leave_the_same_journals(projects, tmp_path):
    first = run_tests(projects, tmp_path / "first")
    second = run_tests(projects, tmp_path / "second")
    assert first.keys() == second.keys()
    assert len(first) > 40
    for name, journal in first.items():
        assert without_real(journal) == without_real(second[name]), name
        codes = [entry.get("code") for entry in journal]
        # The end of a socket has a number for a code, and is no warning.
        assert [code for code in codes if code and not isinstance(code, int)] == [], name


@pytest.mark.slow
def test_own_tests_pass_with_actors_evicted_after_every_turn(projects, tmp_path):
    journals = run_tests(projects, tmp_path / "evicted", "--edgeemu-evict-always")
    reasons = {entry.get("reason") for journal in journals.values() for entry in journal}
    assert "evict-always" in reasons


@pytest.mark.slow
def test_own_tests_pass_with_alarms_that_are_not_late(tmp_path, language):
    for name in NAMES:
        scaffold(tmp_path, name, language)
    (tmp_path / "conftest.py").write_text(CONFTEST + NOT_LATE)
    journals = run_tests(tmp_path, tmp_path / "journals")
    # One that is late by default is never in time.
    assert 0 in {entry.get("late_ms") for journal in journals.values() for entry in journal}


# --- every delivery of every story fails once --------------------------------------------------


class Story:
    """What happens to one actor with an alarm, and how it must end whatever goes wrong."""

    def __init__(
        self,
        template: str,
        actor: str,
        begin: Callable[[EdgeemuFixture], object],
        end: Callable[[EdgeemuFixture], object],
        expected: object,
    ) -> None:
        self.template = template
        self.actor = actor
        self.begin = begin
        self.end = end
        self.expected = expected


def outage(edgeemu: EdgeemuFixture) -> None:
    edgeemu.actor("Inbox/bob").storage.put("down", True)
    edgeemu.actor("Delivery/m").send("bob", "hello")
    edgeemu.clock.advance("2m")
    edgeemu.actor("Inbox/bob").storage.put("down", False)


def two_days_of_talk(edgeemu: EdgeemuFixture) -> None:
    edgeemu.actor("ChatRoom/c").say("ada", "monday")
    edgeemu.clock.advance("1d")
    edgeemu.actor("ChatRoom/c").say("ada", "tuesday")


def busy_outbox(edgeemu: EdgeemuFixture) -> None:
    for number in range(101):
        edgeemu.actor("Outbox/o").add(number)


def three_timers(edgeemu: EdgeemuFixture) -> None:
    for number, name in enumerate(("tea", "eggs", "roast"), 1):
        edgeemu.actor("Scheduler/s").schedule(name, 60 * number)


STORIES = [
    Story(
        "session-timeout",
        "Session/s",
        lambda edgeemu: edgeemu.actor("Session/s").touch(),
        lambda edgeemu: edgeemu.actor("Session/s").storage,
        {},
    ),
    Story(
        "ttl-expiry",
        "CacheEntry/c",
        lambda edgeemu: edgeemu.actor("CacheEntry/c").put("value", 60),
        lambda edgeemu: edgeemu.actor("CacheEntry/c").storage,
        {},
    ),
    Story(
        "chat-room",
        "ChatRoom/c",
        two_days_of_talk,
        lambda edgeemu: edgeemu.actor("ChatRoom/c").history(),
        {"messages": [], "next": None},
    ),
    Story(
        "retry-backoff",
        "Delivery/m",
        outage,
        lambda edgeemu: [
            edgeemu.actor("Delivery/m").status()["state"],
            edgeemu.actor("Inbox/bob").messages(),
        ],
        ["delivered", ["hello"]],
    ),
    Story(
        "coalesced-drain",
        "Outbox/o",
        busy_outbox,
        lambda edgeemu: [
            edgeemu.actor("Outbox/o").waiting(),
            edgeemu.actor("Archive/o").items(),
        ],
        [0, list(range(101))],
    ),
    Story(
        "scheduler",
        "Scheduler/s",
        three_timers,
        lambda edgeemu: [
            edgeemu.actor("Scheduler/s").pending(),
            edgeemu.actor("Scheduler/s").ran(),
        ],
        [{}, ["tea", "eggs", "roast"]],
    ),
]


@pytest.mark.parametrize("how", FaultHow)
@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.template)
def test_story_ends_well_whichever_delivery_fails(projects, story, how):
    config = load_config(projects / f"my-{story.template}")
    for before in range(10):
        edgeemu = EdgeemuFixture(config, FixtureSettings(), evict_always=before % 2 == 0)
        story.begin(edgeemu)
        for _ in range(before):
            edgeemu.clock.next()
        pending = bool(edgeemu.actor(story.actor).alarm)
        if pending:
            edgeemu.fail(story.actor, how=how)
        edgeemu.clock.idle()
        assert story.end(edgeemu) == story.expected, f"delivery {before + 1}"
        assert edgeemu.alarms == []
        assert edgeemu.close() is None
        if not pending:
            return
    raise AssertionError("the story has no end")


def test_the_files_around_the_code_are_the_same_in_all(projects, language):
    if language == "python":
        pytest.skip("a Python project has no such files")
    for file in ("tsconfig.json", ".gitignore", "package.json"):
        texts = {
            (projects / f"my-{name}/{file}").read_text().replace(f"my-{name}", "") for name in NAMES
        }
        assert len(texts) == 1, file


# --- the demo ----------------------------------------------------------------------------------


def test_demo_of_the_repository_serves_four_templates():
    edgeemu = EdgeemuFixture(load_config(ROOT), FixtureSettings())
    edgeemu.actor("Session/alice").touch()
    assert edgeemu.actor("Counter/visits").increment() == 1
    assert edgeemu.actor("Account/ada").credit(500) == 500
    edgeemu.actor("Scheduler/kitchen").schedule("tea", 180)
    due = [(alarm.actor, alarm.due_at) for alarm in edgeemu.alarms]
    assert due == [
        ("Scheduler/kitchen", "2030-01-01T00:03:00Z"),
        ("Session/alice", "2030-01-01T00:05:00Z"),
    ]
    assert edgeemu.fetch("GET", "/alice").json() == {"ends_at_ms": 1_893_456_300_000}
    assert edgeemu.close() is None
