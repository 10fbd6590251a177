"""`storage.transaction`: buffers over what a turn has written, and what a failed one does to it.

Promise: the writes of a transaction reach the turn together when it succeeds, and not at all when
it fails; a turn with a failed transaction never ends as a success.

Emulates: spec/telnyx-actors.md section 6.3, U34 to U38.
"""

from msgspec.structs import replace

from edgeemu.core.events import Ending, Failure, Outcome
from edgeemu.core.overlay import KeyRange, ReadKey, ReadRange, TurnWrites
from edgeemu.sdk.errors import ActorError


class Transactions:
    """The transactions of one turn, each known by its number.

    Transactions that run beside one another see what the turn, and with it each one that has
    committed, wrote; the last to commit a key wins.
    """

    __slots__ = ("_begun", "_buffers", "_writes", "failure")

    def __init__(self, writes: TurnWrites) -> None:
        self._writes = writes
        self._buffers: dict[int, TurnWrites] = {}
        self._begun = 0
        self.failure: Failure | None = None
        """Why the first one failed that did."""

    def begin(self, within: int | None) -> int:
        """Open one; its number.

        Args:
            within: the transaction in whose function the code runs that asks; None for none.

        Raises:
            ActorError: inside another one that is still open (U36).
        """
        if within in self._buffers:
            raise ActorError(
                "a transaction cannot begin inside another one: "
                "use the transaction that is open, or begin after it has ended"
            )
        self._begun += 1
        self._buffers[self._begun] = TurnWrites()
        return self._begun

    def get(self, txn: int, key: str, read: ReadKey) -> bytes | None:
        """The encoded value that a transaction sees."""
        return self._buffer(txn).get(key, lambda key: self._writes.get(key, read))

    def put(self, txn: int, key: str, data: bytes) -> None:
        """Write an encoded value."""
        self._buffer(txn).put(key, data)

    def delete(self, txn: int, key: str, read: ReadKey) -> bool:
        """Delete a key; whether the transaction saw it."""
        return self._buffer(txn).delete(key, lambda key: self._writes.get(key, read))

    def list(self, txn: int, keys: KeyRange, read: ReadRange) -> list[tuple[str, bytes]]:
        """The entries in a range as a transaction sees them."""
        return self._buffer(txn).list(keys, lambda keys: self._writes.list(keys, read))

    def commit(self, txn: int, read: ReadKey) -> None:
        """Give what was buffered to the turn, with which it commits."""
        for key, data in self._end(txn).puts.items():
            if data is None:
                self._writes.delete(key, read)
            else:
                self._writes.put(key, data)

    def roll_back(self, txn: int, failure: Failure) -> None:
        """Drop what was buffered; the turn can succeed no more."""
        self._end(txn)
        self.failure = self.failure or failure

    def _end(self, txn: int) -> TurnWrites:
        buffer = self._buffer(txn)
        del self._buffers[txn]
        return buffer

    def _buffer(self, txn: int) -> TurnWrites:
        buffer = self._buffers.get(txn)
        if buffer is None:  # U37.
            raise ActorError("the transaction has ended: it can be used inside its function only")
        return buffer


def judged(ending: Ending) -> Ending:
    """How a turn really ended, if one of its transactions failed.

    The code may have caught the error: then its caller sees `ActorOutputGateError` all the same,
    and the other writes of the turn are kept. If it raised, nothing is kept (U34).
    """
    cause, raised = ending.poison, ending.failure
    if cause is None or ending.outcome not in (Outcome.SUCCEEDED, Outcome.FAILED):
        return ending
    if raised is not None and raised.name == "ActorOutputGateError" and not raised.own:
        return ending  # It was not awaited: the engine has said so already.
    text = f"a transaction failed: {_told(cause)}"
    if raised is None:
        gate = replace(cause, name="ActorOutputGateError", message=text, own=False)
        return replace(ending, outcome=Outcome.FAILED, failure=gate, commit=True)
    if _told(raised) == _told(cause):
        cause = raised  # The same error; its frames go on to the method.
    else:
        text += f"; then {_told(raised)}"
    gate = replace(cause, name="ActorOutputGateError", message=text, own=False)
    return replace(ending, failure=gate)


def _told(failure: Failure) -> str:
    return f"{failure.name}: {failure.message}" if failure.message else failure.name
