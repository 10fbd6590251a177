"""The SQL of one instance: the rules of the platform over SQLite (spec section 9, U66 to U71)."""

from array import array
from collections.abc import Iterator
from contextlib import suppress

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeemu.limits import SQL_PARAMETERS_MAX, SQL_SCRIPT_CACHED_CHARS_MAX, SQL_VALUE_BYTES_MAX
from edgeemu.rng import stream
from edgeemu.sdk.errors import SqlError, SqlParameterTooLargeError, SqlTransactionControlError
from edgeemu.stores import database as database_module
from edgeemu.stores.database import Database
from edgeemu.stores.sql_text import Script, Statement, read_script
from edgeemu.stores.virtual_time import VirtualTime

START_MS = 1_893_456_000_000


def open_database(seed: int = 1, **options: int) -> Database:
    database = Database(apsw.Connection(":memory:"), **options)
    database.connection.execute(
        "CREATE TABLE _edgeemu_keys (key TEXT PRIMARY KEY, value);"
        "INSERT INTO _edgeemu_keys VALUES ('k', 'secret')"
    )
    random = stream(seed, "test")
    database.draw_from(lambda: random)
    database.begin()
    return database


@pytest.fixture
def database() -> Iterator[Database]:
    opened = open_database()
    yield opened
    opened.close()


# --- statements and bindings -------------------------------------------------------------------


def test_last_statement_gets_the_bindings_and_gives_the_rows(database: Database) -> None:
    found = database.exec(
        "CREATE TABLE t (a, b); INSERT INTO t VALUES (1, ';'); -- SELECT 'not this';\n"
        "SELECT a, b FROM t WHERE a = ?;",
        (1,),
    )
    assert found == (("a", "b"), [(1, ";")])


def test_statements_before_a_failing_one_stay_applied(database: Database) -> None:
    with pytest.raises(SqlError, match=r"^no such table: nope$"):
        database.exec("CREATE TABLE t (a); INSERT INTO t VALUES (1); SELECT * FROM nope; SELECT 1")
    assert database.exec("SELECT a FROM t").rows == [(1,)]


@pytest.mark.parametrize(
    ("query", "bindings"),
    [
        ("INSERT INTO t VALUES (?)", ()),
        ("INSERT INTO t VALUES (?)", (1, 2)),
        ("INSERT INTO t VALUES (1)", (1,)),
        ("INSERT INTO t VALUES (?); SELECT 1", (1,)),
        (" -- nothing", (1,)),
    ],
)
def test_wrong_number_of_bindings_runs_nothing(
    database: Database, query: str, bindings: tuple[int, ...]
) -> None:
    database.exec("CREATE TABLE t (a)")
    with pytest.raises(SqlError, match="bindings"):
        database.exec(query, bindings)
    assert database.exec("SELECT * FROM t").rows == []


@pytest.mark.parametrize("query", ["", " ", ";", "-- a comment", "/* open"])
def test_query_of_nothing_gives_no_rows(database: Database, query: str) -> None:
    assert database.exec(query) == ((), [])


@pytest.mark.parametrize("parameter", ["?1", ":a", "@a", "$a"])
def test_parameters_are_positional_only(database: Database, parameter: str) -> None:
    with pytest.raises(SqlError, match=r"written as `\?`"):
        database.exec(f"SELECT {parameter}", (1,))


def test_what_looks_like_a_parameter_in_a_string_is_none(database: Database) -> None:
    assert database.exec("SELECT ':a', \":b\", '?' AS [$c], ?", (1,)).rows == [(":a", ":b", "?", 1)]


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        (None, (None, "null")),
        (True, (1, "integer")),
        (False, (0, "integer")),
        (2**63 - 1, (2**63 - 1, "integer")),
        (-(2**63), (-(2**63), "integer")),
        (1.5, (1.5, "real")),
        ("ü\0x", ("ü\0x", "text")),
        (b"\0\1", (b"\0\1", "blob")),
        (bytearray(b"ab"), (b"ab", "blob")),
        (memoryview(b"abc")[1:], (b"bc", "blob")),
        (array("H", [1, 2]), (array("H", [1, 2]).tobytes(), "blob")),
    ],
)
def test_what_can_be_bound(database: Database, value: object, stored: tuple[object, str]) -> None:
    query = "SELECT x, typeof(x) FROM (SELECT ? AS x)"
    assert database.exec(query, (value,)).rows == [stored]


@pytest.mark.parametrize("value", [object(), [1], {}, 2**63, -(2**63) - 1, 1j, "\ud800"])
def test_what_cannot_be_bound_is_a_type_error(database: Database, value: object) -> None:
    with pytest.raises(TypeError):
        database.exec("SELECT ?", (value,))


def test_text_that_is_no_utf_8_is_an_sql_error_and_the_turn_goes_on(database: Database) -> None:
    database.exec("CREATE TABLE t (a); INSERT INTO t VALUES (CAST(x'ff' AS TEXT)), ('b')")
    with pytest.raises(SqlError, match=r"no UTF-8: read it with CAST\(\.\.\. AS BLOB\)"):
        database.exec("SELECT a FROM t")
    assert database.exec("SELECT CAST(a AS BLOB) FROM t").rows == [(b"\xff",), (b"b",)]
    database.exec("DROP TABLE t")  # It would be locked by a statement that still runs.
    database.commit()


def test_query_that_is_no_string_is_a_type_error(database: Database) -> None:
    with pytest.raises(TypeError, match="a query is a str, not bytes"):
        database.exec(b"SELECT 1")  # type: ignore[arg-type]


@pytest.mark.parametrize("make", [lambda n: "x" * n, bytes, bytearray, lambda n: "ü" * (n // 2)])
def test_value_above_its_bound_is_refused_before_anything_runs(database: Database, make) -> None:
    database.exec("CREATE TABLE t (a)")
    database.exec("INSERT INTO t VALUES (length(?))", (make(SQL_VALUE_BYTES_MAX),))
    with pytest.raises(SqlParameterTooLargeError, match=r"2097154? |2097153 "):
        database.exec("DELETE FROM t; SELECT ?", (make(SQL_VALUE_BYTES_MAX + 2),))
    assert len(database.exec("SELECT * FROM t").rows) == 1


@pytest.mark.parametrize(("count", "fits"), [(SQL_PARAMETERS_MAX, True), (32_767, False)])
def test_number_of_parameters_is_bounded(database: Database, count: int, fits: bool) -> None:
    query = f"SELECT 1 IN ({','.join('?' * count)})"
    if fits:
        assert database.exec(query, (1,) * count).rows == [(1,)]
    else:
        with pytest.raises(SqlError, match="too many SQL variables"):
            database.exec(query, (1,) * count)


def test_database_is_bounded_and_the_turn_is_told() -> None:
    database = open_database(bytes_max=20 * 4_096)
    database.exec("CREATE TABLE t (a)")
    with pytest.raises(SqlError, match=r"^database or disk is full$"):
        for _ in range(100):
            database.exec("INSERT INTO t VALUES (randomblob(2000))")
    # SQLite undid all of the transaction, so the turn cannot be kept as if nothing had been.
    assert database.problem() == "database or disk is full"
    with pytest.raises(SqlError, match="was undone"):
        database.exec("SELECT 1")
    database.rollback()
    database.begin()
    assert database.problem() is None
    assert database.exec("SELECT count(*) FROM sqlite_master").rows == [(0,)]


def test_rows_are_bounded(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database_module, "SQL_ROWS_MAX", 3)
    series = "WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s{}) SELECT n FROM s"
    assert len(database.exec(series.format(" LIMIT 3")).rows) == 3
    with pytest.raises(SqlError, match="more than 3 rows"):
        database.exec(series.format(""))
    assert database.exec("SELECT 1").rows == [(1,)]


# --- splitting ---------------------------------------------------------------------------------

PIECES = [
    "SELECT 1",
    "SELECT ';' AS \";\"",
    "INSERT INTO [a;b] VALUES (`c;d`, 'it''s; fine')",
    "SELECT 1 -- one; two\n + 2",
    "SELECT /* ; */ CASE WHEN 1 THEN 2 END",
    "CREATE TRIGGER x AFTER INSERT ON t BEGIN SELECT CASE 1 WHEN 1 THEN 2 END; DELETE FROM t; END",
    "create temp trigger y after insert on t begin select ';'; end",
    "EXPLAIN QUERY PLAN CREATE TRIGGER z AFTER INSERT ON t BEGIN SELECT 1; END",
]


@given(
    st.lists(st.sampled_from(PIECES), max_size=6), st.sampled_from([";", " ; ", ";;\n", ";--\n"])
)
def test_string_is_split_into_its_statements(pieces: list[str], between: str) -> None:
    script = read_script(between.join(pieces))
    found = [each.text for each in (*script.before, script.last) if each is not None]
    comment = "--\n" if "--" in between else ""
    assert [text.removeprefix(comment) for text in found] == pieces


@given(st.text(alphabet="aE;'\"`[]-*/ \n?:$@(.BEGIN1\\é"))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        script = read_script(text)
    except SqlError:
        return
    for statement in (*script.before, script.last):
        assert statement is None or statement.text in text


def test_long_strings_are_read_each_time(database: Database) -> None:
    text = "x" * SQL_SCRIPT_CACHED_CHARS_MAX
    assert database.exec(f"SELECT 1; SELECT '{text}'").rows == [(text,)]
    assert read_script(f"SELECT '{text}'") is not read_script(f"SELECT '{text}'")
    assert read_script("SELECT 'short'") is read_script("SELECT 'short'")


def test_trigger_with_several_statements_works(database: Database) -> None:
    database.exec(
        "CREATE TABLE t (a); CREATE TABLE log (a);"
        "CREATE TRIGGER copy AFTER INSERT ON t BEGIN"
        "  INSERT INTO log VALUES (CASE WHEN new.a > 1 THEN 'many' ELSE 'one' END);"
        "  INSERT INTO log VALUES ('again');"
        "END;"
        "INSERT INTO t VALUES (?)",
        (2,),
    )
    assert database.exec("SELECT a FROM log").rows == [("many",), ("again",)]


# --- what is refused ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "query",
    [
        "BEGIN",
        "begin immediate",
        "CREATE TABLE made (a); COMMIT",
        "CREATE TABLE made (a); END TRANSACTION; SELECT 1",
        "/* hidden */ ROLLBACK",
        "-- hidden\nSAVEPOINT a",
        "CREATE TABLE made (a); RELEASE a",
        "CREATE TABLE made (a UNIQUE ON CONFLICT ROLLBACK)",
        "INSERT OR ROLLBACK INTO t VALUES (1)",
        "CREATE TRIGGER x BEFORE INSERT ON t BEGIN SELECT RAISE(ROLLBACK, 'no'); END",
    ],
)
def test_transactions_are_the_turns_business(database: Database, query: str) -> None:
    database.exec("CREATE TABLE t (a UNIQUE)")
    with pytest.raises(SqlTransactionControlError, match="is not allowed"):
        database.exec(query)
    assert database.exec("SELECT name FROM sqlite_master WHERE type = 'table'").rows == [("t",)]


@pytest.mark.parametrize("explain", ["EXPLAIN", "explain query plan"])
@pytest.mark.parametrize("word", ["BEGIN", "COMMIT", "END", "ROLLBACK TO", "SAVEPOINT", "RELEASE"])
def test_transactions_that_are_explained_are_named_as_written(
    database: Database, explain: str, word: str
) -> None:
    named = word.removesuffix(" TO")
    with pytest.raises(SqlTransactionControlError, match=f"^{named} is not allowed"):
        database.exec(f"{explain} {word} x")


@pytest.mark.parametrize("query", ["SAVEPOINT x", "RELEASE x", "COMMIT", "ROLLBACK", "BEGIN"])
def test_authorizer_stops_what_the_tokeniser_lets_through(
    database: Database, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    missed = Script((), Statement(query, gives_rows=True, is_pragma=False, cacheable=False))
    monkeypatch.setattr("edgeemu.stores.database.read_script", lambda _: missed)
    word = query.split(maxsplit=1)[0]
    with pytest.raises(SqlTransactionControlError, match=f"^{word} is not allowed"):
        database.exec(query)
    assert database.connection.in_transaction


def test_reserved_words_may_be_names(database: Database) -> None:
    database.exec("CREATE TABLE t (begin, release, savepoint)")
    database.exec("INSERT INTO t (begin, release, savepoint) VALUES (1, 2, 3)")
    assert database.exec("SELECT savepoint, release, begin FROM t").rows == [(3, 2, 1)]


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("ATTACH ':memory:' AS other", "ATTACH is not allowed"),
        ("DETACH main", "DETACH is not allowed"),
        ("PRAGMA journal_mode = DELETE", "PRAGMA journal_mode is not allowed"),
        ("PRAGMA locking_mode", "PRAGMA locking_mode is not allowed"),
        ("pragma main.synchronous = off", "PRAGMA synchronous is not allowed"),
        ("PRAGMA writable_schema = 1", "PRAGMA writable_schema is not allowed"),
        ("PRAGMA max_page_count = 5", "PRAGMA max_page_count is not allowed"),
        ("PRAGMA page_size = 512", "PRAGMA page_size is not allowed with a value"),
        ("PRAGMA case_sensitive_like = 1", "PRAGMA case_sensitive_like is not allowed"),
        ("PRAGMA database_list", "PRAGMA database_list is not allowed"),
        ("VACUUM", "cannot VACUUM from within a transaction"),
        ("VACUUM INTO 'elsewhere'", "cannot VACUUM from within a transaction"),
        ("SELECT load_extension('x')", "not authorized"),
    ],
)
def test_other_files_and_the_inner_workings_are_out_of_reach(
    database: Database, query: str, told: str
) -> None:
    with pytest.raises(SqlError, match=told):
        database.exec(query)


def test_pragma_that_edgeemu_used_is_no_way_round(database: Database) -> None:
    database.rollback()
    assert database.connection.execute("PRAGMA journal_mode").get == "memory"
    database.begin()
    with pytest.raises(SqlError, match="not allowed"):
        database.exec("PRAGMA journal_mode")


def test_pragmas_that_harm_nothing_work(database: Database) -> None:
    database.exec("CREATE TABLE t (a INTEGER); PRAGMA user_version = 7")
    assert database.exec("PRAGMA user_version").rows == [(7,)]
    assert database.exec("PRAGMA foreign_keys").rows == [(1,)]
    assert database.exec("PRAGMA table_info(t)").rows == [(0, "a", "INTEGER", 0, None, 0)]
    assert database.exec("SELECT name FROM pragma_table_info('t')").rows == [("a",)]


# --- edgeemu's own tables ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM _edgeemu_keys",
        "SELECT * FROM '_edgeemu_keys'",
        'SELECT * FROM main."_EDGEEMU_keys"',
        "SELECT * FROM [_edgeemu_keys]",
        "DELETE FROM `_edgeemu_keys`",
        "DROP TABLE '_edgeemu_keys'",
        "ALTER TABLE _edgeemu_keys ADD COLUMN b",
        "CREATE TABLE _edgeemu_mine (a)",
        "CREATE TRIGGER x AFTER INSERT ON t BEGIN DELETE FROM '_edgeemu_keys'; END;"
        " INSERT INTO t VALUES (1)",
        "CREATE VIEW x AS SELECT * FROM '_edgeemu_keys'; SELECT * FROM x",
        "CREATE INDEX x ON '_edgeemu_keys' (value)",
        "CREATE TRIGGER x AFTER INSERT ON '_edgeemu_keys' BEGIN SELECT 1; END",
        "CREATE TABLE x (a REFERENCES '_edgeemu_keys' (value))",
        "CREATE TEMP TABLE '_edgeemu_keys' (a)",
        "CREATE TEMP TABLE x (a); ALTER TABLE x RENAME TO '_edgeemu_keys'",
        "DROP VIEW _edgeemu_catalogue",
    ],
)
def test_own_tables_are_out_of_reach(database: Database, query: str) -> None:
    database.exec("CREATE TABLE t (a)")
    # The same text as a statement of edgeemu's own must not slip through apsw's cache.
    if query.startswith("SELECT"):
        assert database.connection.execute(query).fetchall() == [("k", "secret")]
    with pytest.raises(SqlError, match="_edgeemu_"):
        database.exec(query)
    assert database.connection.execute("SELECT * FROM _edgeemu_keys").get == ("k", "secret")


def test_catalogue_shows_the_users_tables_only(database: Database) -> None:
    database.exec("CREATE TABLE t (a PRIMARY KEY); CREATE VIEW v AS SELECT name FROM sqlite_master")
    names = [("t",), ("sqlite_autoindex_t_1",), ("v",)]
    assert database.exec("SELECT name FROM sqlite_master").rows == names
    assert database.exec("SELECT sqlite_schema.name FROM main.sqlite_schema").rows == names
    assert database.exec('SELECT name FROM "sqlite_master"').rows == names
    assert database.exec("SELECT name FROM 'sqlite_master'").rows == names
    assert database.exec("SELECT b.name FROM v JOIN 'sqlite_schema' b USING (name)").rows == names
    assert database.exec("SELECT 'sqlite_master', name FROM v").rows[0] == ("sqlite_master", "t")
    listed = database.exec("SELECT 1; PRAGMA table_list").rows
    assert {row[1] for row in listed} == {"t", "v", "sqlite_schema", "sqlite_temp_schema"}
    assert database.exec("SELECT sql FROM sqlite_master WHERE name = ?", ("t",)).rows == [
        ("CREATE TABLE t (a PRIMARY KEY)",)
    ]


@pytest.mark.parametrize("query", ["ANALYZE", "REINDEX", "PRAGMA optimize(0x10002)"])
def test_what_goes_through_all_tables_leaves_out_our_own(database: Database, query: str) -> None:
    database.exec("CREATE TABLE t (a); CREATE INDEX i ON t (a); INSERT INTO t VALUES (1)")
    database.exec(query)
    if "REINDEX" not in query:
        assert {row[0] for row in database.exec("SELECT tbl FROM sqlite_stat1").rows} == {"t"}


def test_own_names_may_be_values(database: Database) -> None:
    assert database.exec("SELECT '_edgeemu_keys'").rows == [("_edgeemu_keys",)]


WORDS = st.sampled_from(
    [
        *("BEGIN", "COMMIT", "END", "ROLLBACK", "SAVEPOINT", "RELEASE", "EXPLAIN", "CREATE"),
        *("TEMP", "TRIGGER", "TABLE", "VIEW", "AFTER", "INSERT", "OR", "ON", "CONFLICT", "RAISE"),
        *("INTO", "VALUES", "SELECT", "*", "FROM", "WHERE", "UPDATE", "SET", "DELETE", "DROP"),
        *("PRAGMA", "journal_mode", "ATTACH", "CASE", "t", "a", "x", "1", "2e5", "?", "?1", ":a"),
        *("=", ",", ".", "(", ")", ";", "';'", "'", '"', "`", "[", "]", "--", "/*", "*/", "'t'"),
        *("_edgeemu_keys", "'_edgeemu_keys'", '"_edgeemu_keys"', "key", "value", "main", "temp"),
        *("sqlite_master", "sqlite_schema", "\ufeff", "\0", "\n", "é"),
    ]
)


@given(st.lists(WORDS, max_size=25), st.sampled_from(["", " ", "\n"]))
def test_no_text_gets_out_of_the_turn_or_into_our_tables(words: list[str], between: str) -> None:
    database = open_database()
    database.exec("CREATE TABLE t (a)")
    with suppress(SqlError):
        database.exec(between.join(words))
    assert database.connection.in_transaction
    assert database.problem() is None
    secret = database.connection.execute("SELECT key, value FROM _edgeemu_keys").fetchall()
    assert secret == [("k", "secret")]
    database.close()


# --- SQLite's own ------------------------------------------------------------------------------


def test_foreign_keys_are_on(database: Database) -> None:
    database.exec("CREATE TABLE p (id INTEGER PRIMARY KEY); CREATE TABLE c (p REFERENCES p)")
    with pytest.raises(SqlError, match=r"^FOREIGN KEY constraint failed$"):
        database.exec("INSERT INTO c VALUES (1)")
    assert database.problem() is None


def test_deferred_foreign_key_that_hangs_is_a_problem(database: Database) -> None:
    database.exec(
        "CREATE TABLE p (id INTEGER PRIMARY KEY);"
        "CREATE TABLE c (p REFERENCES p DEFERRABLE INITIALLY DEFERRED);"
        "INSERT INTO c VALUES (1)"
    )
    assert database.problem() == "FOREIGN KEY constraint failed"
    database.exec("INSERT INTO p VALUES (1)")
    assert database.problem() is None
    database.commit()


def test_full_text_search_and_json(database: Database) -> None:
    database.exec("CREATE VIRTUAL TABLE f USING fts5 (body)")
    database.exec("INSERT INTO f VALUES (?), (?)", ("the quick fox", "a lazy dog"))
    assert database.exec("SELECT body FROM f WHERE f MATCH ?", ("quick",)).rows == [
        ("the quick fox",)
    ]
    assert database.exec("SELECT ? ->> '$.a[1]'", ('{"a": [1, 2]}',)).rows == [(2,)]


def test_time_is_the_emulated_one() -> None:
    now_ms = START_MS
    time = VirtualTime(lambda: now_ms)
    database = Database(apsw.Connection(":memory:", vfs=time.name))
    database.begin()
    query = (
        "SELECT datetime('now'), CURRENT_TIMESTAMP, CURRENT_DATE, CURRENT_TIME, unixepoch(),"
        " strftime('%f', 'now'), julianday('now') - julianday('2030-01-01')"
    )
    midnight = ("2030-01-01 00:00:00", "2030-01-01 00:00:00", "2030-01-01", "00:00:00")
    assert database.exec(query).rows == [(*midnight, 1_893_456_000, "00.000", 0.0)]
    database.exec("CREATE TABLE t (at DEFAULT CURRENT_TIMESTAMP, a); INSERT INTO t (a) VALUES (1)")
    now_ms += 86_400_250
    later = ("2030-01-02 00:00:00", "2030-01-02 00:00:00", "2030-01-02", "00:00:00")
    assert database.exec(query).rows[0][:6] == (*later, 1_893_542_400, "00.250")
    assert database.exec("SELECT at FROM t").rows == [("2030-01-01 00:00:00",)]
    database.close()
    time.unregister()


def test_random_functions_draw_from_the_stream() -> None:
    query = "SELECT random(), hex(randomblob(4)), length(randomblob(0)), abs(random() % 10)"
    first, again, other = (open_database(seed).exec(query).rows for seed in (1, 1, 2))
    assert first == again
    assert first != other
    assert first[0][2] == 1


def test_connections_agree_on_the_order_of_random_rows() -> None:
    query = "SELECT value FROM json_each('[1,2,3,4,5,6,7,8,9]') ORDER BY random()"
    assert open_database(1).exec(query) == open_database(1).exec(query)


# --- the transaction of the turn ---------------------------------------------------------------


def test_turn_is_undone_or_kept_as_one(database: Database) -> None:
    database.exec("CREATE TABLE t (a)")
    assert database.has_changes
    database.commit()
    database.begin()
    assert database.in_transaction
    database.exec("INSERT INTO t VALUES (1)")
    database.rollback()
    database.begin()
    assert database.exec("SELECT * FROM t").rows == []
    database.exec("CREATE TABLE IF NOT EXISTS t (a)")
    assert not database.has_changes


@pytest.mark.parametrize("keep", [True, False])
def test_temporary_tables_end_with_the_turn(database: Database, keep: bool) -> None:
    for query in (
        "CREATE TEMP TABLE t (a)",
        'CREATE TABLE temp."a ""b"" c" (a); CREATE INDEX temp.i ON "a ""b"" c" (a)',
        "CREATE TEMPORARY VIEW t AS SELECT 1 AS a",
        "CREATE TABLE IF NOT EXISTS u (a); CREATE TEMP TRIGGER t AFTER INSERT ON u"
        " BEGIN SELECT 1; END; CREATE TEMP TABLE t (a)",
        "CREATE VIRTUAL TABLE temp.t USING fts5 (a)",
    ) * 2:
        assert database.exec(f"{query}; SELECT count(*) > 0 FROM sqlite_temp_schema").rows == [(1,)]
        database.commit() if keep else database.rollback()
        database.begin()
        assert database.exec("SELECT * FROM sqlite_temp_schema").rows == []


def test_parts_of_a_turn_are_undone_alone(database: Database) -> None:
    database.exec("CREATE TABLE t (a)")
    database.savepoint()
    database.exec("INSERT INTO t VALUES (1)")
    database.savepoint()
    database.exec("INSERT INTO t VALUES (2)")
    database.rollback_to()
    database.savepoint()
    database.exec("INSERT INTO t VALUES (3)")
    database.release()
    database.release()
    database.savepoint()
    database.exec("DROP TABLE t")
    database.rollback_to()
    assert database.exec("SELECT a FROM t").rows == [(1,), (3,)]


ACTIONS = st.sampled_from(
    ["insert", "two", "fails", "second fails", "delete", "part", "keep", "undo", "commit", "roll"]
)


@given(st.lists(ACTIONS, max_size=40))
def test_what_is_seen_is_what_a_stack_of_lists_would_hold(actions: list[str]) -> None:
    """Statements, parts and whole turns, in any order, beside a model without any SQL in it."""
    database = open_database()
    database.exec("CREATE TABLE t (a UNIQUE)")
    database.commit()
    database.begin()
    kept: list[list[int]] = [[], []]  # What is committed, what the turn sees, then each part.
    for number, action in enumerate(actions):
        now = kept[-1]
        if action == "insert":
            database.exec("INSERT INTO t VALUES (?)", (number,))
            now.append(number)
        elif action == "two":
            query = (
                "INSERT INTO t VALUES (-1); DELETE FROM t WHERE a = -1; INSERT INTO t VALUES (?)"
            )
            database.exec(query, (number,))
            now.append(number)
        elif action == "fails":
            with pytest.raises(SqlError, match="UNIQUE"):
                database.exec("INSERT INTO t VALUES (-1), (-2), (-1)")
        elif action == "second fails":
            with pytest.raises(SqlError, match="no such table"):
                database.exec(f"INSERT INTO t VALUES ({number}); DELETE FROM nope")
            now.append(number)
        elif action == "delete" and now:
            database.exec("DELETE FROM t WHERE a = ?", (now.pop(0),))
        elif action == "part":
            database.savepoint()
            kept.append(list(now))
        elif action == "keep" and len(kept) > 2:
            database.release()
            kept.pop()
            kept[-1] = now
        elif action == "undo" and len(kept) > 2:
            database.rollback_to()
            kept.pop()
        elif action == "commit":
            database.commit()
            database.begin()
            kept = [list(now), list(now)]
        elif action == "roll":
            database.rollback()
            database.begin()
            kept = [list(kept[0]), list(kept[0])]
        assert database.exec("SELECT a FROM t ORDER BY a").rows == [(a,) for a in kept[-1]]
    database.close()


def test_size_grows_with_what_is_kept(database: Database) -> None:
    before = database.size_bytes()
    database.exec("CREATE TABLE t (a); INSERT INTO t VALUES (randomblob(50000))")
    assert database.size_bytes() >= before + 50_000
