"""Journals in a form that can be compared: between runs, stores, languages and engines."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from edgeemu.sdk import errors

_TURN_IN_CAUSE = re.compile(r"turn (\d+)")
_UNSTORABLE = re.compile(r"(the (?:value|result) of \S+): .* is not storable.*")
"""Which ends with the name that a language has for what is refused, and what it advises."""
_HIDDEN = {"seq", "kind", "now_ms", "actor", "turn", "cause"}
_MEMORY_KINDS = frozenset({"init", "evicted"})
"""Kinds of entries that tell what is in memory: they differ where instances are evicted."""


def without_real(entries: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The entries without what real time and the speed of the machine decide, numbered anew."""
    kept = [entry for entry in entries if entry.get("code") != "W_BLOCKED_LOOP"]
    return [
        {key: value for key, value in entry.items() if not key.startswith("real_")} | {"seq": seq}
        for seq, entry in enumerate(kept, 1)
    ]


def without_memory(entries: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The entries that do not depend on which instances were in memory."""
    return [dict(entry) for entry in entries if entry["kind"] not in _MEMORY_KINDS]


def as_lines(entries: Iterable[Mapping[str, Any]], start_ms: int) -> list[str]:
    """One line for each entry: times from `start_ms`, turns renumbered, no names of a language.

    Two languages, two stores, and a run with evictions (after `without_memory`) then give the same
    lines. A line reads: time, kind, instance, turn and what led to it, then the data.
    """
    numbers: dict[int, int] = {}

    def number(turn: int) -> int:
        return numbers.setdefault(turn, len(numbers) + 1)

    lines = []
    for entry in without_real(entries):
        words = [_time(entry["now_ms"] - start_ms), entry["kind"]]
        if entry["actor"] is not None:
            words.append(entry["actor"])
        if entry["turn"] is not None:
            words.append(f"#{number(entry['turn'])}")
        if entry["cause"]:
            cause = _TURN_IN_CAUSE.sub(lambda m: f"#{number(int(m[1]))}", entry["cause"])
            words.append(f"<- {cause}")
        data = {key: value for key, value in entry.items() if key not in _HIDDEN}
        if "outcome" in data:
            data.pop("attempts_max", None)  # A rule of the profile, which each retry tells.
        if entry["kind"] == "warning":
            data = {key: data[key] for key in ("code", "where")}  # The words name the language.
        if "socket" in data:
            data["socket"] = number(data["socket"])
        words += [_pair(key, value, start_ms) for key, value in sorted(data.items())]
        lines.append(" ".join(words))
    return lines


def _pair(key: str, value: Any, start_ms: int) -> str:
    if key.endswith("_at_ms") and value is not None:
        return f"{key.removesuffix('_ms')}={_time(value - start_ms)}"
    if key in ("set_by", "where"):
        # `file:line` differs between languages; that there is one does not.
        value = "source" if value and ":" in value else value
    if key == "error":
        message = value["message"].replace("ActorError: ", "Error: ")
        message = _UNSTORABLE.sub(r"\1: not storable", message)
        value = {"name": _error_name(value["name"]), "message": message}
    return f"{key}={value if isinstance(value, str) else json.dumps(value, sort_keys=True)}"


def _error_name(name: str) -> str:
    """The platform's names as they are; those that a language gives its own errors as one."""
    is_platforms = name in vars(errors) and name != "ActorError"
    is_platforms = is_platforms or name.startswith("Injected")
    return name if is_platforms else "Error"


def _time(duration_ms: int) -> str:
    sign = "-" if duration_ms < 0 else "+"
    return f"{sign}{abs(duration_ms) // 1_000}.{abs(duration_ms) % 1_000:03d}"
