"""The model: what a project of one actor type must look like, as dictionaries.

It knows nothing of turns, stores, rows or loops. Its instants are those of a frozen clock with no
lateness, and its handlers take no time, so it can say exactly what is delivered, when and in which
order.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

ATTEMPTS_MAX = 4
RETRY_MS = 1_000
SPACING_MS = 1


@dataclass
class ModelAlarm:
    """A pending alarm: what was asked for, when it is tried next, and what has failed so far."""

    due_ms: int
    eligible_ms: int
    fire_ms: int
    retry_count: int = 0


@dataclass
class ModelInstance:
    """One instance: its keys, its rows of SQL, its alarm, and the failures that are planned.

    Attributes:
        entries_count: turns that wrote in every way and were kept since the last wipe.
    """

    keys: dict[str, Any] = field(default_factory=dict)
    alarm: ModelAlarm | None = None
    faults: list[str] = field(default_factory=list)
    rows: dict[str, int] = field(default_factory=dict)
    entries_count: int = 0
    last_ms: int | None = None

    def enter(self) -> None:
        """An entry of the ledger, which the keys count."""
        self.entries_count += 1
        self.keys["count"] = self.entries_count

    def wipe(self) -> None:
        """Delete all keys, and the ledger that they count."""
        self.keys.clear()
        self.entries_count = 0

    def edit(self, how: str, key: str, value: int) -> None:
        """Write rows in one of several ways."""
        rows = self.rows
        if how in ("several", "breaks"):
            rows.update({key: value + 1 for key, value in rows.items()})
        if how == "add":
            rows.update({key: rows[key] + value} if key in rows else {})
        elif how == "remove":
            rows.pop(key, None)
        elif how == "several":
            self.rows = {key: value for key, value in rows.items() if value <= 9}
        if how in ("replace", "several", "nested"):
            self.rows[key] = value
        if how in ("undone", "nested"):
            self.rows["kept"] = value


class Model:
    """All instances and the clock."""

    def __init__(self, now_ms: int) -> None:
        self.now_ms = now_ms
        self.instances: dict[str, ModelInstance] = {}
        self.deliveries: list[tuple[int, str, int, str]] = []
        """Instant, instance, retry count and outcome, of all that were made."""

    def of(self, name: str) -> ModelInstance:
        return self.instances.setdefault(name, ModelInstance())

    # --- turns -----------------------------------------------------------------------------

    def write(self, name: str, change: Callable[[ModelInstance], object]) -> None:
        """A turn that succeeds: it has seen the present instant."""
        change(self.of(name))
        self.of(name).keys["now"] = self.now_ms

    def enter(self, name: str, after_ms: int | None, how: str = "lands") -> None:
        """A turn that writes in every way, and how it ends."""
        instance = self.of(name)
        if how in ("fails", "throws"):
            return
        instance.enter()
        if how == "lands":
            instance.keys["landed"] = instance.entries_count
        if after_ms is None:
            instance.alarm = None
        else:
            self.arm(name, self.now_ms + after_ms)
        self.write(name, lambda _: None)

    def arm(self, name: str, when_ms: int) -> None:
        instance = self.of(name)
        fire_ms = self._spaced(instance, max(when_ms, self.now_ms))
        instance.alarm = ModelAlarm(when_ms, when_ms, fire_ms)

    def _spaced(self, instance: ModelInstance, at_ms: int) -> int:
        return at_ms if instance.last_ms is None else max(at_ms, instance.last_ms + SPACING_MS)

    # --- time ------------------------------------------------------------------------------

    def advance(self, target_ms: int) -> int:
        """Deliver everything due by then; how many deliveries."""
        before = len(self.deliveries)
        while (found := self._first(max(target_ms, self.now_ms))) is not None:
            self.now_ms = max(self.now_ms, found[0])
            self.deliver(found[1])
        self.now_ms = max(self.now_ms, target_ms)
        return len(self.deliveries) - before

    def next(self) -> int:
        """Go to the next instant at which something is due; how many deliveries."""
        before = len(self.deliveries)
        self._run_present()
        found = self._first(None)
        if found is not None:
            self.now_ms = found[0]
            self._run_present()
        return len(self.deliveries) - before

    def _run_present(self) -> None:
        while (name := self.first_due()) is not None:
            self.deliver(name)

    def first_due(self) -> str | None:
        """The instance whose alarm fires now, if one does."""
        found = self._first(None)
        return found[1] if found is not None and found[0] <= self.now_ms else None

    def _first(self, eligible_by_ms: int | None) -> tuple[int, str] | None:
        pending = [
            (each.alarm.fire_ms, name)
            for name, each in self.instances.items()
            if each.alarm is not None
            and (eligible_by_ms is None or each.alarm.eligible_ms <= eligible_by_ms)
        ]
        return min(pending, default=None)

    # --- deliveries ------------------------------------------------------------------------

    def deliver(self, name: str) -> str:
        """Deliver the pending alarm now; the outcome."""
        instance = self.of(name)
        alarm = instance.alarm
        assert alarm is not None
        instance.last_ms = self.now_ms
        fault = instance.faults.pop(0) if instance.faults else None
        plan = instance.keys.get("plan", {})
        throws = alarm.retry_count < plan.get("throws", 0)
        # A caught failure of a transaction ends the handler well, and its writes are kept: only
        # the delivery has failed.
        spoilt = throws and plan["caught"]
        if fault == "throw" or (throws and fault != "timeout" and not (spoilt and fault)):
            outcome = "failed"
        elif fault == "timeout":
            outcome = "timed_out"
        else:
            outcome = "succeeded" if fault is None else "crashed"
        kept = outcome == "succeeded" or (outcome == "crashed" and fault == "crash-after-commit")
        kept = kept or (spoilt and fault is None)
        if kept:
            self._handle(name, instance, plan, outcome)
        if instance.alarm is alarm:
            self._retry(instance, alarm, counted=outcome != "crashed")
        self.deliveries.append((self.now_ms, name, alarm.retry_count, outcome))
        return outcome

    def _handle(
        self, name: str, instance: ModelInstance, plan: dict[str, Any], outcome: str
    ) -> None:
        """What the handler of the actor does."""
        alarm = instance.alarm
        instance.keys["runs"] = instance.keys.get("runs", 0) + 1
        instance.keys["now"] = self.now_ms
        if plan.get("row"):
            instance.enter()
        if plan.get("rearm_ms") is not None:
            self.arm(name, self.now_ms + plan["rearm_ms"])
        elif outcome == "succeeded":
            instance.alarm = None
        else:
            instance.alarm = alarm

    def _retry(self, instance: ModelInstance, alarm: ModelAlarm, *, counted: bool) -> None:
        retry_count = alarm.retry_count + counted
        if retry_count >= ATTEMPTS_MAX:
            instance.alarm = None
            return
        next_ms = self.now_ms + RETRY_MS
        instance.alarm = ModelAlarm(alarm.due_ms, next_ms, next_ms, retry_count)
