"""Choices about keys, values and SQL: U23 to U47, U66 to U71 and U78 of spec/telnyx-actors.md."""

from edgeemu import limits
from edgeemu.core.profile import TELNYX
from edgeemu.differences.rows import Chapter, Choice

_PREFIX = TELNYX.reserved_key_prefix

KEYS = Chapter(
    "Keys",
    (
        Choice(
            "U23",
            "6",
            f"keys that begin with `{_PREFIX}`",
            "`put` and `delete` are refused with an error that names the prefix; `get` finds "
            "nothing, `list` shows none, `delete_all` leaves them",
        ),
        Choice("U24", "6", "a key that is empty or no text", "`TypeError`"),
        Choice(
            "U25",
            "6",
            "the largest key and value",
            f"a key has at most {limits.KEY_CHARS_MAX:,} characters; above "
            f"{limits.KEY_BYTES_ADVISED_MAX // 1024} KiB for a key and "
            f"{limits.VALUE_BYTES_ADVISED_MAX // 2**20} MiB for an encoded value a write warns, "
            "and strict mode refuses it",
            "`[limits] strict`",
        ),
        Choice("U26", "6", "whether `delete_all` drops SQL tables", "no: it clears the keys"),
        Choice(
            "U27",
            "6",
            "changing a value after a `put` that was not awaited",
            "`put` stores the value as it was when it was called",
        ),
        Choice(
            "U28",
            "6.1",
            "a `put` that fails, was awaited and is caught",
            "the turn goes on and may succeed",
        ),
        Choice(
            "U29",
            "6.1",
            "a `put` that fails and was not awaited",
            "`ActorOutputGateError`, and nothing of the turn is kept",
        ),
        Choice("U30", "6.2", "the order of keys", "that of their UTF-8 bytes"),
        Choice(
            "U31",
            "6.2",
            "a `limit` that will not do",
            f"`ValueError` (there `RangeError`) unless it is a whole number from 1 to "
            f"{TELNYX.list_limit_max}",
        ),
        Choice("U32", "6.2", "`start` and `start_after` together", "both hold"),
        Choice(
            "U33",
            "6.2",
            "`start` and `end` with `reverse`",
            "they stay the lower and the upper bound",
        ),
    ),
)

TRANSACTIONS = Chapter(
    "Transactions",
    (
        Choice(
            "U34",
            "6.3",
            "the error of a failed `transaction` that is not caught",
            "`ActorOutputGateError`, as if it were caught",
        ),
        Choice(
            "U35",
            "6.3",
            "`ctx.storage` used inside the function of a transaction",
            "what it writes belongs to the turn, not to the transaction",
        ),
        Choice(
            "U36",
            "6.3",
            "a transaction inside a transaction",
            "refused with an error, also in a task that the outer one started; two that run "
            "beside one another are fine: each sees what the other has committed, the later wins",
        ),
        Choice("U37", "6.3", "`txn` used after its transaction has ended", "refused"),
        Choice(
            "U38",
            "6.3",
            "a caught failed transaction in an alarm or a socket handler",
            "the delivery has failed, or the socket closes with 1011; the other writes are kept, "
            "and an alarm that the delivery set or cleared is one of them: it takes the place of "
            "the redelivery",
        ),
    ),
)

VALUES = Chapter(
    "Values",
    (
        Choice("U39", "7", "`undefined` as a stored value", "`CodecError`: use `delete`"),
        Choice("U40", "7", "`undefined` inside a value", "kept"),
        Choice("U41", "7", "NaN, the infinities and `-0`", "kept"),
        Choice(
            "U42",
            "7",
            "errors and other objects of the language",
            "`CodecError` that names the path to the part",
        ),
        Choice("U43", "7", "a `DataView`; in Python a `memoryview`", "stored as bytes"),
        Choice("U44", "7", "a Node `Buffer`; in Python a `bytearray`", "comes back as bytes"),
        Choice("U45", "7", "one object that stands twice in a value", "becomes two copies"),
        Choice(
            "U46",
            "7",
            "an object without a prototype",
            "stored as a plain one; Python has none, and refuses subclasses of `dict`",
        ),
        Choice("U47", "7", "an invalid `Date`", "kept by a language that has one; Python has none"),
        Choice(
            "U78",
            "7",
            "a result that cannot be sent",
            "the call fails with `CodecError`, and nothing of the turn is kept",
        ),
    ),
)

SQL = Chapter(
    "SQL",
    (
        Choice(
            "U66",
            "9",
            "SQL of a turn that throws",
            "rolled back with the turn, as keys and the alarm are",
        ),
        Choice(
            "U67",
            "9",
            "booleans, bytes, large integers and other things as parameters",
            "booleans are 1 and 0, bytes and arrays a BLOB, integers have 64 bits; anything else "
            "raises `TypeError`",
        ),
        Choice(
            "U68",
            "9",
            "named parameters, `PRAGMA`, `ATTACH`",
            "named parameters, `ATTACH`, `DETACH` and the pragmas of the journal and of locks are "
            "refused",
        ),
        Choice(
            "U69",
            "9",
            "further members of a cursor, such as `one` and `raw`",
            "not there; asking for one says what is",
        ),
        Choice("U70", "9", "`transaction_sync` inside `transaction_sync`", "nests"),
        Choice(
            "U71",
            "9",
            "a wrong number of parameters",
            "an error before the last statement runs",
        ),
    ),
)
