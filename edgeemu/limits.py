"""Every bound and default that does not differ between platforms, with its unit and its source."""

INTEGER_MAX = 2**53 - 1
"""The largest integer that a number of JSON and JavaScript holds exactly (design D7;
spec/telnyx-actors.md section 18)."""

LATENESS_MS_DEFAULT = 1
"""Milliseconds between an alarm's due instant and its delivery (design D3; spec U65)."""

IO_WAIT_MS_DEFAULT = 10_000
"""Real milliseconds that a turn may hold an advance by waiting on the outside (design D3)."""

IDLE_EVICTION_MS_DEFAULT = 60_000
"""Virtual milliseconds of idleness before an instance is dropped from memory (spec U72)."""

STORM_COUNT_MAX = 1_000
"""Deliveries to one instance, each under `STORM_GAP_MS` after the last, that are a storm
(design D3)."""

STORM_GAP_MS = 1_000
"""Virtual milliseconds between two deliveries that are no storm (design D3)."""

DELIVERY_SPACING_MS = 1
"""Virtual milliseconds at least between two deliveries to one instance (spec U64)."""

IDLE_STEPS_MAX = 10_000
"""Instants that `clock idle` visits before it gives up (design section 4 wants a bound; a choice:
more than a year of hourly alarms)."""

DELIVERY_BATCH_MAX = 256
"""Alarm turns that the emulator keeps in flight at one instant; more wait in the store (a choice:
enough to fill a commit; more only takes memory)."""

WATCHDOG_MS_DEFAULT = 5_000
"""Real milliseconds that one step of actor code may take before it is interrupted (design D4 wants
a bound; a choice: no honest step takes so long)."""

BLOCKING_STEP_MS = 100
"""Real milliseconds of one step of actor code above which the log names it as blocking (a choice:
a user notices such a pause)."""

JOURNAL_ENTRIES_MAX = 200_000
"""Entries that the journal keeps on disk; the oldest go first (a choice: some
tens of MB)."""

JOURNAL_PAGE_MAX = 10_000
"""Entries that one query of the journal returns at most; whoever wants more asks again (a choice:
about 3 MB of JSON)."""

FAULT_TIMES_MAX = 1_000_000
"""Deliveries that one planned fault makes fail at most (a choice: more than any run delivers)."""

ENTRY_DELAY_MS = 20
"""Real milliseconds that a journal entry waits for a turn to be kept with (a choice: too short to
be seen in a live log, and long against a request)."""

POSITION_ENTRIES_MAX = 100
"""Journal entries after which the position of clock and turns is written anew, and that a start
looks through for the last turn (a choice: once in fifty turns costs nothing, nor does the look)."""

POSITION_AGE_MS = 1_000
"""Real milliseconds after which the kept position of a real clock is written anew (a choice: as
much it may go back where a process is killed and the wall clock then stepped back)."""

LIST_PAGE_MAX = 100_000
"""Rows that one query of alarms, instances or keys returns at most (design D5: as many instances
are no burden; a choice: no terminal shows more)."""

BODY_BYTES_MAX = 10 * 1024 * 1024
"""Bytes of one request or response body (spec/telnyx-actors.md section 16.2: 10 MB)."""

QUEUED_TURNS_MAX = 10_000
"""Turns that may wait for one instance; the next one is refused (a choice: a flood is
seen before it takes the memory)."""

NAME_CHARS_MAX = 2_048
"""Characters of an instance's name (a choice: the platform publishes no limit)."""

KEY_CHARS_MAX = 16_384
"""Characters of a storage key (a choice: the platform publishes no limit, spec U25)."""

KEY_BYTES_ADVISED_MAX = 2 * 1024
"""Bytes of a storage key above which a write warns, and strict mode refuses it (spec U25)."""

VALUE_BYTES_ADVISED_MAX = 1024 * 1024
"""Bytes of an encoded value above which a write warns, and strict mode refuses it (spec U25)."""

SHUTDOWN_WAIT_MS = 3_000
"""Real milliseconds that running turns get to finish when `dev` is asked to stop (a choice: nobody
waits longer before a second Ctrl-C)."""

STATE_LOCK_WAIT_MS = 2_000
"""Real milliseconds that a command waits for another short command to let go of the state (a
choice: several times what a command takes)."""

CONTROL_BODY_BYTES_MAX = 64 * 1024 * 1024
"""Bytes of one request to the control API (a choice: a body of `BODY_BYTES_MAX` in base64, or an
import, and then some)."""

SOCKET_UNSENT_BYTES_MAX = 64 * 1024 * 1024
"""Bytes that an actor may have sent on one WebSocket and that its client has not read; then it is
severed (a choice: the platform has no cap on what is sent, and memory has)."""

SOCKET_CLOSE_WAIT_MS = 2_000
"""Real milliseconds that the client of a WebSocket gets to answer a close frame (a choice: less
than `SHUTDOWN_WAIT_MS`)."""

CONNECTIONS_MAX = 2_000
"""Connections that `dev` serves at a time; a further one is told to come back with 503 (a choice:
more than a load generator opens on one machine)."""

FOLLOW_CHUNK_ENTRIES = 500
"""Entries that are written to a follower of the journal at once; it is read no faster (a choice:
about 150 KB)."""

RELOAD_STEP_MS = 20
"""Real ms of quiet after a changed file before the project is loaded again (a choice: an editor
writes several files in one save)."""

RELOAD_DEBOUNCE_MS = 200
"""Real ms at most that further changes can put the loading off (a choice: a saved file is to be
live within 300 ms)."""

NOTES_WARNINGS_MAX = 5
"""Warnings that a command shows on stderr; the journal has them all (a choice: they fit beside a
result)."""

NOTES_FAILED_MAX = 3
"""Instances with a failed delivery that a command that moved time names on stderr (a choice: they
fit beside a result)."""

NOTE_CHARS_MAX = 600
"""Characters of one note (a choice: all notes of an operation fit into a header of its answer, see
`HEAD_BYTES_MAX`)."""

PROBE_WAIT_MS = 10_000
"""Real milliseconds that a server may take to say that it is there (a choice: more than a step of
actor code before the watchdog ends it)."""

HINT_WAIT_MS = 1_000
"""Real milliseconds that a command waits for its answer before it asks what holds it up (a choice:
a user begins to wonder)."""

COMPLETIONS_MAX = 100
"""Names that the shell is offered to complete a word (a choice: more than a user reads)."""

OUTSIDE_POLL_MS = 2
"""Real ms between two looks at a turn that waits on the outside (a choice: no answer comes much
sooner, and 500 looks a second cost nothing)."""

BATCH_SETTLE_MS = 50
"""Real ms that a batch of deliveries gets to finish before the next one joins it (a choice: a turn
takes less than one)."""

WATCHDOG_POLL_MS = 100
"""Real ms between two looks of the watchdog (a choice: a fiftieth of `WATCHDOG_MS_DEFAULT`)."""

SCHEDULE_WINDOW_ALARMS = 512
"""Alarms that the schedule reads from the store at once; it may hold twice as many (a choice: two
batches of `DELIVERY_BATCH_MAX`)."""

IDS_REMEMBERED_MAX = 50_000
"""Instances whose row number the store remembers (a choice: about 10 MB at 200 bytes each)."""

LISTEN_BACKLOG = 2_048
"""Connections that wait to be accepted (a choice: no fewer than `CONNECTIONS_MAX`; what uvicorn
takes by default)."""

HEAD_BYTES_MAX = 65_536
"""Bytes of the head of an answer that a command reads (a choice: far more than our notes need)."""

SQL_FILES_OPEN_MAX = 64
"""Files of instances that use SQL which the store keeps open, beside those in the middle of a turn
(a choice: three descriptors each, of the 256 that a process of macOS has)."""

DESCRIPTORS_WANTED = 8_192
"""Descriptors that a server asks the system for, where it may have as many (a choice: those of
`CONNECTIONS_MAX` clients on both sides, and of the files that as many turns have open at once)."""

SQL_DATABASE_BYTES_MAX = 1024 * 1024 * 1024
"""Bytes of the SQL database of one instance (spec/telnyx-actors.md section 16.2: 1 GB)."""

SQL_VALUE_BYTES_MAX = 2 * 1024 * 1024
"""Bytes of one bound value, text in UTF-8 (spec/telnyx-actors.md section 9: 2 MiB)."""

SQL_PARAMETERS_MAX = 32_766
"""Bound parameters of one statement (spec/telnyx-actors.md section 9: 32,766)."""

SQL_ROWS_MAX = 1_000_000
"""Rows that one `sql.exec` gives (a choice: they are read at once, and more would take the
memory)."""

SQL_PROGRESS_STEPS = 1_000_000
"""Steps of SQLite's machine between two looks whether the watchdog wants to end a statement (a
choice: about 10 ms)."""

SQL_SCRIPTS_CACHED_MAX = 1_024
"""Strings of SQL of which it is remembered what they ask for (a choice: more than a project
has)."""

SQL_SCRIPT_CACHED_CHARS_MAX = 16_384
"""Characters of a string of SQL above which that is worked out again each time (a choice: apsw
remembers no longer statements either)."""

BUDGET_NEAR_PERCENT = 80
"""Percent of its budget, in virtual ms, above which a turn that ended well is warned of (a choice:
a slow day of the other side adds a quarter)."""

ALARM_WRITERS_REMEMBERED_MAX = 10_000
"""Instances whose alarm is remembered to have been set by a line of the present code, to warn when
another line replaces it (a choice: about 1 MB)."""

WARNED_PLACES_MAX = 1_000
"""Places, or names, of one code of warning that are told of in one run; later ones are not (a
choice: nobody reads more, and odd names may come without end)."""

PEEKED_WRITES_MAX = 8
"""Writes and calls in each of the turns that are looked at for a missing `await` (a choice: each
look costs half a microsecond, and a loop writes with one line)."""

SERVICE_BODY_CHARS_MAX = 2_000
"""Characters of the query, and of the body, of a request to a service with ready answers that its
journal entry shows (a choice: what a test looks at)."""

KV_KEY_CHARS_MAX = 256
"""Characters of a key of a KV namespace (spec/telnyx-actors.md section 12)."""

KV_VALUE_BYTES_MAX = 1_048_576
"""Bytes of a value in a KV namespace (spec/telnyx-actors.md section 12: 1 MiB)."""

KV_TTL_S_MIN = 1
"""Virtual seconds that a value in a KV namespace lives at least, if it has an end
(spec/telnyx-actors.md section 12)."""

KV_TTL_S_MAX = 3_155_760_000
"""Virtual seconds that such a value lives at most (a choice: a hundred years)."""

KV_LIST_MAX = 1_000
"""Names in one page of a KV namespace, also where no limit is given (a choice: the platform
publishes none, and its actors' own `list` has this maximum)."""

RATE_KEYS_MAX = 100_000
"""Keys whose uses are counted for all rate limits together; of more, those that passed longest ago
are forgotten (a choice: about 20 MB)."""

SCRIPT_HEAP_BYTES_MAX = 1024 * 1024 * 1024
"""Bytes of memory that all TypeScript actors have together (a choice: twice what one container has
on the platform, spec/telnyx-actors.md section 16.2, for there are many here)."""

ADVICE_CHARS_MAX = 500_000
"""Characters of a TypeScript module that is read for advice (a choice: about 12,000 lines, read in
two seconds; what is longer was generated)."""

SCRIPT_MEMORY_BYTES_MAX = 2 * SCRIPT_HEAP_BYTES_MAX
"""Resident bytes of the process that runs TypeScript, with what lies outside of its heap, such as
byte arrays (a choice: as much again as the heap may have)."""

ERROR_CHARS_MAX = 65_536
"""Characters of the message, or of the stack, of an error of TypeScript that are kept (a choice:
far more than anybody reads)."""

PRINTED_LINE_CHARS_MAX = 16_384
"""Characters of one call of `console` that the journal keeps (a choice: several screens)."""

PRINTED_CHARS_MAX = 1_048_576
"""Characters that `console` keeps of one turn; the rest is left out (a choice: what is printed in a
loop without end must not fill the memory)."""

SCRIPT_START_MS = 10_000
"""Real milliseconds that the JavaScript engine may take to start, beyond the bound of a step (a
choice: it takes 30; a busy machine is no broken engine)."""

SCRIPT_FILES_SEARCHED_MAX = 500
"""Files of a TypeScript project that are looked through for the class of an actor that hangs, for
the instances of which nothing else tells a line (a choice: a few milliseconds)."""
