"""What a string of SQL asks for: its statements, and what may not be in it at all.

Splitting is best-effort tokenising, as on the platform (spec/telnyx-actors.md section 9). What it
lets through by mistake is still refused by the authorizer of the connection.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from edgeemu.limits import SQL_SCRIPT_CACHED_CHARS_MAX, SQL_SCRIPTS_CACHED_MAX
from edgeemu.sdk.errors import SqlError, SqlTransactionControlError

RESERVED_PREFIX = "_edgeemu_"
"""Names that begin with it are edgeemu's own: in the file of an instance its keys lie beside the
user's tables."""

CATALOGUE = "_edgeemu_catalogue"
"""The view that stands in for `sqlite_master`, without what is edgeemu's own."""

_TOKEN = re.compile(
    r"""
    (?P<blank>   (?:[\s\ufeff] | --[^\n]* | /\*.*?(?:\*/|\Z))+ )
  | (?P<word>    [^\W\d][\w$]* )
  | (?P<end>     ; )
  | (?P<string>  '(?:[^']|'')*(?:'|\Z) )
  | (?P<quoted>  "(?:[^"]|"")*(?:"|\Z) | `(?:[^`]|``)*(?:`|\Z) | \[[^\]]*(?:\]|\Z) )
  | (?P<named>   \?\d+ | [:@$][\w$]+ )
  | (?P<other>   \d[\w.]* | . )
    """,
    re.DOTALL | re.VERBOSE,
)

_CONTROL = frozenset({"BEGIN", "COMMIT", "END", "ROLLBACK", "SAVEPOINT", "RELEASE"})
_BEFORE_STATEMENTS: tuple[list[str], ...] = ([], ["EXPLAIN"], ["EXPLAIN", "QUERY", "PLAN"])
_ROLLS_BACK = frozenset({"OR", "CONFLICT", "RAISE"})
"""Words before a ROLLBACK that would end the transaction of the whole turn."""

_BEFORE_NAMES = (["REFERENCES"], ["TO"])
_BEFORE_TABLES = (["FROM"], ["JOIN"])
_WITHOUT_ROWS = frozenset({"INSERT", "UPDATE", "DELETE", "REPLACE", "CREATE", "DROP", "ALTER"})
_CATALOGUES = frozenset({"sqlite_master", "sqlite_schema"})


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement of a string.

    Attributes:
        text: as SQLite is to see it.
        gives_rows: whether it may give rows.
        is_pragma: whether it is a PRAGMA.
        cacheable: whether a statement of the same text that was prepared before would do.
    """

    text: str
    gives_rows: bool
    is_pragma: bool
    cacheable: bool


@dataclass(frozen=True, slots=True)
class Script:
    """The statements of a string: the last, to which bindings and rows belong, and those before."""

    before: tuple[Statement, ...]
    last: Statement | None


def read_script(query: str) -> Script:
    """What a string of SQL asks for.

    Raises:
        SqlTransactionControlError: for BEGIN, COMMIT, END, ROLLBACK, SAVEPOINT and RELEASE.
        SqlError: for named or numbered parameters (U68), and for edgeemu's own names.
    """
    if len(query) > SQL_SCRIPT_CACHED_CHARS_MAX:
        return _read(query)
    return _read_cached(query)


def _read(query: str) -> Script:
    if "\0" in query:
        raise SqlError("a query cannot hold a NUL character: bind the text that has one")
    statements = []
    reader = _Reader()
    for token in _TOKEN.finditer(query):
        if reader.take(token.lastgroup or "", token.group()):
            statements.append(reader.statement())
            reader = _Reader()
    if reader.words:
        statements.append(reader.statement())
    if not statements:
        return Script((), None)
    return Script(tuple(statements[:-1]), statements[-1])


_read_cached = lru_cache(maxsize=SQL_SCRIPTS_CACHED_MAX)(_read)


class _Reader:
    """Takes the tokens of one statement."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.words: list[str] = []
        """Its tokens, words in upper case, without blanks."""
        self.cacheable = True

    def take(self, kind: str, text: str) -> bool:
        """Take one token; whether it ends the statement."""
        if kind == "blank":
            self.parts.append(text)
            return False
        if kind == "end":
            return self._take_end()
        if kind == "named":
            raise SqlError(f"parameters are written as `?`, in order: {text} is not supported")
        upper = text.upper() if kind == "word" else text
        if kind in ("word", "quoted"):
            text = _checked_name(text)
        elif kind == "string" and RESERVED_PREFIX in text.lower():
            self.cacheable = False
            if self.words[-1:] in _BEFORE_NAMES:  # Of these names SQLite asks nobody.
                _checked_name(text)
        elif kind == "string" and self.words[-1:] in _BEFORE_TABLES:
            text = _checked_name(text)  # SQLite takes a string for a name where one must stand.
        first = self.words in _BEFORE_STATEMENTS
        after = self.words[-2:] if self.words and self.words[-1] == "(" else self.words[-1:]
        if (first and upper in _CONTROL) or (
            upper == "ROLLBACK" and not _ROLLS_BACK.isdisjoint(after)
        ):
            raise SqlTransactionControlError(
                f"{upper} is not allowed: each turn is one transaction; inside it, use "
                "transaction_sync (transactionSync)"
            )
        self.words.append(upper)
        self.parts.append(text)
        return False

    def _take_end(self) -> bool:
        """Whether a semicolon ends the statement: inside a trigger only the one behind END does."""
        if not self.words:
            return False
        if self._is_trigger() and self.words[-2:] != [";", "END"]:
            self.words.append(";")
            self.parts.append(";")
            return False
        return True

    def _is_trigger(self) -> bool:
        words = self._words_said()
        return words[:1] == ["CREATE"] and "TRIGGER" in words[1:3]

    def _words_said(self) -> list[str]:
        """The first tokens, behind EXPLAIN."""
        words = self.words[:6]
        if words[:1] == ["EXPLAIN"]:
            words = words[3:] if words[1:3] == ["QUERY", "PLAN"] else words[1:]
        return words

    def statement(self) -> Statement:
        """What was taken, as a statement."""
        first = self.words[0]
        gives_rows = first not in _WITHOUT_ROWS or "RETURNING" in self.words
        text = "".join(self.parts).strip()
        # The authorizer must see these each time, and it is only asked when they are prepared.
        cacheable = self.cacheable and first not in ("PRAGMA", "CREATE")
        return Statement(text, gives_rows, first == "PRAGMA", cacheable)


def _checked_name(text: str) -> str:
    """An identifier as SQLite is to see it: the catalogue shows nothing of edgeemu's own."""
    name = text.strip("\"'`[]").lower()
    if name.startswith(RESERVED_PREFIX):
        raise SqlError(f"names that begin with {RESERVED_PREFIX} are edgeemu's own: {name}")
    return CATALOGUE if name in _CATALOGUES else text
