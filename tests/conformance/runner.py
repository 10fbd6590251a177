"""Runs one scenario in one variant: a language, a store, and with or without evictions."""

import asyncio
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from edgeemu.codec import from_json, to_json
from edgeemu.config import Config
from edgeemu.core.rows import FaultHow
from edgeemu.core.sockets import ABNORMAL
from edgeemu.emulator import Emulator
from edgeemu.emulator.sockets import SocketClient
from edgeemu.engines.port import PlainRequest
from edgeemu.errors import EdgeemuError
from edgeemu.sdk.errors import ActorError
from edgeemu.units import parse_duration
from tests.conformance.scenario import ANY, NOTHING, Scenario, Step
from tests.support.emulators import frozen, inst, write_project

HERE = Path(__file__).parent


LANGUAGES: Mapping[str, str] = {"python": ".py", "typescript": ".ts"}
"""The languages in which each scenario runs, and what the names of their files end with.

A further language wants a line here, and a twin of each file in `actors/` with the same types and
methods; the scenarios and their journals stay as they are.
"""


@dataclass(frozen=True)
class Variant:
    """How a scenario is run."""

    language: str
    disk: bool
    evict: bool

    def __str__(self) -> str:
        store, memory = "sqlite" if self.disk else "memory", "evicted" if self.evict else "kept"
        return f"{self.language}-{store}-{memory}"


VARIANTS = [Variant(*parts) for parts in product(LANGUAGES, (False, True), (False, True))]


def actor_source(stem: str, language: str) -> str:
    """The source text of the actors of a scenario."""
    return (HERE / "actors" / f"{stem}{LANGUAGES[language]}").read_text("utf-8")


class Run:
    """One run of one scenario."""

    def __init__(self, scenario: Scenario, variant: Variant, folder: Path) -> None:
        self._scenario = scenario
        self._variant = variant
        self._folder = folder
        self._started: dict[str, asyncio.Future[Any]] = {}
        self._clients: dict[str, SocketClient] = {}
        self._emulator: Emulator

    async def play(self) -> list[dict[str, Any]]:
        """Take every step; the journal."""
        scenario = self._scenario
        config = self._write(scenario.actors)
        await self._open(config, scenario.start_ms)
        try:
            for number, step in enumerate(scenario.steps, 1):
                try:
                    await self._take(step)
                except AssertionError as error:
                    told = f"step {number} of {scenario.case}: {step.op} {dict(step.params)}"
                    raise AssertionError(f"{told}\n{error}") from error
                if self._variant.evict:
                    await self._evict_idle()
            return self._emulator.journal()
        finally:
            for started in self._started.values():
                started.cancel()
            await asyncio.gather(*self._started.values(), return_exceptions=True)
            await self._emulator.close()

    def _write(self, stem: str) -> Config:
        folder = self._folder / "project"
        functions = ""
        for name, other, types in self._scenario.functions:
            source = actor_source(other, self._variant.language)
            main = f"main{LANGUAGES[self._variant.language]}"
            write_project(self._folder / name, source, types=types, main=main)
            functions += f'[functions.{name}]\nconfig = "../{name}"\n'
        config = write_project(
            folder,
            actor_source(stem, self._variant.language),
            main=f"main{LANGUAGES[self._variant.language]}",
            types=self._scenario.types,
            lateness_ms=self._scenario.lateness_ms,
            toml=self._scenario.toml + functions,
        )
        shutil.rmtree(folder / "__pycache__", ignore_errors=True)
        return config

    async def _open(self, config: Config, start_ms: int) -> None:
        state_dir = self._folder / "state" if self._variant.disk else None
        self._config = config
        self._emulator = await Emulator.open(config, frozen(state_dir, start_ms=start_ms))

    async def _evict_idle(self) -> None:
        """Drop what is idle; what runs stays, for its turn would have to wait for time."""
        for shown in self._emulator.list_instances():
            if shown["state"] == "idle":
                await self._emulator.evict(inst(shown["actor"]))

    async def _take(self, step: Step) -> None:
        act = getattr(self, f"_do_{step.op}")
        try:
            given = await act(**step.params)
        except (EdgeemuError, ActorError) as error:
            if step.fails is None:
                raise AssertionError(f"failed: {error}") from error
            self._check_error(step, error)
            return
        assert step.fails is None, f"did not fail with {step.fails}; it gave {given!r}"
        self._check_gives(step.gives, given)

    def _check_error(self, step: Step, error: EdgeemuError | ActorError) -> None:
        names = {error.name}
        if isinstance(error, EdgeemuError):
            names.add(error.code.text)
        assert step.fails in names, f"failed with {names}, not {step.fails}: {error}"
        assert step.says in str(error), f"`{step.says}` is not in: {error}"

    def _check_gives(self, wanted: Any, given: Any) -> None:
        if wanted == ANY:
            return
        if wanted == NOTHING:
            wanted = None if given is None else {"$undefined": True}
        if isinstance(wanted, Mapping) and isinstance(given, Mapping) and "§" in given:
            given = {key: given.get(key) for key in wanted}
        assert given == wanted, f"gave {given!r}\nnot  {wanted!r}"

    # --- steps; a result that is marked with § is compared in the named parts only --------------

    async def _call(self, actor: str, method: str, args: list[Any]) -> Any:
        given = [from_json(value) for value in args]
        return to_json(await self._emulator.call(inst(actor), method, given))

    async def _do_call(self, actor: str, method: str, args: list[Any]) -> Any:
        await self._do_start("call", actor, method, args)
        return await self._do_ended("call")

    async def _do_start(self, label: str, actor: str, method: str, args: list[Any]) -> None:
        self._started[label] = asyncio.ensure_future(self._call(actor, method, args))
        await self._emulator.run_present()

    async def _do_start_fetch(self, label: str, path: str) -> None:
        self._started[label] = asyncio.ensure_future(self._do_fetch(path))
        await self._emulator.run_present()

    async def _do_waits(self, label: str) -> None:
        assert not self._started[label].done(), f"{label} has ended"

    async def _do_ended(self, label: str) -> Any:
        started = self._started[label]
        assert started.done(), f"{label} has not ended"
        return await started

    async def _do_fetch(self, path: str, function: str | None = None) -> dict[str, Any]:
        request = PlainRequest("GET", f"http://localhost{path}", (), b"")
        answer = await self._emulator.fetch(request, function=function)
        return {"§": 1, "status": answer.status, "body": answer.body.decode()}

    def _moved(self, given: dict[str, Any]) -> dict[str, Any]:
        return {**given, "§": 1, "at": given["now_ms"] - self._scenario.start_ms}

    async def _do_advance(self, duration: str) -> dict[str, Any]:
        return self._moved(await self._emulator.clock.advance(parse_duration(duration)))

    async def _do_jump(self, at_ms: int) -> dict[str, Any]:
        return self._moved(await self._emulator.clock.set_to(self._scenario.start_ms + at_ms))

    async def _do_idle(self) -> dict[str, Any]:
        return self._moved(await self._emulator.clock.idle())

    async def _do_alarm(self, actor: str, at_ms: int | None) -> dict[str, Any]:
        given = self._emulator.alarms.of(inst(actor))
        due = None if given is None else given["due_at_ms"] - self._scenario.start_ms
        assert due == at_ms, f"the alarm is due at {due}, not {at_ms}"
        return {"§": 1, **(given or {})}

    async def _do_alarms(self) -> list[list[Any]]:
        start_ms = self._scenario.start_ms
        found = self._emulator.alarms.list()
        return [[item["actor"], item["due_at_ms"] - start_ms] for item in found]

    async def _do_fire(self, actor: str) -> dict[str, Any]:
        before_ms = self._emulator.clock.read()["now_ms"]
        given = await self._emulator.alarms.fire(inst(actor))
        assert self._emulator.clock.read()["now_ms"] == before_ms, "the clock moved"
        if given["next"] is not None:
            after_ms = given["next"]["due_at_ms"] - self._scenario.start_ms
            given["next"] = {**given["next"], "due_at_ms": after_ms}
        return {"§": 1, **given}

    async def _do_fail(self, actor: str, times: int, how: str) -> Any:
        return await self._emulator.alarms.fail(inst(actor), times=times, how=FaultHow(how))

    async def _do_set_alarm(self, actor: str, at_ms: int) -> Any:
        return await self._emulator.alarms.set(inst(actor), self._scenario.start_ms + at_ms)

    async def _do_keys(self, actor: str) -> dict[str, Any]:
        return self._emulator.storage.list(inst(actor))

    async def _do_put(self, actor: str, key: str, value: Any) -> Any:
        return await self._emulator.storage.put(inst(actor), key, value)

    async def _do_sql(self, actor: str, query: str, params: list[Any]) -> Any:
        return await self._emulator.storage.sql(inst(actor), query, params)

    async def _do_evict(self, actor: str, *, crash: bool) -> list[str]:
        return await self._emulator.evict(inst(actor), crash=crash)

    async def _do_state(self, actor: str) -> str:
        shown: str = self._emulator.show_instance(inst(actor))["state"]
        return shown

    async def _do_instances(self) -> list[str]:
        return sorted(shown["actor"] for shown in self._emulator.list_instances())

    async def _do_reload(self, actors: str | None) -> None:
        if actors is not None:
            self._write(actors)
        self._emulator.reload()

    async def _do_restart(self, at_ms: int) -> Any:
        await self._emulator.close()
        await self._open(self._config, self._scenario.start_ms + at_ms)
        await self._emulator.run_present()

    async def _do_journal(self, kind: str, actor: str | None) -> int:
        instance = None if actor is None else inst(actor)
        found = self._emulator.journal(instance=instance)
        return sum(entry["kind"] == kind for entry in found)

    # --- WebSockets ------------------------------------------------------------------------

    async def _do_connect(self, label: str, path: str, protocols: list[str]) -> None:
        headers = (("host", "localhost"), ("x-kept", "yes"))
        request = PlainRequest("GET", f"http://localhost{path}", headers, b"")
        self._clients[label] = await self._emulator.connect(request, protocols=protocols)
        await self._emulator.run_present()

    async def _do_says(self, label: str, data: list[Any]) -> None:
        for message in data:
            plain = from_json(message)
            assert isinstance(plain, str | bytes)
            self._clients[label].send(plain)
        await self._emulator.run_present()

    async def _do_hangs_up(self, label: str, code: int | None, reason: str) -> None:
        client = self._clients[label]
        if code == ABNORMAL:
            client.drop()
        else:
            client.close(code, reason)
        await self._emulator.run_present()

    async def _do_receives(self, label: str) -> list[Any]:
        received = self._clients[label].received
        found = [to_json(data) for data in received]
        received.clear()
        return found

    async def _do_closed(self, label: str) -> list[Any] | None:
        await self._emulator.settle()
        found = self._clients[label].closed
        return None if found is None else list(found)
