"""However many items come in, and whatever crashes: each one arrives once, in few batches."""


def test_many_calls_make_one_batch(edgeemu):
    outbox = edgeemu.actor("Outbox/events")
    for second in range(5):
        outbox.add(f"event {second}")
        edgeemu.clock.advance("1s")

    # The first item set the alarm, the others left it alone.
    assert outbox.alarm.due_at == "2030-01-01T00:00:10Z"
    assert outbox.waiting() == 5

    assert edgeemu.clock.advance("10s").deliveries == 1
    assert edgeemu.actor("Archive/events").batches() == 1
    assert edgeemu.actor("Archive/events").items() == [f"event {n}" for n in range(5)]
    assert outbox.waiting() == 0
    assert not outbox.alarm


def test_the_next_item_starts_the_next_batch(edgeemu):
    outbox = edgeemu.actor("Outbox/events")
    outbox.add("one")
    edgeemu.clock.advance("1m")
    outbox.add("two")
    edgeemu.clock.advance("1m")

    assert edgeemu.actor("Archive/events").batches() == 2
    assert edgeemu.actor("Archive/events").items() == ["one", "two"]


def test_a_batch_has_a_bound(edgeemu):
    outbox = edgeemu.actor("Outbox/events")
    for number in range(250):
        outbox.add(number)

    assert edgeemu.clock.idle().succeeded == 3

    assert edgeemu.actor("Archive/events").batches() == 3
    assert edgeemu.actor("Archive/events").items() == list(range(250))


def test_a_crash_after_the_batch_was_sent_stores_nothing_twice(edgeemu):
    outbox = edgeemu.actor("Outbox/events")
    outbox.add("one")
    # The archive has the batch, but the outbox is lost before it could delete its items.
    outbox.alarm.fail(how="crash-before-commit")
    edgeemu.clock.advance("10s")
    assert outbox.waiting() == 1

    # Before it is delivered again, another item comes in.
    outbox.add("two")
    edgeemu.clock.idle()

    assert edgeemu.actor("Archive/events").items() == ["one", "two"]
    assert outbox.waiting() == 0


def test_items_outlast_failures_and_evictions(edgeemu):
    outbox = edgeemu.actor("Outbox/events")
    outbox.add("one")
    outbox.alarm.fail(times=3)
    edgeemu.evict_all()

    edgeemu.clock.idle()

    assert edgeemu.actor("Archive/events").items() == ["one"]


def test_an_outbox_answers_over_http(edgeemu):
    assert edgeemu.fetch("POST", "/events", json={"n": 1}).json() == {"number": 1}
    assert edgeemu.fetch("GET", "/events").json() == {"waiting": 1}

    edgeemu.clock.idle()

    assert edgeemu.fetch("GET", "/events").json() == {"waiting": 0}
    assert edgeemu.actor("Archive/events").items() == [{"n": 1}]
