"""Reading everything out of a store that answers in pages, and telling where something is missing.

Promise: what is asked for is given whole, or a gap is told: an entry of the kind `gap` stands where
entries of the journal are gone, and a list that would be cut is refused.
"""

from collections.abc import Sequence
from typing import TypeVar

from edgeemu.core.journal import Entry, Kind, Recorded
from edgeemu.core.overlay import KeyRange
from edgeemu.emulator import problems
from edgeemu.ids import InstanceId
from edgeemu.limits import JOURNAL_PAGE_MAX, LIST_PAGE_MAX
from edgeemu.stores.port import Store

Row = TypeVar("Row")


def read_keys(store: Store, instance: InstanceId, *, prefix: str = "") -> list[tuple[str, bytes]]:
    """Every key of an instance that begins with `prefix`, with its encoded value, in key order."""
    found: list[tuple[str, bytes]] = []
    lower = None
    while True:
        keys = KeyRange(lower=lower, prefix=prefix, limit=LIST_PAGE_MAX)
        page = store.read_range(instance, keys)
        found += page
        if len(page) < LIST_PAGE_MAX:
            return found
        lower = page[-1][0] + "\0"  # Nothing lies between a text and the same with a zero behind.


def whole(rows: Sequence[Row], what: str) -> Sequence[Row]:
    """The rows of a list of which `LIST_PAGE_MAX + 1` were asked for.

    Args:
        rows: as the store gave them.
        what: they are, for the error.

    Raises:
        EdgeemuError: `E_LIST_TOO_LONG` if there are more than a list may have.
    """
    if len(rows) > LIST_PAGE_MAX:
        raise problems.list_too_long(what, LIST_PAGE_MAX)
    return rows


def read_journal(
    store: Store,
    *,
    instance: InstanceId | None = None,
    since_seq: int = 0,
    since_ms: int | None = None,
    oldest_first: bool = False,
    limit: int | None = None,
) -> list[Recorded]:
    """Entries of the journal in order of their numbers, a gap in front where older ones are gone.

    Args:
        store: that has them.
        instance, since_seq, since_ms, oldest_first: as `Store.journal`.
        limit: entries at most, `JOURNAL_PAGE_MAX` or fewer; None for all there are.
    """
    found: list[Recorded] = []
    if limit is None:
        seq, full = since_seq, True
        while full:
            page = store.journal(
                instance=instance,
                since_seq=seq,
                since_ms=since_ms,
                oldest_first=True,
                limit=JOURNAL_PAGE_MAX,
            )
            found += page
            full = len(page) == JOURNAL_PAGE_MAX
            seq = page[-1].seq if page else seq
    else:
        found = store.journal(
            instance=instance,
            since_seq=since_seq,
            since_ms=since_ms,
            oldest_first=oldest_first,
            limit=min(limit, JOURNAL_PAGE_MAX),
        )
    # The newest of many were asked for without those before them: nothing is missing there.
    from_the_start = limit is None or oldest_first or len(found) < limit
    gap = _gap(store, since_seq, since_ms) if from_the_start else None
    return found if gap is None else [gap, *found]


def _gap(store: Store, since_seq: int, since_ms: int | None) -> Recorded | None:
    """An entry that stands for those after `since_seq` that the journal no longer holds, if any.

    The clock may have been set back, so an entry that is gone may be later than one that is kept;
    only where what is kept begins at `since_ms` or after is it likely that others belonged here.
    """
    oldest = store.journal(limit=1, oldest_first=True)
    if not oldest or oldest[0].seq <= since_seq + 1:
        return None
    first = oldest[0]
    if since_ms is not None and first.entry.now_ms < since_ms:
        return None
    data = {"missed": first.seq - 1 - since_seq}
    return Recorded(first.seq - 1, first.real_at_ms, Entry(Kind.GAP, first.entry.now_ms, data=data))
