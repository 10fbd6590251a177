"""Case C62 and the rows of section 9: SQL, with U26 and U66 to U71."""

from tests.conformance.scenario import (
    Scenario,
    advance,
    alarm,
    call,
    ended,
    evict,
    instances,
    keys,
    restart,
    sql,
    start,
    waits,
)

_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"
_BYTES = {"$bytes": "AA=="}
_COUNT = "SELECT count(*) AS n FROM t"


def _sql(case: str, title: str, source: str, *steps, **more) -> Scenario:
    source = f"spec/telnyx-actors.md {source}"
    return Scenario(case, title, source, "sql", steps, types=("A", "Books", "Fails"), **more)


def _rows(*numbers: int, **extra: str) -> list[dict]:
    return [{"a": number, "b": extra.get(f"b{number}", f"row {number}")} for number in numbers]


SCENARIOS = [
    _sql(
        "C62",
        "exec is synchronous; a cursor is read once",
        "section 9",
        call("A/x", "fill", 5),
        call("A/x", "single_pass", gives=[[1, 2], [{"a": 3}, {"a": 4}, {"a": 5}], []]),
        call("A/x", "run", "SELECT a, b FROM t WHERE a < 3", gives=_rows(1, 2)),
        call("A/x", "run", "SELECT a FROM t WHERE a > 9", gives=[]),
        call("A/x", "run", "INSERT INTO t VALUES (6, 'row 6') RETURNING b", gives=[{"b": "row 6"}]),
    ),
    _sql(
        "C62 statements",
        "several statements: all run in order, bindings and rows belong to the last",
        "section 9",
        call(
            "A/x",
            "run",
            "CREATE TABLE t (a, b); INSERT INTO t VALUES (1, 'x;y'); -- SELECT 'no';\n"
            "SELECT a FROM t WHERE b = ?",
            ["x;y"],
            gives=[{"a": 1}],
        ),
        call(
            "A/x",
            "run",
            "CREATE TRIGGER r AFTER INSERT ON t BEGIN UPDATE t SET b = 'seen'; END;"
            "INSERT INTO t VALUES (?, 'new'); SELECT 1",
            [2],
            fails="ActorMethodError",
            says="bindings",
        ),
        call(
            "A/x",
            "run",
            "CREATE TRIGGER r AFTER INSERT ON t BEGIN SELECT 1; UPDATE t SET b = 'seen'; END;"
            "INSERT INTO t VALUES (?, 'new')",
            [2],
        ),
        sql("A/x", "SELECT * FROM t", gives=[{"a": 1, "b": "seen"}, {"a": 2, "b": "seen"}]),
    ),
    _sql(
        "C62 fails",
        "of several statements, those before the one that fails stay applied",
        "section 9",
        call("A/x", "fill", 1),
        call(
            "A/x",
            "after",
            "INSERT INTO t VALUES (2, 'row 2'); INSERT INTO t VALUES (1, 'twice'); DELETE FROM t",
            gives=[["SqlError", "UNIQUE constraint failed: t.a"], _rows(1, 2)],
        ),
        call("A/x", "run", "SELECT * FROM t", gives=_rows(1, 2)),
    ),
    _sql(
        "C62 control",
        "transactions are no statements: refused anywhere in the string, before anything runs",
        "section 9, section 16.1",
        call("A/x", "fill", 1),
        *(
            call("A/x", "control", f"DELETE FROM t; {statement}; SELECT 1", gives=[True, 1])
            for statement in ("BEGIN", "commit", "End", "ROLLBACK", "SAVEPOINT s", "RELEASE s")
        ),
        call("A/x", "control", "DELETE FROM t; /* x */ BEGIN IMMEDIATE", gives=[True, 1]),
        call("A/x", "control", "INSERT OR ROLLBACK INTO t VALUES (1, 'x')", gives=[True, 1]),
        call("A/x", "run", "SELECT 'BEGIN; COMMIT' AS v", gives=[{"v": "BEGIN; COMMIT"}]),
        call("A/x", "run", "BEGIN", fails="ActorMethodError", says="BEGIN is not allowed"),
    ),
    _sql(
        "C62 sync",
        "transaction_sync: kept on return with its value, undone on a throw, which poisons nothing",
        "section 9",
        call("A/x", "fill", 1),
        call("A/x", "kept", gives="the value"),
        call("A/x", "undone", gives=["Error", "no"]),
        call("A/x", "multiple_undone", gives=["SqlError", "no such table: nowhere"]),
        call("A/x", "run", "SELECT * FROM t", gives=_rows(1, 100, b100="kept")),
        call("A/x", "put_inside", gives="of the turn"),
        keys("A/x", {"k": "of the turn"}),
        call("A/x", "run", _COUNT, gives=[{"n": 2}]),
    ),
    _sql(
        "C62 async",
        "transaction_sync takes no async function, and keeps nothing of it",
        "section 9, section 16.1",
        call("A/x", "fill", 1),
        call("A/x", "asynchronous", gives="SqlAsyncTransactionError"),
        call("A/x", "awaitable", gives="SqlAsyncTransactionError"),
        call("A/x", "run", "SELECT * FROM t", gives=_rows(1)),
    ),
    _sql(
        "C62 large",
        "a bound value has 2 MiB at most, or nothing runs; a statement 32,766 parameters",
        "section 9, section 16.2, section 16.1",
        call("A/x", "fill", 2),
        call(
            "A/x",
            "large",
            1,
            gives=[["SqlParameterTooLargeError", "SqlParameterTooLargeError"], 2],
        ),
        call("A/x", "large", 0, gives=[[None, None], 0]),
        call("A/x", "too_many", 32_766, gives=None),
        call("A/x", "too_many", 32_767, gives=["SqlError", "too many SQL variables"]),
    ),
    _sql(
        "C62 foreign keys",
        "foreign keys are on",
        "section 9",
        call(
            "A/x",
            "run",
            "CREATE TABLE parent (id INTEGER PRIMARY KEY);"
            "CREATE TABLE child (p REFERENCES parent (id)); INSERT INTO parent VALUES (1)",
        ),
        call("A/x", "tried", "INSERT INTO child VALUES (1)", gives=None),
        call(
            "A/x",
            "tried",
            "INSERT INTO child VALUES (2)",
            gives=["SqlError", "FOREIGN KEY constraint failed"],
        ),
        call("A/x", "run", "PRAGMA foreign_keys", gives=[{"foreign_keys": 1}]),
        call("A/x", "run", "SELECT p FROM child", gives=[{"p": 1}]),
    ),
    _sql(
        "C62 integers",
        "integers beyond 2^53 - 1 can be stored and compared; reading one raises RangeError",
        "section 9, section 16.1",
        call(
            "A/x",
            "beyond",
            gives=[
                9_007_199_254_740_991,
                1,
                "9007199254740992",
                *[["RangeError", "Value is too large to be represented as a JavaScript number"]]
                * 2,
            ],
        ),
    ),
    _sql(
        "C62 throws",
        "SQL of a turn that throws is undone with the turn, whatever it did",
        "section 9, U66",
        call("A/x", "fill", 1),
        call("A/x", "insert_and_throw", 2, fails="ActorMethodError", says="no"),
        call("A/x", "run", "SELECT * FROM t", gives=_rows(1)),
        call("A/x", "everything_and_throw", fails="ActorMethodError", says="no"),
        keys("A/x", {}),
        alarm("A/x", None),
        sql("A/x", _TABLES, gives=[{"name": "t"}]),
        call("A/x", "run", "SELECT * FROM t", gives=_rows(1)),
    ),
    _sql(
        "C62 delete all",
        "delete_all clears keys and leaves tables",
        "section 6, U26",
        call("A/x", "fill", 1),
        call("A/x", "delete_all"),
        call("A/x", "run", _COUNT, gives=[{"n": 1}]),
    ),
    _sql(
        "S9 private",
        "each instance has its own database, made at its first use",
        "section 9",
        call("A/x", "fill", 1),
        call("A/y", "tried", "SELECT * FROM t", gives=["SqlError", "no such table: t"]),
        sql("A/y", _TABLES, gives=[]),
        sql("A/x", _TABLES, gives=[{"name": "t"}]),
    ),
    _sql(
        "S9 values",
        "what can be bound, and how it comes back",
        "section 9, U67",
        *(
            call("A/x", "round_trip", value, gives=value)
            for value in (None, 0, -1, 1.5, "", "text ü\n", {"$bytes": "AAEC"}, {"$bytes": ""})
        ),
        call("A/x", "round_trip", True, gives=1),
        call("A/x", "round_trip", False, gives=0),
        call(
            "A/x",
            "kinds",
            [None, 1, True, 1.5, "1", {"$bytes": "AA=="}],
            gives=["null", "integer", "integer", "real", "text", "blob"],
        ),
        call("A/x", "kinds", [{"$bigint": str(2**63 - 1)}], gives=["integer"]),
        call("A/x", "buffers", gives=["0102", "6162", "6162"]),
        call("A/x", "unbindable", {"$bigint": str(2**63)}, gives="TypeError"),
        call("A/x", "unbindable", [1], gives="TypeError"),
        call("A/x", "unbindable", {"a": 1}, gives="TypeError"),
        call("A/x", "unbindable", {"$date": 1_700_000_000_000}, gives="TypeError"),
        call("A/x", "undefined", gives="TypeError"),
    ),
    _sql(
        "S9 bindings",
        "a wrong number of bindings, and named ones, are errors before the statement runs",
        "section 9, U68, U71",
        call("A/x", "fill", 1),
        *(
            call("A/x", "control", query, params, gives=[False, 1])
            for query, params in (
                ("DELETE FROM t WHERE a > ?", []),
                ("DELETE FROM t WHERE a > ?", [0, 0]),
                ("DELETE FROM t", [0]),
                ("DELETE FROM t WHERE a = ?1", [1]),
                ("DELETE FROM t WHERE a = :a", [1]),
                ("DELETE FROM t WHERE a = @a", [1]),
                ("DELETE FROM t WHERE a = $a", [1]),
            )
        ),
    ),
    _sql(
        "S9 refusals",
        "no other file, no other journal, nothing of the emulator's own",
        "section 9, U68",
        *(
            call("A/x", "refused", query, gives=True)
            for query in (
                "ATTACH 'elsewhere' AS e",
                "DETACH main",
                "PRAGMA journal_mode = delete",
                "PRAGMA locking_mode = exclusive",
                "PRAGMA synchronous = off",
                "SELECT * FROM _edgeemu_keys",
                "CREATE TABLE _edgeemu_mine (a)",
                "VACUUM INTO 'elsewhere'",
            )
        ),
        call("A/x", "run", "PRAGMA user_version = 3"),
        call("A/x", "run", "PRAGMA user_version", gives=[{"user_version": 3}]),
        call("A/x", "fill", 1),
        call("A/x", "run", _TABLES, gives=[{"name": "t"}]),
    ),
    _sql(
        "S9 members",
        "a cursor has no members that the documentation does not name",
        "section 9, U69",
        call("A/x", "members", gives=[]),
    ),
    _sql(
        "S9 nested",
        "transactions in transactions are save points",
        "section 9, U70",
        call("A/x", "fill", 0),
        call("A/x", "nested"),
        call("A/x", "outer_undone", gives=["Error", "no"]),
        call("A/x", "run", "SELECT a FROM t", gives=[{"a": 110}, {"a": 111}, {"a": 113}]),
    ),
    _sql(
        "S9 dangling",
        "a deferred foreign key that hangs at the end of the turn fails the turn",
        "section 9, section 6.1",
        call("A/x", "dangling", fails="ActorOutputGateError", says="FOREIGN KEY constraint failed"),
        sql("A/x", _TABLES, gives=[]),
        call("A/x", "fill", 1),
    ),
    _sql(
        "S9 search",
        "full text search and JSON",
        "section 9",
        call(
            "A/x",
            "run",
            "CREATE VIRTUAL TABLE f USING fts5 (body);"
            "INSERT INTO f VALUES ('the quick fox'), ('a lazy dog');"
            "SELECT body FROM f WHERE f MATCH ?",
            ["quick"],
            gives=[{"body": "the quick fox"}],
        ),
        call("A/x", "run", "SELECT body FROM f('lazy')", gives=[{"body": "a lazy dog"}]),
        call("A/x", "run", "SELECT ? ->> '$.a[1]' AS v", ['{"a": [1, 2]}'], gives=[{"v": 2}]),
    ),
    _sql(
        "S9 now",
        "the present of SQL is the emulated one",
        "section 9",
        call("A/x", "now", gives=["2023-11-14 22:13:20", "2023-11-14 22:13:20", True]),
        advance("1d"),
        call("A/x", "now", gives=["2023-11-15 22:13:20", "2023-11-15 22:13:20", True]),
    ),
    _sql(
        "S9 drawn",
        "random functions draw from the seed: the same run, the same rows",
        "section 9",
        call("A/x", "drawn", gives=[{"a": -370759, "b": "926A3661"}]),
        call("A/x", "drawn", gives=[{"a": -80263, "b": "E4445E47"}]),
        call("A/y", "drawn", gives=[{"a": 733744, "b": "32303E62"}]),
        kept_only="it counts turns, and an activation is one",
    ),
    _sql(
        "S9 alarm",
        "an alarm's SQL, keys and next alarm are kept or undone as one",
        "section 9, section 6.1, section 8.1",
        call("Books/x", "arm", 10_000),
        advance("11s", deliveries=1, failed=1),
        call("Books/x", "entries", gives=[]),
        keys("Books/x", {}),
        advance("5s", deliveries=2, failed=1, succeeded=1),
        call("Books/x", "entries", gives=[{"retry": 2}]),
        keys("Books/x", {"delivered": 2}),
        sql("Books/x", "SELECT at FROM entries", gives=[{"at": 1_700_000_012}]),
    ),
    _sql(
        "S9 timeout",
        "SQL of a turn that is over its budget is undone",
        "section 9, U11",
        call("A/x", "fill", 1),
        start("slow", "A/x", "slow"),
        waits("slow"),
        advance("31s"),
        ended("slow", fails="ActorMethodTimeoutError"),
        sql("A/x", "SELECT * FROM t", gives=_rows(1)),
    ),
    _sql(
        "S9 late",
        "code of a turn that is over its budget can use SQL no more",
        "section 9, U11",
        call("A/x", "fill", 1),
        start("slow", "A/x", "slow"),
        advance("31s"),
        ended("slow", fails="ActorMethodTimeoutError"),
        sql("A/x", "INSERT INTO t VALUES (2, 'row 2')"),
        advance("31s"),
        sql("A/x", "SELECT * FROM t", gives=_rows(1, 2)),
        kept_only="such code goes on only where its instance stays in memory",
    ),
    _sql(
        "S9 crash",
        "SQL of a turn in which the host fails is undone",
        "section 9, U74",
        call("A/x", "fill", 1),
        start("waits", "A/x", "waits"),
        evict("A/x", crash=True, gives=["A/x"]),
        ended("waits", fails="ActorCrashedError"),
        call("A/x", "run", "SELECT * FROM t", gives=_rows(1)),
    ),
    _sql(
        "S9 constructor",
        "SQL of an activation that fails is undone; one that succeeds commits it",
        "section 9, U20, U21",
        call("Fails/x", "touch", fails="ActorMethodError"),
        sql("Fails/x", _TABLES, gives=[]),
        call("Books/x", "entries", gives=[]),
        sql("Books/x", _TABLES, gives=[{"name": "entries"}]),
    ),
    _sql(
        "S9 restart",
        "SQL, its catalogue and what is uncommitted: what a restart finds is what was answered",
        "section 9, section 10",
        call("A/x", "fill", 2),
        call("A/x", "insert_and_throw", 3, fails="ActorMethodError"),
        call("A/x", "run", "PRAGMA user_version = 3"),
        restart(1_000),
        call("A/x", "run", "SELECT * FROM t", gives=_rows(1, 2)),
        call("A/x", "run", "PRAGMA user_version", gives=[{"user_version": 3}]),
        sql("A/x", _TABLES, gives=[{"name": "t"}]),
        disk_only=True,
    ),
    _sql(
        "S9 outside",
        "SQL from outside is kept whole or not at all, and looking makes no instance",
        "section 9",
        sql("A/x", "SELECT ? AS a, ? AS b", 1, _BYTES, gives=[{"a": 1, "b": _BYTES}]),
        instances(),
        sql("A/x", "CREATE TABLE t (a, b); SELECT * FROM nope", fails="E_SQL_FAILED"),
        sql("A/x", "BEGIN", fails="SqlTransactionControlError"),
        sql("A/x", "SELECT ?", [1], fails="TypeError"),
        instances(),
        sql("A/x", "CREATE TABLE t (a, b)", gives=[]),
        instances("A/x"),
        sql("A/x", "INSERT INTO t VALUES (1, 'row 1')"),
        call("A/x", "run", "SELECT * FROM t", gives=_rows(1)),
        sql("A/x", "SELECT 9007199254740993 AS v", gives=[{"v": {"$bigint": str(2**53 + 1)}}]),
    ),
]
