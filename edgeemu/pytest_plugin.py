"""The pytest plugin: the fixture `edgeemu`, the marker `edgeemu`, and what a failure shows.

Promise: each test that asks for the fixture has an emulator of its own, and what goes wrong in an
actor does not go unnoticed. pytest loads this module at every start, and before coverage begins to
measure, so it imports nothing but pytest; the emulator is loaded by the first test that wants it.
"""

import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from edgeemu.config import Config
    from edgeemu.testing import EdgeemuFixture

FIXTURE = "edgeemu"
INI_ALARM_LEFT = "edgeemu_alarm_left"

_MARKER = (
    "edgeemu(start=, seed=, platform=, config=, allow=, alarm_left=): settings of the `edgeemu` "
    "fixture: where its clock starts, its seed and platform, values of the configuration by key, "
    "names of actor errors that are expected (`given_up` and `alarm_left` too), and what a pending "
    "alarm at the end leads to"
)
_OPENED = pytest.StashKey["EdgeemuFixture"]()
_PASSED = pytest.StashKey[bool]()


class AlarmLeftWarning(UserWarning):
    """A test left an alarm pending, and `alarm_left` is `warn`."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the option and the setting."""
    group = parser.getgroup("edgeemu", "actors on an emulated clock")
    group.addoption(
        "--edgeemu-evict-always",
        action="store_true",
        help="drop actors from memory after every turn: is your state really in storage?",
    )
    parser.addini(
        INI_ALARM_LEFT,
        "what an alarm that a test leaves pending leads to: ignore, warn or fail",
        default="ignore",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    config.addinivalue_line("markers", _MARKER)


@pytest.fixture(name=FIXTURE)
def edgeemu_fixture(request: pytest.FixtureRequest) -> Iterator["EdgeemuFixture"]:
    """The project's actors in memory: frozen at 2030-01-01T00:00:00Z, with seed 1.

    The project is found from the test's folder upwards, then from pytest's rootdir. At the end the
    test fails for an actor error or a given-up alarm that it did not expect.
    """
    opened = _open(request)
    item = request.node
    item.stash[_OPENED] = opened
    try:
        yield opened
    finally:
        passed = item.stash.get(_PASSED, False)
        _close(opened, item, passed=passed)


@contextmanager
def _imports_as_they_are() -> Iterator[None]:
    """Keep pytest from rewriting edgeemu, which has no assertions to explain: it takes a second."""
    hooks = [hook for hook in sys.meta_path if type(hook).__module__ == "_pytest.assertion.rewrite"]
    for hook in hooks:
        sys.meta_path.remove(hook)
    try:
        yield
    finally:
        sys.meta_path[:0] = hooks


def _open(request: pytest.FixtureRequest) -> "EdgeemuFixture":
    with _imports_as_they_are():
        from edgeemu.errors import EdgeemuError
        from edgeemu.testing import EdgeemuFixture
        from edgeemu.testing.settings import merge_settings

    try:
        markers = [(mark.args, mark.kwargs) for mark in request.node.iter_markers(FIXTURE)]
        settings = merge_settings(markers, alarm_left=request.config.getini(INI_ALARM_LEFT))
        config = _load_config(request.node.path, request.config.rootpath, settings.overrides)
        evict_always = bool(request.config.getoption("--edgeemu-evict-always"))
        return EdgeemuFixture(config, settings, evict_always=evict_always)
    except EdgeemuError as error:
        message = error.as_text()
    pytest.fail(message, pytrace=False)


def _load_config(test: "Path", rootdir: "Path", overrides: Any) -> "Config":
    from edgeemu.config import find_project, load_config
    from edgeemu.errors import Code, EdgeemuError

    try:
        root = find_project(test)
    except EdgeemuError as error:
        if error.code is not Code.CONFIG_MISSING:
            raise
        root = find_project(rootdir)
    return load_config(root, overrides=overrides)


def _close(opened: "EdgeemuFixture", item: pytest.Item, *, passed: bool) -> None:
    from edgeemu.testing.settings import AlarmLeft

    left = opened.alarms_left() if passed else []
    verdict = opened.close(judge=passed)
    if verdict is not None:
        pytest.fail(verdict.as_text(), pytrace=False)
    if left and opened.settings.alarm_left is AlarmLeft.WARN:
        named = ", ".join(left)
        item.warn(AlarmLeftWarning(f"{item.nodeid} left alarms pending: {named}"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the end of the journal to the report of a test that failed."""
    opened = item.stash.get(_OPENED, None)
    if opened is not None and call.excinfo is not None:
        _hide_own_frames(opened, call.excinfo)
    report = yield
    if opened is not None:
        if call.when == "call":
            item.stash[_PASSED] = report.passed
        if report.failed:
            report.sections.append(("edgeemu", opened.report()))
    return report


def _hide_own_frames(
    opened: "EdgeemuFixture", excinfo: pytest.ExceptionInfo[BaseException]
) -> None:
    """Show of a misuse the line of the test that is wrong, and not how edgeemu found out."""
    from edgeemu.testing.traces import hide_own_frames, is_told

    error = excinfo.value
    if is_told(error):
        hide_own_frames(error, opened.root)
        excinfo.traceback = pytest.ExceptionInfo.from_exception(error).traceback
