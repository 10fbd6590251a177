"""Runs the `console` blocks of a document, and says what they should have shown.

A block holds commands behind `$ ` and below each what it prints, both streams together. A command
that ends with ` &` starts the emulator, which is waited for. All of it runs in one folder.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from edgeemu.clock import pause_thread_ms, stopwatch_ns

_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_STARTED_WITHIN_MS = 20_000


class Consoles:
    """Runs the blocks of one document in one folder."""

    def __init__(self, folder: Path, env: Mapping[str, str]) -> None:
        self._folder = folder
        bin_folder = str(Path(sys.executable).parent)
        self._env = {**env, "PATH": bin_folder + os.pathsep + env["PATH"]}
        self._running: list[subprocess.Popen[bytes]] = []

    def rewrite(self, text: str) -> str:
        """The document as it would be if each block showed what its commands print now."""
        return _BLOCK.sub(lambda block: f"```console\n{self._run(block[1])}```", text)

    def close(self) -> None:
        """Stop what was started."""
        for process in self._running:
            process.terminate()
            process.wait(20)

    def _run(self, block: str) -> str:
        shown = ""
        for command in _commands(block):
            shown += f"$ {command}\n"
            if command.startswith("cd "):
                self._folder = self._folder / command.removeprefix("cd ")
            elif command.endswith(" &"):
                self._start(command.removesuffix(" &"))
            else:
                done = subprocess.run(
                    command,
                    shell=True,
                    cwd=self._folder,
                    env=self._env,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                    timeout=60,
                    check=False,
                )
                shown += (
                    done.stdout
                    if done.stdout.endswith("\n") or not done.stdout
                    else (done.stdout + "\n")
                )
        return shown

    def _start(self, command: str) -> None:
        log = self._folder / "dev.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [*command.split(), "--port", "0"],
                cwd=self._folder,
                env=self._env,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
        self._running.append(process)
        started_ns = stopwatch_ns()
        while not (self._folder / ".edgeemu/dev.json").exists():
            if process.poll() is not None or (
                stopwatch_ns() - started_ns > _STARTED_WITHIN_MS * 1_000_000
            ):
                raise AssertionError(f"the emulator did not start:\n{log.read_text()}")
            pause_thread_ms(20)


def _commands(block: str) -> Iterator[str]:
    for line in block.splitlines():
        if line.startswith("$ "):
            yield line.removeprefix("$ ")
