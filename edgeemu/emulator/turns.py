"""Asking for turns from outside, and waiting for them without ever hanging on a frozen clock."""

import asyncio
from typing import Any

from edgeemu.clock import ClockMode, pause_real_ms
from edgeemu.codec import decode
from edgeemu.core.events import EvictRequested, Failure, Outcome, TurnKind
from edgeemu.core.names import odd_name_text
from edgeemu.emulator import problems
from edgeemu.emulator.requests import Edit, TurnReply
from edgeemu.emulator.shell import Shell
from edgeemu.engines.port import Engine, Waiting, Work
from edgeemu.errors import EdgeemuError
from edgeemu.ids import InstanceId
from edgeemu.limits import OUTSIDE_POLL_MS


class TurnRequests:
    """What the parts of the facade share: one way to ask for a turn and to wait for its end.

    Args:
        shell: that runs the turns.
        engine: that runs their code.
        alone: whether nobody else can move the clock meanwhile.
        io_wait_ms: real ms that a turn may wait on the outside.
    """

    def __init__(self, shell: Shell, engine: Engine, *, alone: bool, io_wait_ms: int) -> None:
        self.shell = shell
        self._engine = engine
        self._alone = alone
        self._io_wait_ms = io_wait_ms
        self._failed_assertion: AssertionError | None = None

    def fail_fast(self) -> None:
        """Remember the first assertion that fails in actor code."""

        def note(error: AssertionError) -> None:
            self._failed_assertion = self._failed_assertion or error

        self.shell.on_failed_assertion = note

    def take_failed_assertion(self) -> AssertionError | None:
        """The assertion that failed in an actor, once."""
        error, self._failed_assertion = self._failed_assertion, None
        return error

    def check_name(self, instance: InstanceId) -> None:
        """Warn of a name that is not safe on the platform, once a name (U15).

        Raises:
            EdgeemuError: `E_ADDRESS_INVALID` in strict mode.
        """
        odd = odd_name_text(instance.name, self.shell.machine.profile)
        if odd is not None:
            if self.shell.around.strict:
                raise problems.odd_name(instance, odd)
            self.shell.notices.warn("W_NAME_ODD", odd, None, instance, key=instance.name)

    async def edit(self, instance: InstanceId, edit: Edit, cause: str) -> None:
        """Make a change from outside, in its turn; the instance is not woken.

        Raises:
            EdgeemuError: as `wait_edit`.
        """
        self.check_name(instance)
        future = self.shell.request(instance, TurnKind.EDIT, edit=edit, cause=cause)
        await self.wait_edit(instance, future)

    def answer_of(self, instance: InstanceId, what: str, reply: TurnReply) -> Any:
        """What a turn gave back.

        Raises:
            EdgeemuError: if it failed or did not take place.
        """
        if self.shell.broken is not None:
            raise self.shell.broken
        if reply.ending is None and isinstance(reply.error, EdgeemuError):
            raise reply.error
        if reply.ending is None:
            raise problems.refused(instance, reply.refused or "")
        if reply.ending.outcome is Outcome.SUCCEEDED:
            return reply.answer
        if isinstance(reply.error, EdgeemuError):  # The state is at fault, not the actor.
            raise reply.error
        failed = self.take_failed_assertion()
        if failed is not None:
            raise failed
        failure = reply.ending.failure or Failure("ActorError", "the turn failed")
        kept = reply.ending.commit
        raise problems.actor_failed(instance, what, failure, kept=kept) from reply.error

    async def wait_reply(self, future: "asyncio.Future[TurnReply]") -> TurnReply:
        """This waits for a turn to end.

        Raises:
            EdgeemuError: `E_FROZEN_WAIT` when it waits for time that nobody can move.
        """
        if not self._alone:
            return await future
        engine = self._engine
        io_wait_ms = self._io_wait_ms
        while not future.done():
            rested = await engine.settle(io_wait_ms)
            if future.done():
                break
            frozen = self.shell.clock.mode is ClockMode.FROZEN
            if frozen and not rested:  # No budget ends what spins while the time stands still.
                spinning = next(iter(engine.waiting()), None)
                raise problems.never_waits(spinning, io_wait_ms)
            if frozen and not engine.waiting(outside_only=True):
                waiting = next(iter(engine.waiting()), None)
                if self.shell.cycle is not None:
                    raise problems.call_cycle(self.shell.cycle)
                raise problems.frozen_wait(waiting, self.shell.clock.now_ms())
            await pause_real_ms(OUTSIDE_POLL_MS)
        return await future

    async def wait_edit(self, instance: InstanceId, future: "asyncio.Future[TurnReply]") -> None:
        """This waits for a change from outside to take its turn.

        Raises:
            EdgeemuError: `E_FROZEN_WAIT` when the turn before it waits on a frozen clock; the
                change is then withdrawn. `E_ACTOR_FAILED` when it was refused or not kept.
        """
        engine, clock = self._engine, self.shell.clock
        while not future.done():
            rested = await engine.settle(self._io_wait_ms)
            if future.done():
                break
            waiting = self.waiting_of(instance)
            if clock.mode is ClockMode.FROZEN and not rested:
                self.shell.withdraw(future)
                raise problems.never_waits(waiting, self._io_wait_ms)
            if clock.mode is ClockMode.FROZEN and not (waiting and waiting.outside):
                self.shell.withdraw(future)
                raise problems.busy(instance, waiting, clock.now_ms())
            await pause_real_ms(OUTSIDE_POLL_MS)
        self.answer_of(instance, "the change", await future)

    async def evict(self, instance: InstanceId | None, *, crash: bool, cause: str) -> list[str]:
        """Drop one instance, or all, from memory; which ones were there.

        Raises:
            EdgeemuError: `E_FROZEN_WAIT` when a turn waits for time that nobody can move.
        """
        machine, clock = self.shell.machine, self.shell.clock
        evicted = []
        for known in list(machine.known()):
            if instance is not None and known.id != instance:
                continue
            if not known.resident and known.running is None:
                continue
            evicted.append(known.id)
            self.shell.dispatch(EvictRequested(clock.now_ms(), known.id, crash, cause))
        for dropped in evicted:
            while (found := machine.find(dropped)) is not None and found.drop is not None:
                await self._engine.settle(self._io_wait_ms)
                if clock.mode is ClockMode.FROZEN and found.drop is not None:
                    waiting = self.waiting_of(dropped)
                    if not (waiting and waiting.outside):
                        raise problems.evict_waits(dropped, waiting, clock.now_ms())
                await pause_real_ms(OUTSIDE_POLL_MS)
        self.shell.flush()
        return sorted(map(str, evicted))

    def waiting_of(self, instance: InstanceId) -> Waiting | None:
        """Where the running turn of an instance waits, if one does."""
        found = [item for item in self._engine.waiting() if item.instance == instance]
        return found[0] if found else None


class StartedCall:
    """A call that was asked for; its turn may run already, or wait for others or for time."""

    def __init__(
        self, turns: TurnRequests, instance: InstanceId, method: str, args: bytes, cause: str
    ) -> None:
        self._turns = turns
        self._instance = instance
        self._method = method
        turns.check_name(instance)
        work = Work(TurnKind.CALL, method, args)
        self._future = turns.shell.request(instance, TurnKind.CALL, work=work, cause=cause)

    @property
    def done(self) -> bool:
        """Whether the turn has ended, and all that it left is safe."""
        return self._future.done()

    async def wait_result(self) -> Any:
        """This waits for the turn to end; its decoded result.

        Raises:
            EdgeemuError: as `Emulator.call`.
        """
        return decode(await self.wait_encoded())

    async def wait_encoded(self) -> bytes:
        """This waits for the turn to end; its result as the codec writes it.

        Raises:
            EdgeemuError: as `Emulator.call`.
        """
        reply = await self._turns.wait_reply(self._future)
        answer = self._turns.answer_of(self._instance, self._method, reply)
        return answer if isinstance(answer, bytes) else b"null"
