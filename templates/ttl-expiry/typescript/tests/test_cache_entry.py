"""A value lives as long as it was meant to, and leaves nothing behind."""


def test_a_value_is_there_until_its_time_is_over(edgeemu):
    entry = edgeemu.actor("CacheEntry/motd")
    entry.put("hello", 60)

    edgeemu.clock.advance("59s")
    assert entry.get() == "hello"

    edgeemu.clock.advance("1s")
    assert entry.get() is None
    assert entry.storage == {}


def test_putting_again_starts_the_time_anew(edgeemu):
    entry = edgeemu.actor("CacheEntry/motd")
    entry.put("hello", 60)
    edgeemu.clock.advance("50s")
    entry.put("goodbye", 60)

    edgeemu.clock.advance("50s")
    assert entry.get() == "goodbye"

    edgeemu.clock.advance("10s")
    assert entry.storage == {}


def test_a_value_has_expired_even_where_its_alarm_is_late(edgeemu):
    entry = edgeemu.actor("CacheEntry/motd")
    entry.put("hello", 60)
    entry.alarm.fail(times=1)

    # The alarm failed at 60 s and comes again a second later.
    edgeemu.clock.advance("60s")
    assert "value" in entry.storage
    assert entry.get() is None

    edgeemu.clock.advance("2s")
    assert entry.storage == {}


def test_an_alarm_that_is_fired_early_deletes_nothing(edgeemu):
    entry = edgeemu.actor("CacheEntry/motd")
    entry.put("hello", 60)

    entry.alarm.fire()

    assert entry.get() == "hello"
    assert entry.alarm.due_at == "2030-01-01T00:01:00Z"


def test_a_value_expires_although_it_is_not_in_memory(edgeemu):
    entry = edgeemu.actor("CacheEntry/motd")
    entry.put("hello", 60)
    entry.evict()

    assert edgeemu.clock.idle().succeeded == 1
    assert entry.storage == {}


def test_a_value_that_is_dropped_leaves_no_alarm(edgeemu):
    entry = edgeemu.actor("CacheEntry/motd")
    entry.put("hello", 60)
    entry.drop()

    assert entry.get() is None
    assert not entry.alarm


def test_a_cache_answers_over_http(edgeemu):
    assert edgeemu.fetch("PUT", "/motd?ttl=10", body="hello").status == 204
    assert edgeemu.fetch("GET", "/motd").text == "hello"

    edgeemu.clock.advance("10s")

    assert edgeemu.fetch("GET", "/motd").status == 404
