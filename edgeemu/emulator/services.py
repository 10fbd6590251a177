"""Outside services: requests of actor code that are forwarded to a URL, or answered as configured.

Promise: nothing here blocks the loop, and each exchange has its entry in the journal, whether its
turn is kept or not: what has left cannot be taken back (spec/telnyx-actors.md section 6.1).
"""

from __future__ import annotations

import asyncio
from asyncio import Future
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from edgeemu.clock import stopwatch_ns
from edgeemu.core.journal import Entry, Kind
from edgeemu.engines.port import PlainRequest, PlainResponse, Service
from edgeemu.engines.python.loop import EmulatorLoop
from edgeemu.ids import InstanceId
from edgeemu.limits import SERVICE_BODY_CHARS_MAX

if TYPE_CHECKING:
    import httpx

_OURS = frozenset(
    {
        "accept-encoding",
        "connection",
        "content-length",
        "host",
        "keep-alive",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
"""Headers of a request that belong to the connection, or to the address."""

_NOT_PASSED_ON = frozenset({"connection", "content-encoding", "content-length", "keep-alive"})
_NOT_PASSED_ON |= frozenset({"transfer-encoding", "trailer", "upgrade"})
"""Headers of a response that belong to the connection, or to a body that is unpacked by now."""


class Services:
    """Sends the requests of all turns.

    Args:
        loop: the emulator's.
        record: takes an entry for the journal.
        now_ms: the emulated instant.
        wait_ms: real ms that an answer may take.
        body_bytes_max: bytes that its body may have.
    """

    def __init__(
        self,
        *,
        loop: EmulatorLoop,
        record: Callable[[Entry], None],
        now_ms: Callable[[], int],
        wait_ms: int,
        body_bytes_max: int,
    ) -> None:
        self._loop = loop
        self._record = record
        self._now_ms = now_ms
        self._wait_ms = wait_ms
        self.body_bytes_max = body_bytes_max
        self._answered: dict[Service, int] = {}
        self._client: Future[httpx.AsyncClient] | None = None
        self._running: set[asyncio.Task[None]] = set()

    def send(
        self, service: Service, request: PlainRequest, instance: InstanceId | None, turn_id: int
    ) -> Awaitable[PlainResponse]:
        """Send a request on behalf of a turn.

        Raises (from the awaitable):
            ConnectionError: when nobody answers. TimeoutError: when nobody answers in time.
        """
        # Made here, in the turn's own context: so the turn counts as waiting on the outside.
        future: Future[PlainResponse] = self._loop.create_future()
        told = _Exchange(self._record, self._now_ms, service, request, instance, turn_id)
        if service.answers:
            count = self._answered.get(service, 0)
            self._answered[service] = count + 1
            answer = service.answers[min(count, len(service.answers) - 1)]
            told.ended(answer.status)
            future.set_result(answer)
        else:
            start, context = self._start, self._loop.plain_context
            self._loop.call_soon(start, service, request, told, future, context=context)
        return future

    async def close(self) -> None:
        """Give up what is under way, and close connections."""
        for task in list(self._running):
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)
        if self._client is not None:
            client, self._client = await self._client, None
            await client.aclose()

    def _start(
        self,
        service: Service,
        request: PlainRequest,
        told: _Exchange,
        future: Future[PlainResponse],
    ) -> None:
        task = self._loop.create_task(self._exchange(service, request, told, future))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        future.add_done_callback(lambda _: task.cancel(), context=self._loop.plain_context)

    async def _exchange(
        self,
        service: Service,
        request: PlainRequest,
        told: _Exchange,
        future: Future[PlainResponse],
    ) -> None:
        url = address_of(service, request)
        try:
            async with asyncio.timeout(self._wait_ms / 1_000):
                answer = await self._ask(url, request)
        except TimeoutError:
            text = f"{service.label}: no answer from {url} within {self._wait_ms} ms"
            error: Exception = TimeoutError(text)
        except (OSError, ValueError) as failed:
            error = ConnectionError(f"{service.label}: {url} failed: {failed}")
        else:
            told.ended(answer.status)
            if not future.done():
                future.set_result(answer)
            return
        told.failed(error)
        if not future.done():
            future.set_exception(error)
            future.exception()  # A request that nobody awaits is no leak to report.

    async def _ask(self, url: str, request: PlainRequest) -> PlainResponse:
        """One exchange over HTTP; every way in which it can fail is an OSError or a ValueError."""
        client = await self._connect()
        import httpx

        try:
            headers = [
                (name.encode(), value.encode("latin-1"))
                for name, value in request.headers
                if name.lower() not in _OURS
            ]
            asked = client.build_request(
                request.method, url, headers=headers, content=request.body or None
            )
            response = await client.send(asked, stream=True)
            try:
                body = await self._read(response)
            finally:
                await response.aclose()
        except httpx.TimeoutException as error:
            raise TimeoutError(str(error)) from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise OSError(str(error) or type(error).__name__) from error
        kept = [(name.decode(), value.decode("latin-1")) for name, value in response.headers.raw]
        fields = tuple(pair for pair in kept if pair[0].lower() not in _NOT_PASSED_ON)
        return PlainResponse(response.status_code, fields, body)

    async def _read(self, response: httpx.Response) -> bytes:
        limit, body = self.body_bytes_max, bytearray()
        async for part in response.aiter_bytes():
            body += part
            if len(body) > limit:
                raise OSError(f"the answer has more than {limit} bytes")
        return bytes(body)

    async def _connect(self) -> httpx.AsyncClient:
        """The client, made when a service is first used: in a thread, because that takes long."""
        if self._client is None:
            self._client = asyncio.ensure_future(asyncio.to_thread(_make_client))
        return await asyncio.shield(self._client)


def _make_client() -> httpx.AsyncClient:
    import httpx

    # A proxy of the network cannot reach this machine.
    here = dict.fromkeys(["all://127.0.0.1", "all://localhost", "all://[::1]"])
    return httpx.AsyncClient(timeout=None, mounts=here, follow_redirects=False)


def address_of(service: Service, request: PlainRequest) -> str:
    """Where a request goes: to the service's URL, with the path and query of its own behind it."""
    asked = urlsplit(request.url)
    path = (service.url or "").rstrip("/") + (asked.path or "/")
    return f"{path}?{asked.query}" if asked.query else path


def _sent(request: PlainRequest) -> dict[str, Any]:
    """What a service with ready answers was sent, for a test to look at: nobody else saw it."""
    body = request.body[: 4 * SERVICE_BODY_CHARS_MAX].decode("utf-8", "replace")
    return {
        "query": urlsplit(request.url).query[:SERVICE_BODY_CHARS_MAX],
        "body": body[:SERVICE_BODY_CHARS_MAX],
        "body_bytes": len(request.body),
    }


class _Exchange:
    """One request and what became of it, for the journal."""

    def __init__(
        self,
        record: Callable[[Entry], None],
        now_ms: Callable[[], int],
        service: Service,
        request: PlainRequest,
        instance: InstanceId | None,
        turn_id: int,
    ) -> None:
        self._record = record
        self._now_ms = now_ms
        self._service = service
        self._method = f"{request.method} {urlsplit(request.url).path or '/'}"
        self._sent = _sent(request) if service.url is None else {"url": service.url}
        self._owner = instance, turn_id
        self._started_ns = stopwatch_ns()

    def ended(self, status: int) -> None:
        """There is an answer."""
        self._write({"status": status})

    def failed(self, error: Exception) -> None:
        """There is none."""
        self._write({"error": {"name": type(error).__name__, "message": str(error)}})

    def _write(self, outcome: dict[str, Any]) -> None:
        instance, turn_id = self._owner
        data = {
            "service": self._service.name or None,
            "method": self._method,
            **self._sent,
            **outcome,
            "real_took_ms": (stopwatch_ns() - self._started_ns) // 1_000_000,
        }
        cause = f"turn {turn_id}"
        self._record(Entry(Kind.SERVICE, self._now_ms(), instance, turn_id, cause, data))
