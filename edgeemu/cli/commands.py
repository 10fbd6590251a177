"""How a command is declared: its own parameters, and the three that every command has.

`--project`, `--state-dir` and `--json` may stand before the command's name or behind it. Values
that begin with one dash, such as `-5`, are values and not options.
"""

import inspect
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from edgeemu.api.state import default_state_dir, find_root
from edgeemu.cli import render
from edgeemu.cli.render import Line
from edgeemu.errors import Code, EdgeemuError

if TYPE_CHECKING:
    from edgeemu.api.client import Target

ENV_PROJECT = "EDGEEMU_PROJECT"
ENV_STATE_DIR = "EDGEEMU_STATE_DIR"

ENV_DEBUG = "EDGEEMU_DEBUG"

ProjectOption = Annotated[
    str | None,
    typer.Option(
        "--project",
        metavar="DIR",
        help=f"The project's folder; otherwise ${ENV_PROJECT}, or found from the current folder.",
    ),
]
StateDirOption = Annotated[
    str | None,
    typer.Option(
        "--state-dir",
        metavar="DIR",
        help=f"Where the state is kept; otherwise ${ENV_STATE_DIR}, or .edgeemu in the project.",
    ),
]
NOTE_STYLES = {"note": "warn", "warning": "warn", "failed": "bad"}
"""How the word in front of a note of an operation looks."""

JsonOption = Annotated[
    bool, typer.Option("--json", help="Print one JSON document, errors included.")
]


class ValueCommand(TyperCommand):
    """A command whose arguments may begin with a dash: `-5` and `-5m` are values.

    A word with two dashes that is no option is an error all the same, because a misspelt option
    would otherwise be taken for a value.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuse unknown options with two dashes, then read the arguments."""
        takes_value = {
            name: not getattr(param, "is_flag", False)
            for param in self.get_params(ctx)
            for name in (*param.opts, *param.secondary_opts)
            if name.startswith("-")
        }
        rest = iter(args)
        for word in rest:
            if word == "--":
                break
            name, equals, _ = word.partition("=")
            if takes_value.get(name) and not equals:
                next(rest, None)
            elif word.startswith("--") and name not in takes_value:
                raise self.unknown_option(name, list(takes_value), ctx, args)
        return list(super().parse_args(ctx, args))

    def unknown_option(
        self, name: str, known: list[str], ctx: Any, args: list[str]
    ) -> EdgeemuError:
        """What to say of an option that the command does not have."""
        del args
        return unknown_option(name, known, ctx.command_path)


_MEANT = {"tail": "last", "lines": "last", "limit": "last"}
"""What options of other tools are called here."""


def unknown_option(name: str, known: list[str], command: str) -> EdgeemuError:
    """`E_USAGE` for an option that a command does not have."""
    import difflib

    words = {option.lstrip("-"): option for option in known}
    meant = _MEANT.get(name.lstrip("-"), "")
    if meant in words:
        near = [words[meant]]
    else:
        near = [words[word] for word in difflib.get_close_matches(name.lstrip("-"), words, 1)]
    options = ", ".join(option for option in known if option.startswith("--"))
    return EdgeemuError(
        Code.USAGE,
        what=f"`{command}` has no option `{name}`",
        why=f"its options are {options}",
        fix=f"write {near[0]}" if near else f"put `--` before a value that begins so: -- {name}",
    )


class Run:
    """One command as it runs: which project and state, and how it shows what it found.

    Attributes:
        as_json: whether to print JSON.
    """

    def __init__(
        self, *, project: str | None = None, state_dir: str | None = None, as_json: bool = False
    ) -> None:
        self._project = project
        self._state_dir = state_dir
        self.as_json = as_json

    @property
    def root(self) -> Path:
        """The project's folder: the one that was named, or found from the current one upwards.

        Raises:
            EdgeemuError: `E_CONFIG_MISSING` when there is none.
        """
        given = self._project or os.environ.get(ENV_PROJECT)
        start = Path(given).absolute() if given else Path.cwd()
        root = find_root(start)
        if root is not None and (not given or root == Path(os.path.normpath(start))):
            return root
        from edgeemu.config import find_project, load_config

        # A folder that was named is meant itself: its parent's project would be a surprise.
        return load_config(start).root if given and start.is_dir() else find_project(start)

    @property
    def state_dir(self) -> Path:
        """Where the state is kept; the folder need not exist."""
        given = self._state_dir or os.environ.get(ENV_STATE_DIR)
        return Path(given).absolute() if given else default_state_dir(self.root)

    @contextmanager
    def target(self) -> Iterator["Target"]:
        """What performs operations: the running server, or this process for the moment."""
        from edgeemu.api.client import open_target

        target = open_target(self.root, self.state_dir)
        target.on_note = self._tell
        try:
            yield target
        finally:
            target.close()

    def perform(self, name: str, **params: Any) -> Any:
        """Perform one operation; its result."""
        with self.target() as target:
            return target.perform(name, params)

    def show(self, value: Any, words: Callable[[Any], list[Line]]) -> None:
        """Print a result as JSON, or in the words that a function puts it in."""
        if self.as_json:
            render.data(value)
        else:
            render.lines(words(value))

    def _tell(self, note: dict[str, str]) -> None:
        """Tell a note of an operation. What failed in a move is no news to who asked for JSON."""
        level = note["level"]
        if level == "failed" and self.as_json:
            return
        render.talk([(f"{level}:", NOTE_STYLES.get(level, "warn")), f" {note['text']}"])

    def note(self, *found: Line) -> None:
        """Tell something that is no data; with `--json` nothing is told."""
        if not self.as_json:
            render.talk(*found)


def command(
    app: typer.Typer,
    name: str,
    *,
    raw_options: bool = False,
    common: Sequence[str] = ("as_json", "project", "state_dir"),
    cls: type[TyperCommand] | None = None,
) -> Callable[[Callable[..., int | None]], Callable[..., Any]]:
    """Declare a command of `app`: a function of a `Run` and of its own parameters.

    Args:
        app: the group that gets the command.
        name: as typed.
        raw_options: whether words with one dash are options, as usual, and not values.
        common: those of the common options that it has.
        cls: how it reads its arguments, where that is special.
    """
    settings = {} if raw_options else {"ignore_unknown_options": True}

    def register(function: Callable[..., int | None]) -> Callable[..., Any]:
        reads = cls or (TyperCommand if raw_options else ValueCommand)
        return app.command(name, cls=reads, context_settings=settings)(runner_of(function, common))

    return register


def runner_of(
    function: Callable[..., int | None],
    common: Sequence[str] = ("as_json", "project", "state_dir"),
) -> Callable[..., Any]:
    """What typer runs for a function of a `Run`: it has the common options too."""

    def run(ctx: typer.Context, **values: Any) -> None:
        own = {key: values.pop(key) for key in list(values) if key not in _COMMON}
        given = {**(ctx.obj or {}), **{key: value for key, value in values.items() if value}}
        ctx.obj = given
        first = ctx if takes_context else None
        status = function(*([first] if first else []), run_of(given), **own)
        if status:
            raise typer.Exit(int(status))

    params = list(inspect.signature(function).parameters.values())
    takes_context = params[0].annotation is typer.Context
    own_params = params[2:] if takes_context else params[1:]
    keyword = inspect.Parameter.KEYWORD_ONLY
    added = [
        inspect.Parameter(key, keyword, default=_COMMON[key][1], annotation=_COMMON[key][0])
        for key in common
    ]
    context = inspect.Parameter("ctx", keyword, annotation=typer.Context)
    every = [context, *(param.replace(kind=keyword) for param in own_params), *added]
    run.__doc__ = function.__doc__
    run.__annotations__ = {param.name: param.annotation for param in every}
    run.__signature__ = inspect.Signature(every)  # type: ignore[attr-defined]
    return run


def run_of(given: dict[str, Any]) -> Run:
    """The `Run` of the common options that were given."""
    return Run(
        project=given.get("project"),
        state_dir=given.get("state_dir"),
        as_json=bool(given.get("as_json")),
    )


_COMMON: dict[str, tuple[Any, Any]] = {
    "as_json": (JsonOption, False),
    "project": (ProjectOption, None),
    "state_dir": (StateDirOption, None),
}


def group(help: str, *, completion: bool = False, **settings: Any) -> typer.Typer:
    """A group of commands, with plain help and without typer's own way of showing errors."""
    return typer.Typer(
        help=help,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        add_completion=completion,
        no_args_is_help=not settings.get("invoke_without_command", False),
        **settings,
    )
