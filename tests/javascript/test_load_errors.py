"""Why code does not load: what is told, where, and what to do about it."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from edgeemu.errors import Code, EdgeemuError
from tests.support.script_modules import HEAD, actor, answer_of, write_modules

A = "export class A extends StatefulActor {}\n"
Case = tuple[str, Mapping[str, str], str, str, str]
"""The main module, further files, and what stands in what, why and fix."""

IMPORTS: dict[str, Case] = {
    "a file, nearly": (
        actor('import "./countr";', ""),
        {"src/counter.ts": ""},
        'src/index.ts line 2 imports "./countr", which is not found',
        "there is no src/countr, with or without .ts",
        'perhaps "./counter" is meant',
    ),
    "a folder": (actor('import "../lib/x";', ""), {}, "line 2", "no folder lib", "mend the path"),
    "a package that was not installed": (
        actor('import { z } from "zod";', "z;"),
        {"package.json": '{"dependencies": {"zod": "4"}}'},
        'imports "zod", which is not found',
        "package.json asks for it, and node_modules has no zod",
        "run npm install",
    ),
    "a package, nearly": (
        actor('import { Hono } from "hnoo";', "Hono;"),
        {"package.json": '{"dependencies": {"hono": "4"}}'},
        'imports "hnoo"',
        "no node_modules beside or above the file has a package hnoo",
        "perhaps `hono` is meant",
    ),
    "a package that nobody asked for": (
        actor('import { x } from "@a/b/c";', "x;"),
        {},
        'imports "@a/b/c"',
        "has a package @a/b",
        "run `npm install @a/b`, or mend the import",
    ),
    "an entry": (
        actor('import { x } from "p/inner";', "x;"),
        {"node_modules/p/package.json": '{"exports": {".": "./a.js", "./b": "./b.js"}}'},
        'imports "p/inner"',
        "the package has no such entry; its package.json names: ., ./b",
        "import one of these",
    ),
    "a module of Node": (
        actor('import "node:nope";', ""),
        {},
        'imports "node:nope"',
        "Node has no module of this name",
        "nodejs.org",
    ),
    "an address": (
        actor('import "https://esm.sh/zod";', ""),
        {},
        'imports "https://esm.sh/zod"',
        "takes no module from the network",
        "install the package with npm",
    ),
    "another way to name a package": (
        actor('import { z } from "npm:zod";', "z;"),
        {},
        'imports "npm:zod"',
        "by their names only",
        'import "zod"',
    ),
    "another platform's": (
        actor('import { x } from "bun:sqlite";', "x;"),
        {},
        'imports "bun:sqlite"',
        "`bun:` modules belong to another platform",
        "use what this one has",
    ),
    "what has no loader": (
        actor('import x from "./x.sql";', "x;"),
        {"src/x.sql": ""},
        'imports "./x.sql"',
        "no loader for .sql",
        "put the text into",
    ),
    "what nobody exports": (
        actor('import { two } from "./b";', "two;"),
        {"src/b.ts": "export const one = 1;"},
        "src/index.ts line 2 cannot be imported",
        "'./b' does not provide an export named 'two'",
        "export `two` there; if it is a type, write `type two` here",
    ),
    "each other": (
        f'{HEAD}import {{ B }} from "./b";\nexport class A extends B {{}}\nexport class Z {{}}\n',
        {"src/b.ts": 'import { Z } from "./index";\nexport class B extends Z {}'},
        "src/b.ts line 2 cannot be imported",
        "in a circle: src/b.ts → src/index.ts → src/b.ts",
        "a module that imports neither",
    ),
}

SYNTAX: dict[str, Case] = {
    "TypeScript": (
        f"{HEAD}let x: = 1;\n{A}",
        {},
        "src/index.ts has a syntax error at line 2: Unexpected token `=`",
        "TypeScript cannot read the file",
        "mend src/index.ts:2",
    ),
    "a module of JavaScript": (
        f'{HEAD}import "./b.js";\n{A}',
        {"src/b.js": "const x = 1;\nlet y = ;\n"},
        "src/b.js has a syntax error at line 2: Expression expected",
        "JavaScript cannot read the file",
        "mend src/b.js:2",
    ),
    "a package": (
        f'{HEAD}import "p";\n{A}',
        {"node_modules/p/index.js": "x = ;\n"},
        "node_modules/p/index.js has a syntax error at line 1",
        "JavaScript cannot read the file",
        "mend node_modules/p/index.js:1",
    ),
    "JSON": (
        f'{HEAD}import x from "./b.json";\nx;\n{A}',
        {"src/b.json": '{"a": 1,\n "b": }'},
        "src/b.json is no JSON",
        "a module imports it",
        "mend the line shown below",
    ),
}

RAISED: dict[str, Case] = {
    "at the top": (
        f"{HEAD}\n\nconst x: unknown = null;\nthrow new TypeError(`top ${{x}}`);\n{A}",
        {},
        "src/index.ts line 5 cannot be imported",
        "TypeError: top null",
        "mend the line shown below",
    ),
    "in a module": (
        f'{HEAD}import "./b";\n{A}',
        {"src/b.ts": "interface X {}\n\nmissing();\n"},
        "src/b.ts line 3 cannot be imported",
        "ReferenceError: missing is not defined",
        "mend the line shown below",
    ),
    "in a package": (
        f'{HEAD}import "p";\n{A}',
        {"node_modules/p/index.js": "null.x;\n"},
        "node_modules/p/index.js line 1 cannot be imported",
        "Cannot read properties of null",
        "mend the line shown below",
    ),
    "of storage": (
        f'{HEAD}import {{ env }} from "@telnyx/edge-runtime";\nawait env.A.idFromName("x").run();',
        {},
        "src/index.ts line 3 cannot be imported",
        "inside a turn only: not while a module is loaded",
        "mend the line shown below",
    ),
}

CLASSES: dict[str, tuple[str, str, str]] = {
    "not exported": (
        f"{HEAD}class A extends StatefulActor {{}}",
        "src/index.ts exports no class `A`",
        "class A is there, at line 2, and is not exported",
    ),
    "no actor": (
        "export class A {}",
        "`A` in src/index.ts is not an actor class",
        "an actor is a class that extends StatefulActor of @telnyx/edge-runtime",
    ),
    "of another name": (
        f"{HEAD}export class B extends StatefulActor {{}}",
        "src/index.ts exports no class `A`",
        "the module exports: B",
    ),
}


def error_of(root: Path, source: str, files: Mapping[str, str]) -> EdgeemuError:
    config = write_modules(root, {"src/index.ts": source, **files})
    with pytest.raises(EdgeemuError) as raised:
        answer_of(config)
    return raised.value


@pytest.mark.parametrize("case", [*IMPORTS, *RAISED])
def test_what_cannot_be_imported(tmp_path: Path, case: str) -> None:
    source, files, *told = {**IMPORTS, **RAISED}[case]
    error = error_of(tmp_path, source, files)
    assert error.code is Code.PROJECT_IMPORT
    for part, field in zip(told, (error.what, error.why, error.fix), strict=True):
        assert part in field
    marked = [line for line in (error.detail or "").splitlines() if line.startswith(">")]
    named = error.what.partition(" line ")[2].split()[0]
    assert [line.split()[1] for line in marked] == [named]


@pytest.mark.parametrize("case", SYNTAX)
def test_what_cannot_be_read(tmp_path: Path, case: str) -> None:
    source, files, *told = SYNTAX[case]
    error = error_of(tmp_path, source, files)
    assert error.code is Code.PROJECT_SYNTAX
    for part, field in zip(told, (error.what, error.why, error.fix), strict=True):
        assert part in field
    assert "^" in (error.detail or "")


@pytest.mark.parametrize("case", CLASSES)
def test_a_class_that_is_missing(tmp_path: Path, case: str) -> None:
    source, what, why = CLASSES[case]
    error = error_of(tmp_path, source, {})
    assert error.code is Code.CLASS_MISSING
    assert (what in error.what, why in error.why) == (True, True), error


def test_an_import_that_fails_inside_an_actor_says_which(tmp_path: Path) -> None:
    source = actor("", 'try { await import("./none") } catch (e) { return e.message }')
    answer = answer_of(write_modules(tmp_path, {"src/index.ts": source}))
    assert answer == 'Error: cannot find "./none", which src/index.ts imports'


def test_a_module_that_waits_for_ever(tmp_path: Path) -> None:
    config = write_modules(
        tmp_path,
        {"src/index.ts": f"{HEAD}await new Promise(() => {{}});\n{A}"},
        toml="[limits]\nwatchdog_ms = 300\n",
    )
    with pytest.raises(EdgeemuError, match="awaits what never comes") as raised:
        answer_of(config)
    assert raised.value.code is Code.PROJECT_IMPORT
