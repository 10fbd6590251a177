"""Risky code in TypeScript and JavaScript modules, as far as their text tells.

What the rules for Python find beyond this, they do not: blocking calls, threads and randomness,
which TypeScript actors cannot reach, and fields that an eviction takes.
"""

import ast
import re
from collections.abc import Iterator, Sequence

from edgeemu.advice.alarms import INSTANT_MS_LEAST, number_of
from edgeemu.script_text import Call, Script

Found = tuple[int, str, str, str]
"""The line, the code of the warning, what is risky there, and what to write instead."""

_WRITES = ("put", "delete", "deleteAll", "transaction")
_ACTOR = re.compile(r"\bclass\s+[\w$]+(?:<[^{]*>)?\s+extends\s+(?:[\w$]+\.)*StatefulActor\b[^{]*")
_STUB = re.compile(r"\b(?:const|let)\s+([\w$]+)\s*(?::[^=;]+)?=\s*[\w$.!?]+\.idFromName\(")
_IN_SECONDS = re.compile(r"\bDate\.now\(\)\s*/\s*(?:1_?000|1e3)\b")
_SHARED = re.compile(
    r"^(?:export\s+)?(?:const|let|var)\s+([\w$]+)\s*(?::[^=;]+)?=\s*"
    r"(\[|\{|new\s+(?:Map|Set|WeakMap)\b|-?\d|\"|true\b|false\b|null\b)",
    re.MULTILINE,
)
_CHANGE = r"(?<![\w$.#]){0}(?:\.(?:set|add|delete|clear|push|pop|shift|unshift|splice|sort)\(|"
_CHANGE += r"(?:\[[^\]\n]*\]|\.[\w$]+)?\s*(?:[-+*/|&?]{{0,2}}=(?![=>])|\+\+|--))"


def scripts(script: Script) -> Iterator[Found]:
    """Every finding in one module."""
    alarms = [call for call in script.calls("setAlarm") if _is_alarm(call)]
    yield from _awaits(script)
    yield from _instants(script, alarms)
    for actor in _ACTOR.finditer(script.code):
        end = script.closing(actor.end()) or len(script.code)
        inside = [call for call in alarms if actor.end() < call.start < end]
        yield from _constructor(script, inside, actor.end(), end)
        yield from _handler(script, inside, actor.end(), end)
        yield from _shared(script, actor.end(), end)


def _awaits(script: Script) -> Iterator[Found]:
    stubs = set(_STUB.findall(script.code))
    for call in script.calls(*_WRITES, "setAlarm", "deleteAlarm"):
        shown = f"{call.owner}.{call.name}(...)"
        if call.name in _WRITES and _is_keys(call) and script.is_discarded(call):
            message = f"`{shown}` is not awaited: if it fails, the turn fails at its end"
            yield call.line, "W_WRITE_NOT_AWAITED", message, f"await {shown}"
        elif call.name not in _WRITES and _is_alarm(call) and script.is_discarded(call):
            message = f"`{call.owner}.{call.name}` is not awaited"
            yield call.line, "W_ALARM_NOT_AWAITED", message, f"await {shown}"
    for call in script.calls(*set(re.findall(r"\.\s*([\w$]+)\s*\(", script.code))):
        made = re.search(r"\.idFromName\([^()]*\)$", call.owner) is not None
        if (made or call.owner in stubs) and script.is_discarded(call):
            shown = f"{call.owner}.{call.name}(...)"
            message = f"`{shown}` is not awaited, so nobody sees how it ends"
            yield call.line, "W_CALL_NOT_AWAITED", message, f"await {shown}"


def _is_keys(call: Call) -> bool:
    return call.owner.endswith("ctx.storage") or call.owner in ("storage", "txn")


def _is_alarm(call: Call) -> bool:
    return call.owner.rpartition(".")[2] in ("ctx", "storage")


def _instants(script: Script, alarms: Sequence[Call]) -> Iterator[Found]:
    for call in alarms:
        when = script.arguments(call)
        if not when:
            continue
        number = _number(when)
        if number is not None and number < INSTANT_MS_LEAST:
            message = f"`{when}` is no instant of today in milliseconds"
            fix = "add a delay in ms to the time: Date.now() + 60_000"
            yield call.line, "W_ALARM_SECONDS", message, fix
        elif _IN_SECONDS.search(when) and "* 1" not in when:
            message = f"`{when}` counts seconds, and an alarm wants milliseconds"
            yield call.line, "W_ALARM_SECONDS", message, "Date.now() + the delay in ms"


def _number(text: str) -> float | None:
    try:
        return number_of(ast.parse(text, mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _method(script: Script, name: str, start: int, end: int) -> tuple[int, int] | None:
    """The body of a method of a class, which lies between two positions."""
    pattern = re.compile(rf"(?<![\w$.#]){name}\s*\(")
    for found in pattern.finditer(script.code, start, end):
        closes = script.closing(found.end() - 1)
        head = re.compile(r"\s*(?::[^{};]*)?\{").match(script.code, (closes or end) + 1)
        if head is not None and script.block_around(found.start()) == start:
            return head.end() - 1, script.closing(head.end() - 1) or end
    return None


def _constructor(script: Script, alarms: Sequence[Call], start: int, end: int) -> Iterator[Found]:
    body = _method(script, "constructor", start, end)
    if body is None or "getAlarm" in script.code[body[0] : body[1]]:
        return
    for call in alarms:
        if body[0] < call.start < body[1]:
            message = "the constructor runs again after every eviction and restart"
            fix = "set it only if (await this.ctx.storage.getAlarm()) === null"
            yield call.line, "W_ALARM_IN_INIT", message, fix


def _handler(script: Script, alarms: Sequence[Call], start: int, end: int) -> Iterator[Found]:
    body = _method(script, "alarm", start, end)
    if body is None:
        return
    for call in alarms:
        block = script.block_around(call.start)
        if not body[0] < call.start < body[1] or block is None:
            continue
        closes = script.closing(block) or end
        for thrown in re.compile(r"(?<![\w$.])throw\b").finditer(script.code, call.end, closes):
            before = script.code[call.end : thrown.start()].rstrip()
            if script.block_around(thrown.start()) == block and before[-1:] in ";}" and before:
                message = "what the turn wrote, the new alarm included, is undone by this `throw`"
                fix = "record the error in storage, re-arm, and return"
                yield script.line_at(thrown.start()), "W_REARM_THEN_RAISE", message, fix


def _shared(script: Script, start: int, end: int) -> Iterator[Found]:
    for name, _ in _SHARED.findall(script.code):
        change = re.compile(_CHANGE.format(re.escape(name)))
        declared = re.search(
            rf"\b(?:const|let|var)\s+{re.escape(name)}\b|\b{re.escape(name)}\s*[?]?:",
            script.code[start:end],
        )
        for found in change.finditer(script.code, start, end):
            if declared is None:
                message = f"`{name}` is shared by all instances, and gone after an eviction"
                fix = "keep it in this.ctx.storage; a cache of one instance, in a field"
                yield script.line_at(found.start()), "W_SHARED_STATE", message, fix
