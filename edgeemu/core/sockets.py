"""WebSockets: which events get a turn, and when a socket ends, with which code.

Promise: events of one socket run in the order in which they happened, its handler first; what
waits is bounded; and a socket that has ended gets no more than the turn that tells of it.

Source: spec/telnyx-actors.md section 11.
"""

from collections import deque
from collections.abc import Callable, Sequence

from edgeemu.core.events import (
    ClosedBy,
    CloseSocket,
    Effects,
    Ending,
    Outcome,
    Record,
    Refuse,
    SocketEvent,
    SocketPart,
    Turn,
    TurnKind,
)
from edgeemu.core.instances import Drop, Instance, Socket
from edgeemu.core.journal import Entry, Kind
from edgeemu.core.profile import SocketPolicy
from edgeemu.limits import QUEUED_TURNS_MAX

GOING_AWAY = 1001
NO_CODE = 1005
"""Stands for a close frame without a code; it is never sent."""
ABNORMAL = 1006
"""Stands for an end without a closing handshake; it is never sent."""
TOO_BIG = 1009
INTERNAL_ERROR = 1011
TRY_AGAIN_LATER = 1013

REASON_BYTES_MAX = 123
"""UTF-8 bytes of a reason: what a control frame leaves for it (RFC 6455 section 5.5)."""

_SENDABLE = frozenset(range(1000, 1015)) - {1004, NO_CODE, ABNORMAL}
_CODE_AT_DROP = {"evict": GOING_AWAY, "stop": GOING_AWAY, "commit failed": INTERNAL_ERROR}


def check_close(code: object, reason: object) -> None:
    """Refuse a close that cannot be sent, as the platform's `ws` does.

    Raises:
        TypeError: for a code that is none of 1000 to 1003, 1007 to 1014 and 3000 to 4999.
        ValueError: for a reason above 123 bytes, with a lone surrogate, or without a code.
    """
    if code is None:
        if reason:
            raise ValueError("a reason needs a code: close(1000, reason)")
        return
    if type(code) is not int or not (code in _SENDABLE or 3000 <= code <= 4999):
        raise TypeError(f"a close code is 1000 to 1003, 1007 to 1014 or 3000 to 4999, not {code!r}")
    if not isinstance(reason, str):
        raise TypeError(f"a reason is a str, not {type(reason).__name__}")
    if any("\ud800" <= char <= "\udfff" for char in reason):
        raise ValueError("a reason cannot hold a lone surrogate, half a character")
    if len(reason.encode()) > REASON_BYTES_MAX:
        raise ValueError(f"a reason has at most {REASON_BYTES_MAX} bytes in UTF-8")


def cut_reason(text: str) -> str:
    """As much of a text as a close frame can carry."""
    return text.encode("utf-8", "replace")[:REASON_BYTES_MAX].decode("utf-8", "ignore")


class SocketRules:
    """Decides about the sockets of every instance; what it knows of one stands in `Instance`.

    Args:
        policy: the platform's bounds.
        take_turn_id: gives the number of a new turn.
    """

    def __init__(self, policy: SocketPolicy, take_turn_id: Callable[[], int]) -> None:
        self._policy = policy
        self._take_turn_id = take_turn_id

    def admit(self, instance: Instance, turn: Turn, now_ms: int, out: Effects) -> bool:
        """Whether a turn of a socket may wait in the queue; if not, it is refused here."""
        event = turn.socket
        if event is None:
            return True
        full = len(instance.queue) >= QUEUED_TURNS_MAX
        if event.part is SocketPart.OPEN:
            if full:
                text = f"{QUEUED_TURNS_MAX} turns wait for it already"
                self._refuse(turn, event, text, out)
                return False
            instance.sockets[event.socket] = Socket(event.socket, now_ms)
            data = {"socket": event.socket}
            entry = Entry(Kind.SOCKET_OPENED, now_ms, instance.id, turn.id, turn.cause, data)
            out.append(Record(entry))
            return True
        socket = instance.sockets.get(event.socket)
        if socket is None or socket.ended:
            out.append(Refuse(turn, "its socket is closed"))
            return False
        policy = self._policy
        size = event.size_bytes
        if size > policy.frame_bytes_max:
            text = f"a message has {size} bytes, and {policy.frame_bytes_max} are the most"
            self._shut(instance, socket, TOO_BIG, cut_reason(text), now_ms, out, error=text)
        elif (
            full
            or socket.waiting_count >= policy.events_max
            or socket.waiting_bytes + size > policy.waiting_bytes_max
        ):
            text = f"more than {policy.events_max} events or {policy.waiting_bytes_max} bytes wait"
            self._shut(instance, socket, TRY_AGAIN_LATER, text, now_ms, out)
        else:
            socket.waiting_count += 1
            socket.waiting_bytes += size
            return True
        out.append(Refuse(turn, "its socket is closed"))
        return False

    def turn_started(self, instance: Instance, event: SocketEvent) -> None:
        """A turn of a socket leaves the queue."""
        socket = instance.sockets.get(event.socket)
        if socket is None:
            return
        if event.part is SocketPart.OPEN:
            socket.started = True
        elif event.part is SocketPart.MESSAGE:
            socket.waiting_count -= 1
            socket.waiting_bytes -= event.size_bytes

    def turn_ended(
        self, instance: Instance, event: SocketEvent, ending: Ending, now_ms: int, out: Effects
    ) -> None:
        """A turn of a socket is over: a handler that failed ends its socket with 1011."""
        socket = instance.sockets.get(event.socket)
        if socket is None or instance.drop is not None:
            return  # Whoever leaves the memory takes the sockets along.
        succeeded = ending.outcome is Outcome.SUCCEEDED
        if event.part is SocketPart.CLOSE:
            del instance.sockets[event.socket]
            return
        if event.part is SocketPart.OPEN and succeeded:
            socket.established = True
            return
        failure = ending.failure
        reason = "" if failure is None or failure.own else cut_reason(failure.message)
        if event.part is SocketPart.OPEN:
            if not socket.ended:
                self._tell(instance, socket, INTERNAL_ERROR, reason, ClosedBy.PLATFORM, now_ms, out)
            self._withdraw(instance, socket.id, out)
            del instance.sockets[socket.id]
        elif not succeeded and not socket.ended:
            self._shut(instance, socket, INTERNAL_ERROR, reason, now_ms, out)

    def ended(
        self,
        instance: Instance,
        number: int,
        now_ms: int,
        out: Effects,
        *,
        code: int,
        reason: str = "",
        by: ClosedBy = ClosedBy.PLATFORM,
        error: str | None = None,
    ) -> None:
        """A socket was closed or broke, or its time is over."""
        socket = instance.sockets.get(number)
        if socket is None or socket.ended:
            return
        if by is ClosedBy.PLATFORM:
            self._shut(instance, socket, code, reason, now_ms, out, error=error)
            return
        self._tell(instance, socket, code, reason, by, now_ms, out)
        self._queue_end(instance, socket, code, reason, error)

    def dropped(self, instance: Instance, drop: Drop, now_ms: int, out: Effects) -> None:
        """The instance leaves the memory: its sockets go, without a turn that tells of it.

        Their graceful end has a code; a redeploy and a crash sever them. A socket whose handler
        has not begun yet is taken by the next object.
        """
        code = _CODE_AT_DROP.get(drop.reason, ABNORMAL)
        reason = self._policy.going_away if code == GOING_AWAY else ""
        for socket in list(instance.sockets.values()):
            if not socket.started and drop.reason != "stop":
                continue
            if not socket.ended:
                self._tell(instance, socket, code, reason, ClosedBy.PLATFORM, now_ms, out)
            self._withdraw(instance, socket.id, out)
            del instance.sockets[socket.id]

    def lost(
        self, instance: Instance, waiting: Sequence[Turn], message: str, now_ms: int, out: Effects
    ) -> None:
        """The row of the instance cannot be read, so none of its sockets can go on.

        Args:
            instance: whose.
            waiting: turns that waited for its row.
            message: why it cannot be read.
            now_ms, out: as everywhere.
        """
        for turn in waiting:
            if turn.socket is not None and turn.socket.part is SocketPart.OPEN:
                out.append(CloseSocket(turn.socket.socket, INTERNAL_ERROR, cut_reason(message)))
        for socket in list(instance.sockets.values()):
            if not socket.ended:
                reason = cut_reason(message)
                self._tell(instance, socket, INTERNAL_ERROR, reason, ClosedBy.PLATFORM, now_ms, out)
            self._withdraw(instance, socket.id, out)
        instance.sockets.clear()

    def _refuse(self, turn: Turn, event: SocketEvent, text: str, out: Effects) -> None:
        out.append(CloseSocket(event.socket, TRY_AGAIN_LATER, text))
        out.append(Refuse(turn, text))

    def _shut(
        self,
        instance: Instance,
        socket: Socket,
        code: int,
        reason: str,
        now_ms: int,
        out: Effects,
        *,
        error: str | None = None,
    ) -> None:
        """The platform ends a socket: what waits is dropped, and the actor is told."""
        self._tell(instance, socket, code, reason, ClosedBy.PLATFORM, now_ms, out)
        if self._withdraw(instance, socket.id, out):
            del instance.sockets[socket.id]  # Its handler never saw it.
        else:
            self._queue_end(instance, socket, code, reason, error)

    def _tell(
        self,
        instance: Instance,
        socket: Socket,
        code: int,
        reason: str,
        by: ClosedBy,
        now_ms: int,
        out: Effects,
    ) -> None:
        socket.ended = True
        instance.idle_since_ms = now_ms  # Until now the socket kept it from idling.
        if by is ClosedBy.PLATFORM:
            out.append(CloseSocket(socket.id, code, reason))
        data = {
            "socket": socket.id,
            "code": code,
            "reason": reason,
            "by": by.value,
            "lasted_ms": now_ms - socket.opened_at_ms,
        }
        cause = f"turn {socket.id}"
        out.append(Record(Entry(Kind.SOCKET_CLOSED, now_ms, instance.id, cause=cause, data=data)))

    def _queue_end(
        self, instance: Instance, socket: Socket, code: int, reason: str, error: str | None
    ) -> None:
        if error is not None:
            failed = SocketEvent(socket.id, SocketPart.ERROR, reason=error)
            instance.queue.append(self._turn(instance, failed))
        closed = SocketEvent(socket.id, SocketPart.CLOSE, code=code, reason=reason)
        instance.queue.append(self._turn(instance, closed))

    def _turn(self, instance: Instance, event: SocketEvent) -> Turn:
        return Turn(
            self._take_turn_id(),
            instance.id,
            TurnKind.SOCKET,
            event.part.value,
            f"turn {event.socket}",
            socket=event,
        )

    def _withdraw(self, instance: Instance, number: int, out: Effects) -> bool:
        """Take the waiting turns of a socket out of the queue; whether its first was one."""
        unseen = False
        waiting, instance.queue = instance.queue, deque()
        for turn in waiting:
            if turn.socket is None or turn.socket.socket != number:
                instance.queue.append(turn)
                continue
            unseen = unseen or turn.socket.part is SocketPart.OPEN
            out.append(Refuse(turn, "its socket is closed"))
        return unseen
