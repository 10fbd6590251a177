"""The base class of an actor and what its alarm handler is told.

This layer works as if it ran on the real platform: it reaches the world only through the context
that it is given.
"""

from dataclasses import dataclass
from typing import Any

from edgeemu.sdk.context import ActorContext
from edgeemu.sdk.http import Request, Response


@dataclass(frozen=True, slots=True)
class AlarmInfo:
    """What `alarm` is told about the delivery.

    Attributes:
        retry_count: 0 on the first delivery, one more on each redelivery.

    Emulates: `AlarmInfo`. Source: Telnyx Stateful Actors documentation, Actor Alarms.
    """

    retry_count: int = 0

    @property
    def is_retry(self) -> bool:
        """Whether this is a redelivery after a failed run."""
        return self.retry_count > 0


class StatefulActor:
    """A small class with private durable storage and one alarm.

    Methods whose names do not start with `_` can be called through a stub. Instance fields are a
    cache: they vanish on eviction. `self.ctx.storage` stays.

    Attributes:
        ctx: its name, storage, time and randomness.
        env: what the configuration binds: a namespace for each actor, and `SECRETS`.

    Emulates: `StatefulActor`. Source: Telnyx Stateful Actors documentation, Base Class.
    """

    ctx: ActorContext
    env: Any

    def __init__(self, ctx: ActorContext, env: Any) -> None:
        self.ctx = ctx
        self.env = env

    async def alarm(self, info: AlarmInfo) -> None:
        """Called when the alarm is due; this base does nothing, so the alarm is simply spent."""

    async def fetch(self, request: Request) -> Response:
        """Called for `stub.fetch(request)`; this base answers 404."""
        return Response("Not found", status=404)
