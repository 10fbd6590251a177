"""Every error that edgeemu reports: one class, one closed list of codes.

An error says what happened, why, and what to do, in that order, and carries a code that never
changes its meaning. Skins render these four fields; nothing else decides how an error looks.
Each code has an entry in `docs/errors.md`, and a test checks both directions.
"""

from enum import Enum, IntEnum


class ExitStatus(IntEnum):
    """How a command ends (design section 4)."""

    OK = 0
    """The command did what it was asked."""
    ACTOR_FAILED = 1
    """The user's actor or test failed."""
    USAGE = 2
    """The command, the configuration or the set-up was wrong."""
    INTERNAL = 3
    """A bug in edgeemu."""


class Code(Enum):
    """The closed list of error codes, each with the exit status of its family."""

    # Set-up: configuration, project, state folder, network.
    CONFIG_MISSING = ("E_CONFIG_MISSING", ExitStatus.USAGE)
    CONFIG_SYNTAX = ("E_CONFIG_SYNTAX", ExitStatus.USAGE)
    CONFIG_UNKNOWN_KEY = ("E_CONFIG_UNKNOWN_KEY", ExitStatus.USAGE)
    CONFIG_VALUE = ("E_CONFIG_VALUE", ExitStatus.USAGE)
    CONFIG_UNSUPPORTED = ("E_CONFIG_UNSUPPORTED", ExitStatus.USAGE)
    MAIN_MISSING = ("E_MAIN_MISSING", ExitStatus.USAGE)
    CLASS_MISSING = ("E_CLASS_MISSING", ExitStatus.USAGE)
    CLASS_OWNERS = ("E_CLASS_OWNERS", ExitStatus.USAGE)
    ENGINE_MISSING = ("E_ENGINE_MISSING", ExitStatus.USAGE)
    PROJECT_SYNTAX = ("E_PROJECT_SYNTAX", ExitStatus.USAGE)
    PROJECT_IMPORT = ("E_PROJECT_IMPORT", ExitStatus.USAGE)
    PORT_TAKEN = ("E_PORT_TAKEN", ExitStatus.USAGE)
    HOST_INVALID = ("E_HOST_INVALID", ExitStatus.USAGE)
    STATE_IN_USE = ("E_STATE_IN_USE", ExitStatus.USAGE)
    STATE_DAMAGED = ("E_STATE_DAMAGED", ExitStatus.USAGE)
    STATE_NEWER = ("E_STATE_NEWER", ExitStatus.USAGE)
    STATE_UNWRITABLE = ("E_STATE_UNWRITABLE", ExitStatus.USAGE)
    TEMPLATE_UNKNOWN = ("E_TEMPLATE_UNKNOWN", ExitStatus.USAGE)
    TEMPLATE_LANGUAGE = ("E_TEMPLATE_LANGUAGE", ExitStatus.USAGE)
    FOLDER_EXISTS = ("E_FOLDER_EXISTS", ExitStatus.USAGE)
    FOLDER_UNWRITABLE = ("E_FOLDER_UNWRITABLE", ExitStatus.USAGE)
    PROJECT_NAME = ("E_PROJECT_NAME", ExitStatus.USAGE)
    # Commands: what was typed or sent.
    USAGE = ("E_USAGE", ExitStatus.USAGE)
    ADDRESS_INVALID = ("E_ADDRESS_INVALID", ExitStatus.USAGE)
    ACTOR_UNKNOWN = ("E_ACTOR_UNKNOWN", ExitStatus.USAGE)
    FUNCTION_UNKNOWN = ("E_FUNCTION_UNKNOWN", ExitStatus.USAGE)
    KV_UNKNOWN = ("E_KV_UNKNOWN", ExitStatus.USAGE)
    KV_REFUSED = ("E_KV_REFUSED", ExitStatus.USAGE)
    INSTANCE_UNKNOWN = ("E_INSTANCE_UNKNOWN", ExitStatus.USAGE)
    KEY_UNKNOWN = ("E_KEY_UNKNOWN", ExitStatus.USAGE)
    KEY_INVALID = ("E_KEY_INVALID", ExitStatus.USAGE)
    SQL_FAILED = ("E_SQL_FAILED", ExitStatus.USAGE)
    ALARM_NONE = ("E_ALARM_NONE", ExitStatus.USAGE)
    LIST_TOO_LONG = ("E_LIST_TOO_LONG", ExitStatus.USAGE)
    JSON_INVALID = ("E_JSON_INVALID", ExitStatus.USAGE)
    VALUE_INVALID = ("E_VALUE_INVALID", ExitStatus.USAGE)
    DURATION_INVALID = ("E_DURATION_INVALID", ExitStatus.USAGE)
    INSTANT_INVALID = ("E_INSTANT_INVALID", ExitStatus.USAGE)
    NUMBER_INVALID = ("E_NUMBER_INVALID", ExitStatus.USAGE)
    ADVANCE_NEGATIVE = ("E_ADVANCE_NEGATIVE", ExitStatus.USAGE)
    RATE_INVALID = ("E_RATE_INVALID", ExitStatus.USAGE)
    OUTPUT_UNWRITABLE = ("E_OUTPUT_UNWRITABLE", ExitStatus.USAGE)
    FILE_UNREADABLE = ("E_FILE_UNREADABLE", ExitStatus.USAGE)
    REQUEST_INVALID = ("E_REQUEST_INVALID", ExitStatus.USAGE)
    ROUTE_UNKNOWN = ("E_ROUTE_UNKNOWN", ExitStatus.USAGE)
    FORBIDDEN = ("E_FORBIDDEN", ExitStatus.USAGE)
    SERVER_UNREACHABLE = ("E_SERVER_UNREACHABLE", ExitStatus.USAGE)
    LOOP_RUNNING = ("E_LOOP_RUNNING", ExitStatus.USAGE)
    # Time: a bound that was reached while it moved.
    ALARM_STORM = ("E_ALARM_STORM", ExitStatus.ACTOR_FAILED)
    NEVER_IDLE = ("E_NEVER_IDLE", ExitStatus.ACTOR_FAILED)
    IO_WAIT = ("E_IO_WAIT", ExitStatus.ACTOR_FAILED)
    FROZEN_WAIT = ("E_FROZEN_WAIT", ExitStatus.ACTOR_FAILED)
    # The user's actor.
    ACTOR_FAILED = ("E_ACTOR_FAILED", ExitStatus.ACTOR_FAILED)
    METHOD_PRIVATE = ("E_METHOD_PRIVATE", ExitStatus.ACTOR_FAILED)
    METHOD_UNKNOWN = ("E_METHOD_UNKNOWN", ExitStatus.ACTOR_FAILED)
    SOCKET_CLOSED = ("E_SOCKET_CLOSED", ExitStatus.ACTOR_FAILED)
    SOCKET_REFUSED = ("E_SOCKET_REFUSED", ExitStatus.ACTOR_FAILED)
    TEST_STRICT = ("E_TEST_STRICT", ExitStatus.ACTOR_FAILED)
    # edgeemu itself.
    INTERNAL = ("E_INTERNAL", ExitStatus.INTERNAL)

    @property
    def text(self) -> str:
        """The code as users see it, such as `E_PORT_TAKEN`."""
        return self.value[0]

    @property
    def exit_status(self) -> ExitStatus:
        """The exit status of a command that ends with this error."""
        return self.value[1]


class EdgeemuError(Exception):
    """This error is shown to the user in three lines: what, why, fix.

    Args:
        code: one of the closed list.
        what: what happened, with the value that was given in backticks.
        why: the cause, and the values that would do.
        fix: something that the reader can do now.
        name: for an error that an actor raised, its name as the caller sees it.
        message: for an error that an actor raised, its message.
        detail: further lines under the three, such as a code frame or the actor's own frames.
    """

    def __init__(
        self,
        code: Code,
        *,
        what: str,
        why: str,
        fix: str,
        name: str | None = None,
        message: str | None = None,
        detail: str | None = None,
    ) -> None:
        super().__init__(what)
        self.code = code
        self.what = what
        self.why = why
        self.fix = fix
        self.name = name
        self.message = message
        self.detail = detail

    def as_json(self) -> dict[str, dict[str, str]]:
        """This error as the one JSON body that `--json` and the HTTP API share."""
        fields = {"code": self.code.text, "what": self.what, "why": self.why, "fix": self.fix}
        for key in ("name", "message", "detail"):
            value = getattr(self, key)
            if value is not None:
                fields[key] = value
        return {"error": fields}

    def as_text(self) -> str:
        """This error as the three lines of the terminal, and its detail below."""
        text = f"error[{self.code.text}]: {self.what}\nwhy: {self.why}\nfix: {self.fix}"
        return f"{text}\n\n{self.detail}" if self.detail else text

    def __str__(self) -> str:
        return self.as_text()


def docs_link(code: str) -> str:
    """Where the documentation explains a code of an error or a warning; `explain` prints it.

    The anchors are those that Markdown makes of the headings, in the repository and in the wheel.
    """
    page = "warnings" if code.startswith("W_") else "errors"
    return f"docs/{page}.md#{code.lower()}"


class InvariantError(AssertionError):
    """A promise of the core does not hold: a bug in edgeemu, never the user's fault."""


_CODES_BY_TEXT = {code.text: code for code in Code}


def error_from_json(body: object) -> EdgeemuError | None:
    """The error that a body of `EdgeemuError.as_json` describes, or None for any other body."""
    fields = body.get("error") if isinstance(body, dict) else None
    if not isinstance(fields, dict) or "code" not in fields:
        return None
    code = _CODES_BY_TEXT.get(str(fields.get("code")), Code.INTERNAL)
    return EdgeemuError(
        code,
        what=str(fields.get("what", "")),
        why=str(fields.get("why", "")),
        fix=str(fields.get("fix", "")),
        name=fields.get("name"),
        message=fields.get("message"),
        detail=fields.get("detail"),
    )
