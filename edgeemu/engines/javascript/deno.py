"""Finding the JavaScript engine: Deno, from the package `deno` or on the PATH."""

import re
import shutil
import subprocess
from functools import lru_cache

from edgeemu.errors import Code, EdgeemuError

VERSION_MIN = (2, 9)
"""The oldest that will do: the hooks of `node:module` and the options that we call it with."""

_INSTALL = "pip install 'edgeemu[typescript]'"


@lru_cache(maxsize=1)
def find_deno() -> str:
    """The program.

    Raises:
        EdgeemuError: `E_ENGINE_MISSING` where there is none that will do.
    """
    try:
        import deno  # type: ignore[import-untyped]

        return str(deno.find_deno_bin())
    except (ImportError, FileNotFoundError):
        pass  # The package is not there, or its program is not.
    found = shutil.which("deno")
    if found is None:
        raise EdgeemuError(
            Code.ENGINE_MISSING,
            what="the engine that runs TypeScript is not installed",
            why="the project has TypeScript or JavaScript in it, which Deno runs",
            fix=f"run {_INSTALL}, or put deno {_shown(VERSION_MIN)} or newer on the PATH",
        )
    too_old = _too_old(found)
    if too_old is not None:
        raise too_old
    return found


def start_error(program: str, said: str) -> EdgeemuError:
    """Why a program that was found does not start: `E_ENGINE_MISSING`."""
    return _too_old(program) or EdgeemuError(
        Code.ENGINE_MISSING,
        what="the engine that runs TypeScript does not start",
        why=f"{program}: {said.strip() or 'it ended and said nothing'}",
        fix=f"run {_INSTALL} again; `deno --version` should answer",
    )


def _too_old(program: str) -> EdgeemuError | None:
    version = _version(program)
    if version >= VERSION_MIN:
        return None
    return EdgeemuError(
        Code.ENGINE_MISSING,
        what=f"the deno that was found is too old: {_shown(version) or 'of no known version'}",
        why=f"TypeScript needs {_shown(VERSION_MIN)} or newer; found {program}",
        fix=f"run {_INSTALL}, or update deno",
    )


def _version(program: str) -> tuple[int, ...]:
    try:
        ran = subprocess.run(
            [program, "--version"], capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ()
    found = re.match(r"deno (\d+)\.(\d+)", ran.stdout)
    return (int(found[1]), int(found[2])) if found else ()


def _shown(version: tuple[int, ...]) -> str:
    return ".".join(str(part) for part in version)
