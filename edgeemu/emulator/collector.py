"""The garbage collector of a process that serves one emulator and does nothing else.

Python looks through all objects every few thousand new ones; with ten thousand instances in memory
that is a third of the time of a delivery. Almost nothing here lives in cycles, so looking less
often costs a few megabytes at most.
"""

import gc

_NEW_OBJECTS = 20_000
"""New objects between two looks at the young ones; Python's default is 700."""

_YOUNG_LOOKS = 20
_MIDDLE_LOOKS = 50


def calm_collector() -> None:
    """Let the collector leave alone what is there now, and look less often at the rest.

    For a process of our own only: in a test run it would be the business of the user's tests.
    """
    gc.freeze()
    gc.set_threshold(_NEW_OBJECTS, _YOUNG_LOOKS, _MIDDLE_LOOKS)
