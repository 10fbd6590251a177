"""The floor: the same application written by hand on asyncio and SQLite, with nothing around it.

It serves HTTP with httptools, keeps keys and alarms in one SQLite file in WAL mode, runs the turns
of an instance one at a time, commits each before it answers, and keeps the alarms in a heap beside
their table. It has no journal, no retries, no isolation, no virtual time inside actor code, no
eviction: what edgeemu costs more than this is what edgeemu does more.
"""
