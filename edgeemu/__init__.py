"""edgeemu: a local emulator for stateful edge actors with alarms.

The names are loaded when they are first used, so that importing the pytest plugin, or the command
line for `--help`, does not load the whole program.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from edgeemu.emulator import Emulator as Emulator
    from edgeemu.errors import Code as Code
    from edgeemu.errors import EdgeemuError as EdgeemuError
    from edgeemu.sdk.actor import AlarmInfo as AlarmInfo
    from edgeemu.sdk.actor import StatefulActor as StatefulActor
    from edgeemu.sdk.context import ActorContext as ActorContext
    from edgeemu.sdk.context import ActorStorage as ActorStorage
    from edgeemu.sdk.context import ActorTransaction as ActorTransaction
    from edgeemu.sdk.context import WebSocket as WebSocket
    from edgeemu.sdk.errors import ActorError as ActorError
    from edgeemu.sdk.errors import ActorMethodError as ActorMethodError
    from edgeemu.sdk.errors import ActorMethodTimeoutError as ActorMethodTimeoutError
    from edgeemu.sdk.errors import ActorPrivateMethodError as ActorPrivateMethodError
    from edgeemu.sdk.errors import ActorUnknownMethodError as ActorUnknownMethodError
    from edgeemu.sdk.http import Headers as Headers
    from edgeemu.sdk.http import Request as Request
    from edgeemu.sdk.http import Response as Response

__version__ = "0.1.0"

_HOMES = {
    "ActorContext": "edgeemu.sdk.context",
    "ActorError": "edgeemu.sdk.errors",
    "ActorMethodError": "edgeemu.sdk.errors",
    "ActorMethodTimeoutError": "edgeemu.sdk.errors",
    "ActorPrivateMethodError": "edgeemu.sdk.errors",
    "ActorStorage": "edgeemu.sdk.context",
    "ActorTransaction": "edgeemu.sdk.context",
    "ActorUnknownMethodError": "edgeemu.sdk.errors",
    "AlarmInfo": "edgeemu.sdk.actor",
    "Code": "edgeemu.errors",
    "EdgeemuError": "edgeemu.errors",
    "Emulator": "edgeemu.emulator",
    "Headers": "edgeemu.sdk.http",
    "Request": "edgeemu.sdk.http",
    "Response": "edgeemu.sdk.http",
    "StatefulActor": "edgeemu.sdk.actor",
    "WebSocket": "edgeemu.sdk.context",
}

__all__ = [*sorted(_HOMES)]  # noqa: PLE0604 - the names are strings


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module `edgeemu` has no attribute `{name}`")


def __dir__() -> list[str]:
    return [*sorted(_HOMES), "__version__"]
