"""`edgeemu` is a fixture: your actors in memory, new in each test, on a clock that stands still."""


def test_a_greeter_says_who_it_is(edgeemu):
    assert edgeemu.actor("Greeter/bob").greet("Ada") == "Hello, Ada. This is bob."


def test_a_greeter_answers_over_http(edgeemu):
    response = edgeemu.fetch("GET", "/bob?who=Ada")
    assert response.status == 200
    assert response.text == "Hello, Ada. This is bob."
