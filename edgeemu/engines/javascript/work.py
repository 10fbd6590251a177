"""What a turn is to do, as the host of JavaScript takes it."""

from typing import Any

import msgspec

from edgeemu.core.events import SocketEvent
from edgeemu.core.profile import Profile
from edgeemu.engines.javascript.calls import request_as_json
from edgeemu.engines.port import Work
from edgeemu.ids import InstanceId


def work_as_json(instance: InstanceId | None, work: Work, profile: Profile) -> dict[str, Any]:
    """What a turn is to do, as the host of JavaScript takes it."""
    return {
        "instance": None if instance is None else [instance.type, instance.name],
        "kind": None if work.kind is None else work.kind.value,
        "method": work.method,
        "args": msgspec.Raw(work.args),
        "request": None if work.request is None else request_as_json(work.request),
        "retry_count": work.retry_count,
        "function": work.function,
        "socket": None if work.socket is None else _socket_as_json(work.socket),
        "protocol": work.protocol,
        "no_handler": profile.sockets.no_handler,
    }


def _socket_as_json(event: SocketEvent) -> dict[str, Any]:
    return {
        "socket": event.socket,
        "part": event.part.value,
        "text": isinstance(event.data, str),
        "data": event.data,  # Bytes go as base64.
        "code": event.code,
        "reason": event.reason,
    }
