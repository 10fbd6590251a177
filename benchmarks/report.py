"""The result as a table for people and as JSON for programs."""

from dataclasses import dataclass, field
from statistics import median
from typing import Any

from benchmarks.rows import Row

COLUMNS = ("wrangler dev", "miniflare", "floor", "edgeemu", "edgeemu ts")


@dataclass(slots=True)
class Result:
    """What was measured of one row.

    Attributes:
        row: which.
        samples: system to its figures, in the order of the rounds.
        failures: system to why it has none.
    """

    row: Row
    samples: dict[str, list[float]] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)

    def middle(self, system: str) -> float | None:
        """The median of a system; a variant of it stands in its column."""
        for name in (system, f"{system}-frozen"):
            if self.samples.get(name):
                return median(self.samples[name])
        return None

    def ratio(self) -> float | None:
        """Edgeemu to the floor: the median over the rounds of each pair."""
        pairs = [
            self.samples.get(name) or self.samples.get(f"{name}-frozen") or []
            for name in ("edgeemu", "floor")
        ]
        ratios = [ours / floor for ours, floor in zip(*pairs, strict=False) if floor]
        return median(ratios) if ratios else None

    def verdict(self) -> str:
        """Whether the row is met."""
        ours, ratio = self.middle("edgeemu"), self.ratio()
        if ours is None:
            return "not measured"
        return self.row.verdict(ours, ours / ratio if ratio else None)

    def script_verdict(self) -> str:
        """Whether the application in TypeScript meets the row; empty if nothing was designed."""
        figure = self.middle("edgeemu ts")
        if self.row.design_script is None:
            return ""
        return "not measured" if figure is None else self.row.script_verdict(figure)

    def as_json(self) -> dict[str, Any]:
        """This row as `--json` shows it."""
        return {
            "key": self.row.key,
            "title": self.row.title,
            "unit": self.row.unit,
            "systems": {
                name: {
                    "median": median(figures),
                    "min": min(figures),
                    "max": max(figures),
                    "samples": figures,
                }
                for name, figures in self.samples.items()
                if figures
            },
            "failures": self.failures,
            "ratio": self.ratio(),
            "design": {
                "edgeemu": self.row.design_edgeemu,
                "floor": self.row.design_floor,
                "edgeemu ts": self.row.design_script,
                "ratio": self.row.design_ratio,
                "bound": self.row.bound,
                **self.row.design_text,
            },
            "verdict": self.verdict(),
            "verdict ts": self.script_verdict(),
        }


def table(results: list[Result]) -> str:
    """The results as text: one line a row, with medians and in brackets minimum and maximum."""
    head = ["", *COLUMNS, "ratio", "designed", "verdict", "designed ts", "verdict ts"]
    lines = [head]
    for result in results:
        row = result.row
        ratio = result.ratio()
        designed = f"{_figure(row.design_edgeemu, row.unit)}"
        if row.design_ratio is not None:
            designed += f" = {row.design_ratio:.2f} x floor"
        lines.append(
            [
                row.title,
                *(_cell(result, name) for name in COLUMNS),
                "" if ratio is None else f"{ratio:.2f}",
                designed,
                result.verdict(),
                "" if row.design_script is None else _figure(row.design_script, row.unit),
                result.script_verdict(),
            ]
        )
    widths = [max(len(line[at]) for line in lines) for at in range(len(head))]
    text = "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )
    notes = [
        f"{result.row.key}: {name}: {why}"
        for result in results
        for name, why in result.failures.items()
    ]
    return text + ("\n\nNOT MEASURED\n" + "\n".join(notes) if notes else "")


def _cell(result: Result, system: str) -> str:
    for name in (system, f"{system}-frozen"):
        figures = result.samples.get(name)
        if figures:
            unit = result.row.unit
            low, high = _figure(min(figures), ""), _figure(max(figures), "")
            spread = f" [{low}..{high}]" if len(figures) > 1 else ""
            return f"{_figure(median(figures), unit)}{spread}"
        if name in result.failures:
            return "NOT MEASURED"
    return "-"


def _figure(value: float, unit: str) -> str:
    text = f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.3f}"
    return f"{text} {unit}".rstrip()
