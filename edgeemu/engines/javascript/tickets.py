"""What turns wait for in JavaScript: timers, calls, answers of the outside."""

from asyncio import Future
from collections.abc import Callable
from typing import Any

from edgeemu.engines.javascript.calls import told_error
from edgeemu.engines.javascript.frames import Timer
from edgeemu.engines.javascript.realm import Realm, Scope, Ticket
from edgeemu.engines.python.loop import EmulatorLoop, World


class Tickets:
    """Settles the tickets of all turns.

    Args:
        loop, world: on which everything runs.
        scopes: the turns that are not forgotten.
        settle: tells a process what became of a ticket: turn, process, number, whether it failed,
            and with what.
    """

    def __init__(
        self,
        loop: EmulatorLoop,
        world: World,
        scopes: dict[int, Scope],
        settle: Callable[[Scope | None, Realm, int, bool, Any], None],
    ) -> None:
        self._loop = loop
        self._world = world
        self._scopes = scopes
        self._settle = settle

    def ask(
        self,
        realm: Realm,
        turn_id: int,
        number: int,
        outside: bool,
        future: "Future[Any]",
        written: Callable[[Any], Any],
    ) -> None:
        """Settle a ticket when a future is done."""
        self._note(realm, turn_id, number, outside=outside)

        def answered(done: "Future[Any]") -> None:
            ticket = self._take(realm, number)
            if ticket is None:
                if not done.cancelled():
                    done.exception()
                return
            error = done.exception()
            if error is None:
                self._settle(ticket.scope, realm, number, False, written(done.result()))
            elif isinstance(error, Exception):
                self._settle(ticket.scope, realm, number, True, told_error(error))

        future.add_done_callback(answered, context=self._loop.plain_context)

    def plan(self, realm: Realm, frame: Timer) -> None:
        """Settle a ticket at an instant."""
        ticket = self._note(realm, frame.turn, frame.ticket)

        def fire() -> None:
            # Its number in the order of the loop is that of its time, as for Python code.
            self._loop.call_soon(self._fire, realm, frame.ticket, context=self._loop.plain_context)

        ticket.timer = self._world.timers.add(frame.at_ms, fire)

    def clear(self, realm: Realm, number: int) -> None:
        """Give a timer up."""
        ticket = self._take(realm, number)
        if ticket is not None and ticket.timer is not None:
            ticket.timer.cancel()

    def forget(self, scope: Scope) -> None:
        """Nothing of a turn waits any more."""
        for number, ticket in scope.tickets.items():
            scope.world.tickets.pop(number, None)
            if ticket.timer is not None:
                ticket.timer.cancel()
        scope.tickets.clear()

    def _fire(self, realm: Realm, number: int) -> None:
        ticket = self._take(realm, number)
        if ticket is not None:
            self._settle(ticket.scope, realm, number, False, None)

    def _note(
        self, realm: Realm, turn_id: int | None, number: int, *, outside: bool = False
    ) -> Ticket:
        scope = None if turn_id is None else self._scopes.get(turn_id)
        ticket = realm.tickets[number] = Ticket(scope, outside)
        if scope is not None:
            scope.tickets[number] = ticket
        return ticket

    def _take(self, realm: Realm, number: int) -> Ticket | None:
        ticket = realm.tickets.pop(number, None)
        if ticket is not None and ticket.scope is not None:
            ticket.scope.tickets.pop(number, None)
        return ticket
