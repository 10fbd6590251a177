"""When a failed delivery runs again, and when it is given up."""

import pytest

from edgeemu.core.profile import TELNYX, RetryPolicy
from edgeemu.core.retry import next_attempt_at_ms
from edgeemu.rng import stream

JITTERY = RetryPolicy(delays_ms=(1_000, 2_000), jitter_percent_max=50, uncounted_delay_ms=7)


def attempt(policy: RetryPolicy, retry_count: int, *, counted: bool = True, seed: int = 1):
    return next_attempt_at_ms(
        policy,
        now_ms=10_000,
        retry_count=retry_count,
        counted=counted,
        jitter=stream(seed, "retry_jitter"),
    )


def test_telnyx_makes_four_attempts_a_second_apart() -> None:
    # Section 8.1.
    assert TELNYX.retry.attempts_max == 4
    assert [attempt(TELNYX.retry, count) for count in range(4)] == [11_000, 11_000, 11_000, None]


def test_failure_that_does_not_count_has_its_own_delay_and_no_end() -> None:
    assert attempt(JITTERY, 99, counted=False) == 10_007


@pytest.mark.parametrize("seed", range(20))
def test_jitter_only_adds_and_is_bounded(seed: int) -> None:
    at_ms = attempt(JITTERY, 1, seed=seed)
    assert at_ms is not None
    assert 12_000 <= at_ms <= 13_000


def test_jitter_follows_the_seed() -> None:
    first = [attempt(JITTERY, 0, seed=seed) for seed in range(20)]
    again = [attempt(JITTERY, 0, seed=seed) for seed in range(20)]
    assert first == again
    assert len(set(first)) > 1


def test_policy_without_jitter_draws_nothing() -> None:
    jitter = stream(1, "retry_jitter")
    before = jitter.getstate()
    next_attempt_at_ms(TELNYX.retry, now_ms=0, retry_count=0, counted=True, jitter=jitter)
    assert jitter.getstate() == before
