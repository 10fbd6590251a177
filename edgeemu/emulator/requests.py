"""What is asked of the shell, and what it answers: plain data."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from msgspec import Struct

from edgeemu.core.events import AlarmOutcome, Ending, Turn
from edgeemu.core.rows import AlarmWrite, Fault
from edgeemu.core.timers import Timer
from edgeemu.emulator.hosts import TurnHost
from edgeemu.engines.port import Answer, PlainRequest, Work
from edgeemu.errors import Code, EdgeemuError
from edgeemu.sdk.http import full_url


class Edit(Struct, frozen=True):
    """A change from outside that takes its turn: keys, the alarm, planned faults, SQL.

    Attributes:
        run: does something with the host of the turn; it raises nothing.
    """

    puts: Mapping[str, bytes | None] | None = None
    clear: bool = False
    alarm: AlarmWrite | None = None
    plan: Callable[[tuple[Fault, ...]], tuple[Fault, ...]] | None = None
    run: Callable[[TurnHost], None] | None = None

    def make(self, host: TurnHost, faults: tuple[Fault, ...]) -> tuple[Fault, ...] | None:
        """Make the change through the host of its turn; the new list of faults, if it plans some.

        Args:
            faults: those that are planned now.

        Raises:
            ActorError: for what the project, being strict, refuses.
            EdgeemuError: where the store cannot read what the change needs.
        """
        if self.clear:
            host.clear()
        for key, data in (self.puts or {}).items():
            if data is None:
                host.delete(key)
            else:
                host.put(key, data)
        if self.run is not None:
            self.run(host)
        return None if self.plan is None else self.plan(faults)


class TurnReply(Struct, frozen=True):
    """How a turn ended, for whoever asked for it.

    Attributes:
        refused: why it did not take place, if it did not.
        error: the engine's own error object, where there is one.
    """

    ending: Ending | None = None
    answer: Answer = None
    alarm: AlarmOutcome | None = None
    refused: str | None = None
    error: BaseException | None = None


@dataclass(slots=True)
class Pending:
    """A turn between its request and its reply."""

    turn: Turn
    work: Work | None
    edit: Edit | None
    answered: Callable[[TurnReply], None] | None
    parent: int | None = None
    host: TurnHost | None = None
    budget: Timer | None = None
    answer: Answer = None
    error: BaseException | None = None


_SCHEMES = {"http": "http", "https": "https", "ws": "http", "wss": "https"}
"""What a URL may begin with, and what the function in front sees of it."""


def request_from_outside(
    method: str, target: str, headers: Iterable[tuple[str, str]], body: bytes, *, origin: str
) -> PlainRequest:
    """A request as a client would send it, so that each skin sends the same.

    Args:
        method: in whatever case.
        target: a path with its query, or a full URL, of which a fragment stays with the client.
        headers: of the request; without a `host` among them it is the one of the URL.
        body: of the request.
        origin: scheme, host and port for a path.

    Raises:
        EdgeemuError: `E_REQUEST_INVALID` for what is no URL of HTTP.
    """
    try:
        parts = urlsplit(full_url(target, origin))
        known = parts.scheme in _SCHEMES and parts.hostname and parts.port != 0
    except ValueError:
        known = False
    if not known:
        raise EdgeemuError(
            Code.REQUEST_INVALID,
            what=f"`{target[:200]}` is nothing that a request can be sent to",
            why="it is no path, and no URL of http or https",
            fix="write a path such as /users?page=2; the host of a URL is not asked, but for "
            "NAME.localhost, which names a function",
        )
    host = parts.netloc.rpartition("@")[2]
    query = f"?{parts.query}" if parts.query else ""
    url = f"{_SCHEMES[parts.scheme]}://{host}{parts.path or '/'}{query}"
    fields = tuple((name.lower(), value) for name, value in headers)
    if not any(name == "host" for name, _ in fields):
        fields = (("host", host), *fields)
    return PlainRequest(method.upper(), url, fields, body)
