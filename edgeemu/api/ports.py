"""Binding the port of `edgeemu dev`, with errors that say who has it."""

import errno
import os
import socket
from pathlib import Path

from edgeemu.api.state import ServerInfo, read_server_info
from edgeemu.errors import Code, EdgeemuError

_WILDCARDS = {"0.0.0.0": "127.0.0.1", "::": "::1"}


def bind(host: str, port: int, state_dir: Path) -> socket.socket:
    """A socket that is bound and does not accept yet.

    Args:
        host: a name or an address of this machine.
        port: 0 lets the system choose.
        state_dir: of the project, whose own server may be the one that has the port.

    Raises:
        EdgeemuError: `E_HOST_INVALID`, `E_PORT_TAKEN`.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise _host_invalid(host, getattr(error, "strerror", None) or str(error)) from None
    found.sort(key=lambda entry: entry[0] != socket.AF_INET)
    family, kind, protocol, _, address = found[0]
    bound = socket.socket(family, kind, protocol)
    try:
        if os.name == "posix":
            # A port in TIME_WAIT may be used again. On Windows this would share a live one.
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        bound.bind(address)
    except OSError as error:
        bound.close()
        raise bind_error(error, host, port, state_dir) from None
    return bound


def bind_error(error: OSError, host: str, port: int, state_dir: Path) -> EdgeemuError:
    """Why a port could not be had."""
    why = error.strerror or str(error)
    if error.errno in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
        return _host_invalid(host, why)
    if error.errno != errno.EADDRINUSE:
        return EdgeemuError(
            Code.PORT_TAKEN,
            what=f"port {port} of {host} cannot be used",
            why=f"the system refuses it: {why}",
            fix="choose another with `edgeemu dev --port N` (0 for any free one)",
        )
    info = read_server_info(state_dir)
    if info is not None and info.port == port:
        return runs_already(Code.PORT_TAKEN, f"port {port} of {host} is taken", info)
    return EdgeemuError(
        Code.PORT_TAKEN,
        what=f"port {port} of {host} is taken",
        why="another program listens there",
        fix="stop it, or choose another port with `edgeemu dev --port N` (0 for any free one)",
    )


def runs_already(code: Code, what: str, info: ServerInfo) -> EdgeemuError:
    """A second server of one project: what it met, and where the first one is."""
    return EdgeemuError(
        code,
        what=what,
        why=f"`edgeemu dev` runs already at {info.url}, as process {info.pid}, "
        "and commands in this project go there",
        fix="use that one, stop it, or serve another state: edgeemu dev --port 0 --state-dir DIR",
    )


def name_server(error: EdgeemuError, state_dir: Path) -> EdgeemuError:
    """The error, or where a server holds the state that is in use: which one."""
    info = read_server_info(state_dir) if error.code is Code.STATE_IN_USE else None
    return error if info is None else runs_already(error.code, error.what, info)


def reachable_host(bound: socket.socket) -> str:
    """The address by which a client on this machine reaches a bound socket."""
    address: str = bound.getsockname()[0]
    return _WILDCARDS.get(address, address)


def _host_invalid(host: str, why: str) -> EdgeemuError:
    return EdgeemuError(
        Code.HOST_INVALID,
        what=f"`{host}` is no address of this machine",
        why=f"the system says: {why}",
        fix="use 127.0.0.1 for this machine only, or 0.0.0.0 for everybody in the network",
    )
