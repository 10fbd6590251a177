"""`explain`: what the documentation says of a code, without a browser and without a project."""

import re
from pathlib import Path
from typing import Annotated

import typer

from edgeemu.cli import complete
from edgeemu.cli.commands import Run, command, group
from edgeemu.errors import Code, EdgeemuError, docs_link

app = group("Codes.")

ACTOR_ERRORS_PAGE = "docs/actors.md#errors"

PAGES = ("errors.md", "warnings.md")
"""The pages of `docs/` that have an entry for each code; they travel inside the package."""


@command(app, "explain", common=["as_json"])
def explain(
    run: Run,
    code: Annotated[
        str,
        typer.Argument(
            metavar="CODE",
            help="Such as E_PORT_TAKEN, W_ALARM_SECONDS or CodecError.",
            autocompletion=complete.codes,
        ),
    ],
) -> None:
    """Explain the code of an error or a warning, or the name of an error of actors."""
    known = {**entries(), **actor_errors()}
    by_case = {name.upper(): name for name in known}
    name = by_case.get(code.strip().upper(), "")
    if not name:
        import difflib

        near = difflib.get_close_matches(code.strip().upper(), by_case, 1)
        raise EdgeemuError(
            Code.USAGE,
            what=f"there is no code `{code}`",
            why="codes begin with E_ for errors and W_ for warnings; errors of actors have names "
            "such as CodecError",
            fix=f"did you mean {by_case[near[0]]}?"
            if near
            else "copy the code from what edgeemu printed",
        )
    see = docs_link(name) if name[:2] in ("E_", "W_") else ACTOR_ERRORS_PAGE
    found = {"code": name, "text": known[name], "see": see}
    run.show(found, lambda _: [(name, "bold"), "", *known[name].splitlines()])


def actor_errors() -> dict[str, str]:
    """What each error says that a call of an actor can fail with, by its name."""
    from inspect import getdoc

    from edgeemu.sdk.errors import CLASSES_BY_NAME

    return {name: getdoc(kind) or "" for name, kind in CLASSES_BY_NAME.items()}


def docs_folder() -> Path:
    """Where the pages lie: inside an installed package, or at the root of a checkout."""
    package = Path(__file__).resolve().parents[1]
    installed = package / "_docs"
    return installed if installed.is_dir() else package.parent / "docs"


def entries() -> dict[str, str]:
    """The entry of each code, as Markdown without its heading."""
    found = {}
    for page in PAGES:
        text = (docs_folder() / page).read_text(encoding="utf-8")
        parts = re.split(r"^#+ (.+)$", text, flags=re.MULTILINE)
        for heading, body in zip(parts[1::2], parts[2::2], strict=True):
            if re.fullmatch(r"[EW]_[A-Z_]+", heading):
                found[heading] = body.strip()
    return found
