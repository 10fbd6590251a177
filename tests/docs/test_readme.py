"""What the README shows is what the commands print; its code and that of the guides runs."""

import os
import re
from pathlib import Path

import pytest

from tests.docs.consoles import Consoles

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"


@pytest.mark.slow
def test_readme_shows_what_its_commands_print(tmp_path: Path) -> None:
    """Five minutes to a fired alarm, run. `UPDATE_DOCS=1` writes the README anew instead."""
    text = README.read_text("utf-8")
    consoles = Consoles(tmp_path, os.environ)
    try:
        now = consoles.rewrite(text)
    finally:
        consoles.close()
    if os.environ.get("UPDATE_DOCS"):
        README.write_text(now, "utf-8")
        return
    assert now == text, "run the test once with UPDATE_DOCS=1 and look at what changed"


@pytest.mark.slow
def test_python_of_the_readme_runs(tmp_path: Path) -> None:
    """The actor and the tests that the README shows are saved as a project, and pass."""
    actor, tests = re.findall(r"^```python\n(.*?)^```$", README.read_text("utf-8"), re.M | re.S)
    (tmp_path / "edgeemu.toml").write_text(
        'name = "shown"\nmain = "main.py"\n[[actors]]\nbinding = "SESSION"\ntype = "Session"\n'
    )
    (tmp_path / "main.py").write_text(actor)
    (tmp_path / "test_shown.py").write_text(tests)
    consoles = Consoles(tmp_path, os.environ)
    shown = consoles.rewrite("```console\n$ python -m pytest -q -p no:randomly\n```")
    assert "2 passed" in shown, shown


@pytest.mark.slow
def test_python_of_the_testing_guide_runs(tmp_path: Path) -> None:
    """The tests that the guide shows pass in a project made from the template that it names."""
    blocks = re.findall(
        r"^```python\n(.*?)^```$", (ROOT / "docs/testing.md").read_text("utf-8"), re.M | re.S
    )
    consoles = Consoles(tmp_path, os.environ)
    consoles.rewrite("```console\n$ edgeemu new shop --template session-timeout\n```")
    (tmp_path / "shop/tests/test_guide.py").write_text("\n".join(blocks))
    shown = consoles.rewrite(
        "```console\n$ cd shop\n$ python -m pytest -q -p no:randomly tests/test_guide.py\n```"
    )
    assert f"{''.join(blocks).count('def test_')} passed" in shown, shown


@pytest.mark.slow
def test_project_of_the_typescript_guide_runs(tmp_path: Path) -> None:
    """The files that the guide shows are saved as a project, and its test passes."""
    text = (ROOT / "docs/typescript.md").read_text("utf-8")
    modules = re.findall(r"^```ts\n// (\S+)\n(.*?)^```$", text, re.M | re.S)
    assert [name for name, _ in modules] == ["src/index.ts", "src/cart.ts"]
    (manifest,) = re.findall(r"^```toml\n(.*?)^```$", text, re.M | re.S)
    (test,) = re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S)
    (tmp_path / "src").mkdir()
    for name, content in (*modules, ("telnyx.toml", manifest), ("test_cart.py", test)):
        (tmp_path / name).write_text(content)
    shown = Consoles(tmp_path, os.environ).rewrite(
        "```console\n$ edgeemu check\n$ python -m pytest -q -p no:randomly\n```"
    )
    assert "ok: the project loads; actors: Cart; no advice" in shown
    assert "1 passed" in shown, shown
