"""Alarms: delivery, retries, replacement, lateness."""

import asyncio

from edgeemu import StatefulActor


class A(StatefulActor):
    """Records each delivery; the keys `throws`, `rearm` and `sleep` say what the handler does."""

    async def arm(self, after_ms):
        await self.ctx.storage.set_alarm(self.ctx.now_ms() + after_ms)

    async def arm_at(self, when_ms):
        await self.ctx.storage.set_alarm(when_ms)

    async def clear(self):
        await self.ctx.storage.delete_alarm()
        return await self.ctx.storage.get_alarm()

    async def when(self):
        return await self.ctx.storage.get_alarm()

    async def plan(self, plan):
        await self.ctx.storage.put("plan", plan)

    async def past(self, when_ms):
        await self.ctx.storage.set_alarm(when_ms)
        await self.ctx.storage.put("k", 1)
        await asyncio.sleep(1)
        return await self.ctx.storage.get("runs", [])

    async def busy(self, seconds, clear):
        await asyncio.sleep(seconds)
        if clear:
            await self.ctx.storage.delete_alarm()

    async def alarm(self, info):
        storage, now_ms = self.ctx.storage, self.ctx.now_ms()
        plan = await storage.get("plan", {})
        run = {"at": now_ms, "retry": info.retry_count, "is_retry": info.is_retry}
        if plan.get("look"):
            run["alarm"] = await storage.get_alarm()
        runs = [*await storage.get("runs", []), run]
        if plan.get("rearm_ms") is not None and len(runs) < plan.get("runs_max", 1_000_000):
            await storage.set_alarm(now_ms + plan["rearm_ms"])
            if plan.get("look"):
                run["then"] = await storage.get_alarm()
        if plan.get("clear"):
            await storage.delete_alarm()
        await storage.put("runs", runs)
        if plan.get("sleep_s"):
            await asyncio.sleep(plan["sleep_s"])
        if info.retry_count < plan.get("throws", 0):
            raise ValueError(f"attempt {info.retry_count}")

    async def info(self):
        return await self.ctx.storage.get("info")


class B(StatefulActor):
    """Has no handler."""

    async def arm(self, after_ms):
        await self.ctx.storage.set_alarm(self.ctx.now_ms() + after_ms)


class C(StatefulActor):
    """Records all there is in the info of a delivery."""

    async def arm(self, after_ms):
        await self.ctx.storage.set_alarm(self.ctx.now_ms() + after_ms)

    async def alarm(self, info):
        platform = {"retry_count": "retryCount", "is_retry": "isRetry"}
        names = [platform.get(name, name) for name in dir(info) if not name.startswith("_")]
        await self.ctx.storage.put("info", sorted(names))
