"""A process that is killed at any point loses nothing that it answered (promise 9).

spec/telnyx-actors.md section 6.1.
"""

import pytest

from edgeemu.rng import stream
from tests.crash.conftest import ROUNDS, SEED
from tests.crash.story import Answered, check_state, write_story

STATEMENTS_MAX = 2_000
"""A bound on the statements of the short story, so that a test that never gets through ends."""


@pytest.mark.slow
def test_random_kills_in_process(nursery, tmp_path):
    """Calls and moves under way at once; killed at a statement, or from outside at a line."""
    write_story(tmp_path)
    answered = Answered()
    random = stream(SEED, "crash", "kills")
    deaths = 0
    for number in range(1, ROUNDS + 1):
        inside = random.random() < 0.6
        kill_at = random.randrange(1, 600) if inside else 0
        kill_after = None if inside else random.randrange(60)
        ended = nursery.round(
            answered,
            kill_after=kill_after,
            root=str(tmp_path),
            seed=SEED,
            round=number,
            kill_at=kill_at,
            story="drive",
            steps=20,
        )
        deaths += ended != 0
        try:
            check_state(tmp_path / ".edgeemu", answered)
        except AssertionError as error:
            error.add_note(f"round {number}, EDGEEMU_CRASH_SEED={SEED}")
            raise
    assert deaths > ROUNDS // 2, "too few rounds ended by a kill to mean anything"


@pytest.mark.slow
@pytest.mark.parametrize("story", ["play", "move_in"])
def test_kill_before_each_statement(nursery, tmp_path, story):
    """The first statement, then the second, and so on until the story gets through.

    Before a statement is also after the one before it, so this is both sides of each effect.
    """
    for kill_at in range(1, STATEMENTS_MAX):
        root = tmp_path / str(kill_at)
        write_story(root)
        answered = Answered()
        order = {"root": str(root), "seed": SEED, "round": 1, "story": story, "steps": 1}
        ended = nursery.round(answered, kill_at=kill_at, **order)
        before = check_state(root / ".edgeemu", answered)
        # Whatever was cut off, the next process goes on from there and gets through.
        order["round"] = 2
        assert nursery.round(answered, kill_at=0, **order) == 0
        after = check_state(root / ".edgeemu", answered)
        assert after["now_ms"] > before["now_ms"]
        if ended == 0:
            assert kill_at > 20, "the story has fewer statements than it must have"
            return
    raise AssertionError(f"the story did not get through in {STATEMENTS_MAX} statements")
