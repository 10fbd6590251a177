"""The control API: one table of operations, and what performs them here or in a running server."""
