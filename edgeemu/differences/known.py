"""What is not emulated, and what is knowingly done in another way."""

from edgeemu import limits
from edgeemu.differences.rows import Difference, Missing

MISSING: tuple[Missing, ...] = (
    Missing("the Cloudflare profile", "`E_CONFIG_UNSUPPORTED` when the configuration is read"),
    Missing(
        "the products behind `[telnyx]`, `[storage.cloudstorage]` and `[storage.sqldb]`",
        "the warning `W_CONFIG`; the name is bound and raises an error when it is used",
    ),
)
"""What of the platform is not emulated; it fails loudly, at load or at first use."""

PYTHON: tuple[Difference, ...] = (
    Difference("Actors may be written in Python", "TypeScript and JavaScript only", "design"),
    Difference(
        "Time stands still within one step, from where code goes on to where it waits next",
        "it moves",
        "a step sees one instant, so a run can be replayed",
    ),
    Difference(
        "Code that is stuck inside C cannot be interrupted",
        "the process is killed",
        "Python can only be interrupted between bytecodes",
    ),
    Difference(
        "`random`, `secrets` and `uuid.uuid4` are not seeded",
        "–",
        "use `self.ctx.random`; `edgeemu check` names the places",
    ),
    Difference(
        "`time.perf_counter` and `time.sleep` are real",
        "–",
        "they measure and block real time; `edgeemu check` names sleeps",
    ),
    Difference(
        "`time.ctime()` without an argument shows real time",
        "–",
        "the faked clock does not reach that function",
    ),
    Difference(
        "A thread started with `asyncio.to_thread` keeps the turn's context, so keys work "
        "there, and SQL does not; other threads are refused",
        "no threads",
        "use storage in the method itself",
    ),
    Difference(
        "`pragma_table_list` and `dbstat` list the tables `_edgeemu_*` too, and a view on "
        "`sqlite_master` is kept as one on `_edgeemu_catalogue`",
        "no such tables",
        "the keys of an instance lie in the file of its SQL data; `sqlite_master` leaves them out",
    ),
    Difference(
        "`sqlite_master` in single quotes behind a comma lists what is `_edgeemu_*` too",
        "no such tables",
        "only behind FROM and JOIN is a string surely the name of a table; leave the quotes out",
    ),
    Difference(
        "`pragma_table_xinfo('_edgeemu_catalogue')` describes edgeemu's own view",
        "no such view",
        "it shows the columns of `sqlite_master`, and no rows",
    ),
    Difference(
        "Arguments that do not fit the method's parameters are refused",
        "missing ones are undefined, others are ignored",
        "Python has it so, and it finds mistakes",
    ),
    Difference(
        "A set has no order; a map with text keys only is a `dict`, as an object is; a tuple comes "
        "back as a list",
        "maps and sets keep their order and are no objects",
        "Python has one `dict`, and no order in sets",
    ),
    Difference(
        "Variables of a module live until the code is loaded again, and all instances share them",
        "they go when the instance is torn down",
        "loading a module for each instance takes long; keep state in storage",
    ),
    Difference(
        "A module is imported once, for the function in front and its actors, and sees the "
        "function's variables meanwhile",
        "the function and each actor have processes of their own",
        "all run in one process",
    ),
    Difference(
        "A naive `datetime` is refused by `set_alarm`",
        "a `Date` is refused too",
        "a naive date names no instant",
    ),
)
"""What follows from the language."""

DATABASE: tuple[Difference, ...] = (
    Difference(
        f"All rows of an `exec` are read at once, {limits.SQL_ROWS_MAX:,} at most",
        "not published",
        "a later statement never meets a cursor that is still open",
    ),
    Difference(
        "An error that SQLite reports is named `SqlError`",
        "not published",
        "the message is SQLite's own",
    ),
    Difference(
        "`random()` and `randomblob()` draw from the seed of the run",
        "from the system",
        "the same run gives the same rows",
    ),
    Difference(
        "Names that begin with `_edgeemu_` are refused; `pragma_table_list`, `dbstat` and "
        "`'sqlite_master'` in quotes show some, but never their rows",
        "–",
        "edgeemu keeps its own tables in the same database",
    ),
    Difference(
        "What is TEMP ends with the turn, and of the PRAGMAs only harmless ones are allowed",
        "not published",
        "nothing may live beside what is committed, or change how that is done",
    ),
    Difference(
        "A statement that fails because the database is full undoes all SQL of the turn, and so "
        "fails the turn",
        "the write fails",
        "SQLite rolls back by itself",
    ),
)
"""What follows from how SQL is kept."""

BINDINGS: tuple[Difference, ...] = (
    Difference(
        "A KV namespace never reads what is stale",
        "not published; a global store may give an earlier value for a while",
        "there is one place; let no code rely on reading at once what it wrote",
    ),
    Difference(
        "Rate limits count exactly, on the emulated clock, and anew after a restart",
        "not published",
        "the counts are kept in memory",
    ),
)
"""What follows from bindings that are kept on one machine."""

SOCKETS: tuple[Difference, ...] = (
    Difference(
        "A client is connected when the function in front has returned, before `web_socket` runs",
        "not published",
        "a class without one closes a socket that is open, with 1011",
    ),
    Difference(
        "What waits for its turn is dropped when the platform closes, and delivered when the "
        "client does",
        "not published",
        "a client that hangs up has said what it sent",
    ),
    Difference(
        "The `close` listener gets the code that the client sees, after 1009 and 1011 too; an "
        "instance that leaves the memory gets none",
        "not published",
        "both sides tell the same story",
    ),
    Difference(
        "A listener that is registered after `web_socket` has returned is an error",
        "it may miss events",
        "it fails loudly",
    ),
    Difference(
        "A message that is sent on a closed socket draws a warning",
        "it goes nowhere in silence",
        "you want to know",
    ),
    Difference(
        f"A client that leaves {limits.SOCKET_UNSENT_BYTES_MAX // 2**20} MiB unread is severed",
        "no cap",
        "it would take the memory",
    ),
    Difference(
        "The five minutes of a socket are emulated; `clock idle` and `clock next` move to their "
        "end",
        "about five minutes, real",
        "a test should not wait for them",
    ),
    Difference(
        "With `--evict-always` an instance stays while it has an open socket",
        "it stays in memory",
        "an eviction would close the socket",
    ),
)
"""What follows from WebSockets between an emulated actor and a real client."""

TIME: tuple[Difference, ...] = (
    Difference(
        f"An alarm is delivered `alarm_lateness_ms` late, {limits.LATENESS_MS_DEFAULT} by default",
        "about a second late",
        "ordinary code relies on a little lateness",
    ),
    Difference(
        "An alarm is never early",
        "some report that it is rounded to seconds, and so may be a little early",
        "an early alarm is a defect",
    ),
    Difference(
        "An alarm that is given up is in the log, draws a warning and fails a test",
        "it is deleted in silence",
        "you want to know",
    ),
    Difference(
        f"Two deliveries to one instance are at least {limits.DELIVERY_SPACING_MS} ms apart",
        "–",
        "no instance is delivered twice at one instant",
    ),
    Difference("A crash uses up no attempt", "not published", "the delivery is at-least-once"),
    Difference(
        f"After {limits.STORM_COUNT_MAX:,} deliveries less than a second apart a move of the "
        "clock ends with `E_ALARM_STORM`",
        "it goes on",
        "nobody wants to wait for it",
    ),
)
"""What follows from a clock that can be moved."""
