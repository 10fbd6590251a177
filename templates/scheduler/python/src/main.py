"""Several timers on the one alarm that an actor has.

Timers are kept in storage, in the order in which they are due, and the alarm is always set for the
first of them. When it is delivered, everything that is due by then runs.
"""

from typing import Any

from edgeemu import AlarmInfo, Request, Response, StatefulActor

BATCH_MAX = 100
"""Timers that run in one turn; what is left runs in the next."""


class Scheduler(StatefulActor):
    async def schedule(
        self, name: str, seconds: float, text: str = "", repeat: bool = False
    ) -> int:
        """Set a timer, or set it anew; when it is due, in ms since the epoch."""
        delay_ms = round(seconds * 1_000)
        if delay_ms <= 0:
            raise ValueError(f"a timer is due after more than 0 seconds, not {seconds}")
        await self._remove(name)
        due_at_ms = self.ctx.now_ms() + delay_ms
        timer = {"due_at_ms": due_at_ms, "text": text, "every_ms": delay_ms if repeat else None}
        await self._insert(name, timer)
        await self._set_alarm()
        return due_at_ms

    async def cancel(self, name: str) -> bool:
        """Take a timer back; whether it was there."""
        was_there = await self._remove(name)
        await self._set_alarm()
        return was_there

    async def pending(self) -> dict[str, int]:
        """The timers that are set, soonest first: name to due instant."""
        found = await self.ctx.storage.list(prefix="due/", limit=1_000)
        return {name: _due_at_ms(key) for key, name in found.items()}

    async def ran(self) -> list[str]:
        """What ran so far, in order."""
        return list((await self.ctx.storage.list(prefix="ran/", limit=1_000)).values())

    async def alarm(self, info: AlarmInfo) -> None:
        end = _due_key(self.ctx.now_ms() + 1, "")
        due = await self.ctx.storage.list(prefix="due/", end=end, limit=BATCH_MAX)
        for key, name in due.items():
            await self._run(name, _due_at_ms(key))
        await self._set_alarm()

    async def _run(self, name: str, due_at_ms: int) -> None:
        timer = await self.ctx.storage.get(f"timer/{name}")
        await self._remove(name)
        # What a timer does: here, it writes a line. If it did something outside, such as sending a
        # mail, a crash could make it happen twice; its name and due instant would tell the other
        # side that it is the same one.
        await self.ctx.storage.put(f"ran/{due_at_ms:013d}/{name}", timer["text"] or name)
        every_ms = timer["every_ms"]
        if every_ms is not None:
            # The next one after now: what was missed while nothing ran is not made up for.
            missed = (self.ctx.now_ms() - due_at_ms) // every_ms
            next_ms = due_at_ms + (missed + 1) * every_ms
            await self._insert(name, {**timer, "due_at_ms": next_ms})

    async def _insert(self, name: str, timer: dict[str, Any]) -> None:
        await self.ctx.storage.put(f"timer/{name}", timer)
        await self.ctx.storage.put(_due_key(timer["due_at_ms"], name), name)

    async def _remove(self, name: str) -> bool:
        timer = await self.ctx.storage.get(f"timer/{name}")
        if timer is None:
            return False
        await self.ctx.storage.delete(f"timer/{name}")
        await self.ctx.storage.delete(_due_key(timer["due_at_ms"], name))
        return True

    async def _set_alarm(self) -> None:
        """Set the alarm for the first timer, or clear it where there is none."""
        first = await self.ctx.storage.list(prefix="due/", limit=1)
        for key in first:
            await self.ctx.storage.set_alarm(_due_at_ms(key))
        if not first and await self.ctx.storage.get_alarm() is not None:
            await self.ctx.storage.delete_alarm()


def _due_key(due_at_ms: int, name: str) -> str:
    # Keys are ordered as text, so an instant has leading zeros.
    return f"due/{due_at_ms:013d}/{name}"


def _due_at_ms(key: str) -> int:
    return int(key.split("/")[1])


# POST /NAME with {"timer": "tea", "seconds": 180, "text": "drink it"} sets a timer,
# DELETE /NAME?timer=tea takes it back, GET /NAME shows what is set and what ran.
async def fetch(request: Request, env: Any) -> Response:
    name = request.path.strip("/")
    if not name:
        return Response("give the name of a scheduler, such as /kitchen", status=404)
    scheduler = env.SCHEDULER.id_from_name(name)
    if request.method == "POST":
        wanted = await request.json()
        repeat = wanted.get("repeat", False)
        await scheduler.schedule(wanted["timer"], wanted["seconds"], wanted.get("text", ""), repeat)
    elif request.method == "DELETE":
        await scheduler.cancel(request.query.get("timer", ""))
    return Response.json({"pending": await scheduler.pending(), "ran": await scheduler.ran()})
