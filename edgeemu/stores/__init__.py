"""Where state is kept: one port, a store in memory and one on disk."""
