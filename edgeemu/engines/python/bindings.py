"""Bindings on `env` beside actors and secrets: services, KV namespaces, rate limits.

Emulates: bindings. Source: spec/telnyx-actors.md sections 2.2 and 12.
"""

from typing import NoReturn

from edgeemu.sdk.errors import ActorError


class Unsupported:
    """`env.<NAME>` of a product that nothing here serves: it fails loudly when it is used.

    Args:
        binding: its name on `env`.
        title: how the configuration declares it, such as `[telnyx]`.
    """

    def __init__(self, binding: str, title: str) -> None:
        self._text = (
            f"env.{binding} cannot be used: edgeemu does not emulate {title} "
            "(docs/differences.md); a service of that name, [services."
            f"{binding}] in an edgeemu.toml, can stand in for it"
        )

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        raise ActorError(self._text)

    def __call__(self, *_: object, **__: object) -> NoReturn:
        """Fail, whatever it is called with."""
        raise ActorError(self._text)
