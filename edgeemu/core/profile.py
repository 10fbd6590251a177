"""The rules in which platforms differ, as frozen data. Code never asks which platform it is."""

from dataclasses import dataclass

from edgeemu.units import MINUTE_MS, SECOND_MS


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """When a failed delivery of an alarm runs again.

    Attributes:
        delays_ms: the wait before each counted redelivery, in ms; one more attempt than there are
            entries is made, then the alarm is given up.
        jitter_percent_max: how much of a delay may be added at random, in percent.
        uncounted_delay_ms: the wait, in ms, after a failure that was not the handler's own, such
            as a crash of the host; such failures use up no attempt.
    """

    delays_ms: tuple[int, ...]
    jitter_percent_max: int
    uncounted_delay_ms: int

    @property
    def attempts_max(self) -> int:
        """Attempts in all: the first delivery and its redeliveries."""
        return len(self.delays_ms) + 1


@dataclass(frozen=True, slots=True)
class SocketPolicy:
    """What WebSockets may do (spec/telnyx-actors.md section 11).

    Attributes:
        timeout_ms: budget of each handler in virtual ms.
        frame_bytes_max: bytes of one message from a client.
        events_max, waiting_bytes_max: events of one socket that may wait for their turn, and bytes.
        lifetime_ms: virtual ms after which a socket is severed.
        going_away: the reason that clients see when an instance leaves the memory.
        no_handler: the reason that they see when the class takes no sockets.
    """

    timeout_ms: int
    frame_bytes_max: int
    events_max: int
    waiting_bytes_max: int
    lifetime_ms: int
    going_away: str
    no_handler: str


@dataclass(frozen=True, slots=True)
class Profile:
    """The rules of one platform.

    Attributes:
        name: as in `platform = "..."`.
        retry: redelivery of failed alarms.
        turns_exclusive: whether an instance runs one turn at a time, to completion.
        call_timeout_ms, fetch_timeout_ms, init_timeout_ms, alarm_timeout_ms, front_timeout_ms:
            budgets in virtual ms, from the start of the body.
        list_limit_default, list_limit_max: entries of one `list`.
        reserved_key_prefix: keys that belong to the runtime.
        private_prefix: methods with it cannot be called through a stub.
    name_characters: what an instance's name may hold without a warning, as a class of `re`.
        sockets: what WebSockets may do.
    """

    name: str
    retry: RetryPolicy
    turns_exclusive: bool
    call_timeout_ms: int
    fetch_timeout_ms: int
    init_timeout_ms: int
    alarm_timeout_ms: int
    front_timeout_ms: int
    list_limit_default: int
    list_limit_max: int
    reserved_key_prefix: str
    private_prefix: str
    name_characters: str
    sockets: SocketPolicy


TELNYX = Profile(
    name="telnyx",
    # Section 8.1: 3 redeliveries about one second apart; U60: 1000 ms after the attempt ended.
    retry=RetryPolicy(
        delays_ms=(1_000, 1_000, 1_000), jitter_percent_max=0, uncounted_delay_ms=1_000
    ),
    turns_exclusive=True,  # section 1
    call_timeout_ms=30 * SECOND_MS,  # section 3.2
    fetch_timeout_ms=30 * SECOND_MS,  # section 3.2
    init_timeout_ms=30 * SECOND_MS,  # section 3.2
    alarm_timeout_ms=5 * MINUTE_MS,  # U10
    front_timeout_ms=30 * SECOND_MS,  # section 3.2
    list_limit_default=128,  # section 6.2
    list_limit_max=1_000,  # section 6.2
    reserved_key_prefix="__telnyx_",  # section 6
    private_prefix="_",  # section 3.1
    name_characters="0-9A-Za-z._-",  # U15
    sockets=SocketPolicy(  # section 11
        timeout_ms=30 * SECOND_MS,
        frame_bytes_max=1024 * 1024,
        events_max=256,
        waiting_bytes_max=1024 * 1024,
        lifetime_ms=5 * MINUTE_MS,
        going_away="actor going away",
        no_handler="actor has no webSocket handler",
    ),
)
"""Telnyx Stateful Actors. Source: spec/telnyx-actors.md, the sections named on each line."""

PROFILES = {profile.name: profile for profile in (TELNYX,)}
"""The profiles by the name that a configuration gives."""
