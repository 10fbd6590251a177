"""The facade: `Emulator` is the product, and every skin is thin."""

from edgeemu.emulator.build import Options
from edgeemu.emulator.collector import calm_collector
from edgeemu.emulator.facade import Emulator
from edgeemu.emulator.problems import bug_report
from edgeemu.engines.port import PlainRequest, PlainResponse
from edgeemu.engines.python.loop import EmulatorLoop, new_loop

__all__ = [
    "Emulator",
    "EmulatorLoop",
    "Options",
    "PlainRequest",
    "PlainResponse",
    "bug_report",
    "calm_collector",
    "new_loop",
]
