"""The operations on KV namespaces, of the table in `operations.py`."""

from typing import Any

from edgeemu.api import schemas
from edgeemu.emulator import Emulator


async def kv_list(emulator: Emulator, params: schemas.ListKv, _: Any) -> list[dict[str, Any]]:
    """The keys of a namespace."""
    return emulator.kv.list(params.namespace, prefix=params.prefix)


async def kv_get(emulator: Emulator, params: schemas.OfKvKey, _: Any) -> str:
    """The text under a key."""
    return emulator.kv.get(params.namespace, params.key)


async def kv_put(emulator: Emulator, params: schemas.PutKv, _: Any) -> dict[str, Any]:
    """Write a text."""
    ttl_s = params.expiration_ttl
    return emulator.kv.put(params.namespace, params.key, params.value, expiration_ttl=ttl_s)


async def kv_delete(emulator: Emulator, params: schemas.OfKvKey, _: Any) -> dict[str, Any]:
    """Delete a key."""
    return emulator.kv.delete(params.namespace, params.key)
