"""Packages of npm for tests: installed once, into a folder that is kept."""

import json
import os
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

PACKAGES = {"date-fns": "4.1.0", "hono": "4.9.0", "zod": "4.1.0"}
PLACE = "EDGEEMU_NPM_CACHE"
"""The environment variable with the folder in which they are kept."""

_INSTALL_SECONDS = 120


@pytest.fixture(scope="session")
def npm_packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A `node_modules` with zod, hono and date-fns; skips where npm cannot bring them."""
    told = os.environ.get(PLACE)
    base = Path(told) if told else tmp_path_factory.getbasetemp().parent
    name = "-".join(f"{package}@{version}" for package, version in PACKAGES.items())
    kept = base / f"npm-{name}"
    if not kept.is_dir():
        making = tmp_path_factory.mktemp("npm", numbered=True)
        _install(making)
        base.mkdir(parents=True, exist_ok=True)
        with suppress(OSError):  # Another run was quicker.
            making.rename(kept)
    return kept / "node_modules"


def _install(folder: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("NOT CHECKED: there is no npm to install zod, hono and date-fns")
    wanted = {"private": True, "dependencies": PACKAGES}
    (folder / "package.json").write_text(json.dumps(wanted))
    try:
        done = subprocess.run(
            [npm, "install", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=_INSTALL_SECONDS,
            check=False,
        )
        told = done.stderr.strip()[-500:] if done.returncode else None
    except subprocess.TimeoutExpired:
        told = "it took too long"
    if told is not None:
        pytest.skip(f"NOT CHECKED: npm does not install zod, hono and date-fns: {told}")
