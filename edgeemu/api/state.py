"""Where a project's state folder is, and the note in it that says how to reach a running server.

Promise: the note is readable for its owner only, it is there before the port accepts, and one
that a killed server left behind does no harm: whoever reads it checks that somebody answers.

This module is on the way of every command, so it imports nothing heavy.
"""

import json
import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from edgeemu.errors import Code, EdgeemuError

STATE_FOLDER = ".edgeemu"
"""The name of the state folder in a project (design D5)."""

SERVER_FILE = "dev.json"
"""The note of a running server, in the state folder."""

PROJECT_FILES = (
    "edgeemu.toml",
    "telnyx.toml",
    "wrangler.toml",
    "wrangler.json",
    "wrangler.jsonc",
    "func.toml",
)
"""The files that make a folder a project: as in `edgeemu.config`, whose import takes longer than a
whole command against a server should; a test holds the two together."""


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """How to reach a running server.

    Attributes:
        pid: its process.
        port: that it listens on.
        host: to connect to; a server that binds every address is reached by the loopback.
        token: that the control API wants to see.
    """

    pid: int
    port: int
    host: str
    token: str

    @property
    def url(self) -> str:
        """Where a browser finds the project."""
        return f"http://{url_host(self.host)}:{self.port}"


def url_host(host: str) -> str:
    """A host as it stands in a URL: an IPv6 address in brackets."""
    return f"[{host}]" if ":" in host else host


def find_root(start: Path) -> Path | None:
    """The nearest folder, from `start` upwards, that holds a project; None if there is none."""
    start = Path(os.path.normpath(start.absolute()))
    for folder in (start, *start.parents):
        if any(os.path.lexists(folder / name) for name in PROJECT_FILES):
            return folder
    return None


def default_state_dir(root: Path) -> Path:
    """The state folder of a project that was given no other."""
    return root / STATE_FOLDER


def write_server_info(state_dir: Path, info: ServerInfo) -> None:
    """Note how to reach this server, for its owner's eyes only; an older note is replaced.

    Raises:
        EdgeemuError: `E_STATE_UNWRITABLE`.
    """
    path = state_dir / SERVER_FILE
    fields = {"pid": info.pid, "port": info.port, "host": info.host, "token": info.token}
    temporary = path.with_name(f"{SERVER_FILE}.{info.pid}")
    try:
        state_dir.mkdir(parents=True, exist_ok=True)
        temporary.unlink(missing_ok=True)
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(json.dumps(fields) + "\n")
        temporary.replace(path)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise EdgeemuError(
            Code.STATE_UNWRITABLE,
            what=f"`{path}` cannot be written",
            why=error.strerror or str(error),
            fix="make the folder writable, or name another with --state-dir",
        ) from None


def read_server_info(state_dir: Path) -> ServerInfo | None:
    """The note of a server whose process lives; None where there is none, or no whole one."""
    try:
        fields = json.loads((state_dir / SERVER_FILE).read_text(encoding="ascii"))
        info = ServerInfo(fields["pid"], fields["port"], fields["host"], fields["token"])
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None
    kinds = (int, int, str, str)
    values = (info.pid, info.port, info.host, info.token)
    if not all(type(value) is kind for value, kind in zip(values, kinds, strict=True)):
        return None
    text = info.host + info.token
    if not text.isascii() or not text.isprintable():  # It would not fit into a request.
        return None
    return info if _lives(info.pid) else None


def remove_server_info(state_dir: Path, info: ServerInfo) -> None:
    """Take the note away, unless it is another server's by now."""
    path = state_dir / SERVER_FILE
    with suppress(OSError, ValueError, LookupError, TypeError):
        if json.loads(path.read_text(encoding="ascii"))["token"] == info.token:
            path.unlink()


def _lives(pid: int) -> bool:
    """Whether a process may be there. Windows has no question that does it no harm."""
    if sys.platform == "win32":
        return True
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True
