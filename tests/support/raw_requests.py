"""One request on the ASGI level, which can be left open, or be read slowly."""

import asyncio
import json
from typing import Any

from edgeemu.api.app import App

TOKEN = "a-token"


class RawRequest:
    """A request that a test holds in its hands.

    Args:
        app: that is asked.
        method, path, query, body: of the request.
        whole: whether the body ends here.
        token: whether it has the token.
        unread_max: messages of the answer that may wait unread until the server waits; 0: any.
    """

    def __init__(
        self,
        app: App,
        method: str,
        path: str,
        query: str = "",
        *,
        body: bytes = b"",
        whole: bool = True,
        token: bool = True,
        unread_max: int = 0,
    ) -> None:
        self.messages: asyncio.Queue[dict[str, Any]] = asyncio.Queue(unread_max)
        self._incoming: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._incoming.put_nowait({"type": "http.request", "body": body, "more_body": not whole})
        headers = [(b"host", b"localhost")]
        if token:
            headers.append((b"authorization", f"Bearer {TOKEN}".encode()))
        scope = {
            "type": "http",
            "method": method,
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": headers,
        }
        self.task = asyncio.ensure_future(app(scope, self._incoming.get, self._send))

    async def _send(self, message: Any) -> None:
        await self.messages.put(message)

    def leave(self) -> None:
        """The client goes away."""
        self._incoming.put_nowait({"type": "http.disconnect"})

    async def wait_message(self) -> dict[str, Any]:
        """The next message of the answer."""
        return await asyncio.wait_for(self.messages.get(), 5)

    async def wait_entries(self) -> list[dict[str, Any]]:
        """The objects in the next message of the answer, one a line."""
        body = (await self.wait_message())["body"]
        return [json.loads(line) for line in body.splitlines()]

    async def wait_rest(self) -> list[dict[str, Any]]:
        """The objects in all messages up to the end of the answer."""
        found: list[dict[str, Any]] = []
        more = True
        while more:
            message = await self.wait_message()
            found += [json.loads(line) for line in message.get("body", b"").splitlines()]
            more = message["type"] == "http.response.start" or message.get("more_body", False)
        await asyncio.wait_for(self.task, 5)
        return found
