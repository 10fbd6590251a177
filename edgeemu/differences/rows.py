"""What a row of the table of differences holds. Data, no decisions."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Choice:
    """What edgeemu does where the platform's documentation says nothing.

    Attributes:
        id: its number in the fact sheet, such as `U31`; code and tests cite it.
        section: of the fact sheet, such as `6.2`.
        topic: what the platform leaves open.
        here: what edgeemu does.
        change: the setting or command that changes it; empty where nothing does.
    """

    id: str
    section: str
    topic: str
    here: str
    change: str = ""

    @property
    def number(self) -> int:
        """The number in `id`."""
        return int(self.id.removeprefix("U"))


@dataclass(frozen=True, slots=True)
class Chapter:
    """Choices about one subject.

    Attributes:
        title: the subject.
        choices: in the order of their numbers.
    """

    title: str
    choices: tuple[Choice, ...]


@dataclass(frozen=True, slots=True)
class Missing:
    """Something of the platform that is not emulated.

    Attributes:
        what: what it is.
        happens: what happens to whoever uses it: it fails loudly.
        choices: numbers of the choices that do not hold until it is emulated.
    """

    what: str
    happens: str
    choices: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Difference:
    """Something that edgeemu knowingly does in another way.

    Attributes:
        here: what edgeemu does.
        platform: what the platform does; a dash where the question does not arise there.
        why: the reason.
    """

    here: str
    platform: str
    why: str
