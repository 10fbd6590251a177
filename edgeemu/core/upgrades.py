"""Upgrades to WebSockets: what asks for one, and what of the request the actor sees.

Source: spec/telnyx-actors.md section 11.
"""

from collections.abc import Iterable, Sequence

Fields = tuple[tuple[str, str], ...]
"""Header fields in order."""

_TRANSPORT = frozenset(
    {
        "connection",
        "content-length",
        "host",
        "keep-alive",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)


def asks_for_upgrade(headers: Iterable[tuple[str, str]]) -> bool:
    """Whether a request asks for a WebSocket."""
    return any(
        name.lower() == "upgrade" and "websocket" in _tokens(value.lower())
        for name, value in headers
    )


def offered_protocols(headers: Iterable[tuple[str, str]]) -> list[str]:
    """The subprotocols that a client offers, in its order."""
    found = (value for name, value in headers if name.lower() == "sec-websocket-protocol")
    return [token for value in found for token in _tokens(value)]


def application_headers(headers: Iterable[tuple[str, str]]) -> Fields:
    """The headers that reach the actor: those of the application, not of the connection."""
    return tuple((name, value) for name, value in headers if not _is_transport(name.lower()))


def upgrade_headers(headers: Fields, protocols: Sequence[str]) -> Fields:
    """What a client sends that asks for a WebSocket, beside headers of its own.

    Args:
        headers: its own.
        protocols: the subprotocols that it offers, in order.
    """
    asked = (("connection", "Upgrade"), ("upgrade", "websocket"), ("sec-websocket-version", "13"))
    offered = (("sec-websocket-protocol", ", ".join(protocols)),) if protocols else ()
    return (*headers, *asked, *offered)


def check_upgrade(name: str, headers: Iterable[tuple[str, str]]) -> None:
    """Refuse what the platform cannot pass on to an instance in a header.

    Args:
        name: of the instance.
        headers: those of the application.

    Raises:
        TypeError: unless the name and the values are printable ASCII; a name has no blanks at its
            ends.
    """
    if not (name.isascii() and name.isprintable()) or name != name.strip():
        raise TypeError(
            "an instance with WebSockets has a name of printable ASCII, without blanks at its "
            f"ends: {name!r}"
        )
    for field, value in headers:
        if not (value.isascii() and value.replace("\t", " ").isprintable()):
            raise TypeError(f"a header of an upgrade is printable ASCII: {field}: {value!r}")


def _is_transport(name: str) -> bool:
    return name in _TRANSPORT or name.startswith("sec-websocket-")


def _tokens(value: str) -> list[str]:
    return [token for part in value.split(",") if (token := part.strip())]
