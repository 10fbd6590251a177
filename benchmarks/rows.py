"""The rows of the speed table: what each measures, and what was designed for.

The design's figures come from one machine and this is another, so what counts is the ratio of
edgeemu to the floor, both measured here in one run. Where the design gives the floor a range, its
fast end is taken: the floor of this package uses the fast parts (httptools, apsw).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from benchmarks.hosts import System

Measure = Callable[[System, bool], float]
"""Measures one row on one system that runs, or starts it itself; with True, quickly."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row.

    Attributes:
        key: for `--only`.
        title: as in the table.
        unit: `/s`, `s` or `MB`.
        measures: name of a system to how it is measured there.
        design_edgeemu: the figure that was designed for.
        design_script: the same for the application in TypeScript; None if there is none.
        design_floor: the floor's, measured on the machine of the design; None if it has none.
        bound: a bound on the figure itself that counts on every machine; None if there is none.
        design_text: the design's figures of the other systems, for the reader.
        rounds: how often each system is measured, in turn.
    """

    key: str
    title: str
    unit: str
    measures: Mapping[str, Measure]
    design_edgeemu: float
    design_floor: float | None = None
    design_script: float | None = None
    bound: float | None = None
    design_text: Mapping[str, str] = field(default_factory=dict)
    rounds: int = 3

    @property
    def more_is_better(self) -> bool:
        """Whether a rate is measured, rather than a time or a size."""
        return self.unit == "/s"

    def verdict(self, edgeemu: float, floor: float | None) -> str:
        """`met` or `not met`, and by what.

        A row is met by its ratio to the floor, or by the figure itself: a slow machine that keeps
        up with the fast one of the design has nothing to make up for.
        """
        reasons = []
        if self.bound is not None and self._keeps(edgeemu, self.bound):
            reasons.append("bound")
        if self._keeps(edgeemu, self.design_edgeemu):
            reasons.append("figure")
        if floor and self.design_floor and self._keeps(edgeemu / floor, self.design_ratio or 0.0):
            reasons.append("ratio")
        return f"met ({', '.join(reasons)})" if reasons else "not met"

    def _keeps(self, value: float, wanted: float) -> bool:
        return value >= wanted if self.more_is_better else value <= wanted

    def script_verdict(self, figure: float) -> str:
        """The same for the application in TypeScript, which the design gives one figure."""
        wanted = [each for each in (self.design_script, self.bound) if each is not None]
        return "met" if any(self._keeps(figure, each) for each in wanted) else "not met"

    @property
    def design_ratio(self) -> float | None:
        """What the design has of edgeemu to the floor."""
        return None if self.design_floor is None else self.design_edgeemu / self.design_floor


def all_rows() -> list[Row]:
    """Every row that exists by now, in the order of the table."""
    from benchmarks import commands, served

    both = {"edgeemu", "edgeemu ts", "floor"}
    every = both | {"miniflare", "wrangler dev"}

    def on(names: set[str], measure: Measure) -> dict[str, Measure]:
        return dict.fromkeys(sorted(names), measure)

    return [
        Row(
            "start",
            "command start to first answer through an actor",
            "s",
            on(every, served.start),
            0.4,
            0.11,
            bound=0.6,
            design_text={"wrangler dev": "2.1", "miniflare": "0.80"},
            rounds=5,
            design_script=0.5,
        ),
        Row(
            "reload",
            "file saved to new code live",
            "s",
            on(every, served.reload),
            0.1,
            0.015,
            bound=0.3,
            design_text={"wrangler dev": "0.55", "miniflare": "0.11"},
            rounds=5,
            design_script=0.15,
        ),
        Row(
            "inc",
            "get + put + commit per request, 1 connection",
            "/s",
            on(every, served.inc_alone),
            2_500,
            8_800,
            design_text={"wrangler dev": "156", "miniflare": "1,210"},
            rounds=5,
            design_script=1_300,
        ),
        Row(
            "inc32",
            "the same, 32 connections",
            "/s",
            on(every, served.inc_many),
            5_000,
            15_500,
            design_text={"wrangler dev": "440", "miniflare": "1,860"},
            rounds=5,
            design_script=2_500,
        ),
        Row(
            "puts",
            "awaited puts in one turn",
            "/s",
            on(every, served.puts),
            100_000,
            139_000,
            design_text={"wrangler dev": "21,000", "miniflare": "88,000"},
            rounds=5,
            design_script=90_000,
        ),
        Row(
            "commits",
            "puts with a commit each",
            "/s",
            on(every, served.commits),
            15_000,
            43_000,
            design_text={"wrangler dev": "3,600", "miniflare": "8,700"},
            rounds=5,
            design_script=9_000,
        ),
        Row(
            "sql",
            "`sql.exec` inserts in one turn",
            "/s",
            on(every, served.inserts),
            280_000,
            355_000,
            design_text={"wrangler dev": "26,000", "miniflare": "221,000"},
            rounds=5,
            design_script=30_000,
        ),
        Row(
            "arm",
            "1,000 new instances arm an alarm for now; all fired",
            "/s",
            on(every, served.arm_now),
            2_500,
            3_250,
            design_text={"wrangler dev": "190", "miniflare": "310"},
            design_script=1_300,
        ),
        Row(
            "due",
            "10,000 alarms due at one instant",
            "/s",
            on(every, served.due_at_once),
            4_000,
            6_100,
            design_text={"wrangler dev": "250", "miniflare": "330"},
            rounds=1,
            design_script=2_000,
        ),
        Row(
            "advance",
            "virtual alarms delivered by `clock advance` (get, put, re-arm)",
            "/s",
            {
                "edgeemu-frozen": served.advance_edgeemu,
                "edgeemu ts-frozen": served.advance_edgeemu,
                "floor-frozen": served.advance_floor,
            },
            5_000,
            11_800,
            rounds=5,
            design_script=2_500,
        ),
        Row(
            "month",
            "thirty days of 200 instances, whole command",
            "s",
            on(both, commands.month),
            5.0,
        ),
        Row(
            "test",
            "one trivial alarm test, whole pytest command",
            "s",
            on(both, commands.trivial_test),
            0.5,
            0.34,
            design_text={"wrangler dev": "3.4 (vitest)"},
            rounds=5,
            design_script=0.6,
        ),
        Row(
            "decade",
            "ten years of a 30-day subscription in a test",
            "s",
            on(both, commands.decade_test),
            0.6,
            0.43,
            design_text={"wrangler dev": "3.8 (vitest)"},
            rounds=5,
            design_script=0.7,
        ),
        Row(
            "memory",
            "memory at rest",
            "MB",
            on(every, served.memory_at_rest),
            70,
            24,
            design_text={"wrangler dev": "495", "miniflare": "185"},
            rounds=1,
            design_script=140,
        ),
        Row(
            "memory10k",
            "memory with 10,000 live instances",
            "MB",
            on(every, served.memory_with_instances),
            150,
            28,
            design_text={"wrangler dev": "over 1,800", "miniflare": "1,566"},
            rounds=1,
            design_script=250,
        ),
        Row("help", "`edgeemu --help`", "s", {"edgeemu": commands.help_text}, 0.3, rounds=7),
        Row(
            "list",
            "`edgeemu alarms list` against a server",
            "s",
            {"edgeemu": commands.list_alarms},
            0.3,
            rounds=7,
        ),
    ]
