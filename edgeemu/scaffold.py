"""Starting a project from a template: `edgeemu new`.

Promise: the project is there whole or not at all. It is built in a folder beside its place and then
renamed, and nothing that was there before is touched.

A template is a folder `<name>/` with `template.toml` (`description = "…"`) and one folder for each
language. In texts, `{{name}}` becomes the project's name; a file `gitignore` becomes `.gitignore`
(under that name it would act on the repository of edgeemu itself).
"""

import difflib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import tomli

from edgeemu.core.profile import PROFILES
from edgeemu.errors import Code, EdgeemuError

LANGUAGES = ("python", "typescript")
"""The languages that a template may be written in; each template has a folder for its own."""

NAME_CHARS_MAX = 64
"""Characters of a project's name. Source: spec/telnyx-actors.md section 2.2."""

PLACEHOLDER = "{{name}}"
"""What the project's name replaces."""

_SKIPPED_FOLDERS = {"__pycache__", "node_modules"}
_HIDDEN_FILES_KEPT = {".env.example", ".dockerignore", ".editorconfig"}


@dataclass(frozen=True, slots=True)
class Template:
    """A starter project.

    Attributes:
        name: as in `--template`.
        description: one line on what it shows.
        languages: those that it comes in.
    """

    name: str
    description: str
    languages: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CreatedProject:
    """A project that was just made.

    Attributes:
        path: its folder.
        files: their paths from that folder, sorted, with `/` between.
        template: the name of the template.
    """

    path: Path
    files: tuple[str, ...]
    template: str


def templates_folder() -> Path:
    """Where the templates lie: inside an installed package, or at the root of a checkout."""
    package = Path(__file__).resolve().parent
    installed = package / "_templates"
    return installed if installed.is_dir() else package.parent / "templates"


def list_templates(folder: Path | None = None) -> list[Template]:
    """The templates, by name.

    Args:
        folder: where they lie; None for edgeemu's own.
    """
    folder = folder or templates_folder()
    if not folder.is_dir():
        return []
    found = []
    for path in sorted(folder.iterdir()):
        languages = tuple(language for language in LANGUAGES if (path / language).is_dir())
        if languages:
            found.append(Template(path.name, _description(path), languages))
    return found


def _description(path: Path) -> str:
    file = path / "template.toml"
    if not file.is_file():
        return ""
    return str(tomli.loads(file.read_text(encoding="utf-8")).get("description", ""))


def create_project(
    name: str,
    *,
    template: str = "blank",
    language: str = "python",
    platform: str = "telnyx",
    parent: Path,
    folder: Path | None = None,
) -> CreatedProject:
    """This makes the project `name` in the folder `parent`.

    Args:
        name: of the project and its folder.
        template: the name of a template.
        language: of its actors.
        platform: whose rules it is for.
        parent: the folder that gets the project.
        folder: where the templates lie; None for edgeemu's own.

    Raises:
        EdgeemuError: `E_PROJECT_NAME`, `E_TEMPLATE_UNKNOWN`, `E_TEMPLATE_LANGUAGE`,
            `E_CONFIG_UNSUPPORTED` for a platform that is not there, `E_FOLDER_EXISTS` where
            anything but an empty folder is in the place, or `E_FOLDER_UNWRITABLE`.
    """
    check_project_name(name)
    if platform not in PROFILES:
        raise EdgeemuError(
            Code.CONFIG_UNSUPPORTED,
            what=f"the platform `{platform}` is not there",
            why="this version has " + ", ".join(f"`{known}`" for known in PROFILES),
            fix="leave out --platform, or give one of these",
        )
    folder = folder or templates_folder()
    source = folder / _find_template(template, language, folder).name / language
    target = parent / name
    if os.path.lexists(target) and not _is_empty_folder(target):
        raise _folder_exists(target)
    try:
        files = _build(source, target, name)
    except OSError as error:
        if _is_occupied(target):
            raise _folder_exists(target) from None
        raise EdgeemuError(
            Code.FOLDER_UNWRITABLE,
            what=f"`{target}` cannot be made",
            why=f"{error.strerror or error}, in {parent}",
            fix=f"give a folder that exists and that you may write to, in place of {parent}",
        ) from None
    return CreatedProject(target, files, template)


def check_project_name(name: str) -> None:
    """This refuses a name that the platform would refuse.

    Raises:
        EdgeemuError: `E_PROJECT_NAME`.
    """
    plain = name.isascii() and name.replace("-", "a").isalnum()
    if plain and len(name) <= NAME_CHARS_MAX and name.strip("-") == name:
        return
    kept = "".join(char if char.isascii() and char.isalnum() else "-" for char in name)
    better = "-".join(part for part in kept[:NAME_CHARS_MAX].split("-") if part) or "my-project"
    problem = f" (it has {len(name)} characters)" if len(name) > NAME_CHARS_MAX else ""
    raise EdgeemuError(
        Code.PROJECT_NAME,
        what=f"`{name}` cannot be a project's name{problem}",
        why=f"a name is 1 to {NAME_CHARS_MAX} letters, digits and `-`, with no `-` at either end, "
        "since it becomes part of the URL",
        fix=f"give such as `{better}`",
    )


def _find_template(name: str, language: str, folder: Path) -> Template:
    templates = {template.name: template for template in list_templates(folder)}
    template = templates.get(name)
    if template is None:
        near = difflib.get_close_matches(name.lower(), list(templates), 1)
        raise EdgeemuError(
            Code.TEMPLATE_UNKNOWN,
            what=f"there is no template `{name}`",
            why="the templates are " + (", ".join(f"`{known}`" for known in templates) or "none"),
            fix=f"give `--template {near[0]}`" if near else "see `edgeemu new --list`",
        )
    if language not in template.languages:
        has = ", ".join(f"`{known}`" for known in template.languages)
        near = difflib.get_close_matches(language.lower(), template.languages, 1, 0.3)
        raise EdgeemuError(
            Code.TEMPLATE_LANGUAGE,
            what=f"the template `{name}` does not come in `{language}`",
            why=f"it comes in {has}",
            fix=f"give `--language {(near or template.languages)[0]}`",
        )
    return template


def _folder_exists(target: Path) -> EdgeemuError:
    thing = "a folder that is not empty" if target.is_dir() else "a file"
    if target.is_symlink():
        thing = "a link"
    return EdgeemuError(
        Code.FOLDER_EXISTS,
        what=f"`{target}` exists already",
        why=f"{thing} is in the place of the new project; nothing was changed",
        fix="give another name, or move what is there away",
    )


def _is_empty_folder(path: Path) -> bool:
    try:
        return path.is_dir() and not path.is_symlink() and not any(path.iterdir())
    except OSError:
        return False


def _is_occupied(path: Path) -> bool:
    """Whether something came into the place while the project was built."""
    return os.path.lexists(path) and not _is_empty_folder(path)


def _build(source: Path, target: Path, name: str) -> tuple[str, ...]:
    """This copies the template to a place beside `target` and renames it there."""
    workshop = Path(tempfile.mkdtemp(prefix=f".{name[:32]}-", dir=target.parent))
    try:
        draft = workshop / "project"
        draft.mkdir()
        files = []
        for path in _files(source):
            relative = path.relative_to(source)
            if relative.name == "gitignore":
                relative = relative.with_name(".gitignore")
            _copy(path, draft / relative, name)
            files.append(relative.as_posix())
        if target.is_dir() and os.name == "nt":
            target.rmdir()  # there, a rename does not replace an empty folder
        draft.rename(target)
    finally:
        shutil.rmtree(workshop, ignore_errors=True)
    return tuple(sorted(files))


def _files(folder: Path) -> Iterator[Path]:
    """The files of a template, without what a run of it in place leaves behind."""
    for path in sorted(folder.iterdir()):
        hidden = path.name.startswith(".")
        if path.is_dir():
            if not hidden and path.name not in _SKIPPED_FOLDERS:
                yield from _files(path)
        elif not hidden or path.name in _HIDDEN_FILES_KEPT:
            yield path


def _copy(path: Path, target: Path, name: str) -> None:
    content = path.read_bytes()
    with suppress(UnicodeDecodeError):  # a picture or the like goes over as it is
        content = content.decode().replace(PLACEHOLDER, name).encode()
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)
    if os.access(path, os.X_OK):
        target.chmod(target.stat().st_mode | 0o111)
