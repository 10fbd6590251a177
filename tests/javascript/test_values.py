"""Values of JavaScript: stored, given back, sent to Python and back, shown and carried away.

Source: spec/telnyx-actors.md section 7, U39 to U47; cases C40 to C42.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from edgeemu.config import Config, load_config
from edgeemu.emulator import Emulator
from edgeemu.sdk.errors import CodecError
from edgeemu.tagged import parse
from tests.support.emulators import frozen, inst, opened, run

X, Y, PY = inst("A/x"), inst("A/y"), inst("P/x")
BYTES = "AQACAAMABAAFAAYABwAIAA=="
EIGHT = "new Uint16Array([1, 2, 3, 4, 5, 6, 7, 8]).buffer"
KINDS = {
    "Int8Array": "b",
    "Int16Array": "h",
    "Uint16Array": "H",
    "Int32Array": "i",
    "Uint32Array": "I",
    "BigInt64Array": "q",
    "BigUint64Array": "Q",
    "Float32Array": "f",
    "Float64Array": "d",
}

BOTH: Mapping[str, tuple[str, Any]] = {
    "null": ("null", None),
    "nested": ('{ a: [1, { b: [true, null, "x"] }] }', {"a": [1, {"b": [True, None, "x"]}]}),
    "date": ("new Date(1700000000123)", {"$date": 1_700_000_000_123}),
    "map": ('new Map([[2, { a: 1 }], ["a", 2]])', {"$map": [[2, {"a": 1}], ["a", 2]]}),
    "set": ("new Set([1, 2, 3])", {"$set": [1, 2, 3]}),
    "bytes": ("new Uint8Array([104, 105])", {"$bytes": "aGk="}),
    "bigint": ("2n ** 70n", {"$bigint": str(2**70)}),
    "regexp": ("/a+b/i", {"$regexp": ["a+b", "i"]}),
    "nan": ("NaN", {"$float": "NaN"}),
    "minus zero": ("-0", {"$float": "-0"}),
    "infinity": ("[Infinity, -Infinity]", [{"$float": "Infinity"}, {"$float": "-Infinity"}]),
    "fraction": ("0.1", 0.1),
    "tiny": ("5e-324", 5e-324),
    "the last integer": ("2 ** 53 - 1", 2**53 - 1),
    "beyond the last integer": ("2 ** 53", 2.0**53),
    "undefined inside": (
        "{ a: undefined, b: [undefined] }",
        {
            "a": {"$undefined": True},
            "b": [{"$undefined": True}],
        },
    ),
    "like a tag": ("{ $date: 1 }", {"$object": {"$date": 1}}),
    "text": ('"\\u{1f600} \\0 é"', "\U0001f600 \x00 é"),
    "half a character": ('"a\\ud800"', "a\ud800"),
    "half a character in a key": ('{ "\\udfff": "\\\\ud800" }', {"\udfff": "\\ud800"}),
    "proto": ("JSON.parse('{\"__proto__\": 1}')", {"__proto__": 1}),
    **{kind: (f"new {kind}({EIGHT})", {"$array": [code, BYTES]}) for kind, code in KINDS.items()},
}
"""The same in both languages: written so, and equal after a way through Python."""

ONLY_HERE: Mapping[str, tuple[str, Any]] = {
    "invalid date": ("new Date(NaN)", {"$date": None}),
    "far date": ("new Date(8.64e15)", {"$date": 8_640_000_000_000_000}),
    "map with objects as keys": ("new Map([[{ a: 1 }, 1]])", {"$map": [[{"a": 1}, 1]]}),
    "map with keys that Python mixes up": (
        "new Map([[1, 1], [true, 2]])",
        {"$map": [[1, 1], [True, 2]]},
    ),
    "set of objects": ("new Set([{ a: 1 }, { a: 1 }])", {"$set": [{"a": 1}, {"a": 1}]}),
    "pattern": (
        r"/(?<year>\d{4})(?<=a+)\p{L}/giu",
        {"$regexp": [r"(?<year>\d{4})(?<=a+)\p{L}", "giu"]},
    ),
}
"""What Python cannot hold: its actors are told so, and the tool shows and keeps it all the same."""

CHANGED: Mapping[str, tuple[str, Any, str]] = {
    "small bigint": ("5n", {"$bigint": "5"}, "5"),
    "set in its order": ("new Set([3, 1])", {"$set": [3, 1]}, "new Set([1, 3])"),
    "map of texts": ('new Map([["a", 1]])', {"$map": [["a", 1]]}, "{ a: 1 }"),
    "buffer": (EIGHT, {"$array": ["A", BYTES]}, f"new Uint8Array({EIGHT})"),
    "view": (f"new DataView({EIGHT})", {"$array": ["V", BYTES]}, f"new Uint8Array({EIGHT})"),
    "clamped": (
        f"new Uint8ClampedArray({EIGHT})",
        {"$array": ["C", BYTES]},
        f"new Uint8Array({EIGHT})",
    ),
}
"""What comes back from Python as something else, its nearest kind there."""

NORMAL: Mapping[str, tuple[str, Any, str]] = {
    "Buffer": ('Buffer.from("hi")', {"$bytes": "aGk="}, "new Uint8Array([104, 105])"),
    "null prototype": ("Object.assign(Object.create(null), { a: 1 })", {"a": 1}, "{ a: 1 }"),
    "getter": ("{ get a() { return 1; } }", {"a": 1}, "{ a: 1 }"),
    "symbol key": ("{ [Symbol.iterator]: 1, b: 2 }", {"b": 2}, "{ b: 2 }"),
    "sparse": (
        "Object.assign([], { 1: 1 })",
        [{"$undefined": True}, 1],
        "[undefined, 1]",
    ),
    "one object twice": (
        "((part) => [part, part])({ a: 1 })",
        [{"a": 1}, {"a": 1}],
        "[{ a: 1 }, { a: 1 }]",
    ),
}
"""What comes back as something plainer already where it is stored."""

EXPRESSIONS = {
    name: case[0] for part in (BOTH, ONLY_HERE, CHANGED, NORMAL) for name, case in part.items()
}
TAGGED = {
    name: case[1] for part in (BOTH, ONLY_HERE, CHANGED, NORMAL) for name, case in part.items()
}
READ = {**EXPRESSIONS, **{name: case[2] for name, case in NORMAL.items()}}
FROM_PYTHON = {**READ, **{name: case[2] for name, case in CHANGED.items()}}


def table(expressions: Mapping[str, str]) -> str:
    return "".join(f"  {name!r}: () => ({text}),\n" for name, text in expressions.items())


SCRIPT = f"""
import assert from "node:assert";
import {{ StatefulActor }} from "@telnyx/edge-runtime";

const MADE: Record<string, () => any> = {{\n{table(EXPRESSIONS)}}};
const READ: Record<string, () => any> = {{\n{table(READ)}}};
const FROM_PYTHON: Record<string, () => any> = {{\n{table(FROM_PYTHON)}}};

function differs(found: unknown, wanted: unknown) {{
  try {{
    assert.deepStrictEqual(found, wanted);
    return null;
  }} catch (error: any) {{
    return error.message;
  }}
}}

export class A extends StatefulActor<any> {{
  give(name: string) {{
    return MADE[name]();
  }}

  async keep(name: string) {{
    await this.ctx.storage.put(name, MADE[name]());
    return differs(await this.ctx.storage.get(name), READ[name]());
  }}

  async read(name: string) {{
    return differs(await this.ctx.storage.get(name), READ[name]());
  }}

  async through(name: string) {{
    try {{
      const found = await this.env.P.idFromName("x").echo(MADE[name]());
      return differs(found, FROM_PYTHON[name]());
    }} catch (error: any) {{
      return error.name;
    }}
  }}
}}
"""

PYTHON = """
from edgeemu import StatefulActor

class P(StatefulActor):
    async def echo(self, value):
        await self.ctx.storage.put("k", value)
        return await self.ctx.storage.get("k")
"""


def write_mixed(folder: Path) -> Config:
    """A project whose main module is in TypeScript, beside an actor in Python."""
    (folder / "main.ts").write_text(SCRIPT)
    (folder / "other.py").write_text(PYTHON)
    (folder / "edgeemu.toml").write_text(
        'name = "test"\nmain = "main.ts"\n[[actors]]\nbinding = "A"\ntype = "A"\n'
        '[[actors]]\nbinding = "P"\ntype = "P"\nmodule = "other.py"\n'
    )
    return load_config(folder)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What became of every value, in one run: by name of the step, then of the value."""
    config = write_mixed(tmp_path_factory.mktemp("values"))

    async def tagged(emulator: Emulator, name: str) -> Any:
        return parse(await emulator.start_call(X, "give", [name]).wait_encoded())

    async def main() -> dict[str, Any]:
        async with opened(config, frozen()) as emulator:
            steps: dict[str, Any] = {
                "kept": {name: await emulator.call(X, "keep", [name]) for name in TAGGED},
                "given": {name: await tagged(emulator, name) for name in TAGGED},
                "through": {name: await emulator.call(X, "through", [name]) for name in TAGGED},
                "shown": {name: emulator.storage.get(X, name) for name in TAGGED},
                "listed": emulator.storage.list(X),
            }
            await emulator.storage.import_(Y, emulator.storage.export(X))
            steps["imported"] = {name: await emulator.call(Y, "read", [name]) for name in TAGGED}
            return steps

    result: dict[str, Any] = run(main())
    return result


@pytest.mark.parametrize("name", TAGGED)
def test_value_is_shown_as_it_was_written(found: dict[str, Any], name: str) -> None:
    for step in ("given", "shown", "listed"):
        assert repr(found[step][name]) == repr(TAGGED[name]), step


@pytest.mark.parametrize("name", TAGGED)
def test_value_comes_back_from_storage(found: dict[str, Any], name: str) -> None:
    assert found["kept"][name] is None


@pytest.mark.parametrize("name", TAGGED)
def test_value_can_be_carried_away(found: dict[str, Any], name: str) -> None:
    assert found["imported"][name] is None


@pytest.mark.parametrize("name", TAGGED)
def test_value_through_a_python_actor(found: dict[str, Any], name: str) -> None:
    # An actor in Python that is given what it cannot hold fails, and says why.
    wanted = "CodecError" if name in ONLY_HERE else None
    assert found["through"][name] == wanted


DAMAGED = [
    ('{"$date": "soon"}', "content of `$date`"),
    ('{"$date": 8640000000000001}', "content of `$date`"),
    ('{"$map": [[1]]}', "content of `$map`"),
    ('{"a": {"$nothing": 1}}', "value.a: unknown tag `$nothing`"),
    ('{"$regexp": ["a", "x"]}', "content of `$regexp`"),
    ('{"$bytes": "?"}', "content of `$bytes`"),
    ("[", "stored value is damaged"),
    ("[" * 600 + "]" * 600, "nested deeper"),
]


@pytest.mark.parametrize(("text", "says"), DAMAGED)
def test_damage_is_told_with_its_place(text: str, says: str) -> None:
    with pytest.raises(CodecError) as raised:
        parse(text.encode())
    assert says in str(raised.value)
