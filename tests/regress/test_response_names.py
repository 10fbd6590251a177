"""Who comes from another library is told how a field of a response is called here."""

import copy

import pytest

from edgeemu.testing.results import FetchedResponse


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("status_code", "did you mean .status?"),
        ("header", "did you mean .headers?"),
        ("zzz", "it has: body, headers, json, status, text"),
    ],
)
def test_unknown_field_leads_to_the_known_one(name: str, told: str) -> None:
    response = FetchedResponse(429, [], b"x")
    with pytest.raises(AttributeError) as caught:
        getattr(response, name)
    assert told in str(caught.value)
    assert not hasattr(response, name)
    assert copy.copy(response).status == 429
