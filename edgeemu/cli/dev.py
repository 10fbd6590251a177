"""`dev`: the project behind a port, with a live log and code that reloads when it is saved."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from edgeemu.cli.commands import Run, command, group
from edgeemu.errors import Code, EdgeemuError

if TYPE_CHECKING:
    from edgeemu.config import Config

app = group("The server.")


def _option(name: str, help: str, metavar: str | None = None) -> Any:
    return typer.Option(name, metavar=metavar, help=help)


Port = Annotated[int | None, _option("--port", "The port; 0 lets the system choose.", "N")]
Host = Annotated[str | None, _option("--host", "The address to bind.", "H")]
Clock = Annotated[str | None, _option("--clock", "real, frozen, or a rate such as 60x.", "MODE")]
Start = Annotated[
    str | None, _option("--start", "Where the clock starts, at the earliest.", "INSTANT")
]
Rate = Annotated[
    str | None, _option("--rate", "Virtual seconds for each real one: 60 or 60x.", "X")
]
Seed = Annotated[int | None, _option("--seed", "Of all randomness in this run.", "N")]
Fresh = Annotated[bool, _option("--fresh", "Delete the kept state first, and nothing else.")]
InMemory = Annotated[bool, _option("--in-memory", "Keep no state on disk.")]
NoReload = Annotated[bool, _option("--no-reload", "Leave the code as it is when a file is saved.")]
HoldOverdue = Annotated[
    bool, _option("--hold-overdue", "Do not fire what is overdue at the start.")
]
EvictAlways = Annotated[
    bool, _option("--evict-always", "Drop instances from memory after every turn.")
]
Inspect = Annotated[
    bool, _option("--inspect", "Let a debugger attach to TypeScript, on this machine only.")
]


@command(app, "dev", common=["project", "state_dir"])
def dev(
    run: Run,
    port: Port = None,
    host: Host = None,
    clock: Clock = None,
    start: Start = None,
    rate: Rate = None,
    seed: Seed = None,
    fresh: Fresh = False,
    in_memory: InMemory = False,
    no_reload: NoReload = False,
    hold_overdue: HoldOverdue = False,
    evict_always: EvictAlways = False,
    inspect: Inspect = False,
) -> None:
    """Run the project with hot reload and a live log.

    It binds 127.0.0.1 unless told otherwise, and runs until Ctrl-C.
    """
    from edgeemu.cli.serving import serve_project
    from edgeemu.config import load_config
    from edgeemu.emulator import Options
    from edgeemu.rng import check_seed
    from edgeemu.units import parse_instant

    mode, rate_value = _clock_of(clock, rate)
    root, state_dir = run.root, run.state_dir
    overrides: dict[str, Any] = {"dev.port": port, "dev.host": host}

    def load() -> "Config":
        return load_config(root, overrides=overrides)

    options = Options(
        state_dir=None if in_memory else state_dir,
        mode=mode,
        rate=rate_value,
        start_ms=None if start is None else parse_instant(start),
        seed=None if seed is None else check_seed(seed),
        evict_always=evict_always,
        inspect=inspect,
    )
    serve_project(
        load,
        options,
        root=root,
        state_dir=state_dir,
        fresh=fresh,
        reload=not no_reload,
        hold_overdue=hold_overdue,
    )


def _clock_of(clock: str | None, rate: str | None) -> tuple[Any, float | None]:
    """The clock mode and the rate that the options ask for; None for what they leave open."""
    from edgeemu.clock import ClockMode, parse_rate

    if rate is not None:
        if clock not in (None, "rate"):
            raise EdgeemuError(
                Code.USAGE,
                what=f"`--clock {clock}` and `--rate {rate}` contradict each other",
                why="`--rate` says by itself how the clock moves",
                fix="leave one of them out",
            )
        return ClockMode.RATE, parse_rate(rate)
    if clock in (None, "real", "frozen"):
        return None if clock is None else ClockMode(clock), None
    try:
        return ClockMode.RATE, parse_rate(clock)
    except EdgeemuError as error:
        raise EdgeemuError(
            error.code,
            what=f"`{clock}` cannot be the clock",
            why="a clock is real, frozen, or runs at a rate",
            fix="write `--clock real`, `--clock frozen` or `--clock 60x`",
        ) from None
