"""The command line: thin commands over the operations that the HTTP control API shares."""
