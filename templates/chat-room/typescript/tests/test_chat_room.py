"""What is said is heard, can be read for a week, and then is gone."""

import json

import pytest

# A key of the tests' own, whatever `.env` has.
pytestmark = pytest.mark.edgeemu(config={"secrets.MODERATOR_KEY": "let-me-in"})


def post(edgeemu, user, text, **headers):
    return edgeemu.fetch("POST", f"/lobby?user={user}", body=text, headers=headers)


def texts(edgeemu, room="lobby"):
    page = edgeemu.actor(f"ChatRoom/{room}").history()
    return [message["text"] for message in page["messages"]]


def test_everyone_in_the_room_hears_what_is_said(edgeemu):
    ada, bob = edgeemu.connect("/lobby"), edgeemu.connect("/lobby")
    den = edgeemu.connect("/den")
    assert ada.receive() == bob.receive() == den.receive() == ["be kind"]

    assert post(edgeemu, "ada", "hello").status == 201

    heard = [json.loads(text) for text in bob.receive()]
    assert heard == [{"id": 1, "user": "ada", "text": "hello"}]
    assert len(ada.receive()) == 1
    assert den.receive() == []


def test_a_listener_that_hung_up_disturbs_nobody(edgeemu):
    ada, bob = edgeemu.connect("/lobby"), edgeemu.connect("/lobby")
    ada.close()
    post(edgeemu, "bob", "still here")
    assert len(bob.receive()) == 2


def test_a_socket_only_listens(edgeemu):
    ada = edgeemu.connect("/lobby")
    ada.send("hello")
    assert ada.receive() == ["be kind", "this socket only listens: POST what you say"]
    assert texts(edgeemu) == []


def test_a_message_that_is_sent_again_is_kept_and_heard_once(edgeemu):
    ada = edgeemu.connect("/lobby")
    first = post(edgeemu, "ada", "hello", **{"idempotency-key": "k1"})
    again = post(edgeemu, "ada", "hello", **{"idempotency-key": "k1"})
    assert first.json() == again.json() == {"id": 1}
    assert texts(edgeemu) == ["hello"]
    assert len(ada.receive()) == 2  # The motto, and the message.


def test_pages_lead_from_the_newest_message_to_the_oldest(edgeemu):
    room = edgeemu.actor("ChatRoom/lobby")
    for number in range(45):
        room.say("ada", str(number))

    seen, path = [], "/lobby"
    while path:
        page = edgeemu.fetch("GET", path).json()
        seen += [message["text"] for message in page["messages"]]
        room.say("bob", "meanwhile")
        path = page["next"] and f"/lobby?before={page['next']}"

    assert seen == [str(number) for number in reversed(range(45))]


def test_each_user_may_say_five_things_in_ten_seconds(edgeemu):
    assert [post(edgeemu, "bob", "x").status for _ in range(6)] == [201] * 5 + [429]
    assert post(edgeemu, "ada", "x").status == 201

    edgeemu.clock.advance("10s")

    assert post(edgeemu, "bob", "x").status == 201


def test_only_a_moderator_clears_a_room(edgeemu):
    post(edgeemu, "ada", "hello")
    assert edgeemu.fetch("DELETE", "/lobby").status == 403
    assert texts(edgeemu) == ["hello"]

    assert edgeemu.fetch("DELETE", "/lobby", headers={"x-key": "let-me-in"}).status == 204
    assert texts(edgeemu) == []
    assert not edgeemu.actor("ChatRoom/lobby").alarm


def test_what_makes_no_sense_is_refused(edgeemu):
    assert edgeemu.fetch("GET", "/").status == 404
    assert edgeemu.fetch("GET", "/lobby?before=x").status == 400
    assert edgeemu.fetch("POST", "/lobby", body="who am I?").status == 400
    assert post(edgeemu, "ada", "").status == post(edgeemu, "ada", "x" * 501).status == 400


def test_messages_go_after_a_week_and_the_last_one_takes_the_alarm_along(edgeemu):
    room = edgeemu.actor("ChatRoom/lobby")
    room.say("ada", "monday")
    edgeemu.clock.advance("1d")
    room.say("ada", "tuesday")
    room.evict()

    edgeemu.clock.advance("6d")
    assert texts(edgeemu) == ["tuesday"]
    assert room.alarm.due_at == "2030-01-09T00:00:00Z"

    edgeemu.clock.advance("1d")
    assert texts(edgeemu) == []
    assert not room.alarm


def test_an_alarm_that_is_fired_early_deletes_nothing(edgeemu):
    room = edgeemu.actor("ChatRoom/lobby")
    room.say("ada", "hello")
    room.alarm.fire()
    assert texts(edgeemu) == ["hello"]
    assert room.alarm.due_at == "2030-01-08T00:00:00Z"


def test_an_alarm_that_fails_comes_again(edgeemu):
    room = edgeemu.actor("ChatRoom/lobby")
    room.say("ada", "hello")
    room.alarm.fail(times=2)
    edgeemu.clock.advance("8d")
    assert texts(edgeemu) == []
    assert not room.alarm
