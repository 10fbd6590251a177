"""The rules of KV namespaces: which keys, values and lifetimes there are, and how a list is cut.

Emulates: KV. Source: spec/telnyx-actors.md section 12.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from edgeemu.limits import (
    KV_KEY_CHARS_MAX,
    KV_LIST_MAX,
    KV_TTL_S_MAX,
    KV_TTL_S_MIN,
    KV_VALUE_BYTES_MAX,
)

_KEY = re.compile(r"[-/_=.a-zA-Z0-9]+")
_PREFIX = re.compile(r"[-/_=.a-zA-Z0-9]*")

BAD_REQUEST = 400
TOO_LARGE = 413


class KvRefusedError(Exception):
    """An operation on a KV namespace is refused.

    Args:
        operation: such as `put`.
        status: what HTTP would say.
        reason: why.
    """

    def __init__(self, operation: str, status: int, reason: str) -> None:
        super().__init__(f"KV {operation} failed with status {status}: {reason}")


@dataclass(frozen=True, slots=True)
class KvItem:
    """A value that is kept.

    Attributes:
        value: the text.
        updated_at_ms: when it was written.
        expires_at_ms: from when on it is not there any more; None for never.
    """

    value: str
    updated_at_ms: int
    expires_at_ms: int | None = None

    @property
    def size_bytes(self) -> int:
        """The bytes of the value in UTF-8."""
        return len(self.value.encode("utf-8", "surrogatepass"))

    def is_there(self, now_ms: int) -> bool:
        """Whether it has not expired."""
        return self.expires_at_ms is None or now_ms < self.expires_at_ms


@dataclass(frozen=True, slots=True)
class KvPage:
    """A part of the names in a namespace.

    Attributes:
        items: name and value, in the order of names.
        cursor: where the next part begins; None where the list is complete.
    """

    items: tuple[tuple[str, KvItem], ...]
    cursor: str | None


def check_key(operation: str, key: object) -> str:
    """A key that will do.

    Raises:
        KvRefusedError: for anything else.
    """
    if not isinstance(key, str):
        raise KvRefusedError(operation, BAD_REQUEST, f"a key is text, not {key!r:.40}")
    if len(key) > KV_KEY_CHARS_MAX:
        reason = f"a key has at most {KV_KEY_CHARS_MAX} characters, not {len(key)}"
        raise KvRefusedError(operation, BAD_REQUEST, reason)
    if not _KEY.fullmatch(key):
        reason = f"a key has letters, digits and - / _ = . only (no `:`, no `+`), not {key!r}"
        raise KvRefusedError(operation, BAD_REQUEST, reason)
    if key.startswith("_"):
        raise KvRefusedError(operation, BAD_REQUEST, f"names that begin with _ are reserved: {key}")
    return key


def make_item(value: object, ttl_s: object, now_ms: int) -> KvItem:
    """What a `put` keeps.

    Args:
        value: text.
        ttl_s: how long it lives, in virtual seconds; None for ever.
        now_ms: the emulated instant.

    Raises:
        KvRefusedError: for a value or a lifetime that will not do.
    """
    if not isinstance(value, str):
        reason = f"a value is text, not {value!r:.40}: write it as JSON"
        raise KvRefusedError("put", BAD_REQUEST, reason)
    item = KvItem(value, now_ms)
    if item.size_bytes > KV_VALUE_BYTES_MAX:
        reason = f"a value has at most {KV_VALUE_BYTES_MAX} bytes, not {item.size_bytes}"
        raise KvRefusedError("put", TOO_LARGE, reason)
    if ttl_s is None:
        return item
    number = isinstance(ttl_s, int | float) and not isinstance(ttl_s, bool)
    if not number or not KV_TTL_S_MIN <= ttl_s <= KV_TTL_S_MAX:  # type: ignore[operator]
        reason = f"a lifetime is from {KV_TTL_S_MIN} to {KV_TTL_S_MAX} seconds, not {ttl_s!r}"
        raise KvRefusedError("put", BAD_REQUEST, reason)
    return KvItem(value, now_ms, now_ms + int(ttl_s * 1_000))  # type: ignore[operator]


def check_list(prefix: object, limit: object, cursor: object) -> tuple[str, int, str]:
    """Prefix, limit and cursor of a list that will do.

    Raises:
        KvRefusedError: for anything else.
    """
    if not isinstance(prefix, str) or not _PREFIX.fullmatch(prefix):
        raise KvRefusedError("list", BAD_REQUEST, f"no key can begin with {prefix!r}")
    whole = isinstance(limit, int) and not isinstance(limit, bool)
    if not whole or not 1 <= limit <= KV_LIST_MAX:  # type: ignore[operator]
        reason = f"a limit is from 1 to {KV_LIST_MAX}, not {limit!r}"
        raise KvRefusedError("list", BAD_REQUEST, reason)
    start = "" if cursor is None else cursor
    if not isinstance(start, str) or not _PREFIX.fullmatch(start):
        reason = f"a cursor is what a list before gave, not {cursor!r:.40}"
        raise KvRefusedError("list", BAD_REQUEST, reason)
    return prefix, limit, start  # type: ignore[return-value]


def make_page(items: Iterable[tuple[str, KvItem]], limit: int, now_ms: int) -> KvPage:
    """The first `limit` of the items that have not expired."""
    shown: list[tuple[str, KvItem]] = []
    for name, item in items:
        if not item.is_there(now_ms):
            continue
        if len(shown) == limit:
            return KvPage(tuple(shown), shown[-1][0])
        shown.append((name, item))
    return KvPage(tuple(shown), None)
