"""An emulator that a plain, synchronous test holds in its hands: what the `edgeemu` fixture is.

`EdgeemuFixture` is the type to annotate it with. Nothing here knows pytest.
"""

from edgeemu.testing.fixture import EdgeemuFixture

__all__ = ["EdgeemuFixture"]
