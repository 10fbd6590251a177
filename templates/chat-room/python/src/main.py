"""A chat room: messages in SQL, listeners on WebSockets, bindings in front."""

import hmac
import json
from typing import Any

from edgeemu import ActorContext, AlarmInfo, Request, Response, StatefulActor, WebSocket

WEEK_MS = 7 * 24 * 60 * 60 * 1000
PAGE_ROWS_MAX = 50
TEXT_CHARS_MAX = 500


class ChatRoom(StatefulActor):
    # Runs whenever the room comes into memory, so it must do no harm when it runs again.
    def __init__(self, ctx: ActorContext, env: Any) -> None:
        super().__init__(ctx, env)
        ctx.block_concurrency_while(self._make_table)

    async def _make_table(self) -> None:
        self.ctx.storage.sql.exec(
            "CREATE TABLE IF NOT EXISTS messages (id INTEGER PRIMARY KEY AUTOINCREMENT,"
            " key TEXT UNIQUE, user TEXT, text TEXT, said_at_ms INTEGER)"
        )

    # Keeps a message and tells everyone in the room. A client that got no answer says it again
    # with the same key: it is kept once, and told once.
    async def say(self, user: str, text: str, key: str | None = None) -> int:
        sql = self.ctx.storage.sql
        said = sql.exec("SELECT id FROM messages WHERE key = ?", key).to_list()
        if said:
            return int(said[0]["id"])
        now_ms = self.ctx.now_ms()
        number = sql.exec(
            "INSERT INTO messages (key, user, text, said_at_ms) VALUES (?, ?, ?, ?) RETURNING id",
            key,
            user,
            text,
            now_ms,
        ).to_list()[0]["id"]
        # There is one alarm. It stays where the oldest message put it.
        if await self.ctx.storage.get_alarm() is None:
            await self.ctx.storage.set_alarm(now_ms + WEEK_MS)
        # What is sent leaves at once, and is not taken back if this call fails. So it comes last.
        self.ctx.broadcast(json.dumps({"id": number, "user": user, "text": text}))
        return int(number)

    # A page of the messages, newest first. The `next` of one page is the `before` of the one that
    # follows; None: there is no more. Messages that arrive meanwhile move nothing.
    async def history(self, before: int | None = None, limit: int = 20) -> dict[str, Any]:
        count = max(1, min(limit, PAGE_ROWS_MAX))
        rows = self.ctx.storage.sql.exec(
            "SELECT id, user, text, said_at_ms FROM messages WHERE ? IS NULL OR id < ?"
            " ORDER BY id DESC LIMIT ?",
            before,
            before,
            count + 1,
        ).to_list()
        page = [dict(row) for row in rows[:count]]
        return {"messages": page, "next": page[-1]["id"] if len(rows) > count else None}

    async def clear(self) -> None:
        self.ctx.storage.sql.exec("DELETE FROM messages")
        await self.ctx.storage.delete_alarm()

    # Deletes what is older than a week. It may run twice for one alarm, early or late: it looks
    # at the messages, and comes again only if some are left.
    async def alarm(self, info: AlarmInfo) -> None:
        sql = self.ctx.storage.sql
        sql.exec("DELETE FROM messages WHERE said_at_ms <= ?", self.ctx.now_ms() - WEEK_MS)
        oldest_ms = sql.exec("SELECT min(said_at_ms) AS ms FROM messages").to_list()[0]["ms"]
        if oldest_ms is not None:
            await self.ctx.storage.set_alarm(oldest_ms + WEEK_MS)

    # Someone listens. `broadcast` reaches every open socket of the room, so nothing is kept here.
    # A socket lives for five minutes: a client connects again, and reads `history`.
    async def web_socket(self, ws: WebSocket, request: Request) -> None:
        @ws.on("message")
        async def said(data: str | bytes, is_binary: bool) -> None:
            ws.send("this socket only listens: POST what you say")

        ws.send(request.headers["x-motto"])


# GET /ROOM: a page of messages, or a WebSocket. POST /ROOM?user=NAME says the body.
# DELETE /ROOM with the moderator's key clears the room.
async def fetch(request: Request, env: Any) -> Response:
    name = request.path.strip("/")
    if not name:
        return Response("give a room, such as /lobby", status=404)
    room = env.ROOM.id_from_name(name)
    if request.headers.get("upgrade", "").lower() == "websocket":
        # What the stub gives is returned as it is: from then on the client talks to the actor.
        forwarded = Request(request.url, headers={**request.headers, "x-motto": env.MOTTO})
        opened: Response = await room.fetch(forwarded)
        return opened
    if request.method == "POST":
        return await say(request, env, room)
    if request.method == "DELETE":
        key = await env.SECRETS.get("MODERATOR_KEY")
        if not hmac.compare_digest(request.headers.get("x-key", "").encode(), key.encode()):
            return Response("only a moderator clears a room", status=403)
        await room.clear()
        return Response(status=204)
    before = request.query.get("before", "")
    if before and not (before.isdecimal() and len(before) <= 15):
        return Response("`before` is the `next` of a page", status=400)
    return Response.json(await room.history(int(before) if before else None))


async def say(request: Request, env: Any, room: Any) -> Response:
    user, text = request.query.get("user", ""), await request.text()
    if not user or not 1 <= len(text) <= TEXT_CHARS_MAX:
        return Response("say who you are, and 1 to 500 characters", status=400)
    allowed = await env.PER_USER.limit(key=user)
    if not allowed["success"]:
        return Response("slow down", status=429)
    number = await room.say(user, text, request.headers.get("idempotency-key"))
    return Response.json({"id": number}, status=201)
