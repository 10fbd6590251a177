"""KV namespaces: kept in the state beside the actors, and written at once, outside of turns.

A namespace is kept like the keys of an instance, under a type that no actor can have: so each store
can hold it, and whatever saves or restores the state does so with it.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any

from edgeemu.config import Config
from edgeemu.core.kv import (
    KvItem,
    KvPage,
    KvRefusedError,
    check_key,
    check_list,
    make_item,
    make_page,
)
from edgeemu.core.overlay import KeyRange
from edgeemu.core.rows import InstanceRow
from edgeemu.errors import Code, EdgeemuError
from edgeemu.ids import InstanceId
from edgeemu.limits import KV_LIST_MAX
from edgeemu.stores.port import Batch, Store, StoredTurn
from edgeemu.units import format_instant

KV_TYPE = "kv:"
"""In the place of an actor type; no identifier has a colon."""


class KvStore:
    """All namespaces of one emulator.

    Args:
        store: that keeps them.
        now_ms: the emulated instant.
    """

    def __init__(self, store: Store, now_ms: Callable[[], int]) -> None:
        self._store = store
        self._now_ms = now_ms

    def get(self, namespace: str, key: object) -> str | None:
        """The value under a key, or None.

        Raises:
            KvRefusedError: for a key that cannot be.
        """
        place = InstanceId(KV_TYPE, namespace)
        name = check_key("get", key)
        data = self._store.read(place, name)
        item = None if data is None else _unpack(data)
        return item.value if item is not None and item.is_there(self._now_ms()) else None

    def put(self, namespace: str, key: object, value: object, ttl_s: object = None) -> None:
        """Write a value, to live for `ttl_s` virtual seconds, or for ever.

        Raises:
            KvRefusedError: for what cannot be.
        """
        name = check_key("put", key)
        self._write(namespace, {name: _pack(make_item(value, ttl_s, self._now_ms()))})

    def delete(self, namespace: str, key: object) -> bool:
        """Delete a key; whether it was there.

        Raises:
            KvRefusedError: for a key that cannot be.
        """
        name = check_key("delete", key)
        there = self.get(namespace, name) is not None
        self._write(namespace, {name: None})
        return there

    def list(self, namespace: str, prefix: object, limit: object, cursor: object) -> KvPage:
        """The names that begin with `prefix`, after `cursor`; what has expired is dropped.

        Raises:
            KvRefusedError: for what cannot be.
        """
        begin, count, after = check_list(prefix, limit, cursor)
        now_ms = self._now_ms()
        found = list(self._walk(namespace, begin, after, count, now_ms))
        over = {name: None for name, item in found if not item.is_there(now_ms)}
        if over:
            self._write(namespace, over)
        return make_page(found, count, now_ms)

    def _walk(
        self, namespace: str, prefix: str, after: str, count: int, now_ms: int
    ) -> Iterator[tuple[str, KvItem]]:
        """Items after a name, until there are `count` living ones and one more."""
        place, living = InstanceId(KV_TYPE, namespace), 0
        while True:
            lower = f"{after}\0" if after else None  # What comes next after that name.
            keys = KeyRange(lower=lower, prefix=prefix, limit=KV_LIST_MAX)
            rows = self._store.read_range(place, keys)
            for name, data in rows:
                item = _unpack(data)
                living += item.is_there(now_ms)
                yield name, item
                if living > count:
                    return
            if len(rows) < KV_LIST_MAX:
                return
            after = rows[-1][0]

    def _write(self, namespace: str, puts: dict[str, Any]) -> None:
        turn = StoredTurn(InstanceId(KV_TYPE, namespace), InstanceRow(), puts)
        self._store.apply(Batch([turn]))


def _pack(item: KvItem) -> bytes:
    fields = {"value": item.value, "updated_at_ms": item.updated_at_ms}
    if item.expires_at_ms is not None:
        fields["expires_at_ms"] = item.expires_at_ms
    return json.dumps(fields).encode()


def _unpack(data: bytes) -> KvItem:
    return KvItem(**json.loads(data))


class KvControl:
    """The namespaces from outside: by the name of a binding of any function, or by their id.

    Args:
        kv: the namespaces.
        config: gives the configuration that holds now.
    """

    def __init__(self, kv: KvStore, config: Callable[[], Config]) -> None:
        self._kv = kv
        self._config = config

    def list(self, namespace: str, *, prefix: str = "") -> list[dict[str, Any]]:
        """Every name that begins with `prefix`: `{name, size_bytes, updated_at, expires_at}`.

        Raises:
            EdgeemuError: `E_KV_UNKNOWN`, `E_KV_REFUSED`.
        """
        place, found, cursor = self._find(namespace), [], None
        while True:
            with _refusals():
                page = self._kv.list(place, prefix, KV_LIST_MAX, cursor)
            found += [_item_json(name, item) for name, item in page.items]
            if page.cursor is None:
                return found
            cursor = page.cursor

    def get(self, namespace: str, key: str) -> str:
        """The text under a key.

        Raises:
            EdgeemuError: `E_KV_UNKNOWN`, `E_KV_REFUSED`, `E_KEY_UNKNOWN`.
        """
        with _refusals():
            value = self._kv.get(self._find(namespace), key)
        if value is None:
            raise EdgeemuError(
                Code.KEY_UNKNOWN,
                what=f"the KV namespace {namespace} has no key `{key}`",
                why="it was never written, was deleted, or has expired on the emulated clock",
                fix=f"see its keys with `edgeemu kv list {namespace}`",
            )
        return value

    def put(
        self, namespace: str, key: str, value: str, *, expiration_ttl: float | None = None
    ) -> dict[str, Any]:
        """Write a text, to live for `expiration_ttl` virtual seconds, or for ever.

        Raises:
            EdgeemuError: `E_KV_UNKNOWN`, `E_KV_REFUSED`.
        """
        with _refusals():
            self._kv.put(self._find(namespace), key, value, expiration_ttl)
        return {"namespace": namespace, "key": key}

    def delete(self, namespace: str, key: str) -> dict[str, Any]:
        """Delete a key; whether it was there, under `deleted`.

        Raises:
            EdgeemuError: `E_KV_UNKNOWN`, `E_KV_REFUSED`.
        """
        with _refusals():
            deleted = self._kv.delete(self._find(namespace), key)
        return {"namespace": namespace, "key": key, "deleted": deleted}

    def _find(self, namespace: str) -> str:
        known: dict[str, str] = {}
        for function in self._config().all_functions.values():
            known = {**function.kv, **known}
        if namespace in known or namespace in known.values():
            return known.get(namespace, namespace)
        raise EdgeemuError(
            Code.KV_UNKNOWN,
            what=f"there is no KV namespace `{namespace}`",
            why=f"the configuration binds: {', '.join(known) or 'none'}",
            fix="write one of these" if known else f"declare it with [storage.kv.{namespace}]",
        )


class _refusals:
    """Turns a refusal into an error for whoever gave the command."""

    def __enter__(self) -> None:
        """Nothing to prepare."""

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, KvRefusedError):
            raise EdgeemuError(
                Code.KV_REFUSED,
                what=str(error),
                why="the rules of the platform hold here too",
                fix="see the rules of KV namespaces in docs/bindings.md",
            ) from None


def _item_json(name: str, item: KvItem) -> dict[str, Any]:
    expires_at_ms = item.expires_at_ms
    return {
        "name": name,
        "size_bytes": item.size_bytes,
        "updated_at": format_instant(item.updated_at_ms),
        "expires_at": None if expires_at_ms is None else format_instant(expires_at_ms),
    }
