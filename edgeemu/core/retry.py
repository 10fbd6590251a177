"""When a failed delivery runs again, and when it is given up: one pure rule."""

from edgeemu.core.profile import RetryPolicy
from edgeemu.rng import Random


def next_attempt_at_ms(
    policy: RetryPolicy, *, now_ms: int, retry_count: int, counted: bool, jitter: Random
) -> int | None:
    """When to deliver again after a failed attempt, or None to give the alarm up.

    Args:
        policy: the platform's rule.
        now_ms: the instant at which the attempt failed.
        retry_count: counted failures before this one, 0 or more.
        counted: whether this failure uses up an attempt.
        jitter: the `retry_jitter` stream; one draw is taken if the policy has jitter.

    Returns:
        The instant of the next attempt.

    Emulates: redelivery of alarms. Source: spec/telnyx-actors.md section 8.1, U60.
    """
    if not counted:
        return now_ms + policy.uncounted_delay_ms
    if retry_count >= len(policy.delays_ms):
        return None
    delay_ms = policy.delays_ms[retry_count]
    if policy.jitter_percent_max:
        delay_ms += jitter.randrange(delay_ms * policy.jitter_percent_max // 100 + 1)
    return now_ms + delay_ms
