"""Values that cannot travel, each in three places: stored, as an argument, as a result."""

import asyncio
import io
import weakref
from collections.abc import Callable
from enum import Enum
from typing import Any

from edgeemu import StatefulActor
from edgeemu.codec import UNDEFINED
from edgeemu.sdk.errors import CodecError


class Point:
    pass


class Colour(Enum):
    RED = 1


def circular():
    first: list = []
    first.append({"again": [first]})
    return first


def promise():
    return asyncio.get_running_loop().create_future()


BAD: dict[str, Callable[[], Any]] = {
    "function": lambda: len,
    "closure": lambda: lambda: 1,
    "class": lambda: Point,
    "instance": Point,
    "instance inside": lambda: {"list": [1, {"deep": Point()}]},
    "instance as a key": lambda: {Point(): 1},
    "instance in a set": lambda: {Point()},
    "circular": circular,
    "promise": promise,
    "promise inside": lambda: {"p": promise()},
    "stream": lambda: io.BytesIO(b"data"),
    "generator": lambda: iter([1]),
    "error": lambda: ValueError("x"),
    "symbol": object,
    "enumeration": lambda: Colour.RED,
    "weak set": weakref.WeakSet,
}


class A(StatefulActor):
    async def stores(self, names):
        """What is not refused with a CodecError, or changes what was stored before."""
        wrong = []
        await self.ctx.storage.put("k", "old")
        for name in names:
            try:
                await self.ctx.storage.put("k", BAD[name]())
                wrong.append(name)
            except CodecError as error:
                if error.name != "CodecError" or await self.ctx.storage.get("k") != "old":
                    wrong.append(name)
        return wrong

    async def sends(self, names):
        """What is not refused as an argument."""
        wrong, other = [], self.env.B.id_from_name("y")
        for name in names:
            try:
                await other.takes(1, BAD[name]())
                wrong.append(name)
            except CodecError:
                pass
        return wrong

    async def receives(self, names):
        """What is not refused as a result."""
        wrong, other = [], self.env.B.id_from_name("y")
        for name in names:
            try:
                await other.gives(name)
                wrong.append(name)
            except CodecError:
                pass
        return wrong

    async def undefined(self):
        """Undefined alone: refused as a value, sent as an argument and as a result."""
        try:
            await self.ctx.storage.put("k", UNDEFINED)
            refused = False
        except CodecError:
            refused = True
        echoed = await self.env.B.id_from_name("y").echo(UNDEFINED)
        return [refused, echoed is UNDEFINED]

    async def buffers(self):
        """The bytes of a buffer and of a view into one, as they come back."""
        await self.ctx.storage.put("buffer", bytearray(b"hi"))
        await self.ctx.storage.put("view", memoryview(b"there")[1:3])
        return [list(await self.ctx.storage.get(key)) for key in ("buffer", "view")]

    async def whole_number(self):
        """An integral number looks the same however it was written."""
        await self.ctx.storage.put("k", 5.0)
        await self.ctx.storage.put("l", 5)
        first, second = await self.ctx.storage.get("k"), await self.ctx.storage.get("l")
        return [first, second, str(first) == str(second)]


class B(StatefulActor):
    async def takes(self, first, second):
        await self.ctx.storage.put("taken", first)

    async def gives(self, name):
        await self.ctx.storage.put("k", name)
        await self.ctx.storage.set_alarm(self.ctx.now_ms() + 1_000)
        return BAD[name]()

    async def echo(self, value):
        return value
