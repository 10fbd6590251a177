"""`os.environ` as each piece of code sees it: a function its variables, an actor none.

On the platform an actor's process has an empty environment, and whoever reads a variable there
finds out after shipping. So `os.environ` is a view that looks at whose code runs. Code outside of
turns, the tool and the user's tests, sees the real one.

Emulates: environment variables. Source: spec/telnyx-actors.md section 2.3, U4.
Differs: a function also sees the machine's own variables. A module is loaded once, for the function
and its actors, and sees the function's variables while it is imported. Code in C and programs that
are started see the real environment.
"""

import os
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType

from edgeemu.engines.python.scope import Scope, current, is_project_file, place_of

_PASSED_ON = frozenset({"os", "collections.abc", __name__})
"""Modules between the code that asks for a variable and this one."""


class Shown:
    """What one kind of code sees.

    Args:
        values: its variables; what the code itself sets goes there too.
        machine: whether the machine's own are seen beneath.
        elsewhere: variables that other code of the same function sees.
    """

    __slots__ = ("elsewhere", "machine", "values")

    def __init__(
        self, values: Mapping[str, str], *, machine: bool, elsewhere: Collection[str] = ()
    ) -> None:
        self.values = dict(values)
        self.machine = machine
        self.elsewhere = elsewhere


class ScopedEnviron(os._Environ[str]):
    """Takes the place of `os.environ` and shares its data.

    Args:
        real: what it takes the place of.
        root: of the project, for places in warnings.
    """

    def __init__(self, real: "os._Environ[str]", root: str) -> None:
        data = real._data  # type: ignore[attr-defined]
        super().__init__(data, real.encodekey, real.decodekey, real.encodevalue, real.decodevalue)
        self._names = data
        self._real = real
        self.root = root
        self._importing: Shown | None = None

    def install(self) -> None:
        """Be `os.environ` from now on."""
        if os.environ is self:
            return
        self._real = os.environ
        os.environ = self  # noqa: B003 - it shares the data, and so nothing is lost

    def remove(self) -> None:
        """Be it no more."""
        if os.environ is self:
            os.environ = self._real  # noqa: B003 - see above

    @contextmanager
    def importing(self, shown: Shown) -> Iterator[None]:
        """Code that is imported, outside of every turn, sees `shown`."""
        before, self._importing = self._importing, shown
        try:
            yield
        finally:
            self._importing = before

    def __getitem__(self, key: str) -> str:
        scope = current.get()
        shown = self._importing if scope is None else scope.environ
        if shown is None:
            return super().__getitem__(key)
        if key in shown.values:
            return shown.values[key]
        if shown.machine:
            return super().__getitem__(key)
        if scope is not None:
            self._warn(scope, key)
        raise KeyError(key)

    def __setitem__(self, key: str, value: str) -> None:
        shown = self._shown()
        if shown is None:
            super().__setitem__(key, value)
        else:
            self.encodekey(key), self.encodevalue(value)  # Both refuse what is no text.
            shown.values[key] = value

    def __delitem__(self, key: str) -> None:
        shown = self._shown()
        if shown is None:
            super().__delitem__(key)
        else:
            del shown.values[key]

    def __iter__(self) -> Iterator[str]:
        shown = self._shown()
        if shown is None:
            return super().__iter__()
        names = dict.fromkeys(shown.values)
        if shown.machine:
            names |= dict.fromkeys(super().__iter__())
        return iter(names)

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __repr__(self) -> str:
        return f"environ({dict(self)!r})"

    def _shown(self) -> Shown | None:
        scope = current.get()
        return self._importing if scope is None else scope.environ

    def _warn(self, scope: Scope, key: str) -> None:
        """Say it of a variable that the project's own code reads, and that is set elsewhere."""
        frame: FrameType | None = sys._getframe(2)
        while frame is not None and frame.f_globals.get("__name__") in _PASSED_ON:
            frame = frame.f_back
        if frame is None or not is_project_file(frame.f_code.co_filename, self.root):
            return
        elsewhere = scope.environ.elsewhere if scope.environ is not None else ()
        if self.encodekey(key) not in self._names and key not in elsewhere:
            return
        text = (
            f"the variable {key} is read in an actor, where the environment is empty, as on the "
            "platform: use `await self.env.SECRETS.get(...)`, or pass the value with the call"
        )
        scope.host.warn("W_ACTOR_ENV", text, place_of(frame, self.root))
