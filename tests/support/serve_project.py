"""Serves the project in a folder, for tests that need a whole process: a line on stdout when ready.

Usage: `python -m tests.support.serve_project ROOT [--memory]`; frozen, seeded, on a free port.
"""

import asyncio
import json
import sys
from dataclasses import asdict
from pathlib import Path

from edgeemu.api.server import Running, serve
from edgeemu.api.state import default_state_dir
from edgeemu.config import load_config
from edgeemu.emulator import new_loop
from edgeemu.errors import EdgeemuError
from edgeemu.reload import Reloader
from tests.support.emulators import frozen


def _say(kind: str, **fields: object) -> None:
    sys.stdout.write(json.dumps({"kind": kind, **fields}) + "\n")
    sys.stdout.flush()


def _ready(running: Running) -> None:
    _say("ready", **asdict(running.info), url=running.info.url)


def main() -> int:
    root = Path(sys.argv[1])
    state_dir = default_state_dir(root)
    config = load_config(root)
    options = frozen(None if "--memory" in sys.argv else state_dir)
    reloader = Reloader(
        root,
        state_dir,
        lambda: load_config(root),
        lambda done: _say("reload", files=done.files, error=done.error and done.error.code.text),
    )
    with asyncio.Runner(loop_factory=new_loop) as runner:
        try:
            work = serve(
                config,
                options,
                port=0,
                reload=reloader.run,
                on_ready=_ready,
                on_stopping=lambda: _say("stopping"),
            )
            runner.run(work)
        except EdgeemuError as error:
            _say("error", code=error.code.text, why=error.why)
            return int(error.code.exit_status)
        except KeyboardInterrupt:
            return 130
    _say("stopped")
    return 0


if __name__ == "__main__":
    sys.exit(main())
