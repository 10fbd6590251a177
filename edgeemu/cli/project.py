"""`new` and `check`: starting a project, and looking it over without starting anything."""

import os
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from edgeemu.cli.advise import review
from edgeemu.cli.commands import Run, command, group
from edgeemu.cli.render import Line, Piece
from edgeemu.cli.suggest import example_call
from edgeemu.cli.words import count, table
from edgeemu.errors import Code, EdgeemuError, docs_link

if TYPE_CHECKING:
    from edgeemu.config import Config
    from edgeemu.typings import Typings

app = group("Projects.")


@command(app, "new", common=["as_json"])
def new(
    run: Run,
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="The folder to make, and its name.")
    ] = None,
    template: Annotated[
        str, typer.Option("--template", metavar="T", help="What to start from; see --list.")
    ] = "blank",
    language: Annotated[
        str, typer.Option("--language", metavar="L", help="python or typescript.")
    ] = "python",
    platform: Annotated[
        str, typer.Option("--platform", metavar="P", help="Whose rules hold.")
    ] = "telnyx",
    list: Annotated[bool, typer.Option("--list", help="List the templates.")] = False,
) -> None:
    """Start a project from a template."""
    from edgeemu import scaffold

    if list:
        _list_templates(run)
        return
    if name is None:
        raise EdgeemuError(
            Code.USAGE,
            what="`new` needs the name of the project",
            why="it makes a folder of that name",
            fix="write `edgeemu new NAME`, or `edgeemu new --list` for the templates",
        )
    # A name with a path in front goes where the path says; an odd one is left to the check.
    path = Path(name)
    inside = path.name not in ("", "..") and path.name != name
    made = scaffold.create_project(
        path.name if inside else name,
        template=template,
        language=language,
        platform=platform,
        parent=path.parent if inside else Path(),
    )
    if language == "typescript":
        from edgeemu.config import load_config
        from edgeemu.typings import write_typings

        write_typings(load_config(made.path))
    shown = {"path": str(made.path.absolute()), "template": made.template}
    run.show({**shown, "files": [*made.files]}, lambda _: _made_lines(made))


def _made_lines(made: Any) -> list[Line]:
    return [
        [("made ", "good"), f"{made.path} from the template {made.template}:"],
        *(f"  {file}" for file in made.files),
        "",
        "next:",
        f"  cd {_quoted(str(made.path))}",
        "  edgeemu dev",
        f"  {example_call(made.path)}    # in a second terminal",
    ]


def _quoted(text: str) -> str:
    import shlex

    return shlex.quote(text)


def _list_templates(run: Run) -> None:
    from edgeemu import scaffold

    found: list[dict[str, Any]] = [
        {
            "name": template.name,
            "description": template.description,
            "languages": [*template.languages],
        }
        for template in scaffold.list_templates()
    ]
    rows: list[list[Piece]] = [
        [item["name"], ", ".join(item["languages"]), item["description"]] for item in found
    ]
    run.show(found, lambda _: table(["TEMPLATE", "LANGUAGES", "SHOWS"], rows))


@command(app, "check")
def check(run: Run) -> None:
    """Check the configuration and the code; nothing is started.

    Advice never fails the check: what is broken does.
    """
    from edgeemu.config import load_config

    config = load_config(run.root)
    # Modules of the project may print while they load, and stdout is for our data.
    with redirect_stdout(sys.stderr):
        warnings = _load_project(config)
    advice = [_advice_json(found) for found in review(config)]
    types = config.types
    result = {"ok": True, "actors": types, "advice": advice, "warnings": warnings}
    run.show(result, lambda _: _check_lines(result))
    listed = ", ".join(types) or "none"
    found = f"{count(len(advice), 'piece')} of advice" if advice else "no advice"
    run.note([("ok", "good"), f": the project loads; actors: {listed}; {found}"])


def _load_project(config: "Config") -> list[str]:
    """Load the project as a server would; what it is warned of.

    Raises:
        EdgeemuError: when it does not load.
    """
    import asyncio

    from edgeemu.emulator import Emulator, Options, new_loop

    async def load() -> list[str]:
        emulator = await Emulator.open(config, Options(seed=0))
        entries = [entry for entry in emulator.journal() if entry["kind"] == "warning"]
        await emulator.close()
        return [str(entry["message"]) for entry in entries]

    with asyncio.Runner(loop_factory=new_loop) as runner:
        return runner.run(load())


@command(app, "types")
def types(run: Run) -> None:
    """Write the types of a TypeScript project: what `env` binds, and the runtime's own.

    `telnyx-env.d.ts` has the bindings of the configuration, as the vendor's tool writes it. The
    types of `@telnyx/edge-runtime` go to `.edgeemu/types`: so a project type-checks without npm.
    """
    from edgeemu.config import load_config
    from edgeemu.typings import write_typings

    found = write_typings(load_config(run.root))
    result = [
        {
            "root": str(each.root),
            "files": [*each.files],
            "bindings": {**each.bindings},
        }
        for each in found
    ]
    run.show(result, lambda _: [line for each in found for line in _types_lines(each, run.root)])


def _types_lines(found: "Typings", root: Path) -> list[Line]:
    from edgeemu.typings import ENV_FILE

    lines: list[Line] = []
    for file in found.files:
        path = os.path.relpath(found.root / file, root)
        told = f": {count(len(found.bindings), 'binding')}" if file == ENV_FILE else ""
        lines.append([("wrote ", "good"), f"{path}{told}"])
        if file == ENV_FILE:
            lines += [f"  env.{name}: {kind}" for name, kind in found.bindings.items()]
    return lines


def _advice_json(found: Any) -> dict[str, Any]:
    return {
        "file": found.file,
        "line": found.line,
        "code": found.code,
        "message": found.message,
        "fix": found.fix,
        "see": docs_link(found.code),
    }


def _check_lines(result: dict[str, Any]) -> list[Line]:
    found: list[Line] = [[("warning: ", "warn"), text] for text in result["warnings"]]
    for item in result["advice"]:
        found.append([f"{item['file']}:{item['line']} ", (item["code"], "warn")])
        found.append([f"  {item['message']}", (f"; see {item['see']}", "dim")])
        found.append(f"  fix: {item['fix']}")
    return found
