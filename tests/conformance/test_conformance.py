"""Every scenario gives what it must, and one journal, in each language and on each store.

Each runs with its instances kept in memory, and again with them evicted between the steps.

The expected journals lie in `journals/`, one file each; `EDGEEMU_WRITE_JOURNALS=1` writes them
anew, from the run in memory without evictions, to be read before they are kept.
"""

import json
import os
from pathlib import Path

import pytest

from tests.conformance import (
    scenarios_alarms,
    scenarios_bindings,
    scenarios_codec,
    scenarios_context,
    scenarios_edges,
    scenarios_keys,
    scenarios_lifecycle,
    scenarios_local,
    scenarios_sockets,
    scenarios_sql,
    scenarios_storage,
    scenarios_switches,
    scenarios_transactions,
    scenarios_turns,
)
from tests.conformance.runner import HERE, LANGUAGES, VARIANTS, Run, Variant, actor_source
from tests.conformance.scenario import Scenario
from tests.support.emulators import run
from tests.support.journals import as_lines, without_memory

SCENARIOS: list[Scenario] = [
    *scenarios_turns.SCENARIOS,
    *scenarios_lifecycle.SCENARIOS,
    *scenarios_storage.SCENARIOS,
    *scenarios_sql.SCENARIOS,
    *scenarios_switches.SCENARIOS,
    *scenarios_transactions.SCENARIOS,
    *scenarios_sockets.SCENARIOS,
    *scenarios_keys.SCENARIOS,
    *scenarios_codec.SCENARIOS,
    *scenarios_context.SCENARIOS,
    *scenarios_edges.SCENARIOS,
    *scenarios_bindings.SCENARIOS,
    *scenarios_alarms.SCENARIOS,
    *scenarios_local.SCENARIOS,
]
JOURNALS = HERE / "journals"
WRITE = bool(os.environ.get("EDGEEMU_WRITE_JOURNALS"))


def applies(scenario: Scenario, variant: Variant) -> bool:
    fits = not (scenario.kept_only and variant.evict) and (variant.disk or not scenario.disk_only)
    return fits and scenario.only in ("", variant.language)


CASES = [
    pytest.param(
        scenario,
        variant,
        id=f"{scenario.case.replace(' ', '-')}-{variant}",
    )
    for scenario in SCENARIOS
    for variant in VARIANTS
    if applies(scenario, variant)
]


def journal_file(scenario: Scenario) -> Path:
    return JOURNALS / f"{scenario.case.replace(' ', '-')}.txt"


@pytest.mark.parametrize(("scenario", "variant"), CASES)
def test_scenario(scenario: Scenario, variant: Variant, tmp_path: Path) -> None:
    entries = run(Run(scenario, variant, tmp_path).play())
    file = journal_file(scenario)
    if WRITE and not variant.evict and variant.language == (scenario.only or "python"):
        head = f"{scenario.case}: {scenario.title}\n{scenario.source}\n\n"
        text = head + "".join(f"{line}\n" for line in as_lines(entries, scenario.start_ms))
        file.write_text(text)
    if variant.evict:
        lines = as_lines(without_memory(entries), scenario.start_ms)
        assert lines == expected_without_memory(scenario, tmp_path)
    else:
        lines = as_lines(entries, scenario.start_ms)
        assert lines == file.read_text().splitlines()[3:]


_kept: dict[str, list[str]] = {}


def expected_without_memory(scenario: Scenario, tmp_path: Path) -> list[str]:
    """The journal of the run that keeps every instance, less what tells of memory."""
    if scenario.case not in _kept:
        variant = Variant(scenario.only or "python", disk=scenario.disk_only, evict=False)
        entries = run(Run(scenario, variant, tmp_path / "kept").play())
        _kept[scenario.case] = as_lines(without_memory(entries), scenario.start_ms)
    return _kept[scenario.case]


def test_every_scenario_has_a_number_a_source_and_a_journal() -> None:
    cases = [scenario.case for scenario in SCENARIOS]
    assert len(set(cases)) == len(cases)
    assert all(scenario.source and scenario.title for scenario in SCENARIOS)
    files = {journal_file(scenario).name for scenario in SCENARIOS}
    assert files == {file.name for file in JOURNALS.iterdir()}


def test_scenarios_are_plain_data_for_any_language() -> None:
    for scenario in SCENARIOS:
        for step in scenario.steps:
            said = [dict(step.params), step.gives, step.fails, step.says]
            assert json.loads(json.dumps(said)) == said, (scenario.case, step)


def test_actors_have_a_twin_in_every_language() -> None:
    for scenario in SCENARIOS:
        for language in LANGUAGES:
            if scenario.only in ("", language):
                assert actor_source(scenario.actors, language)
