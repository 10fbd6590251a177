"""Commands without a server: the state is opened in this process for the length of a command.

Promise: the output is that of a server (design D6), except for what concerns memory. The clock is
where it was left; only what runs or moves something fires what is overdue, before and after. What
actors print goes to stderr, because stdout is for data. A project that does not load is no
hindrance to whoever only looks at its state or edits it.
"""

import asyncio
import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import redirect_stdout, suppress
from pathlib import Path
from typing import Any

from edgeemu.api.client import OnNote, RemoteTarget, find_server, ignore_note
from edgeemu.api.notes import notes_of
from edgeemu.api.operations import find, perform
from edgeemu.config import Config, load_config
from edgeemu.emulator import Emulator, Options, new_loop
from edgeemu.errors import Code, EdgeemuError


class LocalTarget:
    """Performs operations in this process.

    Args:
        root: the project's folder.
        state_dir: its state folder.
        config: the project's configuration; None to read it when it is needed.
        cause: on whose behalf, for the journal.
    """

    def __init__(
        self, root: Path, state_dir: Path, config: Config | None = None, *, cause: str = "cli"
    ) -> None:
        self._root = root
        self._state_dir = state_dir
        self._config = config
        self._cause = cause
        self._runner: asyncio.Runner | None = None
        self._emulator: Emulator | None = None
        self._loaded = False
        self._server: RemoteTarget | None = None
        self.on_note: OnNote = ignore_note

    @property
    def is_server(self) -> bool:
        """As `Target.is_server`."""
        return self._server is not None

    def perform(self, name: str, params: Mapping[str, Any] | None = None) -> Any:
        """As `Target.perform`; also the errors of opening the state and loading the project."""
        if self._server is not None:
            return self._server.perform(name, params)
        try:
            emulator = self._open()
        except EdgeemuError as error:
            if error.code is not Code.STATE_IN_USE:
                raise
            # Perhaps a server has started since this command did.
            self._server = find_server(self._state_dir)
            if self._server is None:
                raise
            self._server.on_note = self.on_note
            return self._server.perform(name, params)
        # What a server would read, so that no value passes here that does not pass there.
        given = json.loads(json.dumps(params or {}))
        return json.loads(json.dumps(self._run(self._perform(emulator, name, given))))

    def follow(self, params: Mapping[str, Any] | None = None) -> Iterator[dict[str, Any]]:
        """There is nothing to follow where nothing runs.

        Raises:
            EdgeemuError: `E_SERVER_UNREACHABLE`, always.
        """
        raise self._no_server("whose journal could be followed", "see what the journal holds")

    def listen(self, params: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Nothing goes on where nothing runs.

        Raises:
            EdgeemuError: `E_SERVER_UNREACHABLE`, always.
        """
        raise self._no_server("on which a socket could stay open", "have one conversation")

    def _no_server(self, lacking: str, instead: str) -> EdgeemuError:
        return EdgeemuError(
            Code.SERVER_UNREACHABLE,
            what=f"there is no running server {lacking}",
            why=f"no server has noted itself in {self._state_dir}",
            fix=f"start `edgeemu dev`, or leave --follow out to {instead}",
        )

    def close(self) -> None:
        """As `Target.close`."""
        if self._server is not None:
            self._server.close()
        emulator, self._emulator = self._emulator, None
        runner, self._runner = self._runner, None
        if runner is None:
            return
        try:
            if emulator is not None:
                # Whatever a command waited for has ended, or the user no longer wants it.
                with redirect_stdout(sys.stderr):
                    runner.run(emulator.close(wait=False))
        finally:
            runner.close()

    def _open(self) -> Emulator:
        if self._emulator is None:
            config = self._config or load_config(self._root)
            options = Options(state_dir=self._state_dir, alone=True)
            self._runner = self._runner or asyncio.Runner(loop_factory=new_loop)
            self._emulator = self._run(Emulator.open(config, options, load=False))
        return self._emulator

    def _run(self, work: Any) -> Any:
        """Run a coroutine; Ctrl-C cancels it, and what it had not answered is not kept."""
        if self._runner is None:
            raise RuntimeError("the target is closed")
        with redirect_stdout(sys.stderr):
            return self._runner.run(work)

    async def _perform(self, emulator: Emulator, name: str, params: Any) -> Any:
        moves = find(name).moves_with(params)
        notes = notes_of(name, moves)
        try:
            with notes.watching(emulator):
                if moves:
                    return await self._move(emulator, name, params)
                return await perform(emulator, name, params, cause=self._cause)
        finally:
            for note in notes.as_json():
                self.on_note(note)

    async def _move(self, emulator: Emulator, name: str, params: Any) -> Any:
        """Perform what runs or moves something, with what is overdue fired before and after."""
        if not self._loaded:
            emulator.load()
            self._loaded = True
        emulator.let_time_pass()
        await emulator.run_present()
        try:
            result = await perform(emulator, name, params, cause=self._cause)
        except EdgeemuError:
            # What it left behind still runs; its own error is the one that counts.
            with suppress(EdgeemuError):
                await emulator.run_present()
            raise
        await emulator.run_present()
        return result
