"""The warnings of a running emulator, each given once a place; `docs/warnings.md` explains them."""

from dataclasses import dataclass

from edgeemu.ids import InstanceId

RUNTIME_WARNINGS: dict[str, str] = {
    "W_ALARM_SECONDS": "An alarm is set in seconds or to a delay; it wants epoch milliseconds.",
    "W_ALARM_NOT_AWAITED": "An alarm call is not awaited, so its error appears somewhere else.",
    "W_WRITE_NOT_AWAITED": "A write is not awaited, so its error appears somewhere else.",
    "W_CALL_NOT_AWAITED": "A call of another actor is not awaited, so nobody sees how it ends.",
    "W_REARM_THEN_RAISE": "The alarm handler re-arms and then raises, which undoes the re-arm.",
    "W_ALARM_GIVEN_UP": "An alarm failed in each of its attempts and is deleted.",
    "W_ALARM_TWO_WRITERS": "An alarm that still waits is replaced by another line of the code.",
    "W_ALARM_NO_HANDLER": "An alarm was delivered to a class that has no `alarm` method.",
    "W_DELETE_ALL_ALARM": "All keys were deleted, and the pending alarm was left.",
    "W_LIST_CUT": "`list` without a `limit` left keys out: there are more than its default.",
    "W_STORAGE_SIZE": "A key or a value is larger than is safe on the platform.",
    "W_NAME_ODD": "An instance's name holds characters that are not safe on the platform.",
    "W_MEMORY_LOST": "A field was read that no `__init__` sets: it went with an earlier life.",
    "W_BUDGET_NEAR": "A turn used up nearly all of its budget.",
    "W_NOT_AWAITED": "A coroutine was called and not awaited, so it never ran.",
    "W_TASK_FAILED": "A task that an actor started and did not await ended with an error.",
    "W_SOCKET_CLOSED": "A message was sent on a WebSocket that is closed, so it went nowhere.",
    "W_SOCKET_SLOW": "A client did not read what an actor sent, so its WebSocket was severed.",
    "W_CALL_CYCLE": "A call leads back to an instance that made it, and runs after that at best.",
    "W_BLOCKED_LOOP": "A step of actor code ran for long without waiting, so nothing else could.",
    "W_LATE_STORAGE": "Code that ran past the end of its turn used the storage; nothing is kept.",
    "W_ALARM_STORM": "An alarm is set again for an instant that is already due, without end.",
    "W_ALARM_ORPHAN": "An alarm is due whose actor type the configuration no longer declares.",
    "W_STATE_AT_FAULT": "The kept state of an instance is damaged, so the instance is left out.",
    "W_ACTOR_ENV": "An actor reads an environment variable; on the platform it finds none.",
    "W_CONFIG": "The configuration asks for something that edgeemu does not do.",
    "W_RESPONSE_HEADER": "The function in front answered with a header that HTTP cannot carry.",
    "W_RESPONSE_SIZE": "The function in front answered with a body that is longer than the limit.",
    "W_WATCH": "The project's files are no longer watched, so a save does not load the new code.",
}
"""Every code, with one sentence that says what is wrong."""


@dataclass(frozen=True, slots=True)
class Warn:
    """Tell the user about something risky, once a place: an effect of the core.

    Attributes:
        code: one of `RUNTIME_WARNINGS`.
        message: what is risky, in one sentence.
        where: the `file:line` to look at; None for where `method` begins.
        instance, turn: whose turn it was, as the journal tells it.
        method: what the turn ran.
    """

    code: str
    message: str
    where: str | None
    instance: InstanceId
    turn: int
    method: str
