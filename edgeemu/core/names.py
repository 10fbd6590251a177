"""Names of instances that the platform may not take (spec/telnyx-actors.md section 4, U15)."""

import re
from functools import lru_cache

from edgeemu.core.profile import Profile


def odd_characters(name: str, profile: Profile) -> str:
    """The characters of a name that are not safe on the platform, each once; empty if all are."""
    return _odd_characters(name, profile.name_characters)


@lru_cache(maxsize=1_024)
def _odd_characters(name: str, characters: str) -> str:
    return "".join(dict.fromkeys(re.findall(f"[^{characters}]", name)))


def odd_name_text(name: str, profile: Profile) -> str | None:
    """What to say of a name that holds such characters (U15); None for any other name."""
    odd = odd_characters(name, profile)
    if not odd:
        return None
    return (
        f"the name {name!r} holds {odd!r}: on the platform names are safe only with the "
        f"characters {profile.name_characters}, and alarms are the part at risk"
    )
