"""Choices about alarms, life cycle and HTTP: U48 to U65 and U72 to U77 of the fact sheet."""

from edgeemu import limits
from edgeemu.core.profile import TELNYX
from edgeemu.differences.rows import Chapter, Choice
from edgeemu.units import SECOND_MS

_RETRY_MS = TELNYX.retry.delays_ms[0]
_IDLE_S = limits.IDLE_EVICTION_MS_DEFAULT // SECOND_MS
_FETCH_S = TELNYX.fetch_timeout_ms // SECOND_MS

ALARMS = Chapter(
    "Alarms",
    (
        Choice(
            "U48",
            "8.2",
            "an alarm for now or for the past",
            "delivered as the next turn after the one that set it, never inside it",
        ),
        Choice(
            "U49",
            "8.2",
            "a `when` that is no finite number",
            "`TypeError`; Python takes an aware `datetime` too",
        ),
        Choice("U50", "8.2", "a `when` with a fraction", "rounded down to the millisecond"),
        Choice("U51", "8.2", "`get_alarm` inside the handler", "`None` until it sets one"),
        Choice(
            "U52",
            "8.2",
            "`get_alarm` of another turn between failed attempts",
            "the instant that was asked for",
        ),
        Choice(
            "U53",
            "8.2",
            "a handler that sets the alarm and then throws",
            "it did not set it; the same alarm is delivered again",
        ),
        Choice(
            "U54",
            "8.2",
            "a handler that clears the alarm and then throws",
            "it did not clear it; the same alarm is delivered again",
        ),
        Choice(
            "U55",
            "8.2",
            "another turn sets the alarm between failed attempts",
            "it replaces it, with all attempts of its own",
        ),
        Choice(
            "U56",
            "8.2",
            "another turn clears the alarm between failed attempts",
            "no further attempt is made",
        ),
        Choice(
            "U57",
            "8.2",
            "the order of an alarm and calls that wait",
            "first come, first served: the alarm comes when it is due",
        ),
        Choice(
            "U58",
            "8.2",
            "a turn that waited before a due alarm replaces or clears it",
            "the old one is not delivered",
        ),
        Choice(
            "U59",
            "8.2",
            "construction fails when an alarm wakes the instance",
            "that is a failed attempt",
        ),
        Choice(
            "U60",
            "8.2",
            "when a failed alarm is delivered again",
            f"{_RETRY_MS} ms after the attempt ended",
        ),
        Choice(
            "U61",
            "8.2",
            "the count of attempts over eviction, redeploy and restart",
            "kept",
        ),
        Choice(
            "U62",
            "8.2",
            "alarms that are overdue when the emulator starts",
            "delivered at once, in the order in which they were due, as first deliveries",
            "`edgeemu dev --hold-overdue`",
        ),
        Choice(
            "U63",
            "8.2",
            "alarms of several instances for one instant",
            "in the order of type and name, the same in every run",
        ),
        Choice(
            "U64",
            "8.2",
            "a handler that sets its alarm to now without end",
            f"deliveries to one instance are {limits.DELIVERY_SPACING_MS} ms apart at least; "
            f"{limits.STORM_COUNT_MAX:,} of them less than a second apart end the move of the "
            "clock with `E_ALARM_STORM`",
            "`[limits] storm_count`",
        ),
        Choice(
            "U65",
            "8.3",
            "how late an alarm is delivered",
            f"{limits.LATENESS_MS_DEFAULT} ms, so that code that compares strictly works as it "
            "does on the platform",
            "`[clock] alarm_lateness_ms`",
        ),
    ),
)

LIFE = Chapter(
    "Life cycle and HTTP",
    (
        Choice(
            "U72",
            "10",
            "how long an idle instance stays in memory",
            f"{_IDLE_S} s of emulated time",
            "`[dev] idle_eviction_ms`, `edgeemu dev --evict-always`; `edgeemu evict` at will",
        ),
        Choice(
            "U73",
            "10",
            "a redeploy while a turn runs",
            "the turn ends first, then the instance is dropped",
        ),
        Choice(
            "U74",
            "10",
            "a crash in the middle of a turn",
            "nothing of the turn is kept, and its caller gets an error",
            "`edgeemu evict --crash`",
        ),
        Choice("U75", "10", "from when an instance exists", "from its first call, not its naming"),
        Choice(
            "U76",
            "11",
            "streamed answers of an actor's `fetch`",
            f"a body is sent when it is whole; the {_FETCH_S} s cover making the answer",
        ),
        Choice(
            "U77",
            "16.1",
            "an exception that escapes the function in front",
            "HTTP 500 with plain text, and the traceback in the log",
        ),
    ),
)
