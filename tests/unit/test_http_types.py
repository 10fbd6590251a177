"""Headers and bodies: what is joined, what is kept apart, what is refused."""

from collections.abc import Iterator

import pytest

from edgeemu.sdk.http import Headers, Request, Response


def test_values_of_one_name_are_joined_but_for_cookies() -> None:
    headers = Headers([("X-A", "1"), ("Set-Cookie", "a=1; Expires=Thu, 01 Jan 2030"), ("x-a", "2")])
    headers.append("set-cookie", "b=2")
    assert (headers["x-A"], len(headers)) == ("1, 2", 2)
    assert headers.get_set_cookie() == ["a=1; Expires=Thu, 01 Jan 2030", "b=2"]
    assert headers.lines() == [
        ("X-A", "1, 2"),
        ("Set-Cookie", "a=1; Expires=Thu, 01 Jan 2030"),
        ("Set-Cookie", "b=2"),
    ]
    assert Headers(headers).lines() == headers.lines()
    headers["Set-Cookie"] = "c=3"
    assert headers.get_set_cookie() == ["c=3"]
    headers.get_set_cookie().clear()
    assert headers.get_set_cookie() == ["c=3"]
    assert Headers().get_set_cookie() == []


async def _parts():
    yield b"x"


@pytest.mark.parametrize("body", [(part for part in [b"x"]), _parts(), iter([b"x"])])
def test_stream_is_refused_and_told_so(body: object) -> None:
    with pytest.raises(TypeError, match="streams are not supported"):
        Response(body)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="streams are not supported"):
        Request("/", body=body)  # type: ignore[arg-type]


def test_other_bodies_are_refused_with_what_would_do() -> None:
    with pytest.raises(TypeError, match=r"Response\.json"):
        Response({"a": 1})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"body=json\.dumps"):
        Request("/", body={"a": 1})  # type: ignore[arg-type]


def test_status_without_its_name_is_refused_with_how_to_write_it() -> None:
    with pytest.raises(TypeError, match="write status=429"):
        Response("x", 429)  # type: ignore[arg-type]


def test_value_that_was_not_awaited_is_named_where_it_reaches_json() -> None:
    class Waits:
        def __await__(self) -> Iterator[None]:
            yield None

    with pytest.raises(TypeError, match="was not awaited"):
        Response.json({"a": [Waits()]})
    with pytest.raises(TypeError, match="type object is not JSON"):
        Response.json({"a": object()})
