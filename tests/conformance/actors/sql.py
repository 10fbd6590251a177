"""SQL."""

import asyncio
from array import array

from edgeemu import StatefulActor
from edgeemu.codec import UNDEFINED

MIB_2 = 2 * 1024 * 1024


class Error(Exception):
    """Goes by the name that errors have in the other language, too."""


class A(StatefulActor):
    def run(self, query, params=()):
        return self.ctx.storage.sql.exec(query, *params).to_list()

    def value(self, query, *params):
        (row,) = self.run(query, params)
        return next(iter(row.values()))

    def tried(self, query, params=()):
        """Name and message of the error, or nothing."""
        return self._error(lambda: self.run(query, params))

    def _error(self, function):
        try:
            function()
        except Exception as error:
            return [getattr(error, "name", type(error).__name__), str(error)]
        return None

    def fill(self, count):
        self.run("CREATE TABLE IF NOT EXISTS t (a INTEGER PRIMARY KEY, b)")
        for number in range(1, count + 1):
            self.run("INSERT INTO t VALUES (?, ?)", [number, f"row {number}"])

    def single_pass(self):
        cursor = self.ctx.storage.sql.exec("SELECT a FROM t ORDER BY a")
        taken = []
        for row in cursor:
            taken.append(row["a"])
            if len(taken) == 2:
                break
        return [taken, cursor.to_list(), cursor.to_list()]

    def after(self, query, params=()):
        """The error of a query, and the rows of `t` as the turn sees them behind it."""
        return [self.tried(query, params), self.run("SELECT * FROM t ORDER BY a")]

    def control(self, query, params=()):
        """Whether it is refused as control of transactions, not else; and what `t` holds then."""
        told = self.tried(query, params)
        return [told[0] == "SqlTransactionControlError", self.value("SELECT count(*) FROM t")]

    def refused(self, query):
        return self.tried(query)[0] == "SqlError"

    # --- transaction_sync ---

    def kept(self):
        def insert():
            self.run("INSERT INTO t VALUES (100, 'kept')")
            return "the value"

        return self.ctx.storage.transaction_sync(insert)

    def undone(self):
        def insert():
            self.run("INSERT INTO t VALUES (101, 'undone')")
            raise Error("no")

        return self._error(lambda: self.ctx.storage.transaction_sync(insert))

    def multiple_undone(self):
        def insert():
            self.run("INSERT INTO t VALUES (102, 'undone'); INSERT INTO nowhere VALUES (1)")

        return self._error(lambda: self.ctx.storage.transaction_sync(insert))

    def asynchronous(self):
        async def insert():
            self.run("INSERT INTO t VALUES (103, 'undone')")

        return self._error(lambda: self.ctx.storage.transaction_sync(insert))[0]

    def awaitable(self):
        def insert():
            self.run("INSERT INTO t VALUES (104, 'undone')")
            return self.ctx.storage.get("k")

        return self._error(lambda: self.ctx.storage.transaction_sync(insert))[0]

    def nested(self):
        sync = self.ctx.storage.transaction_sync

        def inner(number, fails):
            self.run("INSERT INTO t VALUES (?, 'inner')", [number])
            if fails:
                raise Error("no")

        def outer():
            self.run("INSERT INTO t VALUES (110, 'outer')")
            sync(lambda: inner(111, False))
            self._error(lambda: sync(lambda: inner(112, True)))
            sync(lambda: inner(113, False))

        sync(outer)

    def outer_undone(self):
        sync = self.ctx.storage.transaction_sync

        def outer():
            sync(lambda: self.run("INSERT INTO t VALUES (120, 'inner')"))
            raise Error("no")

        return self._error(lambda: sync(outer))

    async def put_inside(self):
        def body():
            self.ctx.storage.put("k", "of the turn")
            self.run("INSERT INTO t VALUES (130, 'undone')")
            raise Error("no")

        self._error(lambda: self.ctx.storage.transaction_sync(body))
        return await self.ctx.storage.get("k")

    # --- values ---

    def round_trip(self, value):
        return self.value("SELECT ?", value)

    def kinds(self, values):
        return [self.value("SELECT typeof(?)", value) for value in values]

    def buffers(self):
        made = [array("B", [1, 2]), bytearray(b"ab"), memoryview(b"ab")]
        return [self.value("SELECT hex(?)", value) for value in made]

    def unbindable(self, value):
        return self.tried("SELECT ?", [value])[0]

    def undefined(self):
        return self.tried("SELECT ?", [UNDEFINED])[0]

    def large(self, bytes_more):
        found = [self.tried("DELETE FROM t; SELECT length(?)", ["x" * (MIB_2 + bytes_more)])]
        found.append(self.tried("SELECT length(?)", [b"x" * (MIB_2 + bytes_more)]))
        return [[each and each[0] for each in found], self.value("SELECT count(*) FROM t")]

    def too_many(self, count):
        return self.tried(f"SELECT 1 IN ({', '.join('?' * count)})", [1] * count)

    def beyond(self):
        self.run("CREATE TABLE n (id, v)")
        self.run("INSERT INTO n VALUES ('exact', ?)", [2**53 - 1])
        self.run("INSERT INTO n VALUES ('beyond', ?), ('below', ?)", [2**53, -(2**53)])
        found = [self.value("SELECT v FROM n WHERE id = 'exact'")]
        found.append(self.value("SELECT count(*) FROM n WHERE v > ?", 2**53 - 1))
        found.append(self.value("SELECT CAST(v AS TEXT) FROM n WHERE id = 'beyond'"))
        for name in ("beyond", "below"):
            cursor = self.ctx.storage.sql.exec("SELECT v FROM n WHERE id = ?", name)
            found.append(self._error(cursor.to_list))
        return found

    def members(self):
        cursor = self.ctx.storage.sql.exec("SELECT 1 AS one")
        names = ("one", "raw", "column_names", "rows_read", "rows_written", "next")
        return [name for name in names if hasattr(cursor, name)]

    # --- the turn ---

    def insert_and_throw(self, number):
        self.run("INSERT INTO t VALUES (?, 'thrown')", [number])
        raise Error("no")

    async def everything_and_throw(self):
        await self.ctx.storage.put("k", 1)
        await self.ctx.storage.set_alarm(self.ctx.now_ms() + 1_000)
        self.run("CREATE TABLE made (a); INSERT INTO t VALUES (200, 'thrown')")
        raise Error("no")

    async def slow(self):
        self.run("INSERT INTO t VALUES (201, 'too late')")
        await asyncio.sleep(40)
        return self.tried("INSERT INTO t VALUES (202, 'much too late')")

    async def waits(self):
        self.run("INSERT INTO t VALUES (203, 'crashed')")
        await asyncio.sleep(10)

    async def delete_all(self):
        await self.ctx.storage.put("k", 1)
        await self.ctx.storage.delete_all()

    def dangling(self):
        self.run(
            "CREATE TABLE IF NOT EXISTS parent (id INTEGER PRIMARY KEY);"
            "CREATE TABLE IF NOT EXISTS child"
            " (p REFERENCES parent DEFERRABLE INITIALLY DEFERRED);"
            "INSERT INTO child VALUES (7)"
        )

    async def later(self, delay_ms):
        await self.ctx.storage.set_alarm(self.ctx.now_ms() + delay_ms)

    def now(self):
        query = (
            "SELECT datetime('now') AS a, CURRENT_TIMESTAMP AS b, unixepoch() * 1000 AS c,"
            " CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) AS d"
        )
        (row,) = self.run(query)
        same = self.ctx.now_ms() in (row["c"], row["d"])
        return [row["a"], row["b"], same]

    def drawn(self):
        return self.run("SELECT random() % 1000000 AS a, hex(randomblob(4)) AS b")


class Books(StatefulActor):
    """Makes its table when it is made, and writes in its alarm."""

    def __init__(self, ctx, env):
        super().__init__(ctx, env)
        ctx.storage.sql.exec("CREATE TABLE IF NOT EXISTS entries (at, retry)")

    async def arm(self, delay_ms):
        await self.ctx.storage.set_alarm(self.ctx.now_ms() + delay_ms)

    async def alarm(self, info):
        query = "INSERT INTO entries VALUES (unixepoch(), ?)"
        self.ctx.storage.sql.exec(query, info.retry_count)
        await self.ctx.storage.put("delivered", info.retry_count)
        if info.retry_count < 2:
            raise Error("not yet")
        await self.ctx.storage.set_alarm(self.ctx.now_ms() + 60_000)

    def entries(self):
        return self.ctx.storage.sql.exec("SELECT retry FROM entries").to_list()


class Fails(StatefulActor):
    """Uses SQL in its constructor, and fails."""

    def __init__(self, ctx, env):
        super().__init__(ctx, env)
        ctx.storage.sql.exec("CREATE TABLE made (a)")
        raise Error("the constructor fails")

    def touch(self):
        return None
