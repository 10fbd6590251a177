"""A kitchen with several timers and one alarm."""

import pytest

from edgeemu import ActorMethodError


def test_timers_run_in_the_order_in_which_they_are_due(edgeemu):
    kitchen = edgeemu.actor("Scheduler/kitchen")
    kitchen.schedule("roast", 3_600)
    kitchen.schedule("tea", 180, "drink the tea")
    kitchen.schedule("eggs", 300)

    assert list(kitchen.pending()) == ["tea", "eggs", "roast"]
    assert kitchen.alarm.due_at == "2030-01-01T00:03:00Z"

    edgeemu.clock.next()
    assert kitchen.ran() == ["drink the tea"]
    assert kitchen.alarm.due_at == "2030-01-01T00:05:00Z"

    edgeemu.clock.advance("1h")
    assert kitchen.ran() == ["drink the tea", "eggs", "roast"]
    assert kitchen.pending() == {}
    assert not kitchen.alarm


def test_a_timer_that_is_set_anew_replaces_itself(edgeemu):
    kitchen = edgeemu.actor("Scheduler/kitchen")
    kitchen.schedule("tea", 60)
    kitchen.schedule("tea", 180)

    assert edgeemu.clock.advance("2m").deliveries == 0
    edgeemu.clock.advance("1m")
    assert kitchen.ran() == ["tea"]


def test_a_timer_that_is_cancelled_does_not_run(edgeemu):
    kitchen = edgeemu.actor("Scheduler/kitchen")
    kitchen.schedule("tea", 60)
    kitchen.schedule("eggs", 120)

    assert kitchen.cancel("tea") is True
    assert kitchen.cancel("tea") is False
    assert kitchen.alarm.due_at == "2030-01-01T00:02:00Z"

    assert kitchen.cancel("eggs") is True
    assert not kitchen.alarm
    assert kitchen.storage == {}


def test_timers_that_are_due_together_run_in_one_turn(edgeemu):
    kitchen = edgeemu.actor("Scheduler/kitchen")
    for number in range(10):
        kitchen.schedule(f"pot {number}", 60)

    assert edgeemu.clock.advance("1m").deliveries == 1
    assert len(kitchen.ran()) == 10


def test_a_timer_repeats_at_its_own_pace(edgeemu):
    kitchen = edgeemu.actor("Scheduler/kitchen")
    kitchen.schedule("stir", 600, "stir", True)

    edgeemu.clock.advance("35m")

    assert kitchen.ran() == ["stir"] * 3
    assert kitchen.pending() == {"stir": edgeemu.clock.now_ms + 5 * 60_000}


def test_what_was_missed_is_not_made_up_for(edgeemu):
    kitchen = edgeemu.actor("Scheduler/kitchen")
    kitchen.schedule("stir", 600, "stir", True)

    # The machine was off for a day: its clock jumps.
    edgeemu.clock.set("2030-01-02T00:05:00Z")

    assert kitchen.ran() == ["stir"]
    assert kitchen.alarm.due_at == "2030-01-02T00:10:00Z"


def test_timers_outlast_crashes_and_evictions(edgeemu):
    kitchen = edgeemu.actor("Scheduler/kitchen")
    kitchen.schedule("tea", 60)
    kitchen.schedule("eggs", 120)
    kitchen.alarm.fail(how="crash-after-commit")
    edgeemu.evict_all()

    edgeemu.clock.idle()

    assert kitchen.ran() == ["tea", "eggs"]


def test_a_timer_cannot_be_due_at_once(edgeemu):
    with pytest.raises(ActorMethodError, match="more than 0 seconds"):
        edgeemu.actor("Scheduler/kitchen").schedule("tea", 0)


def test_a_scheduler_answers_over_http(edgeemu):
    edgeemu.fetch("POST", "/kitchen", json={"timer": "tea", "seconds": 60})
    edgeemu.fetch("POST", "/kitchen", json={"timer": "eggs", "seconds": 90})
    edgeemu.fetch("DELETE", "/kitchen?timer=eggs")

    edgeemu.clock.idle()

    assert edgeemu.fetch("GET", "/kitchen").json() == {"pending": {}, "ran": ["tea"]}
