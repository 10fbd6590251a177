"""Projects in TypeScript for tests: one module, in which the base class is imported already."""

from pathlib import Path
from textwrap import dedent
from typing import Any

from edgeemu.config import Config
from tests.support.emulators import write_project

_PRELUDE = 'import { StatefulActor } from "@telnyx/edge-runtime";\n'


def write_script(folder: Path, source: str, **more: Any) -> Config:
    """Write a project whose module is `main.ts`, as `write_project` does for Python."""
    return write_project(folder, _PRELUDE + dedent(source), main="main.ts", **more)
