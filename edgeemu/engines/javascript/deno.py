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
    except ImportError:
        pass
    else:
        return str(deno.find_deno_bin())
    found = shutil.which("deno")
    if found is None:
        raise EdgeemuError(
            Code.ENGINE_MISSING,
            what="the engine that runs TypeScript is not installed",
            why="the project has TypeScript or JavaScript in it, which Deno runs",
            fix=f"run {_INSTALL}, or put deno {_shown(VERSION_MIN)} or newer on the PATH",
        )
    version = _version(found)
    if version < VERSION_MIN:
        raise EdgeemuError(
            Code.ENGINE_MISSING,
            what=f"the deno on the PATH is too old: {_shown(version) or 'of no known version'}",
            why=f"TypeScript needs {_shown(VERSION_MIN)} or newer; found {found}",
            fix=f"run {_INSTALL}, or update deno",
        )
    return found


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
