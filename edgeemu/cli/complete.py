"""What the shell may complete: instances, keys and codes. It is silent when something is wrong."""

import io
from contextlib import redirect_stderr, redirect_stdout
from typing import Any

from edgeemu.cli.commands import run_of


def actors(ctx: Any, incomplete: str) -> list[str]:
    """The instances whose address begins as typed."""
    return [str(name) for name in _ask(ctx, "actors.names", prefix=incomplete) or []]


def keys(ctx: Any, incomplete: str) -> list[str]:
    """The keys of the instance named before that begin as typed."""
    actor = ctx.params.get("actor")
    if not actor:
        return []
    return list(_ask(ctx, "storage.list", actor=actor, prefix=incomplete) or {})


def codes(incomplete: str) -> list[str]:
    """The codes of errors and warnings that begin as typed."""
    from edgeemu.cli.explain import actor_errors, entries

    known = [*entries(), *actor_errors()]
    return [code for code in known if code.upper().startswith(incomplete.upper())]


def _ask(ctx: Any, operation: str, **params: Any) -> Any:
    given: dict[str, Any] = {}
    for level in (ctx.find_root(), ctx):
        given |= {key: value for key, value in level.params.items() if value}
    # Whatever goes wrong, a shell in the middle of a line must not be written into.
    try:
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            return run_of(given).perform(operation, **params)
    except Exception:
        return None
