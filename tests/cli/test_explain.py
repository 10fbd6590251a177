"""`explain` prints the entry of a code, without a project; every code that is printed has one."""

import json
from pathlib import Path

import pytest

from edgeemu.cli.explain import entries
from edgeemu.core.warnings import RUNTIME_WARNINGS
from edgeemu.errors import Code, docs_link
from tests.cli.conftest import Run

ROOT = Path(__file__).parents[2]


def test_a_code_is_explained_without_a_project(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ended = run("explain", "w_list_cut")
    assert (ended.status, ended.err) == (0, "")
    assert ended.out.startswith("W_LIST_CUT\n\n`list` without a `limit` left keys out")
    assert "start_after=after" in ended.out
    found = json.loads(run("explain", "E_PORT_TAKEN", "--json").out)
    assert found["see"] == "docs/errors.md#e_port_taken"
    assert "port" in found["text"]


def test_an_error_of_actors_is_explained_by_its_name(run: Run) -> None:
    assert run("explain", "codecerror").out == (
        "CodecError\n\nA value cannot be encoded, or stored bytes cannot be decoded.\n"
    )
    for name in ("ActorOutputGateError", "ActorMethodTimeoutError"):
        found = json.loads(run("explain", name, "--json").out)
        assert found["see"] == "docs/actors.md#errors"
        assert len(found["text"]) > 20
    assert "fix: did you mean ActorOutputGateError?" in run("explain", "OutputGateError").err


def test_an_unknown_code_offers_the_nearest(run: Run) -> None:
    ended = run("explain", "W_LIST_CUTS")
    assert ended.status == 2
    assert "error[E_USAGE]: there is no code `W_LIST_CUTS`" in ended.err
    assert "fix: did you mean W_LIST_CUT?" in ended.err


def test_every_code_has_an_entry_where_its_link_points() -> None:
    codes = [*(code.text for code in Code), *RUNTIME_WARNINGS]
    assert set(codes) <= set(entries())
    for code in codes:
        page, _, anchor = docs_link(code).partition("#")
        headings = [
            line.lstrip("# ").lower()
            for line in (ROOT / page).read_text(encoding="utf-8").splitlines()
            if line.startswith("#")
        ]
        assert headings.count(anchor) == 1, code
