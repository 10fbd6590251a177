"""TypeScript projects of tests: files by name, and what an actor of theirs answers."""

from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent
from typing import Any

from edgeemu.config import Config, load_config
from edgeemu.emulator import Emulator
from tests.support.emulators import inst, run_with

HEAD = 'import { StatefulActor } from "@telnyx/edge-runtime";\n'
"""What a module of a test begins with."""


def write_files(root: Path, files: Mapping[str, str]) -> None:
    """Write files below a folder, by their path in it; each text may be indented."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text), encoding="utf-8")


def write_modules(
    root: Path, files: Mapping[str, str], *, main: str = "src/index.ts", toml: str = ""
) -> Config:
    """A project whose actor type is `A`, bound as `A`; its configuration."""
    head = f'name = "test"\nmain = "{main}"\n[[actors]]\nbinding = "A"\ntype = "A"\n'
    write_files(root, {"edgeemu.toml": head + dedent(toml), **files})
    return load_config(root)


def actor(imports: str, body: str) -> str:
    """A module with an actor `A` whose method `run` has a body."""
    return f"{HEAD}{imports}\nexport class A extends StatefulActor {{ async run() {{ {body} }} }}\n"


def answer_of(config: Config) -> Any:
    """What the method `run` of an actor `A` answers."""

    async def ask(emulator: Emulator) -> Any:
        return await emulator.call(inst("A/x"), "run")

    return run_with(config, ask)
