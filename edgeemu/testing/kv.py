"""A KV namespace as a test sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgeemu.errors import Code, EdgeemuError

if TYPE_CHECKING:
    from edgeemu.testing.fixture import EdgeemuFixture

__tracebackhide__ = True


class KvHandle:
    """One KV namespace. It is shared by all functions and actors that bind it.

    Args:
        fixture: of the test.
        namespace: its name on `env`, or its id.
    """

    def __init__(self, fixture: EdgeemuFixture, namespace: str) -> None:
        self._kv = fixture.emulator.kv
        self._namespace = namespace

    def get(self, key: str) -> str | None:
        """The text under a key, or None.

        Raises:
            EdgeemuError: `E_KV_UNKNOWN`, `E_KV_REFUSED`; so for the others.
        """
        try:
            return self._kv.get(self._namespace, key)
        except EdgeemuError as error:
            if error.code is Code.KEY_UNKNOWN:
                return None
            raise

    def put(self, key: str, value: str, *, expiration_ttl: float | None = None) -> None:
        """Write a text, to live for `expiration_ttl` seconds of emulated time, or for ever."""
        self._kv.put(self._namespace, key, value, expiration_ttl=expiration_ttl)

    def delete(self, key: str) -> bool:
        """Delete a key; whether it was there."""
        return bool(self._kv.delete(self._namespace, key)["deleted"])

    def list(self, prefix: str = "") -> list[str]:
        """The keys that begin with `prefix`, in order."""
        return [row["name"] for row in self._kv.list(self._namespace, prefix=prefix)]
