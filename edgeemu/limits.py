"""Every bound and default that does not differ between platforms, with its unit and its source."""

LATENESS_MS_DEFAULT = 1
"""Milliseconds between an alarm's due instant and its delivery (design D3, spec U65)."""

IO_WAIT_MS_DEFAULT = 10_000
"""Real milliseconds that a turn may hold an advance by waiting on the outside (design D3)."""

IDLE_EVICTION_MS_DEFAULT = 60_000
"""Virtual milliseconds of idleness before an instance is dropped from memory (spec U72)."""

STORM_COUNT_MAX = 1_000
"""Deliveries to one instance, each under `STORM_GAP_MS` after the last, that are a storm (D3)."""

STORM_GAP_MS = 1_000
"""Virtual milliseconds between two deliveries that are no storm (D3)."""

DELIVERY_SPACING_MS = 1
"""Virtual milliseconds at least between two deliveries to one instance (spec U64)."""

IDLE_STEPS_MAX = 10_000
"""Instants that `clock idle` visits before it gives up (design section 4: bounded)."""

DELIVERY_BATCH_MAX = 256
"""Alarm turns that the emulator keeps in flight at one instant; more wait in the store."""

WATCHDOG_MS_DEFAULT = 5_000
"""Real milliseconds that one step of actor code may take before it is interrupted (D4)."""

BLOCKING_STEP_MS = 100
"""Real milliseconds of one step of actor code above which the log names it as blocking."""

JOURNAL_ENTRIES_MAX = 200_000
"""Entries that the journal keeps on disk; the oldest go first."""

JOURNAL_PAGE_MAX = 10_000
"""Entries that one query of the journal returns at most."""

FAULT_TIMES_MAX = 1_000_000
"""Deliveries that one planned fault makes fail at most."""

LIST_PAGE_MAX = 100_000
"""Rows that one query of alarms, instances or keys returns at most."""

BODY_BYTES_MAX = 10 * 1024 * 1024
"""Bytes of one request or response body (spec section 16.2: 10 MB)."""

QUEUED_TURNS_MAX = 10_000
"""Turns that may wait for one instance; the next one is refused."""

NAME_CHARS_MAX = 2_048
"""Characters of an instance's name that edgeemu accepts."""

KEY_CHARS_MAX = 16_384
"""Characters of a storage key that edgeemu accepts (the platform publishes no limit, U25)."""

SHUTDOWN_WAIT_MS = 3_000
"""Real milliseconds that running turns get to finish when `dev` is asked to stop."""

STATE_LOCK_WAIT_MS = 2_000
"""Real milliseconds that a command waits for another short command to let go of the state."""

CONTROL_BODY_BYTES_MAX = 64 * 1024 * 1024
"""Bytes of one request to the control API: an import, or a body in base64, and then some."""

CONNECTIONS_MAX = 2_000
"""Connections that `dev` serves at a time; a further one is told to come back (503)."""

FOLLOW_CHUNK_ENTRIES = 500
"""Entries that are written to a follower of the journal at once; it is read no faster."""

RELOAD_STEP_MS = 20
"""Real ms of quiet after a changed file before the project is loaded again."""

RELOAD_DEBOUNCE_MS = 200
"""Real ms at most that further changes can put the loading off."""
