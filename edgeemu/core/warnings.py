"""The warnings of a running emulator, each given once a place; `docs/warnings.md` explains them."""

RUNTIME_WARNINGS: dict[str, str] = {
    "W_ALARM_SECONDS": "An alarm is set in seconds or to a delay; it wants epoch milliseconds.",
    "W_ALARM_NO_HANDLER": "An alarm was delivered to a class that has no `alarm` method.",
    "W_NOT_AWAITED": "A coroutine was called and not awaited, so it never ran.",
    "W_TASK_FAILED": "A task that an actor started and did not await ended with an error.",
    "W_CALL_CYCLE": "A call waits, in the end, for itself, and can only end with its budget.",
    "W_BLOCKED_LOOP": "A step of actor code ran for long without waiting, so nothing else could.",
    "W_LATE_STORAGE": "Code that ran past the end of its turn used the storage; nothing is kept.",
    "W_ALARM_STORM": "An alarm is set again for an instant that is already due, without end.",
    "W_ALARM_ORPHAN": "An alarm is due whose actor type the configuration no longer declares.",
    "W_CONFIG": "The configuration asks for something that edgeemu does not do.",
    "W_RESPONSE_HEADER": "The function in front answered with a header that HTTP cannot carry.",
    "W_RESPONSE_SIZE": "The function in front answered with a body that is longer than the limit.",
    "W_WATCH": "The project's files are no longer watched, so a save does not load the new code.",
}
"""Every code, with one sentence that says what is wrong."""
