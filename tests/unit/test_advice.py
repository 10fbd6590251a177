"""`edgeemu check` finds risky code, and stays silent about code that is fine."""

import re
from pathlib import Path

import pytest

from edgeemu.advice import WARNINGS, review_source
from edgeemu.core.warnings import RUNTIME_WARNINGS

ROOT = Path(__file__).resolve().parents[2]

HEAD = """\
import asyncio, math, os, random, secrets, subprocess, threading, time, uuid
import datetime as dt
import httpx, requests, urllib.request
from datetime import UTC, datetime, timedelta
from time import sleep as nap
from edgeemu import StatefulActor
seen = {}
limit = 5
"""

LOGS_IN = "class A(StatefulActor):\n  def log_in(self, user): self.user = user\n"


def in_method(line: str, name: str = "touch", asynchronous: bool = True) -> str:
    """A module whose actor has one method with these lines."""
    body = "\n".join("        " + part for part in line.split("\n"))
    define = "async def" if asynchronous else "def"
    return f"{HEAD}class A(StatefulActor):\n    {define} {name}(self, arg=None):\n{body}\n"


BAD = [
    ("W_BLOCKING_SLEEP", "time.sleep(1)", "time.sleep"),
    ("W_BLOCKING_SLEEP", "nap(1)", "time.sleep"),
    ("W_BLOCKING_IO", "requests.get('http://x')", "requests.get"),
    ("W_BLOCKING_IO", "urllib.request.urlopen('http://x')", "urllib.request.urlopen"),
    ("W_BLOCKING_IO", "httpx.post('http://x')", "httpx.post"),
    ("W_UNSEEDED_RANDOM", "return random.random()", "random.random"),
    ("W_UNSEEDED_RANDOM", "return uuid.uuid4()", "uuid.uuid4"),
    ("W_UNSEEDED_RANDOM", "return secrets.token_hex()", "secrets.token_hex"),
    ("W_UNSEEDED_RANDOM", "return os.urandom(8)", "os.urandom"),
    ("W_UNSEEDED_RANDOM", "return random.Random()", "random.Random"),
    ("W_THREADS", "threading.Thread(target=print).start()", "threading.Thread"),
    ("W_THREADS", "subprocess.run(['ls'])", "subprocess.run"),
    ("W_SHARED_STATE", "seen['a'] = 1", "seen"),
    ("W_SHARED_STATE", "seen.update(a=1)", "seen"),
    ("W_SHARED_STATE", "del seen['a']", "seen"),
    ("W_SHARED_STATE", "seen['a'] += 1", "seen"),
    ("W_SHARED_STATE", "global limit\nlimit = 6", "limit"),
    ("W_ALARM_NOT_AWAITED", "self.ctx.set_alarm(arg)", "self.ctx.set_alarm"),
    ("W_ALARM_NOT_AWAITED", "self.ctx.storage.delete_alarm()", "delete_alarm"),
    ("W_WRITE_NOT_AWAITED", "self.ctx.storage.put('a', arg)", "self.ctx.storage.put(...)"),
    ("W_WRITE_NOT_AWAITED", "s = self.ctx.storage\ns.delete('a')", "s.delete(...)"),
    ("W_WRITE_NOT_AWAITED", "self.ctx.storage.transaction(arg)", "transaction(...)"),
    ("W_CALL_NOT_AWAITED", "self.env.B.id_from_name('b').go(1)", ".go(...)"),
    ("W_CALL_NOT_AWAITED", "b = self.env.B.id_from_name('b')\nb.go()", "`b.go(...)`"),
    ("W_ALARM_SECONDS", "await self.ctx.set_alarm(60)", "60"),
    ("W_ALARM_SECONDS", "await self.ctx.storage.set_alarm(5 * 60_000)", "5 * 60000"),
    ("W_ALARM_SECONDS", "await self.ctx.set_alarm(time.time())", "time.time()"),
    ("W_ALARM_SECONDS", "await self.ctx.set_alarm(int(time.time() + 60))", "time.time()"),
    ("W_ALARM_SECONDS", "await self.ctx.set_alarm(time.time() + 60 * 1000)", "time.time()"),
    ("W_ALARM_SECONDS", "now = time.time()\nawait self.ctx.set_alarm(now + 60)", "now + 60"),
    ("W_ALARM_SECONDS", "await self.ctx.set_alarm(datetime.now(UTC).timestamp())", "timestamp"),
    ("W_ALARM_NAIVE", "await self.ctx.set_alarm(datetime.now())", "datetime.now()"),
    ("W_ALARM_NAIVE", "await self.ctx.set_alarm(dt.datetime.utcnow())", "utcnow"),
    ("W_ALARM_NAIVE", "t = datetime.now() + timedelta(1)\nawait self.ctx.set_alarm(t)", "now()"),
    (
        "W_ALARM_NAIVE",
        "await self.ctx.set_alarm(int(datetime.utcnow().timestamp() * 1000))",
        "datetime.utcnow()",
    ),
]

GOOD = [
    "await asyncio.sleep(1)",
    "return self.ctx.random.random()",
    "return random.Random(7)",
    "random = arg\nreturn random.random()",
    "return uuid.UUID(int=1)",
    "lock = threading.Lock()",
    "seen = {}\nseen['a'] = 1",
    "return seen.get('a')",
    "await self.ctx.storage.put('a', 1)",
    "return self.ctx.storage.put('a', 1)",
    "writes = [self.ctx.storage.put('a', 1)]\nawait asyncio.gather(*writes)",
    "await asyncio.gather(self.ctx.storage.put('a', 1), self.ctx.storage.put('b', 2))",
    "s = self.ctx.storage\nawait s.put('a', 1)",
    "s = {}\ns.put('a', 1)",
    "arg.put('a', 1)",
    "b = self.env.B.id_from_name('b')\nawait b.go()",
    "self.env.B.id_from_name('b')",
    "self.cache = {}\nself.cache['a'] = 1",
    "await self.ctx.set_alarm(self.ctx.now_ms() + 5 * 60_000)",
    "await self.ctx.set_alarm(int(time.time() * 1000) + 60_000)",
    "await self.ctx.set_alarm(time.time_ns() // 1_000_000 + 60_000)",
    "await self.ctx.set_alarm((time.time() + 60) * 1000)",
    "now = time.time() * 1000\nawait self.ctx.set_alarm(now + 60_000)",
    "now = time.time()\nnow = now * 1000\nawait self.ctx.set_alarm(now)",
    "await self.ctx.set_alarm(1_893_456_000_000)",
    "await self.ctx.set_alarm(arg)",
    "await self.ctx.set_alarm(datetime.now(UTC) + timedelta(hours=1))",
    "await self.ctx.set_alarm(datetime.now().astimezone())",
    "await self.ctx.set_alarm(int(datetime.now().timestamp() * 1000))",
    "await self.ctx.set_alarm(datetime.utcnow().replace(tzinfo=UTC))",
    "return self.ctx.set_alarm(arg)",
    "await asyncio.gather(self.ctx.set_alarm(arg))",
    "self.bell.set_alarm(60)",
]


@pytest.mark.parametrize(("code", "line", "named"), BAD)
def test_risky_line_is_found(code: str, line: str, named: str) -> None:
    text = in_method(line)
    found = review_source(Path("src/main.py"), text)
    assert [advice.code for advice in found] == [code]
    assert named in found[0].message
    assert found[0].file == "src/main.py"
    # The finding is at a line of the method, and it says what to do.
    assert found[0].line > len(HEAD.splitlines()) + 2
    assert found[0].fix


@pytest.mark.parametrize("line", GOOD)
def test_good_line_is_left_alone(line: str) -> None:
    assert review_source(Path("main.py"), in_method(line)) == []


ARM = "self.ctx.storage.set_alarm(self.ctx.now_ms() + 60_000)"


@pytest.mark.parametrize(
    ("takes", "found"),
    [
        ("self", True),
        ("self, info, more", True),
        ("self, *, info", True),
        ("self, *, info=None", True),
        ("self, info", False),
        ("self, info=None", False),
        ("self, info, more=1", False),
        ("*args", False),
    ],
)
def test_alarm_handler_that_cannot_take_its_argument_is_found(takes: str, found: bool) -> None:
    text = f"{HEAD}class A(StatefulActor):\n    async def alarm({takes}): ...\n"
    codes = [advice.code for advice in review_source(Path("a.py"), text)]
    assert codes == ["W_ALARM_SIGNATURE"] * found


def test_constructor_that_sets_the_alarm_blindly_is_found() -> None:
    text = in_method(ARM, "__init__", asynchronous=False)
    assert [advice.code for advice in review_source(Path("a.py"), text)] == ["W_ALARM_IN_INIT"]


def test_constructor_that_asks_first_is_left_alone() -> None:
    lines = (
        "async def start():\n"
        "    if await self.ctx.storage.get_alarm() is None:\n"
        f"        await {ARM}\n"
        "self.ctx.block_concurrency_while(start)"
    )
    assert review_source(Path("a.py"), in_method(lines, "__init__", asynchronous=False)) == []


@pytest.mark.parametrize(
    "lines",
    [
        f"await {ARM}\nraise ValueError",
        f"try:\n    await self.work()\nexcept OSError:\n    await {ARM}\n    raise",
    ],
)
def test_handler_that_rearms_and_raises_is_found(lines: str) -> None:
    found = review_source(Path("a.py"), in_method(lines, "alarm"))
    assert [advice.code for advice in found] == ["W_REARM_THEN_RAISE"]


@pytest.mark.parametrize(
    "lines",
    [
        f"try:\n    await self.work()\nexcept OSError:\n    await {ARM}",
        f"if arg.is_retry:\n    await {ARM}\n    return\nraise ValueError",
    ],
)
def test_handler_that_rearms_or_raises_is_left_alone(lines: str) -> None:
    assert review_source(Path("a.py"), in_method(lines, "alarm")) == []


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("class A(StatefulActor):\n  xs = []\n  def f(self): self.xs.append(1)", "W_SHARED_STATE"),
        ("class A(StatefulActor):\n  xs = {}\n  def f(self): A.xs[1] = 1", "W_SHARED_STATE"),
        (
            "class A(StatefulActor): pass\nclass B(A):\n  xs = []\n  def f(self): self.xs.pop()",
            "W_SHARED_STATE",
        ),
        ("class A:\n  xs = []\n  def f(self): self.xs.append(1)", None),
        (
            "class A(StatefulActor):\n  xs = []\n  def __init__(self): self.xs = []\n"
            "  def f(self): self.xs.append(1)",
            None,
        ),
        (f"{LOGS_IN}  def who(self): return self.user", "W_MEMORY_LOST"),
        (f"{LOGS_IN}  user: str\n  def who(self): return self.user", "W_MEMORY_LOST"),
        (f"{LOGS_IN}  user = None\n  def who(self): return self.user", None),
        (f"{LOGS_IN}  def __init__(self): self.user = 1\n  def who(self): return self.user", None),
        (f"{LOGS_IN}  def __init__(self): self.log_in(1)\n  def who(self): return self.user", None),
        (f"{LOGS_IN}  def who(self):\n    self.log_in(1)\n    return self.user", None),
        (f"{LOGS_IN}  def who(self):\n    self.user = 1\n    return self.user", None),
        (f"{LOGS_IN}  def who(self): return [self.user, 'user']", "W_MEMORY_LOST"),
        (f"{LOGS_IN}  def who(self): return hasattr(self, 'user') and self.user", None),
        (
            f"{LOGS_IN}  def who(self):\n    try: self.user\n    except AttributeError: pass",
            None,
        ),
        (f"{LOGS_IN}  def _who(self): return self.user", None),
        (f"{LOGS_IN}  def who(self): return self.user\n  def all(self): return self.who()", None),
        (
            LOGS_IN.replace("(StatefulActor)", "(Base, StatefulActor)")
            + "  def w(self): self.user",
            None,
        ),
        (
            f"{LOGS_IN}class B(A):\n  def who(self): return self.user",
            "W_MEMORY_LOST",
        ),
        ("import random\nLUCK = random.random()", "W_UNSEEDED_RANDOM"),
        ("import time\nif __name__ == '__main__':\n  time.sleep(1)", None),
        ("import requests\ndef load(): return requests.get('http://x')", None),
        ("time.sleep(1)", None),
        ("def broken(:", None),
        ("x = '\0'", None),
        ("", None),
    ],
)
def test_modules_as_a_whole(text: str, code: str | None) -> None:
    found = [advice.code for advice in review_source(Path("a.py"), text)]
    assert found == ([code] if code else [])


def test_findings_are_in_order_and_once_for_each_line() -> None:
    text = in_method("time.sleep(1)\ntime.sleep(time.sleep(2))\nreturn random.random()")
    found = review_source(Path("a.py"), text)
    codes = ["W_BLOCKING_SLEEP", "W_BLOCKING_SLEEP", "W_UNSEEDED_RANDOM"]
    assert [advice.code for advice in found] == codes
    lines = [advice.line for advice in found]
    assert lines == sorted(set(lines))


def test_every_code_is_shown_to_be_found() -> None:
    shown = {code for code, *_ in BAD} | {
        "W_ALARM_IN_INIT",
        "W_ALARM_SIGNATURE",
        "W_REARM_THEN_RAISE",
        "W_MEMORY_LOST",
    }
    assert shown == set(WARNINGS)


def test_documentation_and_codes_agree() -> None:
    text = (ROOT / "docs/warnings.md").read_text()
    known = {**WARNINGS, **RUNTIME_WARNINGS}
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == list(known)
    entries = re.split(r"^## .+$", text, flags=re.MULTILINE)[1:]
    for sentence, entry in zip(known.values(), entries, strict=True):
        # The documented sentence may go on where the short one ends.
        assert sentence.rstrip(".") in " ".join(entry.split())
