"""What the host of JavaScript is told to load."""

from pathlib import Path
from typing import Any

from edgeemu.core.profile import Profile
from edgeemu.engines.javascript.project import ScriptFunction, ScriptProject
from edgeemu.engines.javascript.tsconfig import TsConfig
from edgeemu.limits import (
    ERROR_CHARS_MAX,
    KEY_BYTES_ADVISED_MAX,
    KEY_CHARS_MAX,
    NAME_CHARS_MAX,
    PEEKED_WRITES_MAX,
    PRINTED_CHARS_MAX,
    PRINTED_LINE_CHARS_MAX,
    VALUE_BYTES_ADVISED_MAX,
)
from edgeemu.rng import stream
from edgeemu.units import INSTANT_MS_MAX


def load_message(
    project: ScriptProject, config: TsConfig, profile: Profile, seed: int, now_ms: int
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The rules that the host follows, and the functions that it loads."""
    bits = stream(seed, "script").getrandbits(128)
    rules = {
        "rootUrl": Path(project.root).as_uri().rstrip("/") + "/",
        "keyCharsMax": KEY_CHARS_MAX,
        # A character of UTF-16 takes three bytes at most.
        "keyCharsPlain": KEY_BYTES_ADVISED_MAX // 3,
        "valueCharsPlain": VALUE_BYTES_ADVISED_MAX // 3,
        "nameCharsMax": NAME_CHARS_MAX,
        "peekedWritesMax": PEEKED_WRITES_MAX,
        "instantMsMax": INSTANT_MS_MAX,
        "listLimitMax": profile.list_limit_max,
        "reservedKeyPrefix": profile.reserved_key_prefix,
        "privatePrefix": profile.private_prefix,
        "nameCharacters": profile.name_characters,
        "strict": project.strict,
        "aliases": config.aliases,
        "errorCharsMax": ERROR_CHARS_MAX,
        "lineCharsMax": PRINTED_LINE_CHARS_MAX,
        "printedCharsMax": PRINTED_CHARS_MAX,
        "rootPath": project.root,
        "actorVars": project.actor_vars,
        "loadedAtMs": now_ms,
        "seed": [bits >> shift & 0xFFFFFFFF for shift in (0, 32, 64, 96)],
    }
    return rules, [_function(function) for function in project.functions]


def _function(function: ScriptFunction) -> dict[str, Any]:
    return {
        "name": function.name,
        "main": None if function.main is None else function.main.resolve().as_uri(),
        "actors": [
            {"type": actor.type, "url": actor.file.resolve().as_uri()} for actor in function.actors
        ],
        "actor_env": dict(function.actor_env),
        "front_env": dict(function.front_env),
        "environment": dict(function.environment),
    }
