"""How fast edgeemu is, beside what it stands on and beside the platforms' own local stacks."""
