"""Reading all of the journal, however long: each answer over the wire is one page of it."""

from typing import TYPE_CHECKING, Any

from edgeemu.limits import JOURNAL_PAGE_MAX

if TYPE_CHECKING:
    from edgeemu.api.client import Target


def read_log(target: "Target", params: dict[str, Any]) -> list[dict[str, Any]]:
    """Every entry that was there when it was asked for, oldest first.

    The newest page comes first: for a journal that is no longer than that it is all. It is also the
    bound of the loop, because a running server writes on meanwhile.

    Args:
        target: that has the journal.
        params: of the operation `log`, but for those that page.
    """
    newest: list[dict[str, Any]] = target.perform("log", {**params, "limit": JOURNAL_PAGE_MAX})
    if len(newest) < JOURNAL_PAGE_MAX:
        return newest
    end_seq = newest[0]["seq"]
    older: list[dict[str, Any]] = []
    seq = params.get("since_seq", 0)
    while seq < end_seq:
        page = target.perform("log", {**params, "since_seq": seq, "oldest_first": True})
        older += [entry for entry in page if entry["seq"] < end_seq]
        seq = page[-1]["seq"] if page else end_seq
    return older + newest
