"""Results of operations in words: tables, clocks, deliveries. Pure functions, printed by render."""

from collections.abc import Sequence
from typing import Any

from edgeemu.cli.journal import OUTCOMES, attempt_words, error_lines, mode_words, turn_name, when
from edgeemu.cli.render import Line, Piece, json_text, visible
from edgeemu.units import format_duration, format_instant

Fields = dict[str, Any]


def table(heads: Sequence[str], rows: Sequence[Sequence[Piece]]) -> list[Line]:
    """Rows in columns, under heads in capitals; the last column is not padded."""
    cells = [[("", head)[1] for head in heads], *rows]
    texts = [[visible(cell if isinstance(cell, str) else cell[0]) for cell in row] for row in cells]
    widths = [max(len(row[column]) for row in texts) for column in range(len(heads))]
    found: list[Line] = []
    for index, row in enumerate(cells):
        pieces: list[Piece] = []
        for column, cell in enumerate(row):
            last = column == len(heads) - 1
            text = texts[index][column] + ("" if last else "  ")
            padded = text if last else text.ljust(widths[column] + 2)
            style = "bold" if index == 0 else "" if isinstance(cell, str) else cell[1]
            pieces.append((padded, style) if style else padded)
        found.append(pieces)
    return found


def count(number: int, noun: str, plural: str | None = None) -> str:
    """A number with its noun: `1 delivery`, `2 deliveries`."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def value_text(value: Any) -> str:
    """A value for people: a string as it is, anything else as JSON."""
    if isinstance(value, str):
        return value
    short = json_text(value, compact=True)
    return short if len(short) <= 80 else json_text(value)


def clock_lines(clock: Fields) -> list[Line]:
    """The answer of a clock command."""
    mode = mode_words(clock["mode"], clock["rate"])
    found: list[Line] = [[(clock["now"], "bold"), f"  {mode}"]]
    if "from_ms" in clock:
        moved_ms = clock["now_ms"] - clock["from_ms"]
        way = "back" if moved_ms < 0 else "forward"
        text = f"moved {way} by {format_duration(abs(moved_ms))}" if moved_ms else "stood still"
        pieces: list[Piece] = [f"{text}: {count(clock['deliveries'], 'delivery', 'deliveries')}"]
        if clock["deliveries"]:
            pieces.append(f", {clock['succeeded']} succeeded")
        if clock["failed"]:
            pieces += [", ", (f"{clock['failed']} failed", "bad")]
        if clock["gave_up"]:
            pieces += [", ", (f"{count(clock['gave_up'], 'alarm')} given up", "bad")]
        found.append(pieces)
    return found


def alarm_table(alarms: Sequence[Fields]) -> list[Line]:
    """Alarms, soonest first; then those that have ended, newest first, in a column of their own.

    An alarm that is retried is due when its next attempt is.
    """
    if not alarms:
        return []
    pending = [alarm for alarm in alarms if "ended_at_ms" not in alarm]
    ended = [alarm for alarm in alarms if "ended_at_ms" in alarm]
    ended.sort(key=lambda alarm: alarm["ended_at_ms"], reverse=True)
    heads = ["ACTOR", "DUE", "IN", "STATE", "NEXT", *(["ENDED"] if ended else []), "SET BY"]
    rows: list[list[Piece]] = []
    for alarm in [*pending, *ended]:
        row = [alarm["actor"], due_at(alarm), *_alarm_state(alarm)]
        if ended:
            at_ms = alarm.get("ended_at_ms")
            row.append("-" if at_ms is None else format_instant(at_ms))
        rows.append([*row, alarm["set_by"] or "-"])
    return table(heads, rows)


def due_at(alarm: Fields) -> str:
    """When an alarm is due, or its next attempt."""
    next_ms = alarm["next_attempt_at_ms"]
    return str(alarm["due_at"]) if next_ms is None else format_instant(next_ms)


def _alarm_state(alarm: Fields) -> list[Piece]:
    """How far off an alarm is, its state, and which attempt comes next."""
    state = alarm["state"].replace("_", " ")
    if alarm["due_in_ms"] is None:
        after = f" after {alarm['attempt']}" if alarm["attempt"] > 1 else ""
        return ["-", (f"{state}{after}", "bad" if state == "given up" else ""), "-"]
    left = when(alarm["due_in_ms"]).removeprefix("in ")
    following = f"{alarm['attempt'] + 1} of {alarm['attempts_max']}"
    return [left, (state, "warn" if state == "retrying" else ""), following]


def fired_lines(fired: Fields) -> list[Line]:
    """How a delivery by `alarms fire` ended."""
    word, style = OUTCOMES.get(fired["outcome"], (fired["outcome"], ""))
    took = format_duration(fired["duration_ms"])
    head: Line = [
        f"{fired['actor']}  alarm ({attempt_words(fired['retry_count'])})  ",
        (word, style),
        f"  {took} of emulated time",
    ]
    found: list[Line] = [head]
    if fired["error"]:
        found += error_lines(fired["error"])
    following = fired["next"]
    if fired["gave_up"]:
        found.append([("GAVE UP", "bad"), f"  after {count(fired['attempts'], 'attempt')}"])
    elif following:
        due = format_instant(following["due_at_ms"])
        attempt = following["attempt"]
        retried = attempt_words(attempt) if attempt else "the next alarm"
        found.append(f"{retried} is due at {due}")
    return found


def actor_table(actors: Sequence[Fields]) -> list[Line]:
    """Instances, by name."""
    if not actors:
        return []
    rows: list[list[Piece]] = []
    for actor in actors:
        last = actor["last_turn"]
        state = actor["state"]
        rows.append(
            [
                actor["actor"],
                (state, "bad") if state == "broken" else state,
                due_at(actor["alarm"]) if actor["alarm"] else "-",
                ("?" if actor["keys"] is None else str(actor["keys"]))
                + " + SQL" * bool(actor["sql_bytes"]),
                "?" if actor["bytes"] is None else str(actor["bytes"]),
                _turn_words(last) if last else "-",
            ]
        )
    return table(["ACTOR", "STATE", "ALARM DUE", "KEYS", "BYTES", "LAST TURN"], rows)


def actor_lines(actor: Fields, waits_at: str | None = None) -> list[Line]:
    """One instance, a line for each thing known of it.

    Args:
        actor: as `actors show --json` has it.
        waits_at: the `file:line` at which its turn waits, if one does.
    """
    alarm, error = actor["alarm"], actor["last_error"]
    waits = f", waits at {waits_at}" if waits_at else ""
    facts: list[tuple[str, str]] = [("state", f"{actor['state']}{waits}")]
    if alarm:
        text = f"due {due_at(alarm)} ({when(alarm['due_in_ms'])}), {alarm['state']}, next is "
        text += attempt_words(alarm["attempt"], alarm["attempts_max"])
        text += f", set by {alarm['set_by']}"
        facts.append(("alarm", text))
    else:
        facts.append(("alarm", "none"))
    if damage := actor.get("state_error"):
        facts.append(("storage", f"{damage['what']}: {damage['why']}"))
    else:
        text = f"{count(actor['keys'], 'key')}, {count(actor['bytes'], 'byte')}"
        facts.append(("storage", text))
    if actor.get("sql_bytes"):
        facts.append(("sql", f"a database of {count(actor['sql_bytes'], 'byte')}"))
    if actor.get("sockets"):
        facts.append(("sockets", f"{count(actor['sockets'], 'WebSocket')} open"))
    if actor.get("created_at_ms") is not None:
        facts.append(("created", format_instant(actor["created_at_ms"])))
    for fault in actor.get("faults", []):
        facts.append(("planned", f"{fault['times']} x {fault['how']}: {fault['error']}"))
    if actor["last_turn"]:
        facts.append(("last turn", _turn_words(actor["last_turn"])))
    if error:
        at = format_instant(error["at_ms"])
        facts.append(("last error", f"{error['name']}: {error['message']} (at {at})"))
    head: Line = (actor["actor"], "bold")
    return [head, *(f"  {name:<10}  {text}" for name, text in facts)]


def _turn_words(turn: Fields) -> str:
    word, _ = OUTCOMES.get(turn["outcome"], (turn["outcome"], ""))
    return f"{turn_name(turn)}, {word}, at {format_instant(turn['at_ms'])}"


def storage_table(values: Fields) -> list[Line]:
    """Keys and values, each value as JSON on its line."""
    if not values:
        return []
    rows = [[key, json_text(value, compact=True)] for key, value in values.items()]
    return table(["KEY", "VALUE"], rows)


def sql_table(rows: list[Fields]) -> list[Line]:
    """Rows of SQL: text as it is, anything else as JSON, so that NULL is `null`."""
    if not rows:
        return []
    cells = [
        [value if isinstance(value, str) else json_text(value, compact=True) for value in each]
        for each in (row.values() for row in rows)
    ]
    return table(list(rows[0]), cells)
