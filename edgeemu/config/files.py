"""Reading the files of a configuration: text, TOML and `.env`, with errors that name the place."""

import os
import re
from pathlib import Path
from typing import Any

import tomli

from edgeemu.config.keys import SECRET_TABLE
from edgeemu.config.places import code_frame
from edgeemu.errors import Code, EdgeemuError

OWN_FILE = "edgeemu.toml"
"""The name of edgeemu's own configuration; it wins over every other."""

ENV_FILES = (".env", ".dev.vars")
"""Files of secrets beside the configuration; a later one wins over an earlier one."""

_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\", "$": "$"}


def exists(path: Path) -> bool:
    """Whether anything is there, even if it cannot be read or leads nowhere."""
    try:
        path.lstat()
    except (OSError, ValueError):
        return False
    return True


def read_text(path: Path) -> str:
    """The text of a file of the configuration, without a byte order mark.

    Raises:
        EdgeemuError: `E_FILE_UNREADABLE`, or `E_CONFIG_SYNTAX` if it is not UTF-8.
    """
    try:
        content = path.read_bytes()
    except IsADirectoryError:
        raise EdgeemuError(
            Code.FILE_UNREADABLE,
            what=f"`{path}` is a folder",
            why=f"a file is expected under the name {path.name}",
            fix="rename the folder, and write the file",
        ) from None
    except OSError as error:
        raise EdgeemuError(
            Code.FILE_UNREADABLE,
            what=f"`{path}` cannot be read",
            why=error.strerror or str(error),
            fix="make the file readable for your user (ls -l shows who may read it)",
        ) from None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise EdgeemuError(
            Code.CONFIG_SYNTAX,
            what=f"`{path}` is not UTF-8 text",
            why=f"line {line} holds the byte 0x{content[error.start]:02x}, which UTF-8 does not",
            fix="save the file with the encoding UTF-8",
        ) from None


def parse_toml(text: str, path: Path, shown: str) -> dict[str, Any]:
    """The TOML document in `text`, which stands in the file `path`, told as `shown`.

    Raises:
        EdgeemuError: `E_CONFIG_SYNTAX`, with a code frame in its detail, unless that could show a
            secret.
    """
    try:
        return tomli.loads(text)
    except tomli.TOMLDecodeError as error:
        line = min(error.lineno, max(1, len(text.splitlines())))
        column = error.colno if line == error.lineno else len(text.splitlines()[-1]) + 1
        raise EdgeemuError(
            Code.CONFIG_SYNTAX,
            what=f"{shown} is not valid TOML: {error.msg}",
            why=f"line {line}, column {column} of {path}",
            fix=f"mend line {line}: strings stand in quotes, tables in [brackets], and a name "
            "stands once",
            detail=None if _may_be_secret(text, line) else code_frame(text, line, column),
        ) from None
    except (ValueError, RecursionError) as error:
        raise EdgeemuError(
            Code.CONFIG_SYNTAX,
            what=f"{shown} cannot be read as TOML",
            why=f"{path}: {error}",
            fix="shorten its longest number, or nest its values less deeply",
        ) from None


def _may_be_secret(text: str, line: int) -> bool:
    """Whether one of the lines that a code frame shows stands in the table of secrets."""
    before = text.splitlines()[:line]
    headers = [row for row in before[:-1] if row.lstrip().startswith("[")]
    tables = [*headers[-1:], *before[-2:]]
    return any(re.match(rf"\s*\[?\s*{SECRET_TABLE}\b", row) for row in tables)


def read_env_files(root: Path) -> dict[str, str]:
    """The entries of `.env` and `.dev.vars`. A folder of such a name (a virtualenv) is no matter.

    Raises:
        EdgeemuError: as `read_text` and `parse_env`.
    """
    values: dict[str, str] = {}
    for name in ENV_FILES:
        path = root / name
        if exists(path) and not path.is_dir():
            values.update(parse_env(read_text(path), path))
    return values


def parse_env(text: str, path: Path) -> dict[str, str]:
    r"""The entries of an `.env` file: `KEY=VALUE` lines.

    `export` in front, quotes around a value and comments are allowed. In double quotes `\n`,
    `\t`, `\"` and the like count; in single quotes nothing does. A name that stands twice has its
    last value. No message shows a value.

    Raises:
        EdgeemuError: `E_CONFIG_SYNTAX` with the line, if one is no such entry.
    """
    values: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        entry = line.strip()
        if not entry or entry.startswith("#"):
            continue
        name, equals, rest = re.sub(r"^export\s+", "", entry).partition("=")
        name = name.strip()
        if not equals or not _ENV_NAME.fullmatch(name):
            raise _env_error(path, number, "has no name in front of a `=`")
        value = _env_value(rest.strip())
        if value is None:
            raise _env_error(path, number, "has a quote that does not end, or text after it")
        values[name] = value
    return values


def _env_value(written: str) -> str | None:
    if written[:1] not in {'"', "'"}:
        return re.split(r"(?:^|\s+)#", written, maxsplit=1)[0].rstrip()
    if written[0] == "'":
        found = re.fullmatch(r"'([^']*)'\s*(?:#.*)?", written)
        return found[1] if found else None
    found = re.fullmatch(r'"((?:[^"\\]|\\.)*)"\s*(?:#.*)?', written)
    if not found:
        return None
    return re.sub(r"\\(.)", lambda escape: _ESCAPES.get(escape[1], escape[0]), found[1])


def _env_error(path: Path, line: int, problem: str) -> EdgeemuError:
    return EdgeemuError(
        Code.CONFIG_SYNTAX,
        what=f"line {line} of {path.name} {problem}",
        why=f'{path} holds lines such as NAME=value or NAME="a value"',
        fix=f"mend or delete line {line}",
    )


def normal_path(path: Path) -> Path:
    """An absolute path without `..`; links stay as they are."""
    return Path(os.path.normpath(path.absolute()))
