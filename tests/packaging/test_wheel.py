"""The wheel works where nothing else is installed: commands, templates, and the pytest fixture."""

import os
import subprocess
import sys
import venv
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parents[2]


def _run(*command: str | Path, cwd: Path, env: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        [*map(str, command)],
        cwd=cwd,
        env=env,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from this checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    build = (sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder)
    _run(*build, cwd=ROOT)
    (made,) = folder.glob("*.whl")
    return made


@pytest.mark.slow
def test_wheel_holds_the_templates_and_no_state(wheel: Path) -> None:
    """Every template ships whole; nothing that a run leaves behind ships."""
    names = ZipFile(wheel).namelist()
    for template in sorted(path.name for path in (ROOT / "templates").iterdir()):
        assert f"edgeemu/_templates/{template}/python/src/main.py" in names, template
        assert f"edgeemu/_templates/{template}/typescript/telnyx-env.d.ts" in names, template
    assert {"edgeemu/typings/edge-runtime.d.ts", "edgeemu/engines/javascript/host/main.js"} <= {
        *names
    }
    assert "edgeemu/py.typed" in names
    assert {"edgeemu/_docs/errors.md", "edgeemu/_docs/warnings.md"} <= set(names)
    assert not [name for name in names if ".edgeemu/" in name or "__pycache__" in name]
    assert not [name for name in names if name.startswith(("tests/", "benchmarks/"))]


@pytest.mark.slow
def test_installed_wheel_serves_a_new_user(wheel: Path, tmp_path: Path) -> None:
    """An empty environment, the wheel and pytest: scaffold, call, fire an alarm, run the tests."""
    home = tmp_path / "env"
    venv.create(home, with_pip=True)
    folder = home / ("Scripts" if os.name == "nt" else "bin")
    pip = (folder / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    _run(*pip, wheel, "pytest", cwd=tmp_path)
    env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    edgeemu = folder / "edgeemu"
    assert "alarms" in _run(edgeemu, "--help", cwd=tmp_path, env=env)
    assert "start_after" in _run(edgeemu, "explain", "W_LIST_CUT", cwd=tmp_path, env=env)
    _run(edgeemu, "new", "shop", "--template", "session-timeout", cwd=tmp_path, env=env)
    shop = tmp_path / "shop"
    _run(edgeemu, "clock", "freeze", cwd=shop, env=env)
    _run(edgeemu, "call", "Session/alice", "touch", cwd=shop, env=env)
    moved = _run(edgeemu, "clock", "advance", "5m", "--json", cwd=shop, env=env)
    assert '"succeeded": 1' in moved
    assert "passed" in _run(folder / "python", "-m", "pytest", "-q", cwd=shop, env=env)
