"""`call`, `fetch` and `connect`: one method, one request or one WebSocket through the front."""

import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from edgeemu.cli import complete, render
from edgeemu.cli.commands import Run, ValueCommand, command, group
from edgeemu.cli.values import parse_value, read_source
from edgeemu.cli.words import value_text
from edgeemu.errors import Code, EdgeemuError, error_from_json

app = group("Calls and requests.")

_UNDEFINED = {"$undefined": True}

_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")

Actor = Annotated[
    str,
    typer.Argument(
        metavar="ACTOR",
        help="The instance, as Type/name; the name alone where one type exists.",
        autocompletion=complete.actors,
        show_default=False,
    ),
]


def read_args(run: Run, texts: Sequence[str]) -> list[Any]:
    """What was given on the command line: each JSON if it parses, else text."""
    values = []
    for text in texts:
        value, doubt = parse_value(text)
        if doubt:
            run.note(f"note: `{text}` is passed as text, since it is not JSON: {doubt}")
        values.append(value)
    return values


class _CallCommand(ValueCommand):
    """`call`, for whoever gives an argument of the method by its name."""

    def unknown_option(
        self, name: str, known: list[str], ctx: Any, args: list[str]
    ) -> EdgeemuError:
        """Say that arguments have no names, where the method stands in front of them."""
        import shlex

        before = args[: next(at for at, word in enumerate(args) if word.startswith(name))]
        near = super().unknown_option(name, known, ctx, args)
        if len(before) < 2 or near.fix.startswith("write"):
            return near
        values = [word.removeprefix(f"{name}=") for word in args if word != name]
        return EdgeemuError(
            Code.USAGE,
            what=f"`{name}` is no argument of a method",
            why="arguments are positional: they are given in the order of the parameters, as "
            "between actors",
            fix=f"write `edgeemu call {shlex.join(values)}`; put -- before a value that begins so",
        )


@command(app, "call", cls=_CallCommand)
def call(
    run: Run,
    actor: Actor,
    method: Annotated[str, typer.Argument(metavar="METHOD", help="The method of its class.")],
    args: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ARG",
            help="JSON if it parses, else text. Put -- before one that begins with two dashes.",
        ),
    ] = None,
) -> None:
    """Call a method of an actor and print its result.

    An ARG may carry a tag for what JSON lacks: {"$date": 1893456000000}, {"$bytes": "aGk="}.
    """
    result = run.perform("call", actor=actor, method=method, args=read_args(run, args or []))
    if run.as_json:
        render.data(None if result == _UNDEFINED else result)
    elif result != _UNDEFINED:  # A TypeScript method that returns nothing.
        render.text(value_text(result))


class _FetchCommand(TyperCommand):
    """`fetch`, for whoever writes the method in front of the path, as the fixture has it."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuse two arguments of which the first is a method, then read them."""
        method, path = [*args, "", ""][:2]
        if method in _METHODS and path and not path.startswith("-"):
            raise EdgeemuError(
                Code.USAGE,
                what=f"`{method}` stands where `fetch` takes the path",
                why="it takes one PATH, and the method as the option -X",
                fix=f"write `edgeemu fetch -X {method} {path}`",
            )
        return list(super().parse_args(ctx, args))


@command(app, "fetch", raw_options=True, cls=_FetchCommand)
def fetch(
    run: Run,
    path: Annotated[
        str,
        typer.Argument(metavar="PATH", help="Path and query, such as /users?page=2, or a URL."),
    ],
    method: Annotated[
        str | None,
        typer.Option("-X", "--method", metavar="M", help="The method; GET, or POST with -d."),
    ] = None,
    header: Annotated[
        list[str] | None, typer.Option("-H", "--header", metavar="H:V", help="A header field.")
    ] = None,
    data: Annotated[
        str | None,
        typer.Option("-d", "--data", metavar="BODY", help="The body; @FILE reads a file."),
    ] = None,
    function: Annotated[
        str | None,
        typer.Option("--function", metavar="NAME", help="Another function than the primary one."),
    ] = None,
) -> None:
    """Send one request through the function in front.

    The body of the response goes to stdout, its status to stderr. Any response is a success.
    """
    from base64 import b64decode, b64encode

    body = b""
    if data is not None:
        body = read_source(data[1:]) if data.startswith("@") else data.encode(errors="replace")
    verb = (method or ("POST" if data is not None else "GET")).upper()
    fields = [_header(text) for text in header or []]
    response = run.perform(
        "fetch",
        method=verb,
        path=path,
        headers=fields,
        body=b64encode(body).decode(),
        function=function,
    )
    content = b64decode(response["body"])
    failed = error_from_json(response)
    if failed is not None:
        # The caller of the project sees a response that hides it; whoever develops it must not.
        render.error(failed, as_json=False)
    if run.as_json:
        shown = {"status": response["status"], "headers": response["headers"]}
        render.data({**shown, "body": _body_json(content)})
        return
    render.talk(_status_line(response["status"]))
    render.raw(content)
    if content and not content.endswith(b"\n") and sys.stdout.isatty():
        render.raw(b"\n")


@command(app, "connect")
def connect(
    run: Run,
    path: Annotated[
        str,
        typer.Argument(metavar="PATH", help="Path and query, such as /room/1?as=ann, or a URL."),
    ],
    header: Annotated[
        list[str] | None, typer.Option("-H", "--header", metavar="H:V", help="A header field.")
    ] = None,
    protocol: Annotated[
        list[str] | None, typer.Option("--protocol", metavar="P", help="A subprotocol to offer.")
    ] = None,
    send: Annotated[
        list[str] | None,
        typer.Option("--send", metavar="TEXT", help="A message to send; the next one follows."),
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", help="Stay open until the socket closes, or Ctrl-C.")
    ] = False,
    function: Annotated[
        str | None,
        typer.Option("--function", metavar="NAME", help="Another function than the primary one."),
    ] = None,
) -> None:
    """Open a WebSocket through the function in front, send, and print what arrives.

    Each --send is one message; stdin is not read. It ends when nothing goes on any more without
    time or a further message, and closes the socket.
    Each message that arrives is a line on stdout; a binary one is written as {"$bytes": "aGk="}.
    With --follow it needs a running server, and each line begins with the emulated instant.
    """
    params = {
        "path": path,
        "headers": [_header(text) for text in header or []],
        "protocols": protocol or [],
        "send": send or [],
        "function": function,
    }
    if follow:
        _follow(run, params)
        return
    found = run.perform("connect", **params)
    if run.as_json:
        render.data(found)
        return
    for data in found["received"]:
        render.text(_message_text(data))
    if found["closed"] is None:
        run.note("the socket was still open, and is closed now")
    else:
        _tell_closed(found["closed"])
    if not send and _has_input():
        run.note("what stands on stdin was not sent: give each message with --send")


def _follow(run: Run, params: dict[str, Any]) -> None:
    """Print what arrives on a WebSocket as it comes."""
    from edgeemu.units import format_instant

    closed = False
    with run.target() as target:
        try:
            for found in target.listen(params):
                closed = "closed" in found
                if run.as_json:
                    render.data(found, compact=True)
                elif closed:
                    _tell_closed(found["closed"])
                else:
                    instant = format_instant(found["at_ms"])
                    render.text(f"{instant}  {_message_text(found['data'])}")
        except KeyboardInterrupt:
            return  # The server sees the connection end, and closes the socket.
    if not closed:
        run.note("the server has stopped")


def _message_text(data: Any) -> str:
    return data if isinstance(data, str) else render.json_text(data, compact=True)


def _tell_closed(closed: dict[str, Any]) -> None:
    style = "good" if closed["code"] == 1000 else "bad"
    render.talk([(f"closed {closed['code']}", style), f"  {closed['reason']}".rstrip()])


def _has_input() -> bool:
    """Whether stdin is a file or a pipe with something in it: nothing is read, so nothing waits."""
    import os
    import stat

    try:
        import fcntl
        import termios
    except ImportError:  # Windows has neither.
        return False
    try:
        number = sys.stdin.fileno()
        found = os.fstat(number)
    except (AttributeError, OSError, ValueError):
        return False
    if stat.S_ISREG(found.st_mode):
        return found.st_size > 0
    if not stat.S_ISFIFO(found.st_mode):
        return False
    waiting = fcntl.ioctl(number, termios.FIONREAD, bytes(4))
    return int.from_bytes(waiting, sys.byteorder) > 0


def _header(text: str) -> list[str]:
    name, colon, value = text.partition(":")
    if not colon or not name.strip() or not text.isprintable():
        raise EdgeemuError(
            Code.USAGE,
            what=f"`{text}` is no header",
            why="a header has a name, a colon and a value, on one line",
            fix="write it like -H 'content-type: application/json'",
        )
    return [name.strip(), value.strip()]


def _status_line(status: int) -> Any:
    from http import HTTPStatus

    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = ""
    return (f"HTTP {status} {phrase}".rstrip(), "good" if status < 400 else "bad")


def _body_json(content: bytes) -> Any:
    """The body as text, or with the codec's tag for bytes where it is no UTF-8."""
    try:
        return content.decode()
    except UnicodeDecodeError:
        from base64 import b64encode

        return {"$bytes": b64encode(content).decode()}
