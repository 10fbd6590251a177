"""WebSockets in the core: order, bounds, codes, and who stays in memory (section 11)."""

from dataclasses import replace
from typing import Any

import pytest

from edgeemu.core.events import (
    ClosedBy,
    CodeReplaced,
    EvictRequested,
    HostStopping,
    InstanceLoaded,
    LoadFailed,
    SocketEnded,
    SocketEvent,
    SocketExpired,
    SocketPart,
    TimePassed,
    Turn,
    TurnKind,
    TurnRequested,
)
from edgeemu.core.profile import TELNYX
from edgeemu.core.rows import InstanceRow
from edgeemu.core.sockets import REASON_BYTES_MAX, check_close, cut_reason
from edgeemu.core.upgrades import (
    application_headers,
    asks_for_upgrade,
    check_upgrade,
    offered_protocols,
)
from tests.support.machines import FAILED, SUCCEEDED, Driver, X, make_machine

SMALL = replace(TELNYX, sockets=replace(TELNYX.sockets, events_max=2, waiting_bytes_max=10))


class Sockets(Driver):
    """A driver whose instance has sockets."""

    def open(self) -> int:
        number = self.machine.take_turn_id()
        self.told = self._ask(SocketEvent(number, SocketPart.OPEN), number)
        return number

    def say(self, socket: int, size: int = 1) -> list[str]:
        event = SocketEvent(socket, SocketPart.MESSAGE, "x", size)
        return self._ask(event, self.machine.take_turn_id())

    def _ask(self, event: SocketEvent, turn_id: int) -> list[str]:
        turn = Turn(turn_id, X, TurnKind.SOCKET, event.part.value, "test", socket=event)
        return self.step(TurnRequested(self.now_ms, turn))

    def gone(self, socket: int, code: int = 1000, **more: Any) -> list[str]:
        given = {"reason": "", "by": ClosedBy.CLIENT, **more}
        return self.step(SocketEnded(self.now_ms, X, socket, code, **given))

    def established(self) -> int:
        """An open socket of an instance that is at rest."""
        number = self.open()
        while self.started[X].turn.kind is TurnKind.INIT:
            self.finish()
        self.finish()
        return number

    @property
    def running(self) -> str | None:
        """What runs: the part of a socket, or the kind of another turn."""
        turn = self.known.running
        return None if turn is None else turn.method or turn.kind.value

    @property
    def known(self) -> Any:
        found = self.machine.find(X)
        assert found is not None
        return found

    @property
    def waiting(self) -> list[str | None]:
        return [turn.method for turn in self.known.queue]


def closes(told: list[str]) -> list[str]:
    return [each for each in told if each.startswith("close ")]


def test_messages_wait_for_the_handler_and_keep_their_order() -> None:
    driver = Sockets()
    number = driver.open()
    driver.say(number)
    driver.say(number)
    driver.gone(number)
    assert driver.waiting == ["open", "message", "message", "close"]
    seen = []
    while driver.machine.find(X) is not None and driver.known.running is not None:
        seen.append(driver.running)
        driver.finish()
    assert seen == ["init", "open", "message", "message", "close"]
    assert driver.known.sockets == {}


@pytest.mark.parametrize(
    ("sizes", "refused"), [([1, 1], None), ([1, 1, 0], 2), ([5, 5], None), ([5, 6], 1)]
)
def test_what_waits_is_bounded(sizes: list[int], refused: int | None) -> None:
    driver = Sockets(profile=SMALL)
    number = driver.established()
    driver.ask()  # Somebody else's call keeps everything waiting.
    told = [closes(driver.say(number, size)) for size in sizes]
    text = f"close socket {number}: 1013 more than 2 events or 10 bytes wait"
    expected = [[text] if index == refused else [] for index in range(len(sizes))]
    assert told == expected
    if refused is not None:
        assert driver.waiting == ["close"]


def test_started_messages_count_no_more() -> None:
    driver = Sockets(profile=SMALL)
    number = driver.established()
    for _ in range(10):
        assert closes(driver.say(number, 10)) == []
        driver.finish()


def test_a_message_above_the_bound_closes_with_1009_and_an_error() -> None:
    driver = Sockets()
    number = driver.established()
    driver.ask()
    driver.say(number)
    told = driver.say(number, TELNYX.sockets.frame_bytes_max + 1)
    assert closes(told)[0].startswith(f"close socket {number}: 1009 ")
    assert driver.waiting == ["error", "close"]


@pytest.mark.parametrize("waiting", [0, 2])
def test_a_handler_that_fails_closes_with_1011(waiting: int) -> None:
    driver = Sockets()
    number = driver.established()
    driver.say(number)
    for _ in range(waiting):
        driver.say(number)
    driver.end(FAILED)
    assert closes(driver.commit()) == [f"close socket {number}: 1011"]
    assert (driver.running, driver.waiting) == ("close", [])


def test_a_web_socket_that_fails_is_never_heard_of_again() -> None:
    driver = Sockets()
    number = driver.open()
    driver.say(number)
    driver.finish()
    assert driver.running == "open"
    driver.end(FAILED)
    assert closes(driver.commit()) == [f"close socket {number}: 1011"]
    assert driver.known.running is None
    assert (driver.known.sockets, driver.waiting) == ({}, [])


def test_an_activation_that_fails_ends_the_socket_that_asked_for_it() -> None:
    driver = Sockets()
    number = driver.open()
    told = [*driver.end(FAILED), *driver.commit()]
    assert closes(told) == [f"close socket {number}: 1011"]
    assert driver.known.sockets == {}


def test_a_client_that_is_gone_twice_is_told_of_once() -> None:
    driver = Sockets()
    number = driver.established()
    driver.gone(number)
    assert driver.running == "close"
    assert driver.gone(number) == []
    assert closes(driver.say(number)) == []
    driver.finish()
    assert driver.gone(number) == []


def test_an_open_socket_keeps_its_instance_in_memory() -> None:
    driver = Sockets(idle_eviction_ms=1_000)
    number = driver.established()
    driver.now_ms += 10_000
    assert driver.step(TimePassed(driver.now_ms)) == []
    driver.gone(number)
    driver.finish()
    driver.now_ms += 999
    assert driver.step(TimePassed(driver.now_ms)) == []
    driver.now_ms += 1
    assert "drop A/x: idle" in driver.step(TimePassed(driver.now_ms))


def test_evict_always_waits_for_the_last_socket() -> None:
    driver = Sockets(evict_always=True)
    number = driver.established()
    driver.say(number)
    driver.finish()
    assert driver.known.resident
    driver.gone(number)
    driver.finish()
    assert driver.machine.find(X) is None


@pytest.mark.parametrize(
    ("how", "code"),
    [
        (EvictRequested(1_000, X), "1001 actor going away"),
        (CodeReplaced(1_000), "1006"),
        (HostStopping(1_000), "1001 actor going away"),
        (SocketExpired(1_000, X, 1), "1006"),
    ],
    ids=["evict", "reload", "stop", "expired"],
)
@pytest.mark.parametrize("busy", [False, True])
def test_codes_of_an_end(how: Any, code: str, busy: bool) -> None:
    driver = Sockets()
    number = driver.established()
    assert number == 1
    if busy:
        driver.ask()
    told = driver.step(how)
    if busy:
        driver.end()
        told += driver.commit()
    assert closes(told) == [f"close socket {number}: {code}"]


def test_a_crash_severs_and_a_socket_that_waits_is_taken_by_the_next_object() -> None:
    driver = Sockets()
    number = driver.established()
    driver.say(number)
    later = driver.open()
    told = driver.step(EvictRequested(driver.now_ms, X, crash=True))
    assert closes([*told, *driver.commit()]) == [f"close socket {number}: 1006"]
    assert list(driver.known.sockets) == [later]
    driver.finish()
    assert driver.running == "open"
    driver.finish()
    assert driver.known.sockets[later].established


def test_a_commit_that_fails_closes_with_1011() -> None:
    from edgeemu.core.events import CommitFailed

    driver = Sockets()
    number = driver.established()
    driver.say(number)
    driver.end(SUCCEEDED, wrote=True)
    turn = driver.started[X].turn
    told = driver.step(CommitFailed(driver.now_ms, turn.id, "the disk is full"))
    assert closes(told) == [f"close socket {number}: 1011"]
    assert driver.known.sockets == {}


def test_a_row_that_cannot_be_read_ends_whoever_waits_for_it() -> None:
    machine = make_machine()
    event = SocketEvent(1, SocketPart.OPEN)
    turn = Turn(1, X, TurnKind.SOCKET, "open", "test", socket=event)
    machine.step(TurnRequested(0, turn))
    told = machine.step(LoadFailed(0, X, "it is damaged"))
    assert [each.code for each in told if hasattr(each, "code")] == [1011]
    assert machine.find(X) is None


def test_an_end_that_comes_before_the_row_waits_for_it() -> None:
    machine = make_machine()
    event = SocketEvent(1, SocketPart.OPEN)
    machine.step(TurnRequested(0, Turn(1, X, TurnKind.SOCKET, "open", "test", socket=event)))
    machine.step(SocketEnded(0, X, 1, 1000, "", ClosedBy.CLIENT))
    machine.step(InstanceLoaded(0, X, InstanceRow()))
    found = machine.find(X)
    assert found is not None
    assert [each.method for each in found.queue] == ["open", "close"]


# --- words and numbers -------------------------------------------------------------------------


@pytest.mark.parametrize("code", [None, 1000, 1003, 1007, 1014, 3000, 4999])
def test_codes_that_can_be_sent(code: int | None) -> None:
    check_close(code, "")


@pytest.mark.parametrize("code", [0, 999, 1004, 1005, 1006, 1015, 2999, 5000, "1000", True, 1e3])
def test_codes_that_cannot_be_sent(code: object) -> None:
    with pytest.raises(TypeError, match="a close code is"):
        check_close(code, "")


@pytest.mark.parametrize(
    ("code", "reason", "error"),
    [
        (None, "why", ValueError),
        (1000, "ä" * 62, ValueError),
        (1000, "\ud800", ValueError),
        (1000, 5, TypeError),
    ],
)
def test_reasons_that_cannot_be_sent(code: int | None, reason: object, error: type) -> None:
    with pytest.raises(error, match="reason"):
        check_close(code, reason)


def test_a_reason_is_cut_between_characters() -> None:
    check_close(1000, "x" * REASON_BYTES_MAX)
    cut = cut_reason("ä" * 100)
    assert cut == "ä" * 61


@pytest.mark.parametrize(
    ("headers", "asks"),
    [
        ([("Upgrade", "websocket")], True),
        ([("upgrade", "h2c, WebSocket")], True),
        ([("upgrade", "h2c")], False),
        ([("x-upgrade", "websocket")], False),
    ],
)
def test_who_asks_for_an_upgrade(headers: list[tuple[str, str]], asks: bool) -> None:
    assert asks_for_upgrade(headers) is asks


def test_transport_headers_do_not_reach_the_actor() -> None:
    headers = [("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Host", "h"), ("X-A", "1")]
    headers += [("Sec-WebSocket-Key", "k"), ("sec-websocket-protocol", "a, b"), ("Origin", "o")]
    assert application_headers(headers) == (("X-A", "1"), ("Origin", "o"))
    assert offered_protocols([*headers, ("Sec-WebSocket-Protocol", "c")]) == ["a", "b", "c"]


@pytest.mark.parametrize("name", ["é", " x", "x ", "a\tb", "a\x7fb"])
def test_names_that_sockets_cannot_have(name: str) -> None:
    with pytest.raises(TypeError, match="printable ASCII"):
        check_upgrade(name, ())


def test_header_values_are_printable_ascii() -> None:
    check_upgrade("a:b c+d", (("x", "a\tb"),))
    with pytest.raises(TypeError, match="x: 'ü'"):
        check_upgrade("x", (("x", "ü"),))
