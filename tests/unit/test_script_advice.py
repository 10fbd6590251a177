"""Advice on TypeScript: each rule finds what it is for, and is silent beside it."""

from pathlib import Path

import pytest

from edgeemu.advice import WARNINGS, review_source
from edgeemu.script_text import Script


def review(text: str) -> list[tuple[int, str]]:
    return [(found.line, found.code) for found in review_source(Path("src/a.ts"), text)]


def in_method(*lines: str, name: str = "async go(flag: boolean): Promise<void>") -> str:
    body = "\n".join(f"    {line}" for line in lines)
    return f"export class A extends StatefulActor {{\n  {name} {{\n{body}\n  }}\n}}\n"


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ('this.ctx.storage.put("a;{", 1);', "W_WRITE_NOT_AWAITED"),
        ('if (flag) this.ctx.storage.delete("a");', "W_WRITE_NOT_AWAITED"),
        ("else this.ctx.storage.deleteAll()", "W_WRITE_NOT_AWAITED"),
        ('for (const x of [1]) { this.ctx.storage.put("x", x) }', "W_WRITE_NOT_AWAITED"),
        ("this.ctx.storage\n      .put(`a${1}b`, 1);", "W_WRITE_NOT_AWAITED"),
        ("const f = async (): Promise<void> => { storage.put('k', 1); };", "W_WRITE_NOT_AWAITED"),
        ("this.ctx.setAlarm(Date.now() + 1);", "W_ALARM_NOT_AWAITED"),
        ("this.ctx.storage.deleteAlarm();", "W_ALARM_NOT_AWAITED"),
        ('this.env.B.idFromName("b").touch();', "W_CALL_NOT_AWAITED"),
        ("await this.ctx.setAlarm(60_000);", "W_ALARM_SECONDS"),
        ("await this.ctx.setAlarm(Math.floor(Date.now() / 1000) + 60);", "W_ALARM_SECONDS"),
    ],
)
def test_finds(line: str, code: str) -> None:
    assert [found for _, found in review(in_method(line))] == [code]


@pytest.mark.parametrize(
    "line",
    [
        'await this.ctx.storage.put("a", 1);',
        'const kept = this.ctx.storage.put("a", 1);',
        'return this.ctx.storage.put("a", `x ${this.y({ a: 1 })} z`);',
        'void this.ctx.storage.put("a", 1);',
        'this.ctx.storage.put("a", 1).catch(() => {});',
        'await Promise.all([this.ctx.storage.put("a", 1), this.ctx.storage.put("b", 1)]);',
        '// this.ctx.storage.put("a", 1);',
        'const text = "this.ctx.storage.put(1);";',
        "const re = /[\"'`{]/; const f = async (a) => this.ctx.storage.put('a', a);",
        "const map = new Map(); map.delete(1);",
        "await this.ctx.setAlarm(Date.now() + 60_000);",
        "await this.ctx.setAlarm(Math.floor(Date.now() / 1000) * 1000 + 60);",
        "await this.ctx.setAlarm(when);",
    ],
)
def test_is_silent(line: str) -> None:
    assert review(in_method(line)) == []


def test_plain_code_cannot_await() -> None:
    assert review(in_method('this.ctx.storage.put("a", 1);', name="keep(): void")) == []


def test_constructor_that_moves_the_alarm() -> None:
    blind = "void ctx.blockConcurrencyWhile(async () => { await ctx.setAlarm(Date.now() + 1); });"
    asks = "if ((await ctx.storage.getAlarm()) === null) await ctx.storage.setAlarm(Date.now());"
    head = "constructor(ctx: ActorContext, env: Env)"
    assert review(in_method("super(ctx, env);", blind, name=head)) == [(4, "W_ALARM_IN_INIT")]
    kept = f"void ctx.blockConcurrencyWhile(async () => {{ {asks} }});"
    assert review(in_method("super(ctx, env);", kept, name=head)) == []


def test_handler_that_sets_the_alarm_and_throws() -> None:
    head = "async alarm(info: AlarmInfo): Promise<void>"
    lines = ("try { await work(); } catch (error) {", "await this.ctx.setAlarm(later);")
    assert review(in_method(*lines, "throw error;", "}", name=head)) == [(5, "W_REARM_THEN_RAISE")]
    assert review(in_method(*lines, "}", "if (bad) { throw error; }", name=head)) == []
    assert review(in_method(*lines, "throw error;", "}")) == []


@pytest.mark.parametrize("change", ["seen.set(1, 2);", "seen += 1;", "seen++;", "seen[0] = 1;"])
def test_state_that_instances_share(change: str) -> None:
    text = f"const seen = new Map();\n{in_method(change)}"
    assert review(text) == [(4, "W_SHARED_STATE")]
    assert review(f"const seen = new Map();\n{in_method('seen.get(1);')}") == []
    assert review(f"const seen = [];\n{in_method('const seen = [];', change)}") == []


def test_every_code_is_in_the_table() -> None:
    text = Path(review_source.__code__.co_filename).with_name("scripts.py").read_text()
    assert set(WARNINGS) >= {word for word in text.split('"') if word.startswith("W_")}


def test_masking_keeps_every_position() -> None:
    text = 'const a = `x ${b({ c: "}" })} y`; // "\nconst d = /[/"]/g; /* `\n */ call("\\"");\n'
    script = Script(text)
    assert len(script.code) == len(text)
    assert [at for at, char in enumerate(text) if char == "\n"] == [
        at for at, char in enumerate(script.code) if char == "\n"
    ]
    assert "b({ c:" in script.code
    assert "x" not in script.code
    assert "call(" in script.code
