"""One seed for a run, and streams that do not disturb one another."""

import pytest

from edgeemu.errors import Code, EdgeemuError
from edgeemu.rng import SEED_MAX, check_seed, draw_seed, draw_token, stream


def test_streams_are_the_same_on_every_machine() -> None:
    # Written down once: a change here would change every recorded run.
    assert stream(1, "retry_jitter").randrange(1_000_000) == 82_370
    assert stream(1, "actor", "A/x", 7).randrange(1_000_000) == 278_526


def test_streams_differ_by_seed_and_by_label() -> None:
    streams = [
        stream(1, "a"),
        stream(2, "a"),
        stream(1, "b"),
        stream(1, "a", "b"),
        stream(1, "ab"),
        stream(1, "a", 1),
    ]
    assert len({each.random() for each in streams}) == len(streams)


def test_draw_in_one_stream_moves_no_other() -> None:
    first, other = stream(1, "a"), stream(1, "b")
    expected = stream(1, "b").random()
    first.random()
    assert other.random() == expected


def test_labels_may_hold_any_characters() -> None:
    assert stream(1, "half \ud800").random() != stream(1, "half").random()


@pytest.mark.parametrize("seed", [0, 1, SEED_MAX])
def test_seeds_in_range(seed: int) -> None:
    assert check_seed(seed) == seed


@pytest.mark.parametrize("seed", [-1, SEED_MAX + 1])
def test_seeds_out_of_range(seed: int) -> None:
    with pytest.raises(EdgeemuError) as raised:
        check_seed(seed)
    assert raised.value.code is Code.NUMBER_INVALID


def test_drawn_seeds_can_be_given_again() -> None:
    assert all(check_seed(draw_seed()) >= 0 for _ in range(20))
    assert draw_token() != draw_token()
