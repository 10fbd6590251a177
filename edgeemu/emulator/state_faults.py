"""What the store could not give or keep: the state of one instance, or of all of them.

Promise: an instance whose state is damaged holds up no other. Its alarm stays as it is and is
passed over until a command moves time once more, or a turn of the instance succeeds.
"""

from edgeemu.emulator.notices import Notices
from edgeemu.errors import Code, EdgeemuError
from edgeemu.ids import InstanceId

AT_FAULT = (Code.STATE_DAMAGED, Code.STATE_NEWER)
"""Failures that time does not mend; a disk that is full may have room in a moment."""


class StateFaults:
    """Notes failures of the store, for whoever moves time."""

    def __init__(self, notices: Notices) -> None:
        self._notices = notices
        self._of_all: EdgeemuError | None = None
        self._instances: set[InstanceId] = set()

    def __len__(self) -> int:
        return len(self._instances)

    def __contains__(self, instance: InstanceId) -> bool:
        return instance in self._instances

    def note(self, error: EdgeemuError, instance: InstanceId | None = None) -> None:
        """Something failed.

        Args:
            error: what the store said.
            instance: whose state alone it may be; None if it is of all.
        """
        if instance is None or error.code not in AT_FAULT:
            self._of_all = error
        elif instance not in self._instances:
            self._instances.add(instance)
            self._notices.state_at_fault(instance, error)

    def mended(self, instance: InstanceId) -> None:
        """A turn of the instance succeeded."""
        self._instances.discard(instance)

    def forget(self) -> None:
        """Look at everything anew."""
        self._of_all = None
        self._instances.clear()

    def take(self) -> EdgeemuError | None:
        """What concerns all and was noted since the last time, if anything was."""
        error, self._of_all = self._of_all, None
        return error
