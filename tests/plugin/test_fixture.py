"""What a test can do with the fixture: every call of it, on the project beside this file."""

import asyncio
import threading
from datetime import UTC, datetime, timedelta
from time import time  # noqa: TID251 - only to see that a test's own code keeps the real time

import pytest

from edgeemu import (
    ActorError,
    ActorMethodError,
    ActorPrivateMethodError,
    ActorUnknownMethodError,
    Code,
    EdgeemuError,
)
from edgeemu.sdk.errors import SqlTransactionControlError
from edgeemu.testing import EdgeemuFixture

START_MS = 1_893_456_000_000
DAY_MS = 86_400_000


@pytest.fixture
def box(edgeemu: EdgeemuFixture):
    return edgeemu.actor("Box/a")


# --- calls -------------------------------------------------------------------------------------


def test_call_gives_a_copy_of_the_result(box):
    value = {"list": [1, 2.5, None], "bytes": b"x", "at": datetime(2030, 1, 1, tzinfo=UTC)}
    assert box.echo(value, "two") == [value, "two"]


def test_actor_error_arrives_as_another_actor_would_see_it(box):
    with pytest.raises(ActorMethodError) as caught:
        box.break_down("no luck")
    error = caught.value
    assert str(error) == "no luck"
    assert error.name == "ActorMethodError"
    assert isinstance(error, ActorError)
    [note] = error.__notes__
    assert note.splitlines()[0] == (
        "error[E_ACTOR_FAILED]: break_down of Box/a failed: ActorMethodError: no luck"
    )
    assert [line.partition(":")[0] for line in note.splitlines()[1:3]] == ["why", "fix"]


def test_actor_error_leads_to_the_line_of_the_actor(box):
    with pytest.raises(ActorMethodError) as caught:
        box.break_down()
    cause = caught.value.__cause__
    assert isinstance(cause, ValueError)
    assert cause.__traceback__ is not None
    assert cause.__traceback__.tb_frame.f_code.co_name == "break_down"
    assert cause.__traceback__.tb_next is None


def test_unknown_and_private_methods_have_their_own_errors(box):
    with pytest.raises(ActorUnknownMethodError, match="Box has no method pat; did you mean"):
        box.pat()
    with pytest.raises(ActorPrivateMethodError, match="_secret is private"):
        box._secret()


def test_arguments_of_a_method_have_no_names(box):
    for call in (box.echo, box.echo.start, box.method("evict")):
        with pytest.raises(TypeError, match=r"arguments are positional.*without `word=`"):
            call(word="go")


def test_kind_that_the_journal_does_not_have_is_refused(edgeemu):
    with pytest.raises(EdgeemuError, match=r"no kind `services`") as refused:
        edgeemu.journal.of("services")
    assert refused.value.fix == "did you mean service?"
    assert edgeemu.journal.of("service") == []


def test_method_that_is_named_like_a_handle_is_reached_by_name(box):
    assert box.method("evict")("go") == "a method: go"
    assert box.method("evict").start("go").result() == "a method: go"


def test_argument_that_cannot_be_sent_is_refused(box):
    with pytest.raises(ActorError, match="function"):
        box.echo(lambda: None)


def test_unknown_actor_and_empty_name_are_refused(edgeemu):
    assert edgeemu.actor("a").address == "Box/a"
    for address, code in (("Bag/a", Code.ACTOR_UNKNOWN), ("Box/", Code.ADDRESS_INVALID)):
        with pytest.raises(EdgeemuError) as caught:
            edgeemu.actor(address)
        assert caught.value.code is code


def test_turn_that_waits_on_the_frozen_clock_names_its_line(box):
    with pytest.raises(EdgeemuError) as caught:
        box.nap(60)
    assert caught.value.code is Code.FROZEN_WAIT
    assert "Box/a waits at src/main.py:" in caught.value.what
    assert ".start(...)" in caught.value.fix


def test_started_call_goes_on_as_time_is_moved(edgeemu, box):
    nap = box.nap.start(20)
    assert not nap.done
    with pytest.raises(EdgeemuError, match="E_FROZEN_WAIT"):
        nap.result()

    edgeemu.clock.advance("19s")
    assert not nap.done
    edgeemu.clock.advance("1s")
    assert nap.done
    assert nap.result() == "rested"
    assert nap.result() == "rested"


def test_started_call_that_fails_raises_when_its_result_is_read(box):
    broken = box.break_down.start("later")
    assert broken.done
    with pytest.raises(ActorMethodError, match="later"):
        broken.result()


def test_error_that_an_actor_catches_is_handled(box):
    assert box.ask("other", "break_down", "inside") == "caught inside"


def test_error_that_an_actor_passes_on_reaches_the_test(box):
    with pytest.raises(ActorMethodError, match="inside"):
        box.pass_on("other", "break_down", "inside")


# --- time --------------------------------------------------------------------------------------


def test_clock_is_frozen_at_the_start_of_2030(edgeemu):
    reading = edgeemu.clock.read()
    assert (reading.now_ms, reading.now) == (START_MS, "2030-01-01T00:00:00Z")
    assert reading.mode == "frozen"
    assert edgeemu.clock.now_ms == START_MS
    assert edgeemu.seed == 1


def test_actor_sees_the_emulated_time_and_the_test_the_real_one(box):
    before = time()
    assert box.times() == [START_MS, START_MS]
    assert before <= time() < before + 3_600
    assert abs(before * 1_000 - START_MS) > DAY_MS


@pytest.mark.parametrize("duration", ["5m", 300_000, timedelta(minutes=5)])
def test_advance_takes_text_milliseconds_and_timedelta(edgeemu, duration):
    moved = edgeemu.clock.advance(duration)
    assert (moved.from_ms, moved.now_ms) == (START_MS, START_MS + 300_000)


@pytest.mark.parametrize(
    "instant", ["2030-01-02", START_MS + DAY_MS, datetime(2030, 1, 2, tzinfo=UTC)]
)
def test_set_jumps_and_fires_what_is_overdue(edgeemu, box, instant):
    box.arm(1_000)
    moved = edgeemu.clock.set(instant)
    assert (moved.now_ms, moved.deliveries) == (START_MS + DAY_MS, 1)
    assert [entry["started_at_ms"] for entry in edgeemu.journal.of("alarm")] == [moved.now_ms]


@pytest.mark.parametrize(
    ("wrong", "code"), [(1.5, Code.DURATION_INVALID), ("5 parsecs", Code.DURATION_INVALID)]
)
def test_wrong_durations_are_refused(edgeemu, wrong, code):
    with pytest.raises(EdgeemuError) as caught:
        edgeemu.clock.advance(wrong)
    assert caught.value.code is code


@pytest.mark.parametrize("wrong", [1.5, "tomorrow", datetime(2030, 1, 1)])
def test_wrong_instants_are_refused(edgeemu, wrong):
    with pytest.raises(EdgeemuError) as caught:
        edgeemu.clock.set(wrong)
    assert caught.value.code is Code.INSTANT_INVALID


def test_next_and_idle_move_to_what_is_due(edgeemu, box):
    box.arm(60_000)
    edgeemu.actor("Box/b").arm(120_000)
    assert edgeemu.clock.next().now == "2030-01-01T00:01:00.001Z"
    idle = edgeemu.clock.idle()
    assert (idle.now, idle.deliveries) == ("2030-01-01T00:02:00.001Z", 1)


def test_thirty_days_pass_in_one_line(edgeemu, box):
    box.arm(60_000, "again")
    assert edgeemu.clock.advance("1d").succeeded == 1_439  # each a millisecond late


def test_resumed_clock_goes_on_by_itself_and_freezes_again(edgeemu, box):
    assert edgeemu.clock.resume().mode == "real"
    assert box.nap(0.01) == "rested"
    assert edgeemu.clock.freeze().mode == "frozen"
    assert START_MS < edgeemu.clock.now_ms < START_MS + DAY_MS


# --- alarms ------------------------------------------------------------------------------------


def test_alarm_is_false_where_none_is_pending(box):
    assert not box.alarm
    assert box.alarm.due_at_ms is None
    assert box.alarm.due_at is None
    assert box.alarm.attempt is None
    assert box.alarm.state is None
    assert repr(box.alarm) == "<alarm of Box/a: none>"


def test_alarm_tells_when_it_is_due_and_who_set_it(edgeemu, box):
    box.arm(60_000)
    assert box.alarm
    assert box.alarm.due_at_ms == START_MS + 60_000
    assert box.alarm.due_at == "2030-01-01T00:01:00Z"
    assert box.alarm.due_in_ms == 60_000
    assert (box.alarm.attempt, box.alarm.state) == (0, "waiting")
    assert box.alarm.set_by.startswith("src/main.py:")
    [pending] = edgeemu.alarms
    assert (pending.actor, pending.due_at_ms) == ("Box/a", START_MS + 60_000)
    assert pending.attempts_max == 4
    assert edgeemu.alarms.of("Box/a").due_at == box.alarm.due_at


def test_alarm_is_set_and_cleared_from_outside(edgeemu, box):
    box.alarm.set("2030-01-01T01:00:00Z")
    assert box.alarm.due_at == "2030-01-01T01:00:00Z"
    box.alarm.clear()
    assert edgeemu.alarms == []
    assert [entry["kind"] for entry in box.alarm.history] == ["alarm_set", "alarm_cleared"]


def test_alarm_is_fired_by_hand_and_the_clock_stays(edgeemu, box):
    box.arm(DAY_MS)
    fired = box.alarm.fire()
    assert (fired.actor, fired.outcome, fired.retry_count) == ("Box/a", "succeeded", 0)
    assert (fired.error, fired.gave_up, fired.next) == (None, False, None)
    assert edgeemu.clock.now_ms == START_MS
    assert box.storage["alarms"] == 1
    with pytest.raises(EdgeemuError, match="E_ALARM_NONE"):
        box.alarm.fire()


def test_planned_failures_are_expected_by_nature(edgeemu, box):
    box.arm(1_000)
    box.alarm.fail(error="no network")
    fired = box.alarm.fire()
    assert (fired.outcome, fired.error.name, fired.error.message) == (
        "failed",
        "InjectedError",
        "no network",
    )
    assert (fired.next.attempt, fired.next.due_at_ms) == (1, START_MS + 1_000)
    assert box.alarm.state == "retrying"


def test_alarm_that_was_planned_to_be_given_up_is_expected(edgeemu, box):
    box.arm(1_000)
    edgeemu.fail("Box/a", times=9, how="timeout")
    moved = edgeemu.clock.idle()
    assert (moved.deliveries, moved.failed, moved.gave_up) == (4, 4, 1)
    assert not box.alarm
    assert "gave" in " ".join(box.alarm.why) or "given" in " ".join(box.alarm.why)


def test_unknown_way_to_fail_is_refused(box):
    with pytest.raises(EdgeemuError, match="`melt` is no way"):
        box.alarm.fail(how="melt")
    with pytest.raises(EdgeemuError, match="E_NUMBER_INVALID"):
        box.alarm.fail(times=-1)


@pytest.mark.edgeemu(config={"clock.alarm_lateness_ms": 0})
def test_alarm_for_the_present_is_delivered_before_the_call_returns(box):
    box.arm(0)
    assert box.storage["alarms"] == 1


@pytest.mark.edgeemu(config={"clock.alarm_lateness_ms": 0})
def test_overdue_alarm_waits_until_something_runs(edgeemu, box):
    box.alarm.set(START_MS - 1)
    assert box.alarm
    assert "alarms" not in box.storage
    edgeemu.actor("Box/b").echo()
    assert box.storage["alarms"] == 1


# --- storage and memory ------------------------------------------------------------------------


def test_storage_has_sql(box):
    box.storage.sql("CREATE TABLE t (a, b)")
    assert box.storage.sql("INSERT INTO t VALUES (?, ?) RETURNING a", 1, b"raw") == [{"a": 1}]
    assert box.storage.sql("SELECT * FROM t WHERE b = ?", b"raw") == [{"a": 1, "b": b"raw"}]
    with pytest.raises(SqlTransactionControlError):
        box.storage.sql("COMMIT")
    assert box.storage == {}


def test_storage_is_a_dict(box):
    box.put("b", [1])
    box.storage["a"] = {"deep": b"bytes"}
    assert box.storage == {"a": {"deep": b"bytes"}, "b": [1]}
    assert list(box.storage) == ["a", "b"]
    assert (len(box.storage), "a" in box.storage, "c" in box.storage) == (2, True, False)
    assert box.storage.get("c", 7) == 7
    assert box.storage.list(prefix="b") == {"b": [1]}
    assert box.get("a") == {"deep": b"bytes"}
    assert box.storage.delete("a") is True
    assert box.storage.delete("a") is False
    with pytest.raises(KeyError):
        box.storage["a"]
    with pytest.raises(KeyError):
        del box.storage["a"]
    box.storage.clear()
    assert not box.storage
    assert repr(box.storage) == "{}"


def test_storage_refuses_what_cannot_be_kept(box):
    with pytest.raises(EdgeemuError, match="E_KEY_INVALID"):
        box.storage.put("", 1)
    with pytest.raises(ActorError):
        box.storage.put("key", object())


def test_storage_is_edited_without_waking_the_actor(edgeemu, box):
    box.storage["n"] = 1
    assert edgeemu.journal.of("init") == []
    assert box.get("n") == 1


def test_eviction_tells_whether_the_actor_was_there(edgeemu, box):
    assert box.evict() is False
    box.echo()
    assert box.evict() is True
    box.echo()
    edgeemu.actor("Box/b").echo()
    assert edgeemu.evict_all() == ["Box/a", "Box/b"]
    assert edgeemu.evict("Box/a") == []
    assert len(edgeemu.journal.of("init", actor="Box/a")) == 2


def test_crash_ends_a_turn_in_the_middle(box):
    nap = box.nap.start(60)
    assert box.evict(crash=True) is True
    with pytest.raises(ActorError, match="lost in the middle") as caught:
        nap.result()
    assert caught.value.name == "ActorCrashedError"


# --- the front, the journal, chance ------------------------------------------------------------


def test_fetch_goes_through_the_function_in_front(edgeemu):
    response = edgeemu.fetch("post", "/a/b?x=1", json={"n": 1}, headers={"X-Test": "1"})
    assert (response.status, response.headers["x-seen"]) == (201, "yes")
    assert response.json() == {
        "method": "POST",
        "path": "/a/b",
        "query": {"x": "1"},
        "type": "application/json",
        "body": '{"n": 1}',
    }
    assert edgeemu.fetch("GET", "plain", body=b"\xc3\xa9").json()["body"] == "é"
    assert edgeemu.fetch("GET", "http://127.0.0.1:8787/a?x=1").json()["path"] == "/a"
    assert edgeemu.fetch("GET", "/a?to=http://shop/b").json()["query"] == {"to": "http://shop/b"}
    with pytest.raises(EdgeemuError, match="`shop://shop:0/a`") as refused:
        edgeemu.fetch("GET", "shop://shop:0/a")
    assert refused.value.code is Code.REQUEST_INVALID
    assert response.text.encode() == response.body
    with pytest.raises(EdgeemuError, match="both `json` and `body`"):
        edgeemu.fetch("POST", "/", json=1, body="1")


def test_report_ends_with_what_happened_last(edgeemu):
    edgeemu.fetch("GET", "/last")
    assert "GET http://localhost/last" in edgeemu.report().splitlines()[-1]


@pytest.mark.edgeemu(allow=["ValueError"])
def test_error_of_the_front_is_a_response(edgeemu):
    response = edgeemu.fetch("GET", "/raise")
    assert (response.status, response.text) == (500, "Internal Server Error")


def test_error_that_the_front_handles_is_expected(edgeemu):
    assert edgeemu.fetch("GET", "/caught").text == "caught broken"


def test_journal_is_whole_however_long(edgeemu, box, monkeypatch):
    monkeypatch.setattr("edgeemu.emulator.paging.JOURNAL_PAGE_MAX", 3)
    for number in range(9):
        box.echo(number)
    assert len(edgeemu.journal.of("call")) == 9
    assert [entry["seq"] for entry in edgeemu.journal] == list(range(1, len(edgeemu.journal) + 1))


def test_journal_tells_what_happened_in_order(edgeemu, box):
    box.arm(1_000)
    edgeemu.clock.advance("2s")
    kinds = [entry["kind"] for entry in edgeemu.journal]
    assert kinds == ["init", "call", "alarm_set", "alarm", "clock"]
    [call] = edgeemu.journal.of("call")
    assert (call["actor"], call["cause"], call["method"]) == ("Box/a", "test", "arm")
    assert edgeemu.journal.of(actor="Box/b") == []


def test_chance_comes_from_the_seed(edgeemu, box):
    assert box.draw() == pytest.approx(0.5, abs=0.5)
    drawn = box.draw()
    with EdgeemuScope(edgeemu, seed=1) as again, EdgeemuScope(edgeemu, seed=2) as other:
        again.draw()
        other.draw()
        assert again.draw() == drawn
        assert other.draw() != drawn


class EdgeemuScope:
    """A second emulator of the same project, with another seed."""

    def __init__(self, fixture: EdgeemuFixture, *, seed: int) -> None:
        from edgeemu.testing.settings import FixtureSettings

        self._second = EdgeemuFixture(fixture.emulator.config, FixtureSettings(seed=seed))

    def __enter__(self):
        return self._second.actor("Box/a")

    def __exit__(self, *_: object) -> None:
        assert self._second.close() is None


# --- the end -----------------------------------------------------------------------------------


def test_nothing_is_left_of_an_emulator(edgeemu, box):
    before = {thread.name for thread in threading.enumerate()}
    with EdgeemuScope(edgeemu, seed=1) as other:
        nap = other.nap.start(60)
        assert not nap.done
    assert {thread.name for thread in threading.enumerate()} == before


def test_use_inside_a_running_loop_is_refused(edgeemu, box):
    async def wrong() -> None:
        box.echo()

    with pytest.raises(EdgeemuError) as caught:
        asyncio.run(wrong())
    assert caught.value.code is Code.LOOP_RUNNING
    assert "plain `def`" in caught.value.fix
    assert box.echo(1) == [1]


# --- bindings and further functions ------------------------------------------------------------


@pytest.mark.edgeemu(config={"storage.kv.CACHE.id": "one"})
def test_kv_namespace_is_read_and_written(edgeemu: EdgeemuFixture):
    cache = edgeemu.kv("CACHE")
    cache.put("a", "1", expiration_ttl=60)
    cache.put("b", "2")
    assert (cache.get("a"), cache.list(), cache.list("b")) == ("1", ["a", "b"], ["b"])
    edgeemu.clock.advance("1m")
    assert (cache.get("a"), edgeemu.kv("one").list()) == (None, ["b"])
    assert (cache.delete("b"), cache.delete("b")) == (True, False)
    with pytest.raises(EdgeemuError) as caught:
        edgeemu.kv("OTHER").list()
    assert caught.value.code is Code.KV_UNKNOWN


@pytest.mark.edgeemu(config={"functions.other.config": "other"})
def test_further_function_answers_by_its_name(edgeemu: EdgeemuFixture):
    answer = edgeemu.fetch("GET", "/hello", function="other")
    assert answer.json() == ["/hello"]
    assert edgeemu.actor("Box/a").echo(1) == [1]
    with pytest.raises(EdgeemuError) as caught:
        edgeemu.fetch("GET", "/", function="none")
    assert caught.value.code is Code.FUNCTION_UNKNOWN


# --- WebSockets --------------------------------------------------------------------------------


def test_socket_of_a_test(edgeemu: EdgeemuFixture):
    ada = edgeemu.connect("/room", headers={"x-name": "ada"}, protocols=["chat"])
    bob = edgeemu.connect("/room")
    assert ada.protocol == "chat"
    assert (ada.receive(), bob.receive()) == (["ada"], ["stranger"])
    ada.send("hello")
    bob.send(b"\x00")
    assert ada.receive() == bob.receive() == ["hello", b"\x00"]
    assert ada.receive() == []
    bob.close(4000, "enough")
    assert (bob.closed_code, bob.closed_reason) == (4000, "enough")
    ada.drop()
    assert ada.closed_code == 1006
    assert edgeemu.actor("Box/room").storage["left"] == 1006
    assert [entry["code"] for entry in edgeemu.journal.of("socket_closed")] == [4000, 1006]


@pytest.mark.edgeemu(allow=["ActorSocketTimeoutError"])
def test_socket_waits_for_time_like_everything_else(edgeemu: EdgeemuFixture):
    ada = edgeemu.connect("/room")
    ada.send("later")
    assert (ada.receive(), ada.closed_code) == (["stranger"], None)
    edgeemu.clock.advance("30s")
    assert ada.closed_code == 1011  # The budget of a handler is 30 s.


def test_message_on_a_closed_socket_is_an_error(edgeemu: EdgeemuFixture):
    ada = edgeemu.connect("/room")
    edgeemu.evict("Box/room")
    with pytest.raises(EdgeemuError) as caught:
        ada.send("anybody?")
    assert caught.value.code is Code.SOCKET_CLOSED
    assert caught.value.why == "it was closed with 1001 actor going away"


def test_refused_socket_is_an_error_with_the_answer(edgeemu: EdgeemuFixture):
    assert edgeemu.fetch("GET", "/room").status == 426
    with pytest.raises(EdgeemuError) as caught:
        edgeemu.connect("/elsewhere")
    assert caught.value.code is Code.SOCKET_REFUSED
    assert "HTTP 201" in caught.value.what


@pytest.mark.edgeemu(
    config={
        "services.MAIL.respond": [{"status": 503}, {"json": {"sent": True}}],
        "secrets.KEY": "test",
    }
)
def test_marker_says_what_the_outside_answers(edgeemu: EdgeemuFixture, box):
    assert [box.mail(), box.mail(), box.mail()] == [503, 200, 200]
    assert [entry["status"] for entry in edgeemu.journal.of("service")] == [503, 200, 200]
    assert box.secret("KEY") == "test"
