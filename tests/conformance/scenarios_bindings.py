"""Bindings as actors and functions see them: KV namespaces, rate limits and services."""

from tests.conformance.scenario import NOTHING, Scenario, advance, call, fetch, keys, restart

_KV = '[storage.kv.CACHE]\nid = "one"\n'
_LIMIT = '[[ratelimits]]\nname = "per-user"\nlimit = 2\nperiod = 60\n'
_MAIL = "[services.MAIL]\nrespond = [{ status = 503 }, { json = { sent = true } }]\n"


def _bindings(case: str, title: str, source: str, *steps, **more) -> Scenario:
    source = f"spec/telnyx-actors.md {source}"
    return Scenario(case, title, source, "bindings", steps, toml=_KV + _LIMIT + _MAIL, **more)


SCENARIOS = [
    _bindings(
        "S12 values",
        "KV keeps text as it is; JSON is parsed on request; a missing key is null",
        "section 12, section 2.2, section 2.3",
        call("A/x", "kv", "get", "k", gives=None),
        call("A/x", "kv", "put", "k", '{"n": 1}', gives=NOTHING),
        call("A/x", "kv", "get", "k", gives='{"n": 1}'),
        call("A/y", "get_json", "k", gives={"n": 1}),
        fetch("/kv", status=200, body='{"n": 1}'),
        call("A/x", "kv", "put", "empty", ""),
        call("A/x", "get_json", "empty", gives=None),
        call("A/x", "kv", "put", "bad", "{"),
        call("A/x", "get_json", "bad", gives="no JSON"),
        call("A/x", "kv", "delete", "k", gives=NOTHING),
        call("A/x", "kv", "delete", "k", gives=NOTHING),
        call("A/x", "kv", "get", "k", gives=None),
        fetch("/kv", status=200, body="nothing"),
    ),
    _bindings(
        "S12 expires",
        "a value expires on the emulated clock, from the second of its lifetime on",
        "section 12",
        call("A/x", "put", "k", "v", 60),
        advance("59999ms"),
        call("A/x", "kv", "get", "k", gives="v"),
        advance("1ms"),
        call("A/x", "kv", "get", "k", gives=None),
        call("A/x", "page", "", 10, None, gives={"keys": [], "list_complete": True}),
    ),
    _bindings(
        "S12 list",
        "a list is cut at its limit and goes on at its cursor; it holds no values",
        "section 12",
        call("A/x", "put", "a/1", "x"),
        call("A/x", "put", "a/2", "xyz"),
        call("A/x", "put", "b", ""),
        call(
            "A/x",
            "page",
            "a/",
            1,
            None,
            gives={
                "keys": [
                    {"name": "a/1", "sizeBytes": 1, "updatedAt": "2023-11-14T22:13:20Z"},
                ],
                "list_complete": False,
                "cursor": "a/1",
            },
        ),
        call(
            "A/x",
            "page",
            "a/",
            1,
            "a/1",
            gives={
                "keys": [
                    {"name": "a/2", "sizeBytes": 3, "updatedAt": "2023-11-14T22:13:20Z"},
                ],
                "list_complete": True,
            },
        ),
    ),
    _bindings(
        "S12 refusals",
        "errors name the operation and the status",
        "section 12",
        call("A/x", "put", "a:b", "v", fails="ActorMethodError", says="put failed with status 400"),
        call("A/x", "put", "+1", "v", fails="ActorMethodError", says="no `+`"),
        call("A/x", "put", "_own", "v", fails="ActorMethodError", says="reserved"),
        call("A/x", "put", "k" * 257, "v", fails="ActorMethodError", says="256 characters"),
        call("A/x", "put", "k" * 256, "v"),
        call("A/x", "put", "k", 5, fails="ActorMethodError", says="a value is text"),
        call("A/x", "put", "k", "v", 0.5, fails="ActorMethodError", says="from 1 to "),
        call("A/x", "put", "k", "v", 1),
        call("A/x", "kv", "get", "", fails="ActorMethodError", says="KV get failed"),
    ),
    _bindings(
        "S12 no turn",
        "KV is no part of the turn: what was put stays when the turn throws",
        "section 12",
        call("A/x", "put_then_throw", "k", "v", fails="ActorMethodError", says="boom"),
        keys("A/x", {}),
        call("A/x", "kv", "get", "k", gives="v"),
    ),
    _bindings(
        "S12 restart",
        "KV is kept over a restart; rate limits are not",
        "section 12",
        call("A/x", "put", "k", "v"),
        restart(1_000),
        call("A/x", "kv", "get", "k", gives="v"),
        disk_only=True,
    ),
    _bindings(
        "S2.2 limits",
        "so many uses of a key pass in a period of emulated time; keys count apart",
        "section 2.2",
        call("A/x", "limit", "alice", gives=True),
        call("A/y", "limit", "alice", gives=True),
        fetch("/limit", status=200, body="too often"),
        call("A/x", "limit", "bob", gives=True),
        advance("59999ms"),
        call("A/x", "limit", "alice", gives=False),
        advance("1ms"),
        call("A/x", "limit", "alice", gives=True),
    ),
    _bindings(
        "S6.1 services",
        "a service answers as configured, at once: a turn that throws takes nothing back",
        "section 6.1",
        call("A/x", "mail", "https://mail.example/a", gives=[503, ""]),
        fetch("/", status=200, body='{"sent": true}'),
        call("A/x", "mail_then_throw", fails="ActorMethodError", says="boom"),
        call("A/x", "mail", "https://mail.example/b", gives=[200, '{"sent": true}']),
    ),
    Scenario(
        "S4.1 shared",
        "two functions share the instances of a type that one of them owns",
        "spec/telnyx-actors.md section 4.1",
        "shared",
        (
            call("A/x", "pass_on", 1, gives=1),
            fetch("/", status=200, body="11", function="other"),
            fetch("/", status=200, body="11"),
            call("B/x", "add", 5, gives=16),
            advance("1s", deliveries=1, succeeded=1),
            keys("B/x", {"total": 16, "rang": True}),
            call("B/x", "bound", "A", gives=False),
            call("A/x", "bound", "B", gives=True),
        ),
        types=("A", "B"),
        lateness_ms=0,
        functions=(("other", "shared_owner", ("B",)),),
    ),
]
