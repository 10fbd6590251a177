"""What an operation waits for that gives no answer, told from the `status` of the server."""

from collections.abc import Mapping
from typing import Any


def waiting_words(name: str, params: Mapping[str, Any], status: Mapping[str, Any]) -> str | None:
    """One sentence that says what holds an operation up, or None where that cannot be told.

    Args:
        name: of the operation.
        params: of the operation, as the command gave them.
        status: the answer of the server to `status`.
    """
    waiting = status.get("waiting") or []
    if name.startswith("clock."):
        # Whoever moves time waits for no time, but a turn may hold it by waiting on the outside.
        held = next((turn for turn in waiting if turn["outside"]), None)
        if held is None:
            return None
        return f"the clock waits for {_who(held)}, which waits{_at(held)} on the outside world"
    if status.get("mode") != "frozen":
        return None
    turn = next((turn for turn in waiting if _is_of(turn, params)), next(iter(waiting), None))
    if turn is None or turn["outside"]:
        return None
    if turn.get("cycle"):
        return (
            f"a call waits for itself: {turn['cycle']}, until its budget ends, and the clock is "
            "frozen: move it from another terminal, such as `edgeemu clock next`"
        )
    behind = "" if _is_of(turn, params) else "this is held up: "
    return (
        f"{behind}{_who(turn)} waits{_at(turn)} for time to pass, and the clock is frozen: "
        "move it from another terminal, such as `edgeemu clock next`"
    )


def _is_of(turn: Mapping[str, Any], params: Mapping[str, Any]) -> bool:
    """Whether a turn is one of the instance that an operation names; of the front, if of none."""
    actor, typed = turn["actor"], params.get("actor")
    if actor is None or typed is None:
        return actor is typed
    return typed in (actor, actor.partition("/")[2])


def _who(turn: Mapping[str, Any]) -> str:
    return turn["actor"] or "the function in front"


def _at(turn: Mapping[str, Any]) -> str:
    return f" at {turn['where']}" if turn["where"] else ""
