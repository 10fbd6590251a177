"""Settings for all tests: one terminal for every machine, and Hypothesis without a stopwatch."""

import os

# The pins come before every other import: Typer and Rich read these variables when imported.
os.environ.update(
    COLUMNS="100",
    TERMINAL_WIDTH="100",
    NO_COLOR="1",
    TZ="UTC",
    _TYPER_FORCE_DISABLE_TERMINAL="1",
)
for _name in ("FORCE_COLOR", "PY_COLORS", "GITHUB_ACTIONS"):
    os.environ.pop(_name, None)

from hypothesis import settings  # noqa: E402  (after the pins, see above)

# A deadline would make the speed of the machine part of the result. In CI the examples are the
# same in every run, so a red build is the fault of its change; elsewhere each run looks further.
settings.register_profile("edgeemu", deadline=None)
settings.register_profile("edgeemu-ci", deadline=None, derandomize=True, database=None)
settings.load_profile("edgeemu-ci" if os.environ.get("CI") else "edgeemu")
