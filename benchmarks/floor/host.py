"""The host of the floor: turns, keys, alarms, and the HTTP server in front."""

import asyncio
import heapq
import json
import sqlite3
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import parse_qs, urlsplit

import apsw
import httptools

_RELOAD_POLL_S = 0.01
UNTOUCHED = -1
"""The alarm was neither set nor spent in this turn."""


def load_app(path: Path) -> ModuleType:
    """The application in a file of its own; without a cache, which two quick changes can fool."""
    module = ModuleType("floor_app")
    exec(compile(path.read_text(), str(path), "exec"), module.__dict__)
    return module


class Host:
    """Runs the application over one SQLite file.

    Args:
        folder: where the file lies.
        path: of the application, a module with `Bench` and `handle`.
        start_ms: a virtual clock that only `advance` moves; None for the real one.
    """

    def __init__(self, folder: Path, path: Path, start_ms: int | None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.app = load_app(path)
        self._path = path
        self.folder = folder
        self.fired_count = 0
        self.fired_last_ms = 0
        self._virtual_ms = start_ms
        self._instances: dict[str, Instance] = {}
        self._delivering: set[asyncio.Task[None]] = set()
        self._db = apsw.Connection(str(folder / "floor.sqlite"))
        self._db.execute("PRAGMA journal_mode = wal")
        self._db.execute("PRAGMA synchronous = normal")
        self._db.execute(
            "CREATE TABLE IF NOT EXISTS keys (name TEXT, key TEXT, value TEXT,"
            " PRIMARY KEY (name, key)) WITHOUT ROWID;"
            "CREATE TABLE IF NOT EXISTS alarms (name TEXT PRIMARY KEY, due_ms INTEGER)"
            " WITHOUT ROWID"
        )
        self._due: dict[str, int] = dict(self._db.execute("SELECT name, due_ms FROM alarms"))
        self._heap = [(due_ms, name) for name, due_ms in self._due.items()]
        heapq.heapify(self._heap)
        self._poke = asyncio.Event()

    def now_ms(self) -> int:
        """The instant: of the virtual clock, or of the machine."""
        return time.time_ns() // 1_000_000 if self._virtual_ms is None else self._virtual_ms

    # --- turns -------------------------------------------------------------------------------

    async def turn(self, name: str, run: Callable[[Any], Awaitable[Any]]) -> Any:
        """Run one turn of an instance and commit it; instances run beside one another."""
        instance = self._instances.get(name)
        if instance is None:
            instance = self._instances[name] = Instance(self, name)
        async with instance.lock:
            try:
                answer = await run(instance.actor)
                self._commit(name, instance)
                return answer
            finally:
                instance.writes = {}
                instance.alarm = UNTOUCHED

    def read(self, name: str, key: str) -> str | None:
        """A committed value."""
        sql = "SELECT value FROM keys WHERE name = ? AND key = ?"
        text: str | None = self._db.execute(sql, (name, key)).get
        return text

    def _commit(self, name: str, instance: "Instance") -> None:
        db, alarm = self._db, instance.alarm
        db.execute("BEGIN IMMEDIATE")
        for key, text in instance.writes.items():
            db.execute("REPLACE INTO keys VALUES (?, ?, ?)", (name, key, text))
        if alarm is None:
            db.execute("DELETE FROM alarms WHERE name = ?", (name,))
        elif alarm is not UNTOUCHED:
            db.execute("REPLACE INTO alarms VALUES (?, ?)", (name, alarm))
        db.execute("COMMIT")
        if alarm is None:
            self._due.pop(name, None)
        elif alarm is not UNTOUCHED:
            self._due[name] = alarm
            heapq.heappush(self._heap, (alarm, name))
            self._poke.set()

    async def _deliver(self, name: str) -> None:
        async def run(actor: Any) -> None:
            self._instances[name].alarm = None
            await actor.alarm()

        await self.turn(name, run)
        self.fired_count += 1
        self.fired_last_ms = self.now_ms()

    def _deliver_due(self, now_ms: int) -> list[asyncio.Task[None]]:
        """Start everything that is due, each in a task of its own, as handlers may wait."""
        loop = asyncio.get_running_loop()
        started = []
        while (due_ms := self._next_due_ms()) is not None and due_ms <= now_ms:
            _, name = heapq.heappop(self._heap)
            started.append(loop.create_task(self._deliver(name)))
        self._delivering.update(started)
        return started

    # --- time --------------------------------------------------------------------------------

    def _next_due_ms(self) -> int | None:
        while self._heap and self._due.get(self._heap[0][1]) != self._heap[0][0]:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    async def advance(self, duration_ms: int) -> int:
        """Move the virtual clock and deliver what is due on the way; how many that were."""
        if self._virtual_ms is None:
            raise RuntimeError("the clock is real")
        target_ms = self._virtual_ms + duration_ms
        before = self.fired_count
        while (due_ms := self._next_due_ms()) is not None and due_ms <= target_ms:
            self._virtual_ms = max(self._virtual_ms, due_ms)
            await asyncio.gather(*self._deliver_due(self._virtual_ms))
            self._delivering.clear()
        self._virtual_ms = target_ms
        return self.fired_count - before

    async def fire_as_time_passes(self) -> None:
        """Deliver alarms on the real clock, for ever."""
        while True:
            self._poke.clear()
            due_ms = self._next_due_ms()
            wait_s = None if due_ms is None else (due_ms - self.now_ms()) / 1_000
            if wait_s is not None and wait_s <= 0:
                for task in self._deliver_due(self.now_ms()):
                    task.add_done_callback(self._delivering.discard)
                continue
            try:
                await asyncio.wait_for(self._poke.wait(), wait_s)
            except TimeoutError:
                continue

    async def reload_on_change(self) -> None:
        """Load the application again when its file changes, for ever."""
        seen_ns = self._path.stat().st_mtime_ns
        while True:
            await asyncio.sleep(_RELOAD_POLL_S)
            now_ns = self._path.stat().st_mtime_ns
            if now_ns != seen_ns:
                seen_ns = now_ns
                self.app = load_app(self._path)
                self._instances.clear()


class Instance:
    """One instance in memory: its object, its storage, what its turn has written so far."""

    __slots__ = ("_host", "_name", "_sql", "actor", "alarm", "lock", "writes")

    def __init__(self, host: Host, name: str) -> None:
        self._host = host
        self._name = name
        self._sql: sqlite3.Connection | None = None
        self.lock = asyncio.Lock()
        self.writes: dict[str, str] = {}
        self.alarm: int | None = UNTOUCHED
        self.actor = host.app.Bench(self)

    def now_ms(self) -> int:
        """The instant."""
        return self._host.now_ms()

    async def get(self, key: str) -> Any:
        """A value as the turn sees it."""
        text = self.writes.get(key) or self._host.read(self._name, key)
        return None if text is None else json.loads(text)

    async def put(self, key: str, value: Any) -> None:
        """Write a value with the end of the turn."""
        self.writes[key] = json.dumps(value)

    def sql(self) -> sqlite3.Connection:
        """A database of its own, as the standard library has it; its user commits."""
        if self._sql is None:
            self._sql = sqlite3.connect(self._host.folder / f"{self._name}.sqlite")
            self._sql.execute("PRAGMA journal_mode = wal")
            self._sql.execute("PRAGMA synchronous = normal")
        return self._sql

    def set_alarm(self, due_ms: int) -> None:
        """Arm the alarm with the end of the turn."""
        self.alarm = due_ms


class Connection(asyncio.Protocol):
    """One keep-alive connection; requests are answered one after the other."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._parser = httptools.HttpRequestParser(self)
        self._url = b""
        self._tasks: set[asyncio.Task[None]] = set()

    def connection_made(self, transport: Any) -> None:
        """Remember where to answer."""
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Parse what came."""
        self._parser.feed_data(data)

    def on_url(self, url: bytes) -> None:
        """Remember what was asked for."""
        self._url = url

    def on_message_complete(self) -> None:
        """Answer the request."""
        task = asyncio.get_running_loop().create_task(self._answer(self._url.decode()))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(self, url: str) -> None:
        parts = urlsplit(url)
        query = {key: values[0] for key, values in parse_qs(parts.query).items()}
        body = (await self._host.app.handle(self._host, parts.path, query)).encode()
        head = f"HTTP/1.1 200 OK\r\ncontent-length: {len(body)}\r\n\r\n"
        self._transport.write(head.encode() + body)
