"""Commands on KV namespaces, on several functions, and what the log says of services."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import CONFIG, Run
from tests.support.functions import write_functions

BINDINGS = """
[storage.kv.CACHE]
id = "one"
[services.MAIL]
respond = { status = 503 }
"""

MAIN = """
from edgeemu import Response, StatefulActor

class Session(StatefulActor):
    async def mail(self):
        return (await self.env.MAIL.fetch("/send")).status
"""


@pytest.fixture
def bound(project: Path) -> Path:
    (project / "edgeemu.toml").write_text(CONFIG + BINDINGS)
    (project / "src/main.py").write_text(MAIN)
    return project


def test_kv_is_seen_and_edited(bound: Path, run: Run) -> None:
    assert run("kv", "list", "CACHE") == (0, "", "the namespace CACHE has no keys\n")
    put = run("kv", "put", "CACHE", "user/1", '{"n": 1}', "--ttl", "90s")
    assert put == (0, "CACHE has a new text under `user/1`\n", "")
    assert run("kv", "get", "CACHE", "user/1") == (0, '{"n": 1}\n', "")
    assert run("kv", "get", "CACHE", "user/1", "--json") == (0, '"{\\"n\\": 1}"\n', "")
    assert run("kv", "list", "CACHE").out == (
        "KEY     SIZE     WRITTEN               EXPIRES\n"
        "user/1  8 bytes  2030-01-01T00:00:00Z  2030-01-01T00:01:30Z\n"
    )
    listed = json.loads(run("kv", "list", "one", "--prefix", "user/", "--json").out)
    assert [row["name"] for row in listed] == ["user/1"]
    run("clock", "advance", "90s")
    assert run("kv", "get", "CACHE", "user/1").shown() == (
        "exit 2\n"
        "--- stderr\n"
        "error[E_KEY_UNKNOWN]: the KV namespace CACHE has no key `user/1`\n"
        "why: it was never written, was deleted, or has expired on the emulated clock\n"
        "fix: see its keys with `edgeemu kv list CACHE`\n"
    )
    assert run("kv", "delete", "CACHE", "x").out == "CACHE had no key `x`\n"
    assert run("actors", "list", "--json").out == "[]\n"


def test_kv_refuses_in_three_lines(bound: Path, run: Run) -> None:
    assert run("kv", "put", "CACHE", "a:b", "v").shown() == (
        "exit 2\n"
        "--- stderr\n"
        "error[E_KV_REFUSED]: KV put failed with status 400: a key has letters, digits and "
        "- / _ = . only (no `:`, no `+`), not 'a:b'\n"
        "why: the rules of the platform hold here too\n"
        "fix: see the rules of KV namespaces in docs/bindings.md\n"
    )
    unknown = run("kv", "list", "CASH")
    assert (unknown.status, "the configuration binds: CACHE" in unknown.err) == (2, True)


def test_log_shows_what_was_asked_of_a_service(bound: Path, run: Run) -> None:
    assert run("call", "alice", "mail").out == "503\n"
    (line,) = [row for row in run("log").out.splitlines() if "env.MAIL" in row]
    assert line.endswith("env.MAIL GET /send HTTP 503, as configured")


def test_functions_are_reached_by_their_name(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_functions(tmp_path)
    monkeypatch.chdir(tmp_path / "shop")
    assert run("fetch", "/").out == "shop shop helpers"
    assert run("fetch", "/", "--function", "billing").out == "billing billing helpers billing"
    assert run("call", "Order/1", "pay", "5").out == "5\n"
    assert run("fetch", "/balance", "--function", "billing").out == "5"
    assert "fetch GET /balance of billing" in run("log").out
    checked = run("check")
    assert checked.err == "ok: the project loads; actors: Account, Order; no advice\n"
    unknown = run("fetch", "/", "--function", "bills")
    assert (unknown.status, "E_FUNCTION_UNKNOWN" in unknown.err) == (2, True)
    (tmp_path / "billing/src/main.py").write_text("def (")
    broken = run("check")
    assert broken.status == 2
    assert "billing/src/main.py has a syntax error" in broken.err
