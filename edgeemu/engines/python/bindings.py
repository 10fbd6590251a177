"""Bindings on `env` beside actors and secrets: services, KV namespaces, rate limits.

Emulates: bindings. Source: spec/telnyx-actors.md sections 2.2 and 12.
"""

import json
from collections.abc import Awaitable
from typing import Any, NoReturn

from edgeemu.core.kv import KvItem, KvRefusedError
from edgeemu.core.ratelimits import RateRule
from edgeemu.engines.port import Service
from edgeemu.engines.python.awaitables import NOTHING, Done, FailedRead, RemoteValue
from edgeemu.engines.python.context import plain_request, rich_response
from edgeemu.engines.python.dispatch import missing_attribute
from edgeemu.engines.python.scope import current_scope
from edgeemu.limits import KV_LIST_MAX
from edgeemu.sdk.errors import ActorError
from edgeemu.sdk.http import Request, Response
from edgeemu.units import format_instant


class ServiceBinding:
    """`env.<NAME>` of a service: `fetch` sends it a request."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def fetch(self, request: Request | str) -> Awaitable[Response]:
        """Send a request; of its URL, path and query count.

        Raises (from the awaitable):
            ConnectionError, TimeoutError: when there is no answer.
        """
        try:
            answer = current_scope().host.send(self._service, plain_request(request))
            return RemoteValue(answer, rich_response)
        except Exception as error:
            return FailedRead(error)

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(missing_attribute("a service", name, dir(type(self)), ""))


class KvNamespace:
    """`env.<NAME>` of `[storage.kv.<NAME>]`: text by key, shared by all, outside of every turn."""

    def __init__(self, namespace: str) -> None:
        self._namespace = namespace

    def get(self, key: str, *, type: str = "text") -> Awaitable[Any]:
        """The value under a key, or None; with `type="json"`, parsed.

        Raises (from the awaitable):
            ActorError: for a key that cannot be. ValueError: for text that is no JSON.
        """
        try:
            if type not in ("text", "json"):
                raise TypeError(f'type is "text" or "json", not {type!r}')
            value = current_scope().host.kv_get(self._namespace, key)
            if type == "json":
                value = json.loads(value) if value else None
            return Done(value)
        except Exception as error:
            return FailedRead(_seen(error))

    def put(
        self,
        key: str,
        value: str,
        *,
        expiration_ttl: float | None = None,
        metadata: object = None,
    ) -> Awaitable[None]:
        """Write a text, at once; `metadata` is accepted and ignored, as on the platform.

        Args:
            key, value: see spec/telnyx-actors.md section 12 for what they may be.
            expiration_ttl: virtual seconds that it lives; None for ever.
            metadata: ignored.

        Raises (from the awaitable):
            ActorError: naming the operation and what is wrong.
        """
        del metadata
        try:
            current_scope().host.kv_put(self._namespace, key, value, expiration_ttl)
        except Exception as error:
            return FailedRead(_seen(error))
        return NOTHING

    def delete(self, key: str) -> Awaitable[None]:
        """Delete a key, whether it is there or not."""
        try:
            current_scope().host.kv_delete(self._namespace, key)
        except Exception as error:
            return FailedRead(_seen(error))
        return NOTHING

    def list(
        self, *, prefix: str = "", limit: int = KV_LIST_MAX, cursor: str | None = None
    ) -> Awaitable[dict[str, Any]]:
        """A page of names, never values.

        Returns:
            `{"keys": [{"name", "size_bytes", "updated_at"}], "list_complete": bool}`, and where the
            list is not complete, the `"cursor"` of the next page.
        """
        try:
            page = current_scope().host.kv_list(self._namespace, prefix, limit, cursor)
        except Exception as error:
            return FailedRead(_seen(error))
        keys = [_shown(name, item) for name, item in page.items]
        more = {} if page.cursor is None else {"cursor": page.cursor}
        return Done({"keys": keys, "list_complete": page.cursor is None, **more})

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(missing_attribute("a KV namespace", name, dir(type(self)), ""))


def _shown(name: str, item: KvItem) -> dict[str, Any]:
    size_bytes = len(item.value.encode("utf-8", "surrogatepass"))
    return {
        "name": name,
        "size_bytes": size_bytes,
        "updated_at": format_instant(item.updated_at_ms),
    }


def _seen(error: Exception) -> Exception:
    """An error as actor code sees it."""
    return ActorError(str(error)) if isinstance(error, KvRefusedError) else error


class RateLimit:
    """`env.<NAME>` of a `[[ratelimits]]` block."""

    def __init__(self, rule: RateRule) -> None:
        self._rule = rule

    def limit(self, key: str) -> Awaitable[dict[str, bool]]:
        """Count a use of `key`; `{"success": False}` where it is one too many.

        Raises (from the awaitable):
            TypeError: for a key that is no text.
        """
        try:
            if not isinstance(key, str):
                raise TypeError(f"a key is a str, not {type(key).__name__}")
            return Done({"success": current_scope().host.allow(self._rule, key)})
        except Exception as error:
            return FailedRead(error)

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(missing_attribute("a rate limit", name, dir(type(self)), ""))


class Unsupported:
    """`env.<NAME>` of a product that nothing here serves: it fails loudly when it is used.

    Args:
        binding: its name on `env`.
        title: how the configuration declares it, such as `[telnyx]`.
    """

    def __init__(self, binding: str, title: str) -> None:
        self._text = unsupported_text(binding, title)

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        raise ActorError(self._text)

    def __call__(self, *_: object, **__: object) -> NoReturn:
        """Fail, whatever it is called with."""
        raise ActorError(self._text)


def unsupported_text(binding: str, title: str) -> str:
    """What to say of a product that nothing here serves, in any language."""
    return (
        f"env.{binding} cannot be used: edgeemu does not emulate {title} "
        "(docs/differences.md); a service of that name, [services."
        f"{binding}] in an edgeemu.toml, can stand in for it"
    )
