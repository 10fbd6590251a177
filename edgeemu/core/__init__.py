"""The pure core: events in, effects out. No I/O, no clock, no threads, no async."""
