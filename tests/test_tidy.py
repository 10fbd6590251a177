"""The house rules hold in every file of the project, and each rule is able to fail."""

from pathlib import Path

import pytest

from tests import tidy_rules as rules

ROOT = Path(__file__).resolve().parent.parent

LONG_FUNCTION = "def f():\n" + "    x = 1\n" * 70
FITTING_FUNCTION = "def f():\n" + "    x = 1\n" * 69

BAD: list[tuple[rules.Rule, str, str, str]] = [
    (rules.line_length, "edgeemu/a.py", "x" * 101, "101 columns"),
    (rules.line_length, "templates/a/src/index.ts", "y\n" + "x" * 101, ":2: 101 columns"),
    (rules.line_length, "Makefile", "x" * 101, "101 columns"),
    (rules.file_length, "edgeemu/a.py", "x\n" * 501, "501 lines"),
    (rules.file_length, "edgeemu/engines/js/host.js", "x\n" * 501, "501 lines"),
    (rules.function_length, "edgeemu/a.py", LONG_FUNCTION, "`f` has 71 lines"),
    (rules.function_length, "edgeemu/a.py", "async " + LONG_FUNCTION, "`f` has 71 lines"),
    (rules.leftovers, "edgeemu/a.py", "# FIXME soon", "FIXME"),
    (rules.leftovers, "tests/a.py", "# XXX", "XXX"),
    (rules.leftovers, "edgeemu/a.py", "# TODO: tidy up", "finished now"),
    (rules.leftovers, "edgeemu/a.py", "# TODO(now): tidy up", "finished now"),
    (rules.leftovers, "templates/a/src/index.ts", "// TODO(later)", "finished now"),
    (rules.bare_except, "edgeemu/a.py", "try:\n    f()\nexcept:\n    g()", ":3: bare"),
    (rules.prints, "edgeemu/core/a.py", "print(1)", "only edgeemu/cli/ prints"),
    (rules.module_docstring, "edgeemu/a.py", "x = 1", "no module docstring"),
    (rules.module_docstring, "edgeemu/__init__.py", "", "no module docstring"),
    (rules.real_time_and_chance, "edgeemu/a.py", "import time", "edgeemu/clock.py only"),
    (rules.real_time_and_chance, "edgeemu/a.py", "from time import monotonic", "`time`"),
    (rules.real_time_and_chance, "edgeemu/core/a.py", "import random as r", "edgeemu/rng.py only"),
    (rules.real_time_and_chance, "edgeemu/a.py", "def f():\n    import uuid", ":2: `uuid`"),
    (rules.real_time_and_chance, "edgeemu/a.py", "from secrets import token_hex", "`secrets`"),
    (rules.real_time_and_chance, "edgeemu/a.py", "importlib.import_module('time')", "`time`"),
    (rules.real_time_and_chance, "edgeemu/a.py", "await asyncio.sleep(1)", "`asyncio.sleep`"),
    (rules.real_time_and_chance, "edgeemu/a.py", "from asyncio import sleep", "`asyncio.sleep`"),
    (rules.real_time_and_chance, "edgeemu/a.py", "x = os.urandom(8)", "use edgeemu.rng"),
    (rules.real_time_and_chance, "edgeemu/a.py", "threading.Timer(1, f)", "use edgeemu.clock"),
    (rules.real_time_and_chance, "edgeemu/a.py", "x = datetime.now(UTC)", "reads real time"),
    (rules.real_time_and_chance, "edgeemu/a.py", "x = datetime.date.today()", "reads real time"),
    (rules.reasons_of_skips, "tests/a.py", "@pytest.mark.skip\ndef f(): ...", "no reason"),
    (rules.reasons_of_skips, "tests/a.py", "@pytest.mark.xfail()\ndef f(): ...", "no reason"),
    (rules.reasons_of_skips, "tests/a.py", "x = pytest.mark.skipif(True, reason='')", "no reason"),
    (rules.reasons_of_skips, "tests/a.py", "pytest.skip('later')", "no reason"),
    (rules.reasons_of_skips, "tests/a.py", "pytest.importorskip('httpx')", "no reason"),
    (rules.engine_name, "edgeemu/emulator/a.py", "import deno", "names the engine"),
    (rules.engine_name, "edgeemu/limits.py", "x = 1  # what Deno wants", "names the engine"),
    (rules.engine_name, "edgeemu/cli/a.py", "help = 'passed to deno'", "names the engine"),
    (rules.engine_name, "edgeemu/config.py", "def find_deno(): ...", "names the engine"),
    (rules.engine_name, "edgeemu/inspector/static/a.js", "// Deno", "names the engine"),
    (rules.links, "docs/a.md", "see [b](b.md)", "`b.md` leads nowhere"),
    (rules.links, "docs/a.md", "see [b](../docs/b.md#part)", "leads nowhere"),
    (rules.links, "README.md", "![picture](docs/b.png)", "leads nowhere"),
    (rules.links, "README.md", "[b]: docs/b.md", "leads nowhere"),
    (rules.file_size, "docs/b.png", "x" * 200_001, "200001 bytes"),
]

GOOD: list[tuple[rules.Rule, str, str]] = [
    (rules.line_length, "edgeemu/a.py", "x" * 100),
    (rules.line_length, "edgeemu/a.py", "# see https://example.com/" + "x" * 100),
    (rules.line_length, "docs/a.md", "x" * 200),
    (rules.file_length, "edgeemu/a.py", "x\n" * 500),
    (rules.function_length, "edgeemu/a.py", FITTING_FUNCTION),
    (rules.leftovers, "edgeemu/a.py", "# TODO(later): the platform has not said which"),
    (rules.leftovers, "templates/a/main.py", "todo_list = []"),
    (rules.bare_except, "edgeemu/a.py", "try:\n    f()\nexcept ValueError:\n    g()"),
    (rules.prints, "edgeemu/cli/render.py", "print(1)"),
    (rules.prints, "edgeemu/a.py", "console.print(1)"),
    (rules.module_docstring, "edgeemu/a.py", '"""Promise."""\n'),
    (rules.real_time_and_chance, "edgeemu/clock.py", "import time"),
    (rules.real_time_and_chance, "edgeemu/rng.py", "import random"),
    (rules.real_time_and_chance, "edgeemu/a.py", "from edgeemu.clock import Clock"),
    (rules.real_time_and_chance, "edgeemu/a.py", "from .time import x\nx = clock.now()"),
    (rules.real_time_and_chance, "edgeemu/a.py", "x = datetime.fromtimestamp(0, UTC)"),
    (rules.reasons_of_skips, "tests/a.py", "pytest.skip('Chromium is not installed')"),
    (rules.reasons_of_skips, "tests/a.py", "pytest.mark.xfail(reason='the platform differs')"),
    (rules.reasons_of_skips, "tests/a.py", "pytest.skip(f'{tool} is not installed')"),
    (rules.engine_name, "edgeemu/engines/javascript.py", "import deno"),
    (rules.engine_name, "edgeemu/engines/javascript_process.py", "x = 'deno'"),
    (rules.engine_name, "edgeemu/config.py", "fix = 'install it: pip install deno'"),
    (rules.engine_name, "edgeemu/a.py", "denominator = 1"),
    (rules.links, "docs/a.md", "[a](a.md) [web](https://example.com) [here](#part)"),
    (rules.links, "docs/a.md", "```\n[b](b.md)\n```\nand `[b](b.md)`"),
    (rules.file_size, "docs/b.png", "x" * 200_000),
]


def source(path: str, text: str, root: Path) -> rules.Source:
    return rules.Source(path, text.encode(), root)


def by_name(case: object) -> str | None:
    return getattr(case, "__name__", "") if callable(case) else None


@pytest.fixture(scope="module")
def project() -> list[rules.Source]:
    return rules.project_sources(ROOT)


@pytest.mark.parametrize("rule", rules.RULES, ids=by_name)
def test_project_keeps_the_rule(rule: rules.Rule, project: list[rules.Source]) -> None:
    found = rules.check(rule, project)
    assert not found, f"{rule.__name__}: {rule.__doc__}\n" + "\n".join(map(str, found))


@pytest.mark.parametrize(("rule", "path", "text", "message"), BAD)
def test_rule_finds_a_breach(
    rule: rules.Rule, path: str, text: str, message: str, tmp_path: Path
) -> None:
    found = rules.check(rule, [source(path, text, tmp_path)])
    assert len(found) == 1, found
    assert message in str(found[0])
    assert str(found[0]).startswith(f"{path}:")


@pytest.mark.parametrize(("rule", "path", "text"), GOOD)
def test_rule_lets_good_code_pass(rule: rules.Rule, path: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/a.md").touch()
    assert rules.check(rule, [source(path, text, tmp_path)]) == []


def test_every_rule_is_shown_to_fail_and_to_pass() -> None:
    names = {rule.__name__ for rule in rules.RULES}
    assert {rule.__name__ for rule, *_ in BAD} == names
    assert {rule.__name__ for rule, *_ in GOOD} == names


def test_walk_reads_the_project_and_skips_what_tools_leave(tmp_path: Path) -> None:
    kept = ["edgeemu/a.py", ".ci/run", "README.md"]
    left = [".venv/lib/a.py", ".edgeemu/state.sqlite", "templates/a/node_modules/b.js"]
    for name in kept + left:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    found = [source.path for source in rules.project_sources(tmp_path)]
    assert sorted(found) == sorted(kept)


def test_binary_files_are_measured_and_not_read(tmp_path: Path) -> None:
    picture = rules.Source("docs/b.md", b"\xff" * 200_001, tmp_path)
    assert rules.check(rules.links, [picture]) == []
    assert len(rules.check(rules.file_size, [picture])) == 1
