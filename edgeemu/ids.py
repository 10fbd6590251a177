"""Names of instances: `Type/name`, written, read and compared in one way."""

from collections.abc import Collection
from typing import NamedTuple

from edgeemu.errors import Code, EdgeemuError
from edgeemu.limits import NAME_CHARS_MAX


class InstanceId(NamedTuple):
    """One named copy of an actor. It sorts by type, then name, in code point order."""

    type: str
    name: str

    def __str__(self) -> str:
        return f"{self.type}/{self.name}"


def parse_address(text: str, types: Collection[str]) -> InstanceId:
    """This reads `Type/name`; where one type exists, the name alone will do (design section 4).

    Args:
        text: what the user typed; the name may hold any characters, slashes included.
        types: the types that the project declares.

    Raises:
        EdgeemuError: `E_ACTOR_UNKNOWN` if the type is not declared, `E_ADDRESS_INVALID` if there
            is no name or no way to tell the type.
    """
    head, slash, rest = text.partition("/")
    if slash and head in types:
        if rest:
            return _checked(InstanceId(head, rest))
        raise EdgeemuError(
            Code.ADDRESS_INVALID,
            what=f"`{text}` has no name behind the slash",
            why="an instance is written Type/name",
            fix=f"write {head}/ and the name, such as {head}/alice",
        )
    known = ", ".join(sorted(types)) or "none"
    if text in types:
        raise EdgeemuError(
            Code.ADDRESS_INVALID,
            what=f"`{text}` names a type, not an instance",
            why="an instance is written Type/name",
            fix=f"write {text}/ and the name, such as {text}/alice",
        )
    if len(types) == 1 and text and not slash:
        return _checked(InstanceId(next(iter(types)), text))
    if not slash:
        raise EdgeemuError(
            Code.ADDRESS_INVALID,
            what=f"`{text}` does not say which actor it is"
            if text
            else "the actor's name is empty",
            why=f"the project declares several types ({known}), so the type is needed",
            fix="write it as Type/name",
        )
    raise unknown_type(head, types)


def _checked(instance: InstanceId) -> InstanceId:
    """The instance, if its name can be kept: text that has a UTF-8, and not without end.

    Raises:
        EdgeemuError: `E_ADDRESS_INVALID` otherwise.
    """
    why = None
    if len(instance.name) > NAME_CHARS_MAX:
        why = f"a name has at most {NAME_CHARS_MAX} characters, and this one {len(instance.name)}"
    elif any("\ud800" <= char <= "\udfff" for char in instance.name):
        why = "half of a surrogate pair is no text"
    if why is None:
        return instance
    shown = ascii(instance.name)[1:41]
    raise EdgeemuError(
        Code.ADDRESS_INVALID,
        what=f"`{instance.type}/{shown}` cannot be the name of an instance",
        why=why,
        fix="give a name that is text, and not that long",
    )


def unknown_type(name: str, types: Collection[str]) -> EdgeemuError:
    """`E_ACTOR_UNKNOWN` for a type that the project does not declare, with the nearest one."""
    import difflib

    by_lower = {known.lower(): known for known in sorted(types)}
    near = difflib.get_close_matches(name.lower(), by_lower, 1)
    meant = f"; did you mean {by_lower[near[0]]}?" if near else ""
    return EdgeemuError(
        Code.ACTOR_UNKNOWN,
        what=f"there is no actor type `{name}`{meant}",
        why=f"the project declares: {', '.join(sorted(types)) or 'none'}",
        fix="use one of these types, or declare the actor under [[actors]] in the configuration",
    )
