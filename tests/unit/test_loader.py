"""Loading a project's modules: afresh each time, beside what is loaded, or not at all.

spec/telnyx-actors.md section 2.1.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from edgeemu.engines.python.loader import ActorSource, ProjectLoader, code_frame
from edgeemu.errors import Code, EdgeemuError

ACTOR = "from edgeemu import StatefulActor\nclass A(StatefulActor):\n    value = {value}\n"


class Project:
    """A project on disk and its loader."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.loaders: list[ProjectLoader] = []

    def write(self, path: str, text: str) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(dedent(text))
        return file

    def loader(self, main: str = "main.py", **actors: str) -> ProjectLoader:
        given = actors or {"A": main}
        sources = [ActorSource(name, self.root / file) for name, file in given.items()]
        loader = ProjectLoader(self.root, self.root / main, sources)
        self.loaders.append(loader)
        return loader


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    before = dict(sys.modules), list(sys.meta_path)
    project = Project(tmp_path)
    yield project
    for loader in project.loaders:
        loader.withdraw()
    own = {name for name in sys.modules.keys() - before[0].keys() if name.startswith("own_")}
    assert not own, "modules of the project are left behind"
    assert sys.meta_path == before[1]


def test_classes_and_the_function_in_front_are_found(project: Project) -> None:
    project.write("main.py", ACTOR.format(value=1) + "async def fetch(request, env): ...\n")
    code = project.loader().load()
    assert code.classes["A"].value == 1
    assert code.front.__name__ == "fetch"


def test_front_is_optional_and_an_actor_may_have_its_own_file(project: Project) -> None:
    project.write("main.py", "")
    project.write("actors/a.py", ACTOR.format(value=1))
    code = project.loader(A="actors/a.py").load()
    assert code.front is None
    assert code.classes["A"].__module__ == "actors.a"


def test_save_in_the_same_second_is_seen(project: Project) -> None:
    loader = project.loader()
    for value in range(5):
        project.write("main.py", ACTOR.format(value=value))
        assert loader.load().classes["A"].value == value
    assert not list(project.root.rglob("*.pyc"))


def test_generations_stand_side_by_side(project: Project) -> None:
    project.write("main.py", "import own_part\n" + ACTOR.format(value="own_part.VALUE"))
    project.write("own_part.py", "VALUE = 1")
    loader = project.loader()
    first = loader.load()
    project.write("own_part.py", "VALUE = 2")
    second = loader.load()
    assert (first.classes["A"].value, second.classes["A"].value) == (1, 2)


def test_load_leaves_the_interpreter_as_it_was(project: Project) -> None:
    project.write("main.py", "import own_part\n" + ACTOR.format(value=1))
    project.write("own_part.py", "")
    project.loader().load()
    assert "own_part" not in sys.modules


def test_late_imports_find_the_published_generation(project: Project) -> None:
    late = "def late():\n    import own_late\n    return own_late.VALUE\n"
    project.write("main.py", ACTOR.format(value=1) + late)
    project.write("own_late.py", "VALUE = 'found'")
    loader = project.loader()
    code = loader.load()
    loader.publish(code)
    assert code.modules["main"].late() == "found"
    loader.withdraw()
    assert "own_late" not in sys.modules


def test_two_projects_with_equal_names_do_not_meet(tmp_path: Path, project: Project) -> None:
    other = Project(tmp_path / "other")
    project.write("main.py", ACTOR.format(value=1))
    other.write("main.py", ACTOR.format(value=2))
    first, second = project.loader().load(), other.loader().load()
    assert (first.classes["A"].value, second.classes["A"].value) == (1, 2)


def test_project_may_not_hide_the_standard_library(project: Project) -> None:
    project.write("main.py", "import json\n" + ACTOR.format(value="json.dumps(1)"))
    project.write("json.py", "raise RuntimeError('hidden')")
    assert project.loader().load().classes["A"].value == "1"


def test_package_imports_work_from_a_source_folder(project: Project) -> None:
    project.write(
        "src/main.py", "from own_package.part import VALUE\n" + ACTOR.format(value="VALUE")
    )
    project.write("src/own_package/__init__.py", "")
    project.write("src/own_package/part.py", "from .other import VALUE")
    project.write("src/own_package/other.py", "VALUE = 3")
    assert project.loader("src/main.py").load().classes["A"].value == 3


# --- what does not load ---------------------------------------------------------------------------


def failing(project: Project) -> EdgeemuError:
    with pytest.raises(EdgeemuError) as raised:
        project.loader().load()
    return raised.value


def test_syntax_error_is_shown_with_its_place(project: Project) -> None:
    project.write("main.py", "x = 1\ndef f(:\n    pass\n")
    error = failing(project)
    assert error.code is Code.PROJECT_SYNTAX
    assert error.what.startswith("main.py has a syntax error at line 2")
    assert error.detail is not None
    assert ">    2 | def f(:" in error.detail
    assert "^" in error.detail


def test_import_error_names_the_line_of_the_project(project: Project) -> None:
    project.write("main.py", "import own_part\n")
    project.write("own_part.py", "\n\nraise ValueError('no')\n")
    error = failing(project)
    assert error.code is Code.PROJECT_IMPORT
    assert (error.what, error.why) == ("own_part.py line 3 cannot be imported", "ValueError: no")


def test_missing_package_says_to_install_it(project: Project) -> None:
    project.write("main.py", "import not_installed_anywhere\n")
    assert "install `not_installed_anywhere`" in failing(project).fix


@pytest.mark.parametrize(
    ("text", "what", "why"),
    [
        ("x = 1", "main.py has no class `A`", "the file has: no actor class"),
        (
            "from edgeemu import StatefulActor\nclass B(StatefulActor): ...",
            "main.py has no class `A`",
            "the file has: B",
        ),
        ("class A: ...", "`A` in main.py is not an actor class", "StatefulActor"),
    ],
)
def test_missing_class(project: Project, text: str, what: str, why: str) -> None:
    """spec/telnyx-actors.md section 2.2, U3."""
    project.write("main.py", text)
    error = failing(project)
    assert error.code is Code.CLASS_MISSING
    assert what in error.what
    assert why in error.why


def test_load_that_fails_leaves_what_was_published(project: Project) -> None:
    project.write("main.py", ACTOR.format(value=1))
    loader = project.loader()
    code = loader.load()
    loader.publish(code)
    project.write("main.py", "syntax error")
    with pytest.raises(EdgeemuError):
        loader.load()
    assert sys.modules["main"] is code.modules["main"]


def test_code_frame_of_what_cannot_be_read_is_none(tmp_path: Path) -> None:
    assert code_frame(None, 1, None) is None
    assert code_frame(str(tmp_path / "gone.py"), 1, None) is None
