"""The first hour with a TypeScript project: the platform's quick start, and what commands say."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from edgeemu.cli.main import main
from edgeemu.config import load_config
from edgeemu.testing import EdgeemuFixture
from edgeemu.testing.settings import FixtureSettings
from tests.support.commands import started_command, wait_server

Run = Callable[..., str]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command that succeeds in this process; what it printed on stdout."""
    monkeypatch.chdir(tmp_path)

    def run_command(*args: str, status: int = 0) -> str:
        capsys.readouterr()
        ended = main(args)
        out, err = capsys.readouterr()
        assert ended == status, out + err
        return out if status == 0 else err

    return run_command


def new_project(run: Run, template: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    run("new", "shop", "--template", template, "--language", "typescript")
    monkeypatch.chdir("shop")
    return Path.cwd()


@pytest.mark.slow
def test_quick_start(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scaffold an Account, curl it, debit it from many sides, restart: as the platform shows it."""
    root = new_project(run, "account", monkeypatch)
    with started_command(root, "dev", "--port", "0") as process:
        url = wait_server(root, process).url
        with httpx.Client(base_url=url, timeout=20) as http:
            credited = http.post("/ada/credit", json={"cents": 1_000})
            assert (credited.status_code, credited.json()) == (200, {"balance": 1_000})
            # Another account knows nothing of it.
            assert http.get("/eve").json() == {"balance": 0}
            assert http.post("/eve/debit", json={"cents": 1}).status_code == 409

            def debit(number: int) -> int:
                payment = {"cents": 100, "paymentId": f"p{number}"}
                return http.post("/ada/debit", json=payment).status_code

            with ThreadPoolExecutor(16) as pool:
                statuses = [*pool.map(debit, range(16))]
            assert sorted(statuses) == [200] * 10 + [409] * 6
            assert http.get("/ada").json() == {"balance": 0}
            http.post("/ada/credit", json={"cents": 250})
        process.kill()
        process.wait()
    with started_command(root, "dev", "--port", "0") as process:
        url = wait_server(root, process).url
        assert httpx.get(f"{url}/ada").json() == {"balance": 250}
        assert json.loads(run("call", "Account/ada", "balance")) == 250


def test_new_names_a_call_that_works(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    made = run("new", "till", "--template", "session-timeout", "--language", "typescript")
    assert "  src/session.ts\n" in made
    assert "  edgeemu call Session/alice touch    # in a second terminal\n" in made
    monkeypatch.chdir("till")
    assert Path(".edgeemu/types/edge-runtime.d.ts").is_file()
    run("call", "Session/alice", "touch")


def test_a_method_that_returns_nothing_prints_nothing(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    new_project(run, "session-timeout", monkeypatch)
    assert run("call", "Session/alice", "touch") == ""
    assert run("call", "Session/alice", "touch", "--json") == "null\n"
    assert run("call", "Session/bob", "endsAtMs") == "null\n"


@pytest.mark.parametrize(
    ("asked", "hint"), [("set_down", "did you mean setDown?"), ("zzz", "it has: messages, receive")]
)
def test_an_unknown_method_is_answered_in_the_words_of_the_language(
    run: Run, monkeypatch: pytest.MonkeyPatch, asked: str, hint: str
) -> None:
    new_project(run, "retry-backoff", monkeypatch)
    said = run("call", "Inbox/bob", asked, "true", status=1)
    assert f"Inbox has no method {asked}; {hint}" in said


def test_check_loads_the_project(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    root = new_project(run, "blank", monkeypatch)
    assert run("check") == ""
    greeter = root / "src/greeter.ts"
    greeter.write_text(greeter.read_text().replace("class Greeter", "class Greeter {"))
    assert "src/greeter.ts" in run("check", status=2)


def test_check_advises(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    root = new_project(run, "session-timeout", monkeypatch)
    session = root / "src/session.ts"
    text = session.read_text().replace("await this.ctx.storage.put", "this.ctx.storage.put")
    session.write_text(text)
    (found,) = json.loads(run("check", "--json"))["advice"]
    assert (found["file"], found["line"]) == ("src/session.ts", 11)
    assert (found["code"], found["fix"]) == (
        "W_WRITE_NOT_AWAITED",
        "await this.ctx.storage.put(...)",
    )


@pytest.mark.parametrize(
    ("before", "codes"), [("", ["W_WRITE_NOT_AWAITED"]), ("void ", []), ("await ", [])]
)
def test_a_write_that_is_left_alone_on_purpose_draws_no_warning(
    run: Run, monkeypatch: pytest.MonkeyPatch, before: str, codes: list[str]
) -> None:
    root = new_project(run, "counter", monkeypatch)
    counter = root / "src/counter.ts"
    text = counter.read_text().replace(
        "await this.ctx.storage.put", f"{before}this.ctx.storage.put"
    )
    counter.write_text(text)
    edgeemu = EdgeemuFixture(load_config(root), FixtureSettings())
    assert edgeemu.actor("Counter/visits").increment() == 1
    assert [entry["code"] for entry in edgeemu.journal.of("warning")] == codes
    assert edgeemu.close() is None


def test_a_language_that_is_not_there_is_answered_with_the_nearest(run: Run) -> None:
    assert "give `--language typescript`" in run("new", "till", "--language", "ts", status=2)
