"""A new project is whole or not there, and nothing that was there before is touched."""

import os
import sys
from pathlib import Path

import pytest

from edgeemu import scaffold
from edgeemu.errors import EdgeemuError
from edgeemu.scaffold import Template, create_project, list_templates

FILES = {
    "blank/template.toml": 'description = "an empty actor"',
    "blank/python/edgeemu.toml": 'name = "{{name}}"\nmain = "src/main.py"\n',
    "blank/python/src/main.py": "# {{name}}, {{other}}\n",
    "blank/python/gitignore": ".edgeemu/\n",
    "blank/python/.edgeemu/state.sqlite": "left behind",
    "blank/python/.env": "KEY=secret",
    "blank/python/src/__pycache__/main.pyc": "left behind",
    "counter/template.toml": 'description = "counts"',
    "counter/python/main.py": "",
    "counter/typescript/main.ts": "",
    "notes/readme.md": "no template",
}


@pytest.fixture
def templates(tmp_path: Path) -> Path:
    folder = tmp_path / "templates"
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (folder / "blank/python/logo.png").write_bytes(b"\x89\xff{{name}}")
    return folder


@pytest.fixture
def parent(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def test_templates_are_listed_by_name(templates: Path) -> None:
    assert list_templates(templates) == [
        Template("blank", "an empty actor", ("python",)),
        Template("counter", "counts", ("python", "typescript")),
    ]


def test_no_templates_are_an_empty_list(tmp_path: Path) -> None:
    assert list_templates(tmp_path / "nowhere") == []


def test_project_is_made_from_the_template(templates: Path, parent: Path) -> None:
    project = create_project("shop", parent=parent, folder=templates)
    assert project.path == parent / "shop"
    assert project.template == "blank"
    assert project.files == (".gitignore", "edgeemu.toml", "logo.png", "src/main.py")
    made = {
        path.relative_to(project.path).as_posix()
        for path in project.path.rglob("*")
        if path.is_file()
    }
    assert made == set(project.files)
    assert 'name = "shop"' in (project.path / "edgeemu.toml").read_text()
    assert (project.path / "src/main.py").read_text() == "# shop, {{other}}\n"
    assert (project.path / "logo.png").read_bytes() == b"\x89\xff{{name}}"
    # Nothing else is left in the parent.
    assert list(parent.iterdir()) == [project.path]


def test_new_folder_has_the_usual_rights(templates: Path, parent: Path) -> None:
    project = create_project("shop", parent=parent, folder=templates)
    assert project.path.stat().st_mode == parent.stat().st_mode


def test_language_is_chosen(templates: Path, parent: Path) -> None:
    project = create_project(
        "shop", template="counter", language="typescript", parent=parent, folder=templates
    )
    assert project.files == ("main.ts",)


def test_empty_folder_in_the_place_is_fine(templates: Path, parent: Path) -> None:
    (parent / "shop").mkdir()
    assert create_project("shop", parent=parent, folder=templates).files


@pytest.mark.parametrize(
    ("arguments", "code", "why", "fix"),
    [
        ({"name": "a/b"}, "E_PROJECT_NAME", "letters, digits", "`a-b`"),
        ({"name": ""}, "E_PROJECT_NAME", "letters, digits", "`my-project`"),
        ({"name": ".."}, "E_PROJECT_NAME", "letters, digits", "`my-project`"),
        ({"name": "-a"}, "E_PROJECT_NAME", "either end", "`a`"),
        ({"name": "a_b"}, "E_PROJECT_NAME", "letters, digits", "`a-b`"),
        ({"name": "größe"}, "E_PROJECT_NAME", "letters, digits", "`gr-e`"),
        ({"name": "a" * 65}, "E_PROJECT_NAME", "1 to 64", "`" + "a" * 64 + "`"),
        ({"template": "conter"}, "E_TEMPLATE_UNKNOWN", "`blank`, `counter`", "counter"),
        ({"template": "zzz"}, "E_TEMPLATE_UNKNOWN", "`blank`", "--list"),
        ({"template": "../x"}, "E_TEMPLATE_UNKNOWN", "`blank`", "--list"),
        ({"language": "typescript"}, "E_TEMPLATE_LANGUAGE", "`python`", "--language python"),
        ({"language": "ruby"}, "E_TEMPLATE_LANGUAGE", "`python`", "--language python"),
        ({"platform": "cloudflare"}, "E_CONFIG_UNSUPPORTED", "`telnyx`", "--platform"),
    ],
)
def test_what_cannot_be_is_refused(
    arguments: dict[str, str], code: str, why: str, fix: str, templates: Path, parent: Path
) -> None:
    name = arguments.pop("name", "shop")
    with pytest.raises(EdgeemuError) as caught:
        create_project(name, parent=parent, folder=templates, **arguments)
    assert caught.value.code.text == code
    for given in arguments.values():
        assert f"`{given}`" in caught.value.what
    assert why in caught.value.why
    assert fix in caught.value.fix
    assert list(parent.iterdir()) == []


@pytest.mark.parametrize("thing", ["file", "folder", "link", "dead link"])
def test_what_is_there_stays(thing: str, templates: Path, parent: Path) -> None:
    place = parent / "shop"
    if thing == "folder":
        place.mkdir()
        (place / "mine.txt").write_text("mine")
    elif thing == "file":
        place.write_text("mine")
    else:
        place.symlink_to(templates if thing == "link" else parent / "nowhere")
    before = sorted(path.name for path in parent.rglob("*"))
    with pytest.raises(EdgeemuError) as caught:
        create_project("shop", parent=parent, folder=templates)
    assert caught.value.code.text == "E_FOLDER_EXISTS"
    assert str(place) in caught.value.what
    assert thing.rpartition(" ")[2] in caught.value.why
    assert sorted(path.name for path in parent.rglob("*")) == before


def test_parent_that_does_not_exist_is_named(templates: Path, parent: Path) -> None:
    with pytest.raises(EdgeemuError) as caught:
        create_project("shop", parent=parent / "nowhere", folder=templates)
    assert caught.value.code.text == "E_FOLDER_UNWRITABLE"
    assert "No such file" in caught.value.why
    assert str(parent / "nowhere") in caught.value.fix


@pytest.mark.skipif(
    sys.platform == "win32" or os.geteuid() == 0, reason="the super-user may write anywhere"
)
def test_parent_that_may_not_be_written_is_named(templates: Path, parent: Path) -> None:
    parent.chmod(0o555)
    try:
        with pytest.raises(EdgeemuError) as caught:
            create_project("shop", parent=parent, folder=templates)
    finally:
        parent.chmod(0o755)
    assert caught.value.code.text == "E_FOLDER_UNWRITABLE"


@pytest.mark.parametrize("failure", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_failure_on_the_way_leaves_nothing(
    failure: BaseException, templates: Path, parent: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = scaffold._copy

    def fail_late(path: Path, target: Path, name: str) -> None:
        if path.name == "main.py":
            raise failure
        copy(path, target, name)

    monkeypatch.setattr(scaffold, "_copy", fail_late)
    with pytest.raises((EdgeemuError, KeyboardInterrupt)) as caught:
        create_project("shop", parent=parent, folder=templates)
    if isinstance(caught.value, EdgeemuError):
        assert caught.value.code.text == "E_FOLDER_UNWRITABLE"
        assert "No space left" in caught.value.why
    assert list(parent.iterdir()) == []


def test_place_that_is_taken_meanwhile_is_not_touched(
    templates: Path, parent: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = scaffold._copy

    def take_the_place(path: Path, target: Path, name: str) -> None:
        (parent / "shop").mkdir(exist_ok=True)
        (parent / "shop/mine.txt").write_text("mine")
        copy(path, target, name)

    monkeypatch.setattr(scaffold, "_copy", take_the_place)
    with pytest.raises(EdgeemuError) as caught:
        create_project("shop", parent=parent, folder=templates)
    assert caught.value.code.text == "E_FOLDER_EXISTS"
    assert [path.name for path in parent.rglob("*")] == ["shop", "mine.txt"]


def test_shipped_templates_are_described_and_ignore_the_state() -> None:
    folder = scaffold.templates_folder()
    templates = list_templates()
    assert "blank" in [template.name for template in templates]
    for template in templates:
        assert template.description, template.name
        for language in template.languages:
            ignored = (folder / template.name / language / "gitignore").read_text().split()
            assert ".edgeemu/" in ignored, template.name
