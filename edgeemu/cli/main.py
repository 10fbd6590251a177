"""`edgeemu`: reads the arguments, runs one command, and turns every error into its exit status.

Promise: an error is three lines on stderr, or one JSON document on stdout with `--json`, and the
exit status is 0, 1, 2 or 3 (design section 4), or 130 after Ctrl-C. No traceback reaches a user
who did not ask for one.
"""

import os
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from edgeemu.errors import Code, EdgeemuError, ExitStatus

INTERRUPTED = 130
"""The exit status after Ctrl-C, as shells have it."""

_THREAD_WAIT_SECONDS = 1.0
"""What threads get to end by themselves once the command is over."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        argv: what follows the program's name; None for the process's own.

    Returns:
        The exit status.
    """
    if argv is not None:
        return _main(list(argv))
    status = _main(sys.argv[1:])
    _leave_threads(status)
    return status


def _main(args: list[str]) -> int:
    try:
        if args in (["--version"], ["-V"]):
            return _print_version()
        return _run(args)
    except KeyboardInterrupt:
        return INTERRUPTED
    except EdgeemuError as error:
        return _fail(error, args)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0
    except Exception as error:
        return _fail(_bug(error), args)


def _leave_threads(status: int) -> None:
    """End the process although a thread of actor code goes on: Python would wait for it forever."""
    here = threading.current_thread()
    left = [each for each in threading.enumerate() if each is not here and not each.daemon]
    try:
        for thread in left:
            thread.join(_THREAD_WAIT_SECONDS / len(left))
    except KeyboardInterrupt:
        status = INTERRUPTED
    if any(thread.is_alive() for thread in left):
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(status)


def _print_version() -> int:
    from edgeemu import __version__
    from edgeemu.cli import render

    render.text(f"edgeemu {__version__}")
    return ExitStatus.OK


def _run(args: list[str]) -> int:
    from edgeemu.cli.app import make_command

    command = make_command()
    try:
        status = command.main(args, prog_name="edgeemu", standalone_mode=False)
    except Exception as error:
        usage = _usage_error(error)
        if usage is None:
            raise
        raise usage from None
    return int(status) if isinstance(status, int) else ExitStatus.OK


def _usage_error(error: Exception) -> EdgeemuError | None:
    """What typer found wrong with the arguments, as an error of ours; None for anything else."""
    from typer.exceptions import Abort, TyperException

    if isinstance(error, Abort):
        raise KeyboardInterrupt
    if not isinstance(error, TyperException):
        return None
    context: Any = getattr(error, "ctx", None)
    path = context.command_path if context else "edgeemu"
    if type(error).__name__ == "NoArgsIsHelpError":
        usage = f"`{path}` needs to be told what to do"
        why = f"its commands are {', '.join(context.command.list_commands(context))}"
        return EdgeemuError(Code.USAGE, what=usage, why=why, fix=f"see `{path} --help`")
    message = " ".join(error.format_message().split()).rstrip(".")
    if message.startswith("No such command") and context is not None:
        message, _, near = message.partition(". ")
        commands = ", ".join(context.command.list_commands(context))
        return EdgeemuError(
            Code.USAGE,
            what=message[:1].lower() + message[1:],
            why=f"the commands of `{path}` are {commands}",
            fix=f"{near[:1].lower()}{near[1:]}" if near else f"see `{path} --help`",
        )
    return EdgeemuError(
        Code.USAGE,
        what=message[:1].lower() + message[1:],
        why=" ".join(context.get_usage().split()).replace("Usage:", "usage:", 1)
        if context
        else "the command cannot be read",
        fix=f"see `{path} --help`",
    )


def _bug(error: Exception) -> EdgeemuError:
    """`E_INTERNAL` for an exception that nothing expected."""
    from edgeemu.cli.commands import ENV_DEBUG

    detail = None
    fix = f"report it with what the same command prints with {ENV_DEBUG}=1 in the environment"
    if os.environ.get(ENV_DEBUG):
        import traceback

        detail = "".join(traceback.format_exception(error)).rstrip()
        fix = "report it with the traceback below and the output of `edgeemu log --json`"
    return EdgeemuError(
        Code.INTERNAL,
        what=f"edgeemu has a bug: {type(error).__name__}: {error}",
        why="something happened that no part of edgeemu expects",
        fix=fix,
        detail=detail,
    )


def _fail(error: EdgeemuError, args: list[str]) -> int:
    from edgeemu.cli import render

    own = args[: args.index("--")] if "--" in args else args
    render.error(error, as_json="--json" in own)
    return error.code.exit_status
