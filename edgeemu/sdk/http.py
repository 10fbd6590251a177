"""`Request` and `Response`: what the function in front, and an actor's `fetch`, take and give."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar, Never, NoReturn, Protocol, overload
from urllib.parse import parse_qsl, urlsplit

_SET_COOKIE = "set-cookie"
_FULL_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def full_url(url: str, origin: str = "http://localhost") -> str:
    """A full URL as it is, and a path as one at `origin`; a query may hold a URL of its own."""
    return url if _FULL_URL.match(url) else origin + "/" * (url[:1] != "/") + url


class Headers(Mapping[str, str]):
    """Header fields by name, whatever the case; several values of one name are joined by `, `.

    `Set-Cookie` alone cannot be joined, since a date in it has a comma: `get_set_cookie` has its
    values one by one, and so they are sent.
    """

    def __init__(self, fields: Mapping[str, str] | Iterable[tuple[str, str]] = ()) -> None:
        if isinstance(fields, Headers):
            pairs: Iterable[tuple[str, str]] = fields.lines()
        else:
            pairs = fields.items() if isinstance(fields, Mapping) else fields
        self._fields: dict[str, tuple[str, list[str]]] = {}
        for name, value in pairs:
            self.append(name, value)

    def append(self, name: str, value: str) -> None:
        """Add a value; one that is there already stays in front of it."""
        self._fields.setdefault(name.lower(), (name, []))[1].append(str(value))

    def get_set_cookie(self) -> list[str]:
        """The values of `Set-Cookie`, one by one."""
        return [*self._fields.get(_SET_COOKIE, ("", []))[1]]

    def lines(self) -> list[tuple[str, str]]:
        """Name and value of each line as it is sent: one a name, but for `Set-Cookie`."""
        found: list[tuple[str, str]] = []
        for key, (name, values) in self._fields.items():
            shown = values if key == _SET_COOKIE else [", ".join(values)]
            found += [(name, value) for value in shown]
        return found

    def __getitem__(self, name: str) -> str:
        return ", ".join(self._fields[name.lower()][1])

    def __setitem__(self, name: str, value: str) -> None:
        self._fields[name.lower()] = (name, [str(value)])

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name.lower() in self._fields

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self._fields.values())

    def __len__(self) -> int:
        return len(self._fields)

    def __repr__(self) -> str:
        return f"Headers({dict(self)!r})"


def _body_bytes(body: object, for_json: str) -> bytes:
    if body is None:
        return b""
    if isinstance(body, str):
        return body.encode()
    if isinstance(body, bytes | bytearray | memoryview):
        return bytes(body)
    if hasattr(body, "__next__") or hasattr(body, "__anext__"):
        hint = "streams are not supported: put the parts together first"
    else:
        hint = f"for JSON write {for_json}"
    raise TypeError(f"a body is str, bytes or None, not {type(body).__name__}; {hint}")


class _Message:
    """What a request and a response share: headers and a body that can be read more than once."""

    headers: Headers
    _body: bytes

    @property
    def body(self) -> bytes:
        """The whole body."""
        return self._body

    async def bytes(self) -> bytes:
        """The whole body."""
        return self._body

    async def text(self) -> str:
        """The body as UTF-8 text; bytes that are none become U+FFFD."""
        return self._body.decode("utf-8", "replace")

    async def _read_json(self) -> Any:
        return json.loads(self._body)


class Request(_Message):
    """One HTTP request.

    Args:
        url: a full URL, or a path (then the host is `localhost`).
        method: upper case is made of it.
        headers: by name, whatever the case.
        body: `str`, `bytes` or None.
    """

    def __init__(
        self,
        url: str,
        *,
        method: str = "GET",
        headers: Mapping[str, str] | Iterable[tuple[str, str]] = (),
        body: str | bytes | None = None,
    ) -> None:
        self.url = full_url(url)
        self.method = method.upper()
        self.headers = Headers(headers)
        self._body = _body_bytes(body, "body=json.dumps(value)")

    async def json(self) -> Any:
        """The body as JSON.

        Raises:
            ValueError: if it is not JSON.
        """
        return await self._read_json()

    @property
    def path(self) -> str:
        """The path of the URL, such as `/sessions/alice`."""
        return urlsplit(self.url).path or "/"

    @property
    def query(self) -> dict[str, str]:
        """The fields of the query string; of several with one name, the last."""
        return dict(parse_qsl(urlsplit(self.url).query, keep_blank_values=True))

    def __repr__(self) -> str:
        return f"Request({self.method} {self.url})"


class _MakeJson(Protocol):
    """`Response.json(value)`: a response whose body is a value as JSON."""

    def __call__(
        self, value: Any, *, status: int = 200, headers: Mapping[str, str] | None = None
    ) -> Response: ...


class _JsonOfResponse:
    """`Response.json(value)` makes a response, `await response.json()` reads one."""

    @overload
    def __get__(self, response: None, owner: type[Response]) -> _MakeJson: ...

    @overload
    def __get__(
        self, response: Response, owner: type[Response]
    ) -> Callable[[], Awaitable[Any]]: ...

    def __get__(
        self, response: Response | None, owner: type[Response]
    ) -> _MakeJson | Callable[[], Awaitable[Any]]:
        return _json_response if response is None else response._read_json


class Response(_Message):
    """One HTTP response. `Response.json(value)` makes one whose body is `value` as JSON.

    Args:
        body: `str`, `bytes` or None.
        status: from 200 to 599.
        headers: by name, whatever the case.

    Raises:
        ValueError: for a status out of range.
    """

    def __init__(
        self,
        body: str | bytes | None = None,
        *misplaced: Never,
        status: int = 200,
        headers: Mapping[str, str] | Iterable[tuple[str, str]] = (),
    ) -> None:
        if misplaced:
            raise TypeError(f"after the body all is named: write status={misplaced[0]!r}")
        if not 200 <= status <= 599:
            hint = "; return the response of an upgrade as it is" if status == 101 else ""
            raise ValueError(f"a status is from 200 to 599, not {status}{hint}")
        self.status = status
        self.headers = Headers(headers)
        self._body = _body_bytes(body, "Response.json(value)")
        if isinstance(body, str) and "content-type" not in self.headers:
            self.headers["content-type"] = "text/plain;charset=UTF-8"

    @property
    def ok(self) -> bool:
        """Whether the status is from 200 to 299."""
        return self.status < 300

    json: ClassVar[_JsonOfResponse] = _JsonOfResponse()

    def __repr__(self) -> str:
        return f"Response({self.status})"


def _refuse_json(value: object) -> NoReturn:
    if hasattr(value, "__await__"):
        raise TypeError(
            "this is no value yet: a call in it was not awaited; write `await` in front of it"
        )
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")


def _json_response(
    value: Any, *, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    body = json.dumps(value, ensure_ascii=False, default=_refuse_json)
    fields = {"content-type": "application/json", **(headers or {})}
    return Response(body, status=status, headers=fields)
