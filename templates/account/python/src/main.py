"""An account that cannot be overdrawn, however many debits arrive at once.

Amounts are whole cents: floats cannot hold money exactly.
"""

import asyncio
from typing import Any

from edgeemu import ActorMethodError, Request, Response, StatefulActor

REVIEWED_FROM_CENTS = 100_000
"""Debits from this amount on are reviewed before they are made."""

REVIEW_SECONDS = 2


class Account(StatefulActor):
    async def balance(self) -> int:
        return await self.ctx.storage.get("balance", 0)

    async def credit(self, cents: int, payment_id: str | None = None) -> int:
        """Pay in; the new balance. A payment with an id counts once, however often it is sent."""
        _check_amount(cents)
        return await self._book(cents, payment_id)

    async def debit(self, cents: int, payment_id: str | None = None) -> int:
        """Pay out; the new balance. It fails where there is not enough."""
        _check_amount(cents)
        return await self._book(-cents, payment_id)

    async def _book(self, cents: int, payment_id: str | None) -> int:
        # A caller that got no answer does not know whether its payment was made, so it sends it
        # again, under the same id. It must not be booked twice.
        payment = f"payment/{payment_id}"
        if payment_id is not None:
            booked = await self.ctx.storage.get(payment)
            if booked is not None:
                return booked["balance"]

        balance = await self.ctx.storage.get("balance", 0)
        if -cents >= REVIEWED_FROM_CENTS:
            # Here the turn waits, on the emulated clock: asyncio.sleep follows it. Other calls of
            # this account wait for their turn meanwhile, so `balance` is still right afterwards.
            await asyncio.sleep(REVIEW_SECONDS)
        if balance + cents < 0:
            raise ValueError(f"insufficient funds: {balance} is less than {-cents}")

        # Both writes are kept as one: no crash can leave a payment without its booking.
        await self.ctx.storage.put("balance", balance + cents)
        if payment_id is not None:
            # These markers stay. An account with many payments drops old ones by an alarm.
            await self.ctx.storage.put(payment, {"cents": cents, "balance": balance + cents})
        return balance + cents


def _check_amount(cents: int) -> None:
    if type(cents) is not int or cents <= 0:
        raise ValueError(f"an amount is a whole number of cents above 0, not {cents!r}")


# GET /NAME is the balance. POST /NAME/credit and POST /NAME/debit take
# {"cents": 500, "payment_id": "p1"}.
async def fetch(request: Request, env: Any) -> Response:
    name, _, action = request.path.strip("/").partition("/")
    if not name or action not in ("", "credit", "debit"):
        return Response("GET /NAME, POST /NAME/credit or POST /NAME/debit", status=404)
    account = env.ACCOUNT.id_from_name(name)
    if not action:
        return Response.json({"balance": await account.balance()})
    payment = await request.json()
    book = account.credit if action == "credit" else account.debit
    try:
        balance = await book(payment["cents"], payment.get("payment_id"))
    except ActorMethodError as error:
        # Of an error in an actor its caller sees the message, not the class.
        if not str(error).startswith("insufficient funds"):
            raise
        return Response.json({"error": str(error)}, status=409)
    return Response.json({"balance": balance})
