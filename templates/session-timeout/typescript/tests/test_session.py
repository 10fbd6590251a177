"""A day in the life of a session. The clock stands still until the test moves it."""


def test_a_session_ends_five_minutes_after_the_last_touch(edgeemu):
    session = edgeemu.actor("Session/alice")

    session.touch()
    assert session.alarm.due_at == "2030-01-01T00:05:00Z"

    edgeemu.clock.advance("4m")
    session.touch()
    assert session.alarm.due_at == "2030-01-01T00:09:00Z"

    # The first five minutes are over, but not those since the last touch.
    assert edgeemu.clock.advance("4m").deliveries == 0
    assert "lastSeen" in session.storage

    assert edgeemu.clock.advance("1m").succeeded == 1
    assert session.storage == {}
    assert not session.alarm


def test_a_session_ends_although_it_is_not_in_memory(edgeemu):
    session = edgeemu.actor("Session/alice")
    session.touch()
    session.evict()

    edgeemu.clock.advance("5m")

    assert session.storage == {}


def test_a_session_that_is_ended_leaves_nothing(edgeemu):
    session = edgeemu.actor("Session/alice")
    session.touch()
    session.end()

    assert session.storage == {}
    assert not session.alarm


def test_an_alarm_that_is_fired_early_ends_nothing(edgeemu):
    session = edgeemu.actor("Session/alice")
    session.touch()

    assert session.alarm.fire().outcome == "succeeded"

    assert "lastSeen" in session.storage
    assert session.alarm.due_at == "2030-01-01T00:05:00Z"


def test_a_session_ends_although_the_first_attempts_fail(edgeemu):
    session = edgeemu.actor("Session/alice")
    session.touch()
    session.alarm.fail(times=3)

    moved = edgeemu.clock.advance("6m")

    assert (moved.failed, moved.succeeded) == (3, 1)
    assert session.storage == {}


def test_a_crash_does_not_end_a_session_twice(edgeemu):
    session = edgeemu.actor("Session/alice")
    session.touch()
    session.alarm.fail(how="crash-after-commit")

    # The work was kept, but the platform does not know that: it delivers the alarm again.
    moved = edgeemu.clock.advance("6m")

    assert moved.deliveries == 2
    assert session.storage == {}
    assert not session.alarm


def test_a_session_answers_over_http(edgeemu):
    touched = edgeemu.fetch("POST", "/alice").json()
    assert touched == {"endsAtMs": edgeemu.clock.now_ms + 5 * 60_000}

    assert edgeemu.fetch("GET", "/alice").json() == touched
    assert edgeemu.fetch("DELETE", "/alice").json() == {"endsAtMs": None}
