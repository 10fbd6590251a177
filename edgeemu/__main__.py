"""`python -m edgeemu` is the command `edgeemu`."""

import sys

from edgeemu.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
