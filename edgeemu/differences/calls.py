"""Choices about projects, calls, budgets and addresses: U1 to U22 of spec/telnyx-actors.md."""

from edgeemu import limits
from edgeemu.core.profile import TELNYX
from edgeemu.differences.rows import Chapter, Choice
from edgeemu.units import SECOND_MS

_CALL_S = TELNYX.call_timeout_ms // SECOND_MS
_ALARM_S = TELNYX.alarm_timeout_ms // SECOND_MS

PROJECT = Chapter(
    "The project and its bindings",
    (
        Choice(
            "U1",
            "2.2",
            "the grammar of `binding` and `type`",
            "letters, digits, `_` and `$`, not beginning with a digit; `__` is refused",
        ),
        Choice(
            "U2",
            "2.2",
            "unknown keys of `telnyx.toml`",
            "a warning that names the key; in `edgeemu.toml` they are errors",
        ),
        Choice(
            "U3",
            "2.2",
            "a declared type whose class is not there",
            "the project does not load; the error names the type and the classes found",
        ),
        Choice(
            "U4",
            "2.3",
            "plain variables inside an actor",
            "`[vars]` and `[env_vars]` reach the function, on `env` and in `os.environ`; in an "
            "actor `os.environ` is empty, and reading a variable that is set elsewhere warns; a "
            "module that is imported sees the function's variables",
            "`[dev] actor_vars`",
        ),
        Choice(
            "U5",
            "2.3",
            "`env.SECRETS.get` of a name that is not there",
            "raises an error that names the handle",
        ),
    ),
)

CALLS = Chapter(
    "Calling an actor",
    (
        Choice(
            "U6",
            "3.1",
            "calling `alarm`, `web_socket`, the constructor or what the base class defines",
            "`ActorUnknownMethodError`",
        ),
        Choice("U7", "3.1", "methods of a base class that the user wrote", "callable like its own"),
        Choice(
            "U8",
            "3.1",
            "a stub that is returned from an async function",
            "it is a plain object: no call is made, and it cannot be awaited",
        ),
        Choice("U9", "3.1", "what a method without a result gives its caller", "`None`"),
        Choice(
            "U10",
            "3.2",
            "the budget of an alarm handler",
            f"{_ALARM_S} s of emulated time; then the attempt has failed",
        ),
        Choice(
            "U11",
            "3.2",
            "what a turn wrote that ran out of time",
            "nothing is kept; what its code does afterwards is refused and logged",
        ),
        Choice(
            "U12",
            "3.2",
            "when the next turn starts after one ran out of time",
            "at once, at the same instant",
        ),
        Choice("U13", "3.2", "whether waiting in the queue uses up the budget", "no"),
        Choice(
            "U14",
            "3.2",
            "which clock measures budgets",
            "the emulated one; besides, code that runs without waiting is interrupted after a "
            "bound of real time",
            "`[limits] watchdog_ms`",
        ),
        Choice(
            "U15",
            "4",
            "illegal names of instances",
            f"what is no text of 1 to {limits.NAME_CHARS_MAX:,} characters raises `TypeError`; one "
            "with other characters than letters, digits, `.`, `_` and `-` draws a warning, once, "
            "and in strict mode a `TypeError`",
            "`[limits] strict`",
        ),
        Choice(
            "U16",
            "4",
            "how `new_unique_id` fails, which it does on the platform",
            "it raises an error that names the known defect; if told to work, it draws 32 hex "
            "digits from the stream of the turn",
            "`[dev] new_unique_id`",
        ),
        Choice(
            "U17",
            "4.2",
            "a cycle of calls, which waits for itself",
            f"it is named in the log at once; the outermost call fails with "
            f"`ActorMethodTimeoutError` after its {_CALL_S} s and keeps nothing",
        ),
        Choice("U18", "4.2", "the inner call of a cycle that has ended", "it runs then"),
    ),
)

CONTEXT = Chapter(
    "The context of an actor",
    (
        Choice("U19", "5", "`ctx.sockets`", "the open sockets of this instance"),
        Choice(
            "U20",
            "5",
            "`block_concurrency_while` raises in the constructor",
            "the activation has failed, and with it the call that it was for, with the message; "
            "the next call constructs anew",
        ),
        Choice(
            "U21",
            "5",
            "what the initialisation writes",
            "it is a turn of its own: kept when it succeeds, before the first call starts",
        ),
        Choice(
            "U22",
            "5",
            "`block_concurrency_while` outside the constructor",
            "runs the function inside the turn and gives its value",
        ),
    ),
)
