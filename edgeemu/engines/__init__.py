"""What runs actor code: one port, one engine a language."""
