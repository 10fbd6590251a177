"""What actor code raises stays an error of its turn: it never ends or breaks the emulator."""

import dis

_RAISE = dis.opmap["RAISE_VARARGS"]
_SIGNAL_MODULES = frozenset({"asyncio.runners", "edgeemu.api.server"})
"""Modules whose signal handlers raise `KeyboardInterrupt` for a Ctrl-C."""


def error_text(error: BaseException) -> str:
    """The text of an error; one whose own `__str__` fails must not take its turn along."""
    try:
        return str(error)
    except Exception as failed:
        return f"(no text: its __str__ raised {type(failed).__name__})"


def contained(error: SystemExit | KeyboardInterrupt) -> BaseException:
    """What leaves a step of actor code in place of `error`, which would end the process.

    Only a Ctrl-C of the user, which may arrive in the middle of a step, goes on as it is.
    """
    if isinstance(error, KeyboardInterrupt):
        if not raised_by_code(error):
            return error
        how = "raise KeyboardInterrupt"
    else:
        how = f"sys.exit({error_text(error)})"
    refusal = RuntimeError(f"actor code cannot end the process: {how}")
    refusal.__cause__ = error
    return refusal.with_traceback(error.__traceback__)


def raised_by_code(error: BaseException) -> bool:
    """Whether a `raise` in the project's code made an error, rather than a signal."""
    traceback = error.__traceback__
    if traceback is None:
        return False
    while traceback.tb_next is not None:
        traceback = traceback.tb_next
    frame = traceback.tb_frame
    if frame.f_globals.get("__name__") in _SIGNAL_MODULES:
        return False
    return frame.f_code.co_code[traceback.tb_lasti] == _RAISE
