"""A configuration that loads is sound, and one that does not says where and what to do.

spec/telnyx-actors.md section 2.1, section 2.2, section 2.3.
"""

import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import tomli

from edgeemu.clock import ClockMode
from edgeemu.config import KEYS, Config, LimitsConfig, find_project, is_script, load_config
from edgeemu.config.files import parse_env
from edgeemu.config.keys import TABLES
from edgeemu.config.places import find_lines
from edgeemu.errors import EdgeemuError

ROOT = Path(__file__).resolve().parents[2]
MAIN = 'main = "src/main.py"\n'
ACTOR = '[[actors]]\nbinding = "A"\ntype = "A"\n'


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    (folder / "src").mkdir(parents=True)
    for name in ("src/main.py", "src/other.py", "src/index.ts", "notes.txt"):
        (folder / name).touch()
    return folder


def load(root: Path, text: str, name: str = "edgeemu.toml", **overrides: Any) -> Config:
    (root / name).write_text(text)
    return load_config(root, overrides=overrides)


def failure(root: Path, text: str, name: str = "edgeemu.toml", **overrides: Any) -> EdgeemuError:
    with pytest.raises(EdgeemuError) as caught:
        load(root, text, name, **overrides)
    assert caught.value.what
    assert caught.value.why
    assert caught.value.fix
    return caught.value


# --- finding a project --------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["edgeemu.toml", "telnyx.toml", "wrangler.jsonc"])
def test_project_is_the_nearest_folder_upwards(root: Path, name: str) -> None:
    (root.parent / "edgeemu.toml").touch()
    (root / name).touch()
    assert find_project(root / "src") == root
    assert find_project(root / "src/main.py") == root
    assert find_project(root.parent) == root.parent


def test_no_project_upwards_is_an_error(root: Path) -> None:
    with pytest.raises(EdgeemuError) as caught:
        find_project(root / "src")
    assert caught.value.code.text == "E_CONFIG_MISSING"
    assert str(root / "src") in caught.value.what
    assert "edgeemu.toml" in caught.value.why
    assert "edgeemu new" in caught.value.fix


def test_folder_that_does_not_exist_is_an_error(root: Path) -> None:
    (root / "edgeemu.toml").touch()
    with pytest.raises(EdgeemuError) as caught:
        find_project(root / "nowhere")
    assert "does not exist" in caught.value.what


def test_folder_without_configuration_does_not_load(root: Path) -> None:
    with pytest.raises(EdgeemuError) as caught:
        load_config(root)
    assert caught.value.code.text == "E_CONFIG_MISSING"


# --- edgeemu.toml -------------------------------------------------------------------------------


def test_least_configuration_has_the_defaults(root: Path) -> None:
    config = load(root, MAIN + ACTOR)
    assert (config.name, config.platform, config.seed) == ("shop", "telnyx", None)
    assert config.source == root / "edgeemu.toml"
    assert config.main_path == root / "src/main.py"
    assert config.actors[0].module is None
    assert config.actors[0].module_path == config.main_path
    assert (config.clock.mode, config.clock.start_ms, config.clock.rate) == (None, None, None)
    assert config.clock.alarm_lateness_ms == 1
    assert (config.dev.host, config.dev.port) == ("127.0.0.1", 8787)
    assert config.dev.idle_eviction_ms == 60_000
    assert config.limits == LimitsConfig()
    assert config.warnings == ()


def test_every_part_is_read(root: Path) -> None:
    config = load(
        root,
        """\
name = "my-shop"
main = "src/main.py"
platform = "telnyx"
compatibility_date = 2026-05-01
seed = 7
[[actors]]
binding = "A"
type = "One"
[[actors]]
binding = "B"
type = "Two"
module = "src/other.py"
[clock]
rate = 60
start = 2030-01-01T00:00:00Z
alarm_lateness_ms = 0
[dev]
host = "0.0.0.0"
port = 0
idle_eviction_ms = "never"
[secrets]
KEY = "from the file"
[vars]
GREETING = "hello"
[services.PAYMENTS]
url = "http://127.0.0.1:9000"
[services.MAIL.respond]
status = 202
headers = { x-from = "test" }
json = { sent = [1, 2.5, true] }
[limits]
storm_count = 10
""",
    )
    assert config.name == "my-shop"
    assert config.compatibility_date == "2026-05-01"
    assert config.seed == 7
    assert [(actor.binding, actor.type, actor.module) for actor in config.actors] == [
        ("A", "One", None),
        ("B", "Two", "src/other.py"),
    ]
    assert (config.clock.mode, config.clock.rate) == (ClockMode.RATE, 60.0)
    assert config.clock.start_ms == 1_893_456_000_000
    assert (config.dev.host, config.dev.port, config.dev.idle_eviction_ms) == ("0.0.0.0", 0, None)
    assert config.secrets == {"KEY": "from the file"}
    assert config.vars == {"GREETING": "hello"}
    assert config.services["PAYMENTS"].url == "http://127.0.0.1:9000"
    (respond,) = config.services["MAIL"].respond
    assert (respond.status, respond.headers) == (202, {"x-from": "test"})
    assert respond.json == {"sent": [1, 2.5, True]}
    assert config.limits.storm_count == 10
    assert "from the file" not in repr(config)


@pytest.mark.parametrize(
    ("text", "instant_ms"),
    [
        ('"2030-01-01T00:00:00Z"', 1_893_456_000_000),
        ('"2030-01-01"', 1_893_456_000_000),
        ("1893456000000", 1_893_456_000_000),
        ("2030-01-01", 1_893_456_000_000),
        ("2030-01-01T00:00:00", 1_893_456_000_000),
        ("2030-01-01T01:00:00+01:00", 1_893_456_000_000),
    ],
)
def test_instants_are_read_as_people_write_them(root: Path, text: str, instant_ms: int) -> None:
    assert load(root, f"{MAIN}[clock]\nstart = {text}").clock.start_ms == instant_ms


def test_byte_order_mark_and_windows_lines_are_no_matter(root: Path) -> None:
    (root / "edgeemu.toml").write_bytes(b"\xef\xbb\xbf" + MAIN.replace("\n", "\r\n").encode())
    assert load_config(root).main == "src/main.py"


def test_configuration_without_actors_warns(root: Path) -> None:
    assert "no [[actors]]" in load(root, MAIN).warnings[0]


def test_shadowed_variable_warns_with_its_line(root: Path) -> None:
    config = load(root, f'{MAIN}{ACTOR}[vars]\nA = "x"\n')
    assert config.warnings == (
        "edgeemu.toml line 6: the variable `A` is shadowed by the binding of that name",
    )


VALUES = [
    # what stands below MAIN, what is named, a part of why, a part of fix
    ("[dev]\nport = 70000", "`70000` cannot be `dev.port`", "line 3; it should be a whole", "8787"),
    ("[dev]\nport = true", "`true` cannot be", "from 0 to 65535", "port = 8787"),
    ('[dev]\nhost = "a b"', '`"a b"`', "a host name or an IP", "127.0.0.1"),
    ("[dev]\nidle_eviction_ms = -1", "`-1`", 'or "never"', "60000"),
    ("[clock]\nrate = 0", "`0`", "above 0 and at most 1000000", "rate = 60"),
    ("[clock]\nrate = nan", "`nan`", "above 0", "rate = 60"),
    ('[clock]\nmode = "forzen"', '`"forzen"`', '"real", "frozen", "rate"', 'mode = "frozen"'),
    ('[clock]\nmode = "rate"', "`clock.mode`", "needs a `rate`", "rate = 60"),
    ('[clock]\nmode = "real"\nrate = 2', '`"real"`', "line 4 gives the rate 2", "delete one"),
    ('[clock]\nstart = "tomorrow"', '`"tomorrow"`', "ISO 8601", "2030-01-01"),
    ("[clock]\nstart = 1.5", "`1.5`", "ISO 8601", "2030-01-01"),
    ('[clock]\nalarm_lateness_ms = "2s"', '`"2s"`', "units are not written", "= 2000"),
    ('[limits]\nio_wait_ms = "soon"', '`"soon"`', "whole number of milliseconds", "= 10000"),
    ("[limits]\nio_wait_ms = 5000.0", "`5000.0`", "whole number", "= 10000"),
    ("[limits]\nstorm_count = 1", "`1`", "from 2 to", "= 1000"),
    ("clock = 5", "`5` cannot be `clock`", "is a table", "[clock]"),
    ("actors = 5", "`5` cannot be `actors`", "list of tables", "[[actors]]"),
    ('[actors]\nbinding = "A"', "cannot be `actors`", "line 2; `actors` is a list", "[[actors]]"),
    ("[vars]\nPORT = 80", "`80` cannot be `vars.PORT`", "a string", 'PORT = "80"'),
    ("[services]\nA = 5", "`5` cannot be `services.A`", "is a table", "[services.A]"),
    ("[services.A]", "`services.A`", "line 2", "url ="),
    ('[services.A]\nurl = "ftp://x"', '`"ftp://x"`', "http://", "url ="),
    ('[services.A.respond]\nbody = "x"\njson = 1', "both `body` and `json`", "line 2", "delete"),
    ("[services.A.respond]\njson = 2030-01-01", "`2030-01-01`", "no dates", "json ="),
    ("[services.A.respond]\nstatus = 99", "`99`", "200 to 599", "status = 200"),
    ('[services."a-b"]\nurl = "http://x"', "`services.a-b`", "identifier", "rename"),
    ('[[actors]]\ntype = "A"', "`actors[0].binding` is missing", "line 2", "binding ="),
    ('[[actors]]\nbinding = "A"', "`actors[0].type` is missing", "line 2", "type ="),
    ('[[actors]]\nbinding = "A B"\ntype = "A"', '`"A B"`', "an identifier", "binding ="),
    ('[[actors]]\nbinding = "A__B"\ntype = "A"', '`"A__B"`', "reserves `__`", '"A_B"'),
    (f'[[actors]]\nbinding = "A"\ntype = "{"T" * 33}"', "T" * 33, "33 characters", "type ="),
    ('[[actors]]\nbinding = "SECRETS"\ntype = "A"', '`"SECRETS"`', "holds the secrets", "another"),
    (ACTOR + ACTOR, '`"A"` cannot be `actors[1].binding`', "line 3 uses this name", "another name"),
    (f'{ACTOR}[services.A]\nurl = "http://x"', "`services.A`", "line 3 uses", "another name"),
    (
        f'{ACTOR}[[actors]]\nbinding = "B"\ntype = "A"\nmodule = "src/other.py"',
        '`"A"` cannot be `actors[1].type`',
        "main.py defines this type already",
        "same `module`",
    ),
]


@pytest.mark.parametrize(("text", "what", "why", "fix"), VALUES)
def test_value_that_will_not_do(root: Path, text: str, what: str, why: str, fix: str) -> None:
    """spec/telnyx-actors.md section 2.2, U1."""
    error = failure(root, MAIN + text + "\n")
    assert error.code.text == "E_CONFIG_VALUE"
    assert what in error.what
    assert "edgeemu.toml" in error.why
    assert why in error.why
    assert fix in error.fix


@pytest.mark.parametrize(
    ("text", "what", "fix"),
    [
        ('name = "-x"', '`"-x"`', "name ="),
        ('platform = "telnix"', '`"telnix"`', 'platform = "telnyx"'),
        ('compatibility_date = "2026-13-01"', '`"2026-13-01"`', "2026-05-01"),
        ("compatibility_date = 5", "`5`", "2026-05-01"),
        ("seed = -1", "`-1`", "seed = 1"),
        ("main = 5", "`5` cannot be `main`", 'main = "5"'),
    ],
)
def test_value_at_the_top_that_will_not_do(root: Path, text: str, what: str, fix: str) -> None:
    error = failure(root, ("" if text.startswith("main") else MAIN) + text)
    assert error.code.text == "E_CONFIG_VALUE"
    assert what in error.what
    assert fix in error.fix


@pytest.mark.parametrize(
    ("text", "key", "why", "fix"),
    [
        ("[clok]\nrate = 1", "clok", "line 2, at the top of the file; known keys", "`clock`"),
        ("[clock]\nmodus = 1", "modus", "line 3, table [clock]; known keys are `alarm_", "`mode`"),
        ("port = 1", "port", "line 2, at the top", "below [dev]"),
        ("[dev]\nseed = 1", "seed", "table [dev]", "above the first [table]"),
        ("[dev]\nxyz = 1", "xyz", "`idle_eviction_ms`, `new_unique_id`, `port`", "delete it"),
        ('[[actors]]\nbindung = "A"', "bindung", "line 3, table [actors]", "`binding`"),
        ("[services.A.respond]\nstate = 1", "state", "table [services.A.respond]", "`status`"),
    ],
)
def test_unknown_key(root: Path, text: str, key: str, why: str, fix: str) -> None:
    error = failure(root, MAIN + text)
    assert error.code.text == "E_CONFIG_UNKNOWN_KEY"
    assert error.what == f"unknown key `{key}` in edgeemu.toml"
    assert why in error.why
    assert fix in error.fix


def test_secret_of_the_wrong_type_is_not_shown(root: Path) -> None:
    error = failure(root, f"{MAIN}[secrets]\nPIN = 4711")
    assert error.what == "a value of type int cannot be `secrets.PIN`"
    assert "4711" not in str(error)


@pytest.mark.parametrize(
    ("text", "line", "column", "mark"),
    [
        (MAIN + "[clock\nrate = 1", 2, 7, "2 | [clock\n  |       ^"),
        (MAIN + "seed =", 2, 7, "2 | seed =\n  |       ^"),
        ("seed = 1\nseed = 2", 2, 9, "2 | seed = 2\n  |         ^"),
        ('main = "a\nb"', 1, 10, '1 | main = "a\n  |          ^'),
    ],
)
def test_syntax_error_shows_the_place(
    root: Path, text: str, line: int, column: int, mark: str
) -> None:
    error = failure(root, text)
    assert error.code.text == "E_CONFIG_SYNTAX"
    assert f"line {line}, column {column}" in error.why
    assert f"line {line}" in error.fix
    assert error.detail is not None
    assert mark in error.detail


@pytest.mark.parametrize(
    "text", ['[secrets]\nA = "hunter2', 'secrets.A = "hunter2', '[secrets]\nA = "hunter2"\n[clock']
)
def test_syntax_error_shows_no_secret(root: Path, text: str) -> None:
    error = failure(root, text)
    assert error.code.text == "E_CONFIG_SYNTAX"
    assert "hunter2" not in str(error)


@pytest.mark.parametrize("text", ["x = " + "[" * 5_000, "x = " + "9" * 5_000])
def test_monstrous_toml_is_an_error_of_syntax(root: Path, text: str) -> None:
    assert failure(root, text).code.text == "E_CONFIG_SYNTAX"


def test_file_that_is_not_utf8(root: Path) -> None:
    (root / "edgeemu.toml").write_bytes(MAIN.encode() + b'name = "\xe9"')
    with pytest.raises(EdgeemuError) as caught:
        load_config(root)
    assert caught.value.code.text == "E_CONFIG_SYNTAX"
    assert "line 2" in caught.value.why
    assert "0xe9" in caught.value.why


def test_folder_in_place_of_the_file(root: Path) -> None:
    (root / "edgeemu.toml").mkdir()
    with pytest.raises(EdgeemuError) as caught:
        load_config(root)
    assert caught.value.code.text == "E_FILE_UNREADABLE"
    assert "is a folder" in caught.value.what


def test_link_that_leads_nowhere(root: Path) -> None:
    (root / "edgeemu.toml").symlink_to(root / "nowhere")
    with pytest.raises(EdgeemuError) as caught:
        load_config(root)
    assert caught.value.code.text == "E_FILE_UNREADABLE"
    assert "No such file" in caught.value.why


@pytest.mark.skipif(
    sys.platform == "win32" or os.geteuid() == 0, reason="the super-user may read anything"
)
def test_file_that_may_not_be_read(root: Path) -> None:
    (root / "edgeemu.toml").write_text(MAIN)
    (root / "edgeemu.toml").chmod(0)
    with pytest.raises(EdgeemuError) as caught:
        load_config(root)
    assert caught.value.code.text == "E_FILE_UNREADABLE"


@pytest.mark.parametrize(
    ("main", "why"),
    [
        ("src/nowhere.py", "there is no file"),
        ("src", "is a folder"),
        ("../shop.py", "outside the project"),
        ("/etc/hosts.py", "outside the project"),
        ("notes.txt", "ends in .py"),
        ("", "names no file"),
        (".", "names no file"),
    ],
)
def test_main_that_will_not_do(root: Path, main: str, why: str) -> None:
    error = failure(root, f'main = "{main}"')
    assert error.code.text == "E_MAIN_MISSING"
    assert f"`{main}`" in error.what
    assert "line 1" in error.why
    assert why in error.why
    assert str(root) in error.fix


def test_module_of_an_actor_is_checked_too(root: Path) -> None:
    error = failure(root, f'{MAIN}{ACTOR}module = "src/nowhere.py"')
    assert error.code.text == "E_MAIN_MISSING"
    assert "`actors[0].module`" in error.what
    assert "line 5" in error.why


def test_missing_main_is_named(root: Path) -> None:
    error = failure(root, ACTOR)
    assert error.code.text == "E_MAIN_MISSING"
    assert "names no `main`" in error.what
    assert "main = " in error.fix


# --- what is not there yet ----------------------------------------------------------------------


@pytest.mark.parametrize("main", ["src/index.ts", "a.js", "a.mjs", "a.TSX"])
def test_a_module_may_be_a_script(root: Path, main: str) -> None:
    (root / main).parent.mkdir(exist_ok=True)
    (root / main).write_text("", encoding="utf-8")
    for file in ("telnyx.toml", "edgeemu.toml"):
        config = load(root, f'main = "{main}"' + "\n" + ACTOR, file)
        assert is_script(config.main_path)


def test_cloudflare_is_refused(root: Path) -> None:
    error = failure(root, MAIN + 'platform = "cloudflare"')
    assert error.code.text == "E_CONFIG_UNSUPPORTED"
    assert "`cloudflare`" in error.what
    assert "`telnyx`" in error.why
    assert 'platform = "telnyx"' in error.fix


@pytest.mark.parametrize("name", ["wrangler.toml", "wrangler.json", "wrangler.jsonc"])
def test_wrangler_files_are_refused(root: Path, name: str) -> None:
    error = failure(root, "", name)
    assert error.code.text == "E_CONFIG_UNSUPPORTED"
    assert name in error.what
    assert "edgeemu.toml" in error.fix


# --- secrets ------------------------------------------------------------------------------------


def test_env_files_win_over_the_table_and_overrides_over_all(root: Path) -> None:
    (root / ".env").write_text("A=env\nB=env\nC=env\n")
    (root / ".dev.vars").write_text("B=dev\n")
    text = MAIN + '[secrets]\nA = "file"\nC = "file"\nD = "file"\n'
    config = load(root, text, **{"secrets.C": "override"})
    assert config.secrets == {"A": "env", "B": "dev", "C": "override", "D": "file"}


def test_folder_called_env_is_a_virtualenv(root: Path) -> None:
    (root / ".env").mkdir()
    assert load(root, MAIN).secrets == {}


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("A=1", {"A": "1"}),
        ("# A=1\n\n  B = two words  # and a remark\n", {"B": "two words"}),
        ("export A=1\r\nB=2\r\n", {"A": "1", "B": "2"}),
        ("A=", {"A": ""}),
        ("A= # nothing", {"A": ""}),
        ("A=x#y", {"A": "x#y"}),
        ("A=b=c", {"A": "b=c"}),
        ('A="x # y" # z', {"A": "x # y"}),
        (r'A="a\n\"b\"\\n\q"', {"A": 'a\n"b"\\n\\q'}),
        (r"A='a\n$B'", {"A": r"a\n$B"}),
        ("A=1\nA=2", {"A": "2"}),
    ],
)
def test_env_entries(text: str, values: dict[str, str]) -> None:
    assert parse_env(text, Path(".env")) == values


@pytest.mark.parametrize("entry", ["hunter2", "=hunter2", "a b=hunter2", 'A="hunter2', "A='x' y"])
def test_env_line_that_is_no_entry_is_named_and_not_shown(entry: str) -> None:
    with pytest.raises(EdgeemuError) as caught:
        parse_env(f"OK=1\n{entry}\n", Path("shop/.env"))
    assert caught.value.code.text == "E_CONFIG_SYNTAX"
    assert "line 2 of .env" in caught.value.what
    assert "line 2" in caught.value.fix
    assert "hunter2" not in str(caught.value)


# --- overrides ----------------------------------------------------------------------------------


def test_overrides_win_and_none_changes_nothing(root: Path) -> None:
    text = MAIN + "seed = 1\n[dev]\nport = 1\n"
    overrides: dict[str, Any] = {"dev.port": 2, "clock.mode": "frozen", "seed": None}
    config = load(root, text, **overrides)
    assert (config.dev.port, config.clock.mode, config.seed) == (2, ClockMode.FROZEN, 1)


def test_table_as_an_override_stands_for_its_keys(root: Path) -> None:
    text = MAIN + "[dev]\nport = 1\nidle_eviction_ms = 0\n"
    config = load(root, text, dev={"port": 2}, vars={"A": "x"})
    assert (config.dev.port, config.dev.idle_eviction_ms, config.vars) == (2, 0, {"A": "x"})


ANSWERS = (
    MAIN + "[services.PAYMENTS]\nrespond = [{ status = 503 }, { json = { paid = true } }]\n"
    "[services.POST]\nrespond = { body = 'sent' }\n"
)


def overridden(root: Path, overrides: dict[str, Any]) -> Config:
    (root / "edgeemu.toml").write_text(ANSWERS)
    return load_config(root, overrides=overrides)


def test_entry_as_an_override_is_replaced_as_a_whole(root: Path) -> None:
    config = overridden(root, {"services.PAYMENTS.respond": {"status": 500}})
    [answer] = config.services["PAYMENTS"].respond
    assert (answer.status, answer.body) == (500, None)
    assert [answer.body for answer in config.services["POST"].respond] == ["sent"]
    config = overridden(root, {"services.POST": {"url": "http://127.0.0.1:9"}})
    assert config.services["POST"].url == "http://127.0.0.1:9"
    config = overridden(root, {"services.POST.url": "http://127.0.0.1:9"})
    assert config.services["POST"].url == "http://127.0.0.1:9"
    config = overridden(root, {"services": {"POST": {"respond": [{"status": 201}]}}})
    assert [answer.status for answer in config.services["POST"].respond] == [201]
    assert len(config.services["PAYMENTS"].respond) == 2


@pytest.mark.parametrize(
    ("overrides", "text"),
    [
        ({"services.PAYMENT.respond": {"status": 500}}, "`services.PAYMENTS`, and nothing of"),
        ({"services.Payments": {"url": "http://x"}}, "write `services.PAYMENTS`"),
        ({"services": {"PAYMENT": {"url": "http://x"}}}, "write `services.PAYMENTS`"),
        ({"vars.GREETNIG": "x"}, "write `vars.GREETING`"),
        ({"secrets.COUPN": "x"}, "write `secrets.COUPON`"),
        ({"services.PAYMENTS.respond.status": 500}, "override `services.PAYMENTS.respond` as a"),
    ],
)
def test_override_of_an_entry_that_cannot_be_says_what_would_do(
    root: Path, overrides: dict[str, Any], text: str
) -> None:
    (root / ".env").write_text("COUPON=x\n")
    error = failure(root, ANSWERS + "[vars]\nGREETING = 'x'\n", **overrides)
    assert text in str(error)


def test_override_may_add_an_entry_of_another_name(root: Path) -> None:
    (root / ".env").write_text("COUPON=x\nCOUPONS=y\n")
    mail = {"services.MAIL.respond": {"status": 202}}
    config = overridden(root, {**mail, "vars.DEBUG": "1", "secrets.COUPONS": "z"})
    assert sorted(config.services) == ["MAIL", "PAYMENTS", "POST"]
    assert (config.vars, config.secrets["COUPONS"]) == ({"DEBUG": "1"}, "z")


def test_overrides_work_with_the_manifest_too(root: Path) -> None:
    config = load(root, MAIN, "telnyx.toml", **{"clock.rate": 60, "vars.A": "x"})
    assert (config.clock.mode, config.vars) == (ClockMode.RATE, {"A": "x"})


@pytest.mark.parametrize(
    ("text", "overrides", "mode", "rate"),
    [
        ("rate = 60", {}, ClockMode.RATE, 60),
        ("rate = 60", {"clock.mode": "frozen"}, ClockMode.FROZEN, None),
        ("rate = 60", {"clock.mode": "rate"}, ClockMode.RATE, 60),
        ('mode = "frozen"', {"clock.rate": 5}, ClockMode.RATE, 5),
        ('mode = "rate"\nrate = 60', {"clock.mode": "real"}, ClockMode.REAL, None),
    ],
)
def test_overridden_half_of_the_clock_decides(
    root: Path, text: str, overrides: dict[str, Any], mode: ClockMode, rate: float | None
) -> None:
    clock = load(root, f"{MAIN}[clock]\n{text}", **overrides).clock
    assert (clock.mode, clock.rate) == (mode, rate)


@pytest.mark.parametrize(
    ("overrides", "code", "text"),
    [
        ({"dev.port": -1}, "E_CONFIG_VALUE", "the override `dev.port`; it should be a whole"),
        ({"dev.prot": 1}, "E_CONFIG_UNKNOWN_KEY", "rename it to `port`"),
        ({"actors.0.type": "B"}, "E_CONFIG_UNKNOWN_KEY", "`actors` is no table"),
        ({"platform": "cloudflare"}, "E_CONFIG_UNSUPPORTED", "the override `platform`"),
        ({"main": "x.py"}, "E_MAIN_MISSING", "the override `main`"),
        ({"clock.mode": "real", "clock.rate": 2}, "E_CONFIG_VALUE", "override `clock.rate` gives"),
    ],
)
def test_overrides_are_checked(root: Path, overrides: dict[str, Any], code: str, text: str) -> None:
    error = failure(root, MAIN + ACTOR, **overrides)
    assert error.code.text == code
    assert text in str(error)


# --- telnyx.toml --------------------------------------------------------------------------------


def test_manifest_is_read_as_it_is(root: Path) -> None:
    (root / ".env").write_text("stripe-key=sk\nOTHER=x\n")
    config = load(
        root,
        """\
name = "shop"
main = "src/main.py"
compatibility_date = "2026-05-01"
[edge_compute]
func_id = "f"
[[actors]]
binding = "ACCOUNT"
type = "Account"
[[secrets]]
binding = "STRIPE"
name = "stripe-key"
[[secrets]]
binding = "ABSENT"
name = "not-there"
[env_vars]
GREETING = "hello"
""",
        "telnyx.toml",
    )
    assert (config.platform, config.name, config.main) == ("telnyx", "shop", "src/main.py")
    assert config.compatibility_date == "2026-05-01"
    assert [(actor.binding, actor.type) for actor in config.actors] == [("ACCOUNT", "Account")]
    assert config.secrets == {"STRIPE": "sk"}
    assert config.vars == {"GREETING": "hello"}
    assert config.warnings == ()


def test_own_file_wins_over_the_manifest(root: Path) -> None:
    (root / "telnyx.toml").write_text('main = "src/index.ts"')
    assert load(root, MAIN).source.name == "edgeemu.toml"


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ("flavour = 1", "telnyx.toml line 5: unknown key `flavour` is ignored"),
        ("type_ = 1", "telnyx.toml line 5: unknown key `type_` is ignored; did you mean `type`?"),
        ("[clock]\nrate = 2", "unknown key `clock` is ignored; settings of edgeemu itself stand"),
        ("[secret]", "unknown key `secret` is ignored; did you mean `secrets`?"),
        ('[telnyx]\nbinding = "TEL"', "line 5: edgeemu does not emulate [telnyx]: `env.TEL` fails"),
        ('[storage.sqldb.DB]\nid = "x"', "does not emulate [storage.sqldb.DB]"),
        ('[storage.kv.A_B]\nid = "x"\nttl = 5', "line 7: unknown key `ttl` is ignored"),
        ("[storage.tape.X]", "unknown key `tape` is ignored"),
        ('[env_vars]\nA = "x"', "line 6: the variable `A` is shadowed"),
    ],
)
def test_manifest_says_what_is_not_done(root: Path, text: str, warning: str) -> None:
    """spec/telnyx-actors.md section 2.2, U2."""
    config = load(root, MAIN + ACTOR + text, "telnyx.toml")
    assert len(config.warnings) == 1
    assert warning in config.warnings[0]


@pytest.mark.parametrize(
    ("text", "what", "why"),
    [
        ("[env_vars]\nPORT = 80", "`80` cannot be `env_vars.PORT`", "telnyx.toml line 6"),
        ('[secrets]\nA = "x"', "cannot be `secrets`", "list of tables"),
        ('[[secrets]]\nbinding = "A"', "`secrets[0].name` is missing", "line 5"),
        ("[telnyx]", "`telnyx.binding` is missing", "line 5"),
        ('[telnyx]\nbinding = "A"', "`telnyx`", "line 3 uses this name"),
        ('[storage]\nkv = "A"', '`"A"` cannot be `storage.kv`', "is a table"),
        ("[[ratelimits]]\nname = 5", "`5` cannot be `ratelimits[0].name`", "a string"),
        ('[[ratelimits]]\nname = "a"\nlimit = 1', "`ratelimits[0].period` is missing", "line 5"),
        ('[[ratelimits]]\nname = "a"\nlimit = 0\nperiod = 1', "`ratelimits[0].limit`", "line 7"),
        ('[[ratelimits]]\nname = "a"\nlimit = 1\nperiod = 1', "ratelimits[0].name", "line 3 uses"),
        ('[[ratelimits]]\nname = "a b"\nlimit = 1\nperiod = 1', '"A B"', "identifier"),
        ('[storage.kv.A]\nid = "x"', "`storage.kv.A`", "line 3 uses this name"),
        ('[storage.kv."a-b"]\nid = "x"', "`storage.kv.a-b`", "identifier"),
        ("[storage.kv.CACHE]", "`storage.kv.CACHE.id` is missing", "line 5"),
        (
            '[storage.cloudstorage.FILES]\nbucket_name = "b"',
            "`storage.cloudstorage.FILES.region` is missing",
            "line 5",
        ),
    ],
)
def test_manifest_that_will_not_do(root: Path, text: str, what: str, why: str) -> None:
    error = failure(root, MAIN + ACTOR + text, "telnyx.toml")
    assert error.code.text == "E_CONFIG_VALUE"
    assert what in error.what
    assert why in error.why


def test_stores_and_limits_of_the_manifest_are_read(root: Path) -> None:
    """spec/telnyx-actors.md section 2.2: several bindings of each kind."""
    config = load(
        root,
        MAIN
        + ACTOR
        + """\
[storage.kv.CACHE]
id = "one"
[storage.cloudstorage.FILES]
bucket_name = "b"
region = "us-east-1"
[[ratelimits]]
name = "per-user"
limit = 5
period = 60
[[ratelimits]]
name = "all"
limit = 100
period = 1
namespace_id = "7"
""",
        "telnyx.toml",
    )
    assert config.kv == {"CACHE": "one"}
    first, second = config.ratelimits
    assert (first.binding, first.scope) == ("PER_USER", "shop/PER_USER")
    assert (first.limit, first.period_s) == (5, 60)
    assert (second.binding, second.scope) == ("ALL", "7")
    assert config.unsupported == {"FILES": "[storage.cloudstorage.FILES]"}


def test_answers_in_turn(root: Path) -> None:
    text = "[services.MAIL]\nrespond = [{ status = 500 }, { json = { sent = true } }]"
    config = load(root, MAIN + text)
    assert [answer.status for answer in config.services["MAIL"].respond] == [500, 200]
    error = failure(root, f"{MAIN}[services.MAIL]\nrespond = [{{ state = 500 }}]")
    assert "unknown key `state`" in error.what
    error = failure(root, f"{MAIN}[services.MAIL]\nrespond = []")
    assert "`services.MAIL.respond`" in error.what


# --- several functions --------------------------------------------------------------------------

BILLING = '[functions.billing]\nconfig = "../billing/telnyx.toml"\n'


@pytest.fixture
def billing(root: Path) -> Path:
    folder = root.parent / "billing"
    folder.mkdir()
    (folder / "main.py").touch()
    (folder / "telnyx.toml").write_text('name = "bills"\nmain = "main.py"\n' + ACTOR)
    return folder


@pytest.mark.parametrize("given", ["../billing/telnyx.toml", "../billing"])
def test_function_is_read_from_its_own_file(root: Path, billing: Path, given: str) -> None:
    (billing / ".env").write_text("KEY=1\n")
    config = load(root, f'{MAIN}[functions.billing]\nconfig = "{given}"')
    function = config.functions["billing"]
    assert (function.root, function.main_path) == (billing, billing / "main.py")
    assert function.environment == {"KEY": "1"}
    assert list(config.all_functions) == ["shop", "billing"]
    assert (config.types, config.types_declared) == (["A"], [])


@pytest.mark.parametrize(
    ("text", "what", "why"),
    [
        ("[functions.billing]", "`functions.billing.config` is missing", "line 2"),
        (BILLING.replace("billing]", "shop]"), '"shop"', "the primary function has this name"),
        (BILLING.replace("billing]", "-x]"), '"-x"', "part of a URL"),
        ('[functions.b]\nconfig = "../none.toml"', '"../none.toml"', "there is no"),
        ('[functions.b]\nconfig = "."', '"."', "folder of the primary function"),
        ('[functions.b]\nconfig = "src"', '"src"', "holds neither"),
    ],
)
def test_function_that_will_not_do(
    root: Path, billing: Path, text: str, what: str, why: str
) -> None:
    error = failure(root, MAIN + text)
    assert error.code.text == "E_CONFIG_VALUE"
    assert what in error.what
    assert why in error.why


def test_errors_of_a_function_name_its_file(root: Path, billing: Path) -> None:
    (billing / "telnyx.toml").write_text('main = "main.py"\n[env_vars]\nPORT = 80\n')
    error = failure(root, MAIN + BILLING)
    assert "../billing/telnyx.toml line 3" in error.why.replace("\\", "/")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("main =\n", "../billing/telnyx.toml is not valid TOML"),
        ("x = " + "[" * 2_000, "../billing/telnyx.toml "),
        ('name = "bills"\n', "../billing/telnyx.toml names no `main`"),
    ],
)
def test_function_whose_file_is_broken_is_told_from_the_project(
    root: Path, billing: Path, text: str, what: str
) -> None:
    (billing / "telnyx.toml").write_text(text)
    assert what in failure(root, MAIN + BILLING).what.replace("\\", "/")


def test_function_need_not_declare_actors(root: Path, billing: Path) -> None:
    (billing / "telnyx.toml").write_text('name = "bills"\nmain = "main.py"\n')
    config = load(root, MAIN + BILLING)
    assert config.functions["billing"].warnings == ()
    assert "edgeemu.toml declares no [[actors]], so there is nothing to call" in config.warnings


def test_function_cannot_set_what_is_of_the_emulator(root: Path, billing: Path) -> None:
    (billing / "edgeemu.toml").write_text(
        'main = "main.py"\nseed = 5\n[clock]\nmode = "frozen"\n[dev]\nport = 1\n' + ACTOR
    )
    function = load(root, f'{MAIN}[functions.b]\nconfig = "../billing"').functions["b"]
    ignored = [warning for warning in function.warnings if "is ignored" in warning]
    assert [re.findall("`(.*?)`", warning)[0] for warning in ignored] == ["clock", "dev", "seed"]


def test_classic_project_is_refused(root: Path) -> None:
    """spec/telnyx-actors.md section 2.1."""
    (root / "func.toml").touch()
    assert find_project(root / "src") == root
    with pytest.raises(EdgeemuError) as caught:
        load_config(root)
    assert caught.value.code.text == "E_CONFIG_UNSUPPORTED"
    assert "cannot declare actors" in caught.value.why


# --- the table of keys and the reference file ---------------------------------------------------


def test_lines_are_found() -> None:
    text = 'a = 1\n[b]\nc.d = """\nx = 1\n"""\n[[e]]\nf = 1\n[[e]]\n"g" = 1\n[e.h]\ni = 1\n'
    assert find_lines(text) == {
        ("a",): 1,
        ("b",): 2,
        ("b", "c"): 3,
        ("b", "c", "d"): 3,
        ("e",): 6,
        ("e", 0): 6,
        ("e", 0, "f"): 7,
        ("e", 1): 8,
        ("e", 1, "g"): 9,
        ("e", 1, "h"): 10,
        ("e", 1, "h", "i"): 11,
    }


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.path)
def test_defaults_and_examples_of_the_table_will_do(key: Any) -> None:
    for text in {key.default, key.example} - {None}:
        key.kind.read(tomli.loads(f"x = {text}")["x"])
    assert key.text.endswith(".")
    assert key.name in TABLES[key.table]


def test_defaults_of_the_table_are_those_of_the_code(root: Path) -> None:
    plain = load(root, MAIN + ACTOR)
    tables: dict[str, list[str]] = {"": [MAIN]}
    for key in KEYS:
        if key.default is not None and not key.table.startswith("services"):
            tables.setdefault(key.table, []).append(f"{key.name} = {key.default}")
    lines = [
        line for table, rows in tables.items() for line in ([f"[{table}]"] if table else []) + rows
    ]
    spelt = load(root, "\n".join([*lines, ACTOR]))
    assert spelt == plain


REFERENCE = (ROOT / "edgeemu.toml").read_text()


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.path)
def test_reference_file_explains_every_key(key: Any) -> None:
    """Each key stands, set or commented out, in its table, below its sentence and unit."""
    table = key.table.replace("NAME", r"[A-Z]+")
    part = REFERENCE
    if table:
        found = re.search(rf"^(?:# )?\[\[?{table}\]\]?$(.*?)(?=^(?:# )?\[|\Z)", part, re.M | re.S)
        assert found, f"the reference file has no table [{key.table}]"
        part = found[1]
    entry = re.search(
        rf"^# {re.escape(key.text)}\n((?:#.*\n)*?)(?:#\s+)?{key.name} = (.+)$", part, re.M
    )
    assert entry, f"the reference file has no entry `{key.path}` below the sentence: {key.text}"
    remarks, value = entry.groups()
    assert f"Unit: {key.unit}" in remarks or not key.unit
    commented = entry[0].splitlines()[-1].startswith("#")
    if commented and key.default is not None:
        assert value == key.default
    elif commented:
        assert "example" in remarks
        key.kind.read(tomli.loads(f"x = {value}")["x"])


def test_reference_file_loads_with_every_line_in_force(root: Path) -> None:
    text = re.sub(r"^# (?=\[|\w+ = )", "", REFERENCE, flags=re.M)
    text = re.sub(r'"templates/.*"', '"src/main.py"', text)
    (root.parent / "billing").mkdir()
    (root.parent / "billing/main.py").touch()
    (root.parent / "billing/telnyx.toml").write_text('main = "main.py"\n' + ACTOR)
    config = load(root, text)
    assert config.clock.mode is ClockMode.REAL
    assert (set(config.kv), set(config.functions)) == ({"CACHE"}, {"BILLING"})
    assert set(config.services) == {"PAYMENTS", "MAIL"}
    assert config.warnings == ()


def test_reference_file_runs_the_demo() -> None:
    config = load_config(ROOT)
    assert config.name == "edgeemu-demo"
    assert {(actor.binding, actor.type) for actor in config.actors} == {
        ("COUNTER", "Counter"),
        ("SESSION", "Session"),
        ("ACCOUNT", "Account"),
        ("SCHEDULER", "Scheduler"),
    }
    assert config.warnings == ()
