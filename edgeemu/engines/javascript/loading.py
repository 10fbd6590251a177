"""What the host of JavaScript is told to load, and what is said where it does not load."""

from pathlib import Path
from typing import Any

from edgeemu.core.profile import Profile
from edgeemu.engines.javascript.child import ChildDied
from edgeemu.engines.javascript.failures import user_frames
from edgeemu.engines.javascript.frames import Described
from edgeemu.engines.javascript.project import ScriptFunction, ScriptProject
from edgeemu.errors import Code, EdgeemuError
from edgeemu.limits import KEY_CHARS_MAX, NAME_CHARS_MAX
from edgeemu.rng import stream
from edgeemu.units import INSTANT_MS_MAX


def load_message(
    project: ScriptProject, profile: Profile, seed: int, now_ms: int
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The rules that the host follows, and the functions that it loads."""
    bits = stream(seed, "script").getrandbits(128)
    rules = {
        "rootUrl": Path(project.root).as_uri().rstrip("/") + "/",
        "keyCharsMax": KEY_CHARS_MAX,
        "nameCharsMax": NAME_CHARS_MAX,
        "instantMsMax": INSTANT_MS_MAX,
        "listLimitMax": profile.list_limit_max,
        "reservedKeyPrefix": profile.reserved_key_prefix,
        "privatePrefix": profile.private_prefix,
        "nameCharacters": profile.name_characters,
        "strict": project.strict,
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


def load_error(project: ScriptProject, failed: Described | ChildDied | None) -> EdgeemuError:
    """Why the project does not load: with file, line and a code frame where they are known."""
    if isinstance(failed, Described):
        frames = user_frames(failed.stack, project.root)
        where = f"{frames[0][0]}:{frames[0][1]}" if frames else None
        syntax = failed.name == "SyntaxError"
        return EdgeemuError(
            Code.PROJECT_SYNTAX if syntax else Code.PROJECT_IMPORT,
            what=f"{where or 'the project'} does not load: {failed.name}: {failed.message}",
            why="JavaScript cannot read the file" if syntax else "its module raised that error",
            fix=f"mend {where}" if where else "mend the module",
        )
    if failed is not None and failed.hung:
        return EdgeemuError(
            Code.PROJECT_IMPORT,
            what="the project does not finish loading",
            why="a module runs on without end at its top level",
            fix="look for a loop outside of functions, or raise watchdog_ms under [limits]",
        )
    return EdgeemuError(
        Code.PROJECT_IMPORT,
        what="the JavaScript engine ended while it loaded the project",
        why=str(failed or "it said nothing"),
        fix="see what it says; `deno --version` should answer",
    )
