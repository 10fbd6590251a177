"""Rate limits: exact counts within periods of virtual time, and a bound to what is remembered."""

import pytest

from edgeemu.core import ratelimits
from edgeemu.core.ratelimits import RateCounts, RateRule

RULE = RateRule("shop/PER_USER", limit=2, period_ms=1_000)


def test_a_period_begins_with_the_first_use_after_the_one_before() -> None:
    counts = RateCounts()
    passed = [counts.allow(RULE, "a", now_ms) for now_ms in (500, 900, 1_499, 1_500, 1_600, 2_499)]
    assert passed == [True, True, False, True, True, False]


def test_keys_and_scopes_count_apart_and_one_scope_together() -> None:
    counts = RateCounts()
    other = RateRule("billing/PER_USER", limit=1, period_ms=1_000)
    wider = RateRule("shop/PER_USER", limit=3, period_ms=1_000)
    assert counts.allow(RULE, "a", 0) and counts.allow(RULE, "b", 0) and counts.allow(other, "a", 0)
    assert not counts.allow(other, "a", 0)
    assert counts.allow(RULE, "a", 0) and not counts.allow(RULE, "a", 0)
    assert counts.allow(wider, "a", 0) and not counts.allow(wider, "a", 0)


def test_clock_that_is_set_back_begins_a_new_period() -> None:
    counts = RateCounts()
    assert counts.allow(RULE, "a", 1_000_000) and counts.allow(RULE, "a", 1_000_000)
    assert counts.allow(RULE, "a", 5)


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ratelimits, "RATE_KEYS_MAX", 2)
    once = RateRule("s", limit=1, period_ms=1_000)
    counts = RateCounts()
    for key in ("a", "b", "c"):  # The third drops the first.
        assert counts.allow(once, key, 0)
    assert not counts.allow(once, "b", 1)
    assert not counts.allow(once, "c", 1)
    assert counts.allow(once, "a", 1)
