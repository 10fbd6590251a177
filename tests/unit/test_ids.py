"""Addresses: `Type/name`, and what is none."""

import pytest

from edgeemu.errors import Code, EdgeemuError
from edgeemu.ids import InstanceId, parse_address

ONE, TWO = ["Session"], ["Cart", "Session"]


@pytest.mark.parametrize(
    ("text", "types", "expected"),
    [
        ("Session/alice", TWO, ("Session", "alice")),
        ("alice", ONE, ("Session", "alice")),
        ("Session/a/b", ONE, ("Session", "a/b")),
        ("Session//", ONE, ("Session", "/")),
        ("Session/ä b:+", ONE, ("Session", "ä b:+")),
        ("Cart/Session", TWO, ("Cart", "Session")),
    ],
)
def test_addresses_are_read(text: str, types: list[str], expected: tuple[str, str]) -> None:
    instance = parse_address(text, types)
    assert instance == InstanceId(*expected)
    assert parse_address(str(instance), types) == instance


@pytest.mark.parametrize(
    ("text", "types", "code"),
    [
        ("", ONE, Code.ADDRESS_INVALID),
        ("Session", ONE, Code.ADDRESS_INVALID),
        ("Session/", ONE, Code.ADDRESS_INVALID),
        ("alice", TWO, Code.ADDRESS_INVALID),
        ("alice", [], Code.ADDRESS_INVALID),
        ("Basket/alice", TWO, Code.ACTOR_UNKNOWN),
        ("user/alice", ONE, Code.ACTOR_UNKNOWN),
    ],
)
def test_what_is_no_address(text: str, types: list[str], code: Code) -> None:
    with pytest.raises(EdgeemuError) as raised:
        parse_address(text, types)
    assert raised.value.code is code


def test_instances_sort_by_type_then_name_in_code_point_order() -> None:
    given = [InstanceId("b", "a"), InstanceId("a", "é"), InstanceId("a", "z"), InstanceId("a", "Z")]
    assert [str(each) for each in sorted(given)] == ["a/Z", "a/z", "a/é", "b/a"]
