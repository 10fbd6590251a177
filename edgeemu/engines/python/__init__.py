"""The engine for Python actors: in the emulator's own process, on its own loop."""
