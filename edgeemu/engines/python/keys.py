"""Reading and writing keys, as Python actor code does it; every call acts when it is made.

What was read, and why a call was refused, arrives through the awaitable (design D8).
"""

import re
from collections.abc import Awaitable
from functools import partial
from inspect import Parameter
from typing import Any

from edgeemu.codec import decode, encode
from edgeemu.core.overlay import KeyRange
from edgeemu.core.profile import Profile
from edgeemu.engines.python.awaitables import NOTHING, Done, FailedRead
from edgeemu.engines.python.reading import note_discarded
from edgeemu.engines.python.scope import FailedWrite, caller_place, current_scope
from edgeemu.limits import KEY_CHARS_MAX
from edgeemu.sdk.errors import ActorError, CodecError

_MISSING: Any = Parameter.empty
"""As a default it is refused in our words, and the signature shows that there is none."""


class KeyCalls:
    """The calls on keys (spec/telnyx-actors.md section 6).

    Args:
        profile: the platform's rules.
        root: the folder of the project.
    """

    _txn: int | None = None
    """The transaction whose keys these are; None for those of the turn."""

    def __init__(self, profile: Profile, root: str) -> None:
        self._profile = profile
        self._root = root
        self._place = partial(caller_place, root)

    def get(self, key: str, default: Any = None) -> Awaitable[Any]:
        """The value under `key`, as a new copy, or `default` where there is none."""
        try:
            _check_key(key)
            data = current_scope().host.get(key, self._txn)
            return Done(default if data is None else decode(data))
        except Exception as error:
            return FailedRead(error)

    def put(self, key: str, value: Any = _MISSING) -> Awaitable[None]:
        """Write a copy of `value`, taken now (U27)."""
        try:
            scope = current_scope()
            if scope.peeks_left:
                note_discarded(scope, "storage.put", "W_WRITE_NOT_AWAITED", self._root)
            if value is _MISSING:
                raise TypeError("put takes a key and a value: `put(key, value)`, for each key")
            self._check_write_key(key)
            scope.host.put(key, encode(value), self._txn)
        except CodecError as error:
            return failed_write(CodecError(re.sub("^value", f"the value of {key!r}", str(error))))
        except Exception as error:
            return failed_write(error)
        return NOTHING

    def delete(self, key: str) -> Awaitable[bool]:
        """Delete a key; whether it was there."""
        try:
            scope = current_scope()
            if scope.peeks_left:
                note_discarded(scope, "storage.delete", "W_WRITE_NOT_AWAITED", self._root)
            self._check_write_key(key)
            return Done(scope.host.delete(key, self._txn))
        except Exception as error:
            return failed_write(error)

    def list(
        self,
        *,
        prefix: str = "",
        start: str | None = None,
        start_after: str | None = None,
        end: str | None = None,
        reverse: bool = False,
        limit: float | None = None,
    ) -> Awaitable[dict[str, Any]]:
        """Keys and values in key order; all bounds apply together (section 6.2).

        Args:
            prefix: only keys that begin with it.
            start: lower bound, inclusive.
            start_after: lower bound, exclusive.
            end: upper bound, exclusive.
            reverse: descending order; `limit` then takes from the high end.
            limit: 1 to the platform's maximum; its default where it is left out.

        Raises (from the awaitable):
            ValueError: for a limit out of range (U31).
        """
        try:
            keys = self._range(prefix, start, start_after, end, reverse=reverse, limit=limit)
            place = self._place if limit is None else None
            found = current_scope().host.list(keys, place, self._txn)
            return Done({key: decode(data) for key, data in found})
        except Exception as error:
            return FailedRead(error)

    def _range(
        self,
        prefix: str,
        start: str | None,
        start_after: str | None,
        end: str | None,
        *,
        reverse: bool,
        limit: float | None,
    ) -> KeyRange:
        profile = self._profile
        if limit is None:
            limit = profile.list_limit_default
        # A float that is whole is the same number on the platform (spec section 18).
        elif (
            type(limit) not in (int, float) or limit % 1 or not 1 <= limit <= profile.list_limit_max
        ):
            raise ValueError(f"limit is a whole number from 1 to {profile.list_limit_max}: {limit}")
        if not isinstance(prefix, str):
            raise TypeError(f"a prefix of list is a str, not {type(prefix).__name__}")
        for bound in (start, start_after, end):
            if bound is not None and not isinstance(bound, str):
                raise TypeError(f"a bound of list is a str, not {type(bound).__name__}")
        lowers = [start] if start is not None else []
        if start_after is not None:
            lowers.append(start_after + "\x00")  # the first key behind it
        lower = max(lowers, default=None)
        return KeyRange(lower, end, prefix, bool(reverse), int(limit))

    def _check_write_key(self, key: str) -> None:
        _check_key(key)
        prefix = self._profile.reserved_key_prefix
        if key.startswith(prefix):
            raise ActorError(f"keys that begin with {prefix} belong to the runtime: {key!r}")


def failed_write(error: Exception) -> FailedWrite:
    """The awaitable of a write that is refused: left alone, it fails the turn."""
    failed = FailedWrite(error)
    current_scope().failed.append(failed)
    return failed


def _check_key(key: object) -> None:
    if not isinstance(key, str):
        raise TypeError(f"a key is a str, not {type(key).__name__}")
    if not 1 <= len(key) <= KEY_CHARS_MAX:
        raise TypeError(f"a key has from 1 to {KEY_CHARS_MAX} characters, not {len(key)}")
    if not key.isascii() and any("\ud800" <= char <= "\udfff" for char in key):
        # Refused here, in the turn: at the commit it could no longer be the turn's own failure.
        raise TypeError(f"a key cannot hold a lone surrogate, half a character: {key!r}")
