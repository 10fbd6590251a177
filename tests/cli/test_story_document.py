"""The session of the platform's own document, cut out and saved as it stands, in the same story."""

import re
from pathlib import Path

import pytest

from tests.cli.conftest import CONFIG, Run, Server
from tests.cli.test_story import tell_story
from tests.support.fact_sheets import read_sheet

PLACE = "src/session.ts:7"
"""Where the document's class sets the alarm."""


@pytest.fixture
def document_project(project: Path) -> Path:
    """The project, with the document's class in place of its own."""
    document = read_sheet("documents/telnyx-actor-alarms.txt")
    found = re.search(
        r"^import .*?^export class Session .*?^}$", document, re.DOTALL | re.MULTILINE
    )
    assert found, "the document has no class Session"
    (project / "src/main.py").unlink()
    (project / "src/session.ts").write_text(found[0] + "\n")
    (project / "edgeemu.toml").write_text(CONFIG.replace("src/main.py", "src/session.ts"))
    return project


@pytest.mark.slow
def test_the_session_of_the_document_without_a_server(document_project: Path, run: Run) -> None:
    tell_story(run, PLACE)


@pytest.mark.slow
def test_the_session_of_the_document_with_a_server(document_project: Path, run: Run) -> None:
    server = Server(document_project)
    try:
        tell_story(run, PLACE)
    finally:
        assert server.stop() == 0
