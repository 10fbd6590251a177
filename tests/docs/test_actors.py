"""The reference of Python actors is true: its project runs, passes its tests and has its types.

The bounds and defaults that it names are those of the code.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from edgeemu import limits
from edgeemu.core.profile import TELNYX
from edgeemu.sdk import errors
from edgeemu.sdk.context import ActorContext, ActorStorage, SqlCursor, SqlStorage, WebSocket
from tests.docs.consoles import Consoles

PAGE = (Path(__file__).parents[2] / "docs/actors.md").read_text("utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
TESTS = [block for block in BLOCKS if "def test_" in block]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The project that the page shows, block after block."""
    (config,) = re.findall(r"^```toml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    source = [block for block in BLOCKS if block not in TESTS]
    (tmp_path / "edgeemu.toml").write_text(config)
    (tmp_path / "main.py").write_text("\n\n".join(source))
    (tmp_path / "test_shop.py").write_text("\n\n".join(TESTS))
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("options", ["", " --edgeemu-evict-always"], ids=["kept", "evicted"])
def test_project_of_the_page_passes_its_tests(project: Path, options: str) -> None:
    consoles = Consoles(project, os.environ)
    shown = consoles.rewrite(f"```console\n$ python -m pytest -q -p no:randomly{options}\n```")
    assert f"{''.join(TESTS).count('def test_')} passed" in shown, shown


@pytest.mark.slow
def test_project_of_the_page_has_its_types(project: Path) -> None:
    """A newcomer who checks types strictly finds nothing to mend in what the page shows."""
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "main.py"],
        cwd=project,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_check_finds_nothing_in_the_project_of_the_page(project: Path) -> None:
    shown = Consoles(project, os.environ).rewrite("```console\n$ edgeemu check\n```")
    assert "no advice" in shown, shown


@pytest.mark.parametrize("owner", [ActorContext, ActorStorage, SqlStorage, SqlCursor, WebSocket])
def test_page_names_everything_that_an_actor_holds(owner: type) -> None:
    for name in vars(owner):
        if not name.startswith("_"):
            assert re.search(rf"`{name}(\(.*?\))?`", PAGE), name


def test_page_names_every_error_that_a_caller_may_get() -> None:
    for name, kind in vars(errors).items():
        own = isinstance(kind, type) and issubclass(kind, errors.ActorError)
        # The budget of an alarm is no caller's business: it is a failed attempt.
        if own and name != "ActorAlarmTimeoutError":
            assert f"`{name}`" in PAGE, name


def test_page_names_the_bounds_of_the_code() -> None:
    policy = TELNYX.retry
    second = 1_000
    bounds = [
        f"from 1 to {TELNYX.list_limit_max:,}; **{TELNYX.list_limit_default} where",
        f"begins with `{TELNYX.reserved_key_prefix}`",
        f"longer than {limits.KEY_CHARS_MAX:,} characters",
        f"1 to\n  {limits.NAME_CHARS_MAX:,} characters",
        f"delivered again {policy.delays_ms[0]:,} ms later, with `retry_count` 1, 2 and 3",
        f"{policy.attempts_max} attempts in all",
        f"delivered again {policy.uncounted_delay_ms:,} ms later; it uses up no attempt",
        f"`alarm_lateness_ms` after `when`, {limits.LATENESS_MS_DEFAULT} by default",
        f"at least {limits.DELIVERY_SPACING_MS} ms of emulated time apart",
        f"after {limits.STORM_COUNT_MAX:,} deliveries",
        f"| a call | {TELNYX.call_timeout_ms // second} s |",
        f"| the actor's `fetch` | {TELNYX.fetch_timeout_ms // second} s |",
        f"`block_concurrency_while` | {TELNYX.init_timeout_ms // second} s |",
        f"| `alarm` | {TELNYX.alarm_timeout_ms // second} s |",
        f"| each handler of a WebSocket | {TELNYX.sockets.timeout_ms // second} s |",
        f"| life of a WebSocket | {TELNYX.sockets.lifetime_ms // (60 * second)} minutes",
        f"wait for their turn | {TELNYX.sockets.frame_bytes_max // 2**20} MiB;"
        f" {TELNYX.sockets.events_max}, or {TELNYX.sockets.waiting_bytes_max // 2**20} MiB",
        f"has not read | {limits.SOCKET_UNSENT_BYTES_MAX // 2**20} MiB |",
        f"| the function in front | {TELNYX.front_timeout_ms // second} s |",
        f"| {limits.WATCHDOG_MS_DEFAULT:,} ms, then `ActorHangError` |",
        f"| {limits.BLOCKING_STEP_MS} ms | |",
        f"| {limits.IO_WAIT_MS_DEFAULT:,} ms, then `E_IO_WAIT` |",
        f"{limits.KEY_BYTES_ADVISED_MAX // 1024} KiB and "
        f"{limits.VALUE_BYTES_ADVISED_MAX // 2**20} MiB",
        f"| turns that wait for one instance | {limits.QUEUED_TURNS_MAX:,} |",
        f"after {limits.IDLE_EVICTION_MS_DEFAULT // second} s of emulated time without work",
        f"bindings of a statement | {limits.SQL_VALUE_BYTES_MAX:,} and"
        f" {limits.SQL_PARAMETERS_MAX:,} |",
        f"above {limits.SQL_VALUE_BYTES_MAX // 2**20} MiB, before anything runs",
        f"the SQL database of an instance | {limits.SQL_DATABASE_BYTES_MAX // 2**30} GiB |",
        f"more than {limits.SQL_ROWS_MAX:,} rows",
        f"at most {limits.BODY_BYTES_MAX // 2**20} MiB",
    ]
    assert [bound for bound in bounds if bound not in PAGE] == []
