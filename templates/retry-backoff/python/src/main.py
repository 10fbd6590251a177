"""Work that must be done although the other side may be down for hours.

The platform retries an alarm that fails three times, about a second apart, and then forgets it
without a word. That outlasts no real outage. So the handler below never fails: it catches, records,
and sets the alarm again, for a delay of its own choice. When it gives up it says so, in storage.
"""

from typing import Any

from edgeemu import ActorError, AlarmInfo, Request, Response, StatefulActor

BACKOFF_MS = (60_000, 5 * 60_000, 30 * 60_000, 2 * 60 * 60_000)
"""The wait after the first failure, the second, and so on; one more failure and it is given up."""


class Delivery(StatefulActor):
    """One message on its way. Its name is the id under which the other side knows it."""

    async def send(self, to: str, text: str) -> dict[str, Any]:
        job = await self.ctx.storage.get("job")
        if job is None:  # A caller that asks twice for the same delivery gets one.
            job = {"to": to, "text": text, "state": "waiting", "failures": 0, "last_error": None}
            await self.ctx.storage.put("job", job)
            await self.ctx.storage.set_alarm(self.ctx.now_ms())
        return job

    async def status(self) -> dict[str, Any] | None:
        return await self.ctx.storage.get("job")

    # For whoever looks after deliveries that were given up, once the cause is mended.
    async def try_again(self) -> None:
        job = await self.ctx.storage.get("job")
        if job is not None and job["state"] == "given_up":
            await self.ctx.storage.put("job", {**job, "state": "waiting", "failures": 0})
            await self.ctx.storage.set_alarm(self.ctx.now_ms())

    async def alarm(self, info: AlarmInfo) -> None:
        job = await self.ctx.storage.get("job")
        # The alarm may be delivered once more after the work is done.
        if job is None or job["state"] != "waiting":
            return
        try:
            inbox = self.env.INBOX.id_from_name(job["to"])
            await inbox.receive(self.ctx.id, job["text"])
        except ActorError as error:
            await self._note_failure(job, str(error))
        else:
            await self.ctx.storage.put("job", {**job, "state": "delivered"})

    async def _note_failure(self, job: dict[str, Any], message: str) -> None:
        failures = job["failures"] + 1
        job = {**job, "failures": failures, "last_error": message}
        if failures > len(BACKOFF_MS):
            job["state"] = "given_up"
        else:
            await self.ctx.storage.set_alarm(self.ctx.now_ms() + BACKOFF_MS[failures - 1])
        await self.ctx.storage.put("job", job)


class Inbox(StatefulActor):
    """The other side. It stands in for a service of somebody else, and may be down."""

    async def receive(self, delivery_id: str, text: str) -> None:
        if await self.ctx.storage.get("down", False):
            raise ConnectionError(f"the inbox of {self.ctx.id} is down")
        # A delivery may arrive twice: its sender can crash after it was received and before it
        # could note that. Under its own id it is kept once.
        await self.ctx.storage.put(f"mail/{delivery_id}", text)

    async def messages(self) -> list[str]:
        return list((await self.ctx.storage.list(prefix="mail/")).values())

    async def set_down(self, down: bool) -> None:
        await self.ctx.storage.put("down", down)


# POST /ID with {"to": "bob", "text": "hello"} sends a message, GET /ID says what became of it.
async def fetch(request: Request, env: Any) -> Response:
    delivery_id = request.path.strip("/")
    if not delivery_id:
        return Response("give the id of a delivery, such as /m1", status=404)
    delivery = env.DELIVERY.id_from_name(delivery_id)
    if request.method == "POST":
        message = await request.json()
        return Response.json(await delivery.send(message["to"], message["text"]), status=202)
    job = await delivery.status()
    return Response("not known", status=404) if job is None else Response.json(job)
