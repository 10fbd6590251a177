"""`storage sql`: a table for people, rows of objects for programs, errors with a code."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from edgeemu.errors import Code
from tests.cli.conftest import CONFIG, MAIN, Run, Server

MAKE = "CREATE TABLE t (a, b); INSERT INTO t VALUES (1, 'text'), (2.5, NULL), (x'00ff', 'ü;')"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for all tests; each has an instance of its own."""
    folder = tmp_path_factory.mktemp("shop")
    (folder / "src").mkdir()
    (folder / "edgeemu.toml").write_text(CONFIG)
    (folder / "src/main.py").write_text(MAIN)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        found = Server(folder, "--in-memory")
        yield found
        found.stop()


def test_rows_are_a_table(run: Run, served: Server) -> None:
    assert (
        run("storage", "sql", "table", MAKE).shown()
        == """\
exit 0
--- stderr
the statement gave no rows
"""
    )
    assert (
        run("storage", "sql", "table", "SELECT a, b FROM t").shown()
        == """\
exit 0
--- stdout
a                   b
1                   text
2.5                 null
{"$bytes": "AP8="}  ü;
"""
    )


def test_lists_of_keys_and_of_instances_hint_at_it(run: Run, served: Server) -> None:
    run("storage", "put", "hint", "key", "1")
    assert "SQL" not in run("storage", "list", "hint").err
    run("storage", "sql", "hint", "CREATE TABLE t (a)")
    hint = "Session/hint has SQL data too: see `edgeemu storage sql Session/hint 'SELECT name FROM"
    assert hint in run("storage", "list", "hint").err
    assert run("storage", "list", "hint", "--json").err == ""
    [row] = [line for line in run("actors", "list").out.splitlines() if "Session/hint" in line]
    assert " 1 + SQL " in row


def test_rows_are_objects_with_json(run: Run, served: Server) -> None:
    run("storage", "sql", "objects", MAKE)
    found = run("storage", "sql", "objects", "SELECT a, b FROM t", "--json")
    assert json.loads(found.out) == [
        {"a": 1, "b": "text"},
        {"a": 2.5, "b": None},
        {"a": {"$bytes": "AP8="}, "b": "ü;"},
    ]
    assert json.loads(run("storage", "sql", "objects", "DELETE FROM t", "--json").out) == []


def test_params_are_json_or_text(run: Run, served: Server) -> None:
    params = ["-5", "text", "true", "null", '{"$bytes": "aGk="}']
    query = "SELECT typeof(column1) AS kind, column1 AS value FROM (VALUES (?), (?), (?), (?), (?))"
    found = json.loads(run("storage", "sql", "params", query, *params, "--json").out)
    assert [tuple(row.values()) for row in found] == [
        ("integer", -5),
        ("text", "text"),
        ("integer", 1),
        ("null", None),
        ("blob", {"$bytes": "aGk="}),
    ]
    found = json.loads(run("storage", "sql", "params", "SELECT ? AS v", '"5"', "--json").out)
    assert found == [{"v": "5"}]
    doubtful = run("storage", "sql", "params", "SELECT ? AS v", "[1, 2")
    assert "note: `[1, 2` is passed as text" in doubtful.err


@pytest.mark.parametrize(
    ("args", "name", "message"),
    [
        (["SELECT * FROM nope"], "SqlError", "no such table: nope"),
        (["SELECT ?"], "SqlError", "wrong number of bindings"),
        (["BEGIN"], "SqlTransactionControlError", "BEGIN is not allowed"),
        (["SELECT ?", "[1]"], "TypeError", "list cannot be bound"),
    ],
)
def test_errors_have_a_code_and_the_name_that_an_actor_sees(
    run: Run, served: Server, args: list[str], name: str, message: str
) -> None:
    ended = run("storage", "sql", "errors", *args, "--json")
    error = json.loads(ended.out)["error"]
    assert (ended.status, error["code"], error["name"]) == (2, Code.SQL_FAILED.text, name)
    assert message in error["message"]
    told = run("storage", "sql", "errors", *args)
    assert told.out == ""
    assert [line.partition(":")[0] for line in told.err.splitlines()] == [
        "error[E_SQL_FAILED]",
        "why",
        "fix",
    ]


def test_looking_makes_no_instance(run: Run, served: Server) -> None:
    run("storage", "sql", "nobody", "SELECT 1")
    assert run("actors", "show", "nobody").status == 2


def test_size_is_shown(run: Run, served: Server) -> None:
    run("storage", "put", "size", "k", "1")
    assert "sql" not in run("actors", "show", "size").out
    run("storage", "sql", "size", MAKE)
    assert "\n  sql         a database of " in run("actors", "show", "size").out
    assert "note: the SQL database of Session/size" in run("storage", "export", "size").err


def test_without_a_server_it_is_kept_on_disk(run: Run, project: Path) -> None:
    assert run("storage", "sql", "alice", MAKE).status == 0
    run("storage", "put", "alice", "k", "1")
    assert json.loads(run("storage", "sql", "alice", "SELECT a FROM t", "--json").out)[0] == {
        "a": 1
    }
    assert run("storage", "sql", "alice", "DELETE FROM t; SELECT * FROM nope").status == 2
    assert json.loads(
        run("storage", "sql", "alice", "SELECT count(*) AS n FROM t", "--json").out
    ) == [{"n": 3}]
    assert run("storage", "get", "alice", "k").out == "1\n"
    assert "\n  sql         a database of " in run("actors", "show", "alice").out
