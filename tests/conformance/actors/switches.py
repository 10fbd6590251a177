"""Names and sizes that the platform may not take, and what switches make of them."""

from edgeemu import StatefulActor


class A(StatefulActor):
    async def put_key(self, size, character):
        return await self._kept(character * size, 1)

    async def put_value(self, size):
        # The text of the value, and its two quotation marks.
        return await self._kept("k", "x" * (size - 2))

    async def put_value_in_transaction(self, size):
        async def body(txn):
            try:
                await txn.put("k", "x" * (size - 2))
            except Exception:
                return "refused"
            return "kept"

        return await self.ctx.storage.transaction(body)

    async def _kept(self, key, value):
        try:
            await self.ctx.storage.put(key, value)
        except Exception:
            return "refused"
        return "kept"

    async def names(self, names):
        found = []
        for name in names:
            try:
                found.append(self.env.A.id_from_name(name).id)
            except TypeError:
                found.append("refused")
        return found

    async def unique(self):
        """Two names: of what they are made, whether they differ, and whom they reach."""
        one, two = self.env.A.new_unique_id(), self.env.A.new_unique_id()
        await one.touch()
        again = self.env.A.id_from_name(one.id)
        digits = set(one.id + two.id) <= set("0123456789abcdef")
        return [len(one.id), digits, one.id != two.id, await again.touched()]

    async def touch(self):
        await self.ctx.storage.put("touched", True)

    async def touched(self):
        return await self.ctx.storage.get("touched")
