"""Where a debugger attaches to the JavaScript engine, which is there only if it is asked for."""

import socket

HOST = "127.0.0.1"
PORT_FIRST = 9_229
"""The port at which debuggers look by themselves. Source: the documentation of Node."""

_PORTS_TRIED = 2


def free_address() -> str:
    """A `host:port` on the loopback that nobody uses.

    New code loads beside the old, whose debugger is still there: two ports take turns.
    """
    for port in [*range(PORT_FIRST, PORT_FIRST + _PORTS_TRIED), 0]:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
            return f"{HOST}:{probe.getsockname()[1]}"
    return f"{HOST}:{PORT_FIRST}"
