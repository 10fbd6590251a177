"""Each test has an emulator of its own: no counter is left over from the test before."""


def test_a_counter_counts(edgeemu):
    visits = edgeemu.actor("Counter/visits")

    assert visits.value() == 0
    assert visits.increment() == 1
    assert visits.increment(10) == 11
    assert visits.value() == 11


def test_counters_do_not_share_a_number(edgeemu):
    edgeemu.actor("Counter/apples").increment(3)

    assert edgeemu.actor("Counter/pears").value() == 0


def test_the_number_is_in_storage_and_not_in_memory(edgeemu):
    visits = edgeemu.actor("Counter/visits")
    visits.increment(5)

    # The platform may drop an actor from memory whenever it is idle.
    visits.evict()
    assert visits.storage == {"value": 5}
    assert visits.increment() == 6


def test_a_counter_starts_anew(edgeemu):
    visits = edgeemu.actor("Counter/visits")
    visits.increment()
    visits.reset()

    assert visits.storage == {}
    assert visits.value() == 0


def test_a_counter_answers_over_http(edgeemu):
    assert edgeemu.fetch("POST", "/visits").json() == {"value": 1}
    assert edgeemu.fetch("POST", "/visits").json() == {"value": 2}
    assert edgeemu.fetch("GET", "/visits").json() == {"value": 2}
    assert edgeemu.fetch("GET", "/").status == 404
