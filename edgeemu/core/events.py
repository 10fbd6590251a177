"""The vocabulary of the core: what goes in (events) and what comes out (effects). No decisions."""

from enum import StrEnum

from msgspec import Struct

from edgeemu.core.journal import Entry
from edgeemu.core.rows import Alarm, AlarmWrite, Fault, FaultHow, InstanceRow
from edgeemu.core.warnings import Warn
from edgeemu.ids import InstanceId


class TurnKind(StrEnum):
    """What a turn is for."""

    INIT = "init"
    CALL = "call"
    FETCH = "fetch"
    ALARM = "alarm"
    SOCKET = "socket"
    EDIT = "edit"
    """A change from outside (storage, alarm, faults) that takes its place in the queue."""


class SocketPart(StrEnum):
    """What a turn of a WebSocket is about (spec/telnyx-actors.md section 11)."""

    OPEN = "open"
    """Its handler is asked to take the socket."""
    MESSAGE = "message"
    ERROR = "error"
    CLOSE = "close"


class SocketEvent(Struct, frozen=True):
    """One thing that happened on a WebSocket, as plain data.

    Attributes:
        socket: its number, which is that of the turn that opened it.
        part: what happened.
        data: of a message: `str` for a text frame, `bytes` for a binary one.
        size_bytes: of the message on the wire.
        code: of a close.
        reason: of a close, or what an error says.
    """

    socket: int
    part: SocketPart
    data: str | bytes = b""
    size_bytes: int = 0
    code: int = 0
    reason: str = ""


class Turn(Struct, frozen=True):
    """One dispatched unit of work on one instance.

    Attributes:
        id: unique in a state folder, growing.
        method: for a call.
        cause: what led to it, as the journal tells it.
        generation: for an alarm, of the alarm that is due; None delivers whichever is pending.
        socket: for a WebSocket, what happened on it.
    """

    id: int
    instance: InstanceId
    kind: TurnKind
    method: str | None = None
    cause: str = ""
    generation: int | None = None
    socket: SocketEvent | None = None


class Outcome(StrEnum):
    """How a turn ended."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    CRASHED = "crashed"


class Failure(Struct, frozen=True):
    """An error of a turn.

    Attributes:
        name: of its class.
        message: its text.
        where: the `file:line` of the user's code in which it arose.
        trace: the user's own frames, as text.
        own: whether the user's code raised it; a caller then sees `ActorMethodError` (section 7).
        raised_in: where it arose, if that was in another actor: `deposit of Account/q at a.py:9`.
    """

    name: str
    message: str
    where: str | None = None
    trace: str | None = None
    own: bool = False
    raised_in: str | None = None

    @property
    def seen_name(self) -> str:
        """The name that a caller sees."""
        return "ActorMethodError" if self.own else self.name


class Ending(Struct, frozen=True):
    """How a turn ended, as its engine reports it.

    Attributes:
        outcome: how.
        failure: the error, unless it succeeded.
        alarm: what the turn did to the alarm.
        wrote: whether it wrote anything else.
        faults: for an edit that plans faults, the new list.
        poison: why a transaction of the turn failed, if one did; the core judges by it.
        commit: whether the writes of a turn that did not succeed are kept all the same.
        took_ns: real nanoseconds spent, for the log only.
        left_alarm_at: the `file:line` that deleted all keys beside a pending alarm, if one did.
    """

    outcome: Outcome
    failure: Failure | None = None
    alarm: AlarmWrite | None = None
    wrote: bool = False
    faults: tuple[Fault, ...] | None = None
    poison: Failure | None = None
    commit: bool = False
    took_ns: int = 0
    left_alarm_at: str | None = None


# --- events: what happened ---------------------------------------------------------------------


class TurnRequested(Struct, frozen=True):
    """Somebody wants a turn on an instance."""

    now_ms: int
    turn: Turn

    @property
    def instance(self) -> InstanceId:
        """The instance that it is for."""
        return self.turn.instance


class TurnWithdrawn(Struct, frozen=True):
    """A turn that still waits in its queue is wanted no more."""

    now_ms: int
    turn: Turn

    @property
    def instance(self) -> InstanceId:
        """The instance that it was for."""
        return self.turn.instance


class AlarmDue(Struct, frozen=True):
    """The store says that the alarm of an instance is due."""

    now_ms: int
    instance: InstanceId
    generation: int


class InstanceLoaded(Struct, frozen=True):
    """The row of an instance was read."""

    now_ms: int
    instance: InstanceId
    row: InstanceRow


class LoadFailed(Struct, frozen=True):
    """The row of an instance could not be read."""

    now_ms: int
    instance: InstanceId
    message: str


class TurnEnded(Struct, frozen=True):
    """The code of a turn came to its end, or to the end of its budget."""

    now_ms: int
    turn_id: int
    ending: Ending


class TurnCommitted(Struct, frozen=True):
    """What a turn left is safe in the store."""

    now_ms: int
    turn_id: int


class CommitFailed(Struct, frozen=True):
    """What a turn left could not be stored: nothing of it is kept."""

    now_ms: int
    turn_id: int
    message: str


class EvictRequested(Struct, frozen=True):
    """An instance is to leave the memory: between turns, or (`crash`) in the middle of one."""

    now_ms: int
    instance: InstanceId
    crash: bool = False
    cause: str = ""


class TimePassed(Struct, frozen=True):
    """The clock shows `now_ms`: instances that idled long enough are dropped."""

    now_ms: int


class CodeReplaced(Struct, frozen=True):
    """New code is in place: instances in memory are of the old one."""

    now_ms: int


class ClosedBy(StrEnum):
    """Who ended a WebSocket."""

    CLIENT = "client"
    ACTOR = "actor"
    PLATFORM = "platform"


class SocketEnded(Struct, frozen=True):
    """A WebSocket is closed, or broke.

    Attributes:
        socket: its number.
        code: 1005 where there was none, 1006 without a closing handshake.
        reason: in words, or empty.
        by: who closed it first.
        error: what was wrong, if the client broke the protocol.
    """

    now_ms: int
    instance: InstanceId
    socket: int
    code: int
    reason: str
    by: ClosedBy
    error: str | None = None


class SocketExpired(Struct, frozen=True):
    """A WebSocket has lived as long as the platform lets one."""

    now_ms: int
    instance: InstanceId
    socket: int


class HostStopping(Struct, frozen=True):
    """The emulator is told to stop: clients of WebSockets are told, too."""

    now_ms: int


Event = (
    TurnRequested
    | TurnWithdrawn
    | AlarmDue
    | InstanceLoaded
    | LoadFailed
    | TurnEnded
    | TurnCommitted
    | CommitFailed
    | EvictRequested
    | TimePassed
    | CodeReplaced
    | SocketEnded
    | SocketExpired
    | HostStopping
)


# --- effects: what is to be done ---------------------------------------------------------------


class LoadInstance(Struct, frozen=True):
    """Read the row of an instance and answer with `InstanceLoaded`."""

    instance: InstanceId


class StartTurn(Struct, frozen=True):
    """Run the code of a turn and answer with `TurnEnded`, at the latest when the budget is over.

    Attributes:
        alarm: the pending alarm as the turn sees it; None inside an alarm turn (U51).
        timeout_ms: the budget in virtual ms; None for no budget.
        retry_count: for an alarm turn.
        crash: the handler runs, then the instance is lost: a planned fault.
    """

    turn: Turn
    alarm: Alarm | None
    timeout_ms: int | None
    retry_count: int = 0
    crash: FaultHow | None = None


class StopTurn(Struct, frozen=True):
    """Stop running the code of a turn; what it still writes is discarded."""

    turn: Turn


class CommitTurn(Struct, frozen=True):
    """Store the row, and the turn's keys if `keep_writes`, as one; answer with `TurnCommitted`."""

    turn: Turn
    row: InstanceRow
    keep_writes: bool


class AlarmOutcome(Struct, frozen=True):
    """What became of an alarm delivery, for whoever asked for it.

    Attributes:
        retry_count: of the delivery.
        gave_up: whether the alarm is deleted for good after a failure.
        next: the alarm that is pending now.
        started_at_ms, ended_at_ms: of the delivery, in emulated time.
    """

    retry_count: int
    gave_up: bool
    next: Alarm | None
    started_at_ms: int
    ended_at_ms: int


class Reply(Struct, frozen=True):
    """Tell whoever asked for the turn how it ended."""

    turn: Turn
    ending: Ending
    alarm: AlarmOutcome | None = None


class Refuse(Struct, frozen=True):
    """Tell whoever asked for the turn that it does not take place."""

    turn: Turn
    reason: str


class DropInstance(Struct, frozen=True):
    """Forget the object of an instance that is in memory."""

    instance: InstanceId
    reason: str


class CloseSocket(Struct, frozen=True):
    """Close a WebSocket towards its client; 1006 severs it, without a closing handshake."""

    socket: int
    code: int
    reason: str = ""


class Record(Struct, frozen=True):
    """Write an entry into the journal."""

    entry: Entry


Effect = (
    LoadInstance
    | StartTurn
    | StopTurn
    | CommitTurn
    | Reply
    | Refuse
    | DropInstance
    | CloseSocket
    | Record
    | Warn
)

Effects = list[Effect]
"""Effects in the order in which they are to be carried out."""
