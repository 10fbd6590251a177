"""Rate limits: how often a key may pass within a period of virtual time.

Emulates: rate limiting. Source: spec/telnyx-actors.md section 2.2.
Differs: the platform does not publish how it counts; here a period begins with a key's first use
after the one before, and one count is exact, for there is one process.
"""

from dataclasses import dataclass

from edgeemu.limits import RATE_KEYS_MAX


@dataclass(frozen=True, slots=True)
class RateRule:
    """One rate limit.

    Attributes:
        scope: rules of one scope count together.
        limit: how often a key may pass within a period.
        period_ms: virtual milliseconds.
    """

    scope: str
    limit: int
    period_ms: int


class RateCounts:
    """The counts of all rate limits, in memory: a restart begins anew."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str], tuple[int, int]] = {}

    def allow(self, rule: RateRule, key: str, now_ms: int) -> bool:
        """Count one use of `key`; whether it passes. One that does not pass does not count."""
        name = (rule.scope, key)
        over_at_ms, count = self._counts.get(name, (0, 0))
        # A clock that was set back must not leave a period without end.
        if not over_at_ms - rule.period_ms <= now_ms < over_at_ms:
            over_at_ms, count = now_ms + rule.period_ms, 0
        if count >= rule.limit:
            return False
        self._counts.pop(name, None)  # So that the oldest stand in front.
        self._counts[name] = (over_at_ms, count + 1)
        if len(self._counts) > RATE_KEYS_MAX:
            self._forget(now_ms)
        return True

    def _forget(self, now_ms: int) -> None:
        """Drop what is over, and if that is nothing, the key that passed longest ago."""
        over = [name for name, (over_at_ms, _) in self._counts.items() if over_at_ms <= now_ms]
        for name in over or [next(iter(self._counts))]:
            del self._counts[name]
