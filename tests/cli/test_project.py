"""`new` and `check`: what they print, and that they touch nothing else."""

import json
from pathlib import Path

import pytest

from edgeemu.cli.suggest import FALLBACK, example_call
from tests.cli.conftest import CONFIG, MAIN, Run


@pytest.fixture(autouse=True)
def templates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One small template in place of edgeemu's own, so that these tests do not follow those."""
    folder = tmp_path / "templates/tiny"
    (folder / "python/src").mkdir(parents=True)
    (folder / "template.toml").write_text('description = "As little as will do."')
    (folder / "python/edgeemu.toml").write_text(CONFIG.replace("shop", "{{name}}"))
    (folder / "python/src/main.py").write_text(MAIN)
    (folder / "python/gitignore").write_text(".edgeemu/\n")
    monkeypatch.setattr("edgeemu.scaffold.templates_folder", lambda: folder.parent)


def test_new_says_what_it_made_and_what_comes_next(project: Path, run: Run) -> None:
    assert (
        run("new", "till", "--template", "tiny").shown()
        == """\
exit 0
--- stdout
made till from the template tiny:
  .gitignore
  edgeemu.toml
  src/main.py

next:
  cd till
  edgeemu dev
  edgeemu call Session/alice touch    # in a second terminal
"""
    )
    assert 'name = "till"' in (project / "till/edgeemu.toml").read_text()


@pytest.mark.slow
def test_what_new_offers_works(project: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run("new", "till", "--template", "tiny")
    monkeypatch.chdir(project / "till")
    assert run("check").status == 0
    assert run("call", "Session/alice", "touch").status == 0


def test_new_with_a_path_and_json(project: Path, run: Run) -> None:
    made = json.loads(run("new", "src/till", "--template", "tiny", "--json").out)
    assert made == {
        "path": str(project / "src/till"),
        "template": "tiny",
        "files": [".gitignore", "edgeemu.toml", "src/main.py"],
    }


def test_templates_are_listed(project: Path, run: Run) -> None:
    assert (
        run("new", "--list").shown()
        == """\
exit 0
--- stdout
TEMPLATE  LANGUAGES  SHOWS
tiny      python     As little as will do.
"""
    )
    assert json.loads(run("new", "--list", "--json").out) == [
        {"name": "tiny", "description": "As little as will do.", "languages": ["python"]}
    ]


def test_check_of_a_project_without_fault(project: Path, run: Run) -> None:
    assert (
        run("check").shown()
        == """\
exit 0
--- stderr
ok: the project loads; actors: Session; no advice
"""
    )
    assert not (project / ".edgeemu").exists()


RISKY = """\
import time

from edgeemu import StatefulActor

print("loaded")


class Session(StatefulActor):
    async def touch(self):
        time.sleep(1)
"""

MANIFEST = """\
main = "src/main.py"
[[actors]]
binding = "SESSION"
type = "Session"
[telnyx]
binding = "API"
"""


def test_check_gives_advice_and_still_succeeds(project: Path, run: Run) -> None:
    (project / "src/main.py").write_text(RISKY)
    (project / "src/tests").mkdir()
    (project / "src/tests/test_it.py").write_text("import time\ntime.sleep(1)\n")
    ended = run("check")
    assert ended.status == 0
    assert ended.out.startswith("src/main.py:10 W_BLOCKING_SLEEP\n  ")
    assert len(ended.out.splitlines()) == 3
    assert ended.err == ("loaded\nok: the project loads; actors: Session; 1 piece of advice\n")
    found = json.loads(run("check", "--json").out)
    assert (found["ok"], found["actors"], found["warnings"]) == (True, ["Session"], [])
    [advice] = found["advice"]
    assert (advice["file"], advice["line"]) == ("src/main.py", 10)
    assert set(advice) == {"file", "line", "code", "message", "fix", "see"}
    assert advice["see"] == "docs/warnings.md#w_blocking_sleep"


def test_check_tells_what_the_configuration_asks_for_in_vain(project: Path, run: Run) -> None:
    (project / "edgeemu.toml").rename(project / "unused.toml")
    (project / "telnyx.toml").write_text(MANIFEST)
    gap = (
        "telnyx.toml line 5: edgeemu does not emulate [telnyx]: `env.API` fails when it is used "
        "(docs/differences.md)"
    )
    ended = run("check")
    assert (ended.status, ended.out) == (0, f"warning: {gap}\n")
    assert json.loads(run("check", "--json").out)["warnings"] == [gap]


def test_example_call_takes_a_method_that_needs_nothing(project: Path) -> None:
    assert example_call(project) == "edgeemu call Session/alice touch"
    source = MAIN.replace("touch(self)", "touch(self, when)").replace(
        "storm(self)", "storm(self, x)"
    )
    (project / "src/main.py").write_text(source)
    assert example_call(project) == "edgeemu call Session/alice boom"
    (project / "src/main.py").write_text("class Session: ...")
    assert example_call(project) == FALLBACK
    assert example_call(project.parent) == FALLBACK
