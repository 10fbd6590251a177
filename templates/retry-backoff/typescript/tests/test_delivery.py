"""A message gets through an outage of hours, or says that it did not."""


def test_a_message_is_delivered_at_once(edgeemu):
    edgeemu.actor("Delivery/m1").send("bob", "hello")

    edgeemu.clock.advance("1s")

    assert edgeemu.actor("Delivery/m1").status()["state"] == "delivered"
    assert edgeemu.actor("Inbox/bob").messages() == ["hello"]
    assert not edgeemu.alarms


def test_a_message_outlasts_an_outage(edgeemu):
    bob = edgeemu.actor("Inbox/bob")
    bob.setDown(True)
    message = edgeemu.actor("Delivery/m1")
    message.send("bob", "hello")

    edgeemu.clock.advance("30s")
    assert message.status()["failures"] == 1
    assert message.status()["lastError"] == "the inbox of bob is down"

    # Nobody is in memory while time passes; the alarm, the count and the message are in storage.
    edgeemu.evict_all()
    edgeemu.clock.advance("10m")
    assert message.status()["failures"] == 3
    assert message.alarm.due_in_ms > 20 * 60_000

    bob.setDown(False)
    edgeemu.clock.advance("30m")
    assert message.status()["state"] == "delivered"
    assert bob.messages() == ["hello"]


def test_a_message_is_given_up_in_the_open(edgeemu):
    bob = edgeemu.actor("Inbox/bob")
    bob.setDown(True)
    message = edgeemu.actor("Delivery/m1")
    message.send("bob", "hello")

    moved = edgeemu.clock.idle()

    # Five attempts of our own, and none of them a failure in the eyes of the platform.
    assert (message.status()["state"], message.status()["failures"]) == ("given_up", 5)
    assert (moved.failed, moved.gave_up) == (0, 0)
    assert message.status()["lastError"] == "the inbox of bob is down"

    # Somebody looks into it, and the message goes on.
    bob.setDown(False)
    message.tryAgain()
    edgeemu.clock.idle()
    assert message.status()["state"] == "delivered"
    assert bob.messages() == ["hello"]


def test_a_message_that_is_sent_twice_arrives_once(edgeemu):
    message = edgeemu.actor("Delivery/m1")
    message.send("bob", "hello")
    message.send("bob", "hello")

    edgeemu.clock.idle()

    assert edgeemu.actor("Inbox/bob").messages() == ["hello"]


def test_a_crash_after_the_delivery_does_not_deliver_twice(edgeemu):
    message = edgeemu.actor("Delivery/m1")
    # Bob will have the message, but the sender is lost before it can note that.
    message.alarm.fail(how="crash-before-commit")
    message.send("bob", "hello")

    edgeemu.clock.idle()

    assert message.status()["state"] == "delivered"
    assert len(edgeemu.journal.of("call", actor="Inbox/bob")) == 2
    assert edgeemu.actor("Inbox/bob").messages() == ["hello"]


def test_deliveries_answer_over_http(edgeemu):
    sent = edgeemu.fetch("POST", "/m1", json={"to": "bob", "text": "hello"})
    assert sent.status == 202

    edgeemu.clock.idle()

    assert edgeemu.fetch("GET", "/m1").json()["state"] == "delivered"
    assert edgeemu.fetch("GET", "/m2").status == 404
