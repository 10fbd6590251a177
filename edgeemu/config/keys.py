"""The one table of the keys of `edgeemu.toml`.

Reading, the hint to the nearest key and the tests of the reference file all follow this table, so
a key that is not in it does not exist.
"""

from dataclasses import dataclass

from edgeemu import limits
from edgeemu.clock import ClockMode
from edgeemu.config import kinds
from edgeemu.config.kinds import Kind
from edgeemu.config.model import HOST_DEFAULT, PORT_DEFAULT
from edgeemu.rng import SEED_MAX
from edgeemu.units import DAY_MS

ANY_NAME = "NAME"
"""Stands in a table's or a key's name for one that the user chooses."""

PLATFORMS = ("telnyx", "cloudflare")
"""The names of profiles that a configuration may give; not each one is there yet."""

LIST_TABLES = frozenset({"actors", "ratelimits"})
"""Tables that are written `[[…]]` and may stand several times."""

ONE_OR_MANY_TABLES = frozenset({f"services.{ANY_NAME}.respond"})
"""Tables that may stand once, or several times in a list."""

SECRET_TABLE = "secrets"
"""The table whose values no message shows."""


@dataclass(frozen=True, slots=True)
class Key:
    """One key.

    Attributes:
        table: where it stands, with dots; empty for the top of the file.
        name: as it is written, or `ANY_NAME`.
        kind: which values it takes.
        default: what holds without it, as TOML, or None where nothing does.
        unit: of the value; empty where it has none.
        text: what it does, in one sentence.
        example: a value that would do, as TOML.
    """

    table: str
    name: str
    kind: Kind
    default: str | None
    unit: str
    text: str
    example: str

    @property
    def path(self) -> str:
        """Table and name with a dot between, such as `clock.mode`."""
        return join(self.table, self.name)


def join(table: str, name: str) -> str:
    """The path of `name` inside `table`."""
    return f"{table}.{name}" if table else name


def _limit(name: str, least: int, most: int, default: int, text: str) -> Key:
    unit = {"ms": "real milliseconds", "bytes": "bytes"}.get(name.rpartition("_")[2], "")
    kind = kinds.milliseconds(least, most) if name.endswith("_ms") else kinds.whole(least, most)
    return Key("limits", name, kind, str(default), unit, text, str(default))


_RESPOND = f"services.{ANY_NAME}.respond"
_MODES = kinds.one_of([mode.value for mode in ClockMode])
_EVICTION = kinds.milliseconds(0, 365 * DAY_MS, never=True)
_LATE = str(limits.LATENESS_MS_DEFAULT)
_IDLE = str(limits.IDLE_EVICTION_MS_DEFAULT)

KEYS: tuple[Key, ...] = (
    Key(
        "", "name", kinds.NAME, None, "", "The project's name; without it, the folder's.", '"shop"'
    ),
    Key(
        "",
        "main",
        kinds.STRING,
        None,
        "",
        "The entry module, from the project's folder: its `fetch` answers HTTP requests.",
        '"src/main.py"',
    ),
    Key(
        "",
        "platform",
        kinds.one_of(PLATFORMS),
        '"telnyx"',
        "",
        "The platform whose rules hold.",
        '"telnyx"',
    ),
    Key(
        "",
        "compatibility_date",
        kinds.DATE,
        None,
        "",
        "The day whose platform behaviour holds.",
        '"2026-05-01"',
    ),
    Key(
        "",
        "seed",
        kinds.whole(0, SEED_MAX),
        None,
        "",
        "The seed of all randomness; without it, one is drawn and shown.",
        "1",
    ),
    Key(
        "actors",
        "binding",
        kinds.IDENTIFIER_KIND,
        None,
        "",
        "The property of `env` that holds the actor's namespace.",
        '"COUNTER"',
    ),
    Key(
        "actors", "type", kinds.TYPE, None, "", "The actor's class, by its exact name.", '"Counter"'
    ),
    Key(
        "actors",
        "module",
        kinds.STRING,
        None,
        "",
        "The file that defines the class, from the project's folder; without it, `main`.",
        '"src/counter.py"',
    ),
    Key(
        "clock",
        "mode",
        _MODES,
        None,
        "",
        "How time moves; without it, as it was left, and a new clock is real.",
        '"frozen"',
    ),
    Key(
        "clock",
        "start",
        kinds.INSTANT,
        None,
        "ISO 8601, or milliseconds since the epoch",
        "The instant at which a new clock starts; without it, now.",
        '"2030-01-01T00:00:00Z"',
    ),
    Key(
        "clock",
        "rate",
        kinds.RATE,
        None,
        "virtual seconds for each real one",
        'How fast time moves, with `mode = "rate"`, which it implies.',
        "60",
    ),
    Key(
        "clock",
        "alarm_lateness_ms",
        kinds.milliseconds(0, DAY_MS),
        _LATE,
        "milliseconds",
        "How long after its due instant an alarm is delivered; 0 is exact.",
        _LATE,
    ),
    Key(
        "dev",
        "host",
        kinds.HOST,
        f'"{HOST_DEFAULT}"',
        "",
        "The address that `edgeemu dev` binds.",
        f'"{HOST_DEFAULT}"',
    ),
    Key(
        "dev",
        "port",
        kinds.whole(0, 65_535),
        str(PORT_DEFAULT),
        "",
        "The port that `edgeemu dev` binds; 0 lets the system choose.",
        str(PORT_DEFAULT),
    ),
    Key(
        "dev",
        "idle_eviction_ms",
        _EVICTION,
        _IDLE,
        "virtual milliseconds",
        'How long an instance stays in memory without work; 0 evicts after every turn, or "never".',
        _IDLE,
    ),
    Key(
        "dev",
        "actor_vars",
        kinds.BOOLEAN,
        "false",
        "",
        "Whether actors see `[vars]` and `os.environ` too, which the platform keeps from them.",
        "true",
    ),
    Key(
        "dev",
        "new_unique_id",
        kinds.BOOLEAN,
        "false",
        "",
        "Whether `new_unique_id` works, which it does not on the platform today.",
        "true",
    ),
    Key(
        f"functions.{ANY_NAME}",
        "config",
        kinds.STRING,
        None,
        "",
        "The configuration of a further function, or its folder, from the project's folder.",
        '"../billing/telnyx.toml"',
    ),
    Key(
        SECRET_TABLE,
        ANY_NAME,
        kinds.STRING,
        None,
        "",
        "A value for `env.SECRETS.get`; one in `.env` or `.dev.vars` wins.",
        '"for local use only"',
    ),
    Key(
        "vars",
        ANY_NAME,
        kinds.STRING,
        None,
        "",
        "A plain value on `env` and in `os.environ` of the function; actors do not see it.",
        '"hello"',
    ),
    Key(
        f"services.{ANY_NAME}",
        "url",
        kinds.URL,
        None,
        "",
        "Where requests through `env.NAME.fetch` are sent, with their own path behind it.",
        '"http://127.0.0.1:9000"',
    ),
    Key(
        _RESPOND,
        "status",
        kinds.whole(200, 599),
        "200",
        "",
        "The status of a fixed answer, in place of `url`; a list of answers is given in turn.",
        "200",
    ),
    Key(
        _RESPOND,
        "headers",
        kinds.HEADERS,
        "{}",
        "",
        "The headers of the fixed answer.",
        '{ x-from = "edgeemu" }',
    ),
    Key(
        _RESPOND,
        "body",
        kinds.STRING,
        '""',
        "",
        "The text of the fixed answer.",
        '"ok"',
    ),
    Key(
        _RESPOND,
        "json",
        kinds.JSON,
        None,
        "",
        "A value to be answered as JSON, in place of `body`.",
        "{ paid = true }",
    ),
    Key(
        f"storage.kv.{ANY_NAME}",
        "id",
        kinds.STRING,
        None,
        "",
        "The KV namespace behind `env.NAME`: bindings with one id share it; without it, the name.",
        '"0f8fad5b-d9cb-469f-a165-70867728950e"',
    ),
    Key(
        "ratelimits",
        "name",
        kinds.STRING,
        None,
        "",
        "The handle: `env.PER_USER.limit(key=...)` for `per-user`.",
        '"per-user"',
    ),
    Key(
        "ratelimits",
        "limit",
        kinds.whole(1, 1_000_000_000),
        None,
        "",
        "How often a key may pass within a period.",
        "10",
    ),
    Key(
        "ratelimits",
        "period",
        kinds.whole(1, 31_536_000),
        None,
        "virtual seconds",
        "How long a period lasts; it begins with a key's first use after the one before.",
        "60",
    ),
    Key(
        "ratelimits",
        "namespace_id",
        kinds.STRING,
        None,
        "",
        "Limits with one id count together; without it, each one counts alone.",
        '"1001"',
    ),
    _limit(
        "io_wait_ms",
        0,
        3_600_000,
        limits.IO_WAIT_MS_DEFAULT,
        "How long a turn that waits on the outside may hold the clock.",
    ),
    _limit(
        "watchdog_ms",
        10,
        3_600_000,
        limits.WATCHDOG_MS_DEFAULT,
        "How long actor code may run without waiting before it is interrupted.",
    ),
    _limit(
        "storm_count",
        2,
        10_000_000,
        limits.STORM_COUNT_MAX,
        "Deliveries to one instance, each within a second of the last, that are an alarm storm.",
    ),
    _limit(
        "idle_steps",
        1,
        100_000_000,
        limits.IDLE_STEPS_MAX,
        "Instants that `clock idle` visits before it gives up.",
    ),
    _limit(
        "journal_entries",
        100,
        10_000_000,
        limits.JOURNAL_ENTRIES_MAX,
        "Entries that the journal keeps; the oldest go first.",
    ),
    _limit(
        "body_bytes",
        1,
        1_073_741_824,
        limits.BODY_BYTES_MAX,
        "The size of the largest request or response body.",
    ),
    Key(
        "limits",
        "strict",
        kinds.BOOLEAN,
        "false",
        "",
        "Whether odd names of instances and large keys and values are refused, not only warned of.",
        "true",
    ),
)
"""Every key of `edgeemu.toml`, in the order of the reference file."""

KEYS_BY_PATH = {key.path: key for key in KEYS}
"""The keys by `Key.path`."""


def _tables() -> dict[str, tuple[str, ...]]:
    names: dict[str, dict[str, None]] = {"": {}}
    for key in KEYS:
        table = ""
        for part in [*key.table.split("."), key.name] if key.table else [key.name]:
            names.setdefault(table, {})[part] = None
            table = join(table, part)
    return {table: tuple(parts) for table, parts in names.items()}


TABLES = _tables()
"""The names that each table may hold: keys and further tables."""
