"""What TypeScript code may import, and how: as the platform's bundler finds it, on Node."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from edgeemu.config import load_config
from edgeemu.emulator import Emulator
from edgeemu.engines.port import PlainRequest
from tests.support.emulators import inst, run_with
from tests.support.script_modules import HEAD, actor, answer_of, write_files, write_modules

ONE = "export const v: number = 1;"
ONE_JS = "export const v = 1;"
TWO = "export const v: number = 2;"
Case = tuple[str, Mapping[str, str], Any]

RELATIVE: dict[str, Case] = {
    "with its extension": ("./b.ts", {"src/b.ts": ONE}, 1),
    "without": ("./b", {"src/b.ts": ONE}, 1),
    "a dot in the name": ("./b.service", {"src/b.service.ts": ONE}, 1),
    "from above": ("../lib/b", {"lib/b.ts": ONE}, 1),
    "js for ts": ("./b.js", {"src/b.ts": ONE}, 1),
    "js for tsx": ("./b.js", {"src/b.tsx": ONE}, 1),
    "jsx for tsx": ("./b.jsx", {"src/b.tsx": ONE}, 1),
    "mjs for mts": ("./b.mjs", {"src/b.mts": ONE}, 1),
    "js that is there": ("./b.js", {"src/b.js": "export const v = 2", "src/b.ts": ONE}, 2),
    "a folder": ("./b", {"src/b/index.ts": ONE}, 1),
    "a folder with a slash": ("./b/", {"src/b/index.ts": ONE, "src/b.ts": TWO}, 1),
    "a file before a folder": ("./b", {"src/b.ts": ONE, "src/b/index.ts": TWO}, 1),
    "the folder itself": (".", {"src/index.tsx": ONE, "package.json": "{}"}, 1),
    "a folder with a main": (
        "./b",
        {"src/b/package.json": '{"main": "x"}', "src/b/x.ts": ONE},
        1,
    ),
    "a query": ("./b.ts?raw", {"src/b.ts": ONE}, 1),
    "CommonJS without a package": ("./b.js", {"src/b.js": "module.exports = { v: 1 }"}, 1),
    "CommonJS by its name": ("./b.cjs", {"src/b.cjs": "exports.v = 1"}, 1),
    "JSON": ("./b.json", {"src/b.json": '{"v": 1, "a-b": 2, "class": 3}'}, 1),
    "JSON with a mark": ("./b.json", {"src/b.json": '\ufeff{"v": 1}'}, 1),
}

ALIASES: dict[str, Case] = {
    "a pattern": (
        "@/b",
        {
            "src/b.ts": ONE,
            "tsconfig.json": """{
                // comments, and commas too many
                "compilerOptions": {"paths": {"@/*": ["./src/*"], "/* no comment */": ["x"],},}
            }""",
        },
        1,
    ),
    "a name": (
        "~lib",
        {
            "lib/main.ts": ONE,
            "tsconfig.json": '{"compilerOptions": {"baseUrl": ".", "paths": '
            '{"*": ["no/*"], "~lib": ["lib/main.ts"]}}}',
        },
        1,
    ),
    "a base": (
        "lib/b",
        {"lib/b.ts": ONE, "tsconfig.json": '{"compilerOptions": {"baseUrl": "."}}'},
        1,
    ),
    "from what it extends": (
        "@/b",
        {
            "src/b.ts": ONE,
            "tsconfig.json": '{"extends": ["./base", "@conf/ts"]}',
            "base.json": '{"compilerOptions": {"paths": {"@/*": ["./src/*"]}}}',
            "node_modules/@conf/ts/tsconfig.json": '{"compilerOptions": {"strict": true}}',
        },
        1,
    ),
    "the next best of two": (
        "@/b",
        {
            "lib/b.ts": ONE,
            "tsconfig.json": '{"compilerOptions": {"paths": {"@/*": ["./src/*", "./lib/*"]}}}',
        },
        1,
    ),
    "not where it names a package": (
        "p",
        {
            "node_modules/p/index.js": "exports.v = 1",
            "tsconfig.json": '{"compilerOptions": {"paths": {"*": ["./types/*"]}}}',
        },
        1,
    ),
}

EXPORTS = """{
    "type": "module",
    "exports": {
        ".": {"types": "./x.d.ts", "require": "./no.cjs", "import": {"node": "./a.js"}},
        "./sub": ["./s.js"], "./feat/*": "./f/*.js", "./no": null
    }
}"""
PACKAGES: dict[str, Case] = {
    "exports": ("p", {"node_modules/p/package.json": EXPORTS, "node_modules/p/a.js": ONE_JS}, 1),
    "an entry of exports": (
        "p/sub",
        {"node_modules/p/package.json": EXPORTS, "node_modules/p/s.js": ONE_JS},
        1,
    ),
    "a pattern of exports": (
        "p/feat/a/b",
        {"node_modules/p/package.json": EXPORTS, "node_modules/p/f/a/b.js": ONE_JS},
        1,
    ),
    "a scope": ("@s/p", {"node_modules/@s/p/index.js": "exports.v = 1"}, 1),
    "main before module": (
        "p",
        {
            "node_modules/p/package.json": '{"main": "./a", "module": "./m.js"}',
            "node_modules/p/a.js": "exports.v = 1",
            "node_modules/p/m.js": "export const v = 2",
        },
        1,
    ),
    "modules without a type": (
        "p",
        {"node_modules/p/package.json": '{"module": "m.js"}', "node_modules/p/m.js": ONE_JS},
        1,
    ),
    "a file inside": (
        "p/lib/a",
        {"node_modules/p/package.json": "{}", "node_modules/p/lib/a.js": "exports.v = 1"},
        1,
    ),
    "JSON inside": ("p/package.json", {"node_modules/p/package.json": '{"v": 1}'}, 1),
    "TypeScript inside": (
        "p",
        {
            "node_modules/p/package.json": '{"main": "src/index.ts"}',
            "node_modules/p/src/index.ts": 'export { v } from "./w";',
            "node_modules/p/src/w.ts": "enum E { A = 1 }\nexport const v: number = E.A;",
        },
        1,
    ),
    "imports of its own": (
        "#b",
        {"package.json": '{"imports": {"#b": "./src/b.ts"}}', "src/b.ts": ONE},
        1,
    ),
    "itself": (
        "me/b",
        {"package.json": '{"name": "me", "exports": {"./b": "./src/b.ts"}}', "src/b.ts": ONE},
        1,
    ),
    "above the project's folder, for it is a workspace": (
        "p",
        {"../package.json": '{"workspaces": ["*"]}', "../node_modules/p/index.js": "exports.v=1"},
        1,
    ),
}


@pytest.mark.parametrize("case", [*RELATIVE, *ALIASES, *PACKAGES])
def test_an_import_finds_its_module(tmp_path: Path, case: str) -> None:
    specifier, files, expected = {**RELATIVE, **ALIASES, **PACKAGES}[case]
    source = actor(f'import {{ v }} from "{specifier}";', "return v;")
    files = {"src/index.ts": source, **files}
    assert answer_of(write_modules(tmp_path / "project", files)) == expected


LANGUAGE: dict[str, tuple[str, Any]] = {
    "enums": (actor("enum E { A = 4, B }\nconst enum F { A = 7 }", "return [E.B, F.A];"), [5, 7]),
    "namespaces": (actor("namespace N { export const v = 1 }", "return N.v;"), 1),
    "parameter properties": (
        actor("class P { constructor(private readonly v = 1) {} }", 'return new P()["v"];'),
        1,
    ),
    "declared fields": (
        actor(
            "class B { constructor() { this.init() } init() {} }\n"
            "class C extends B { declare v: number; init() { this.v = 1 } }",
            "return new C().v;",
        ),
        1,
    ),
    "using": (
        actor("", "let v = 0; { using x = { [Symbol.dispose]() { v = 1 } }; } return v;"),
        1,
    ),
    "satisfies": (actor("const x = { v: 1 } as const satisfies object;", "return x.v;"), 1),
    "standard decorators": (
        f"{HEAD}const twice = (fn) => function () {{ return 2 * fn.call(this) }};\n"
        "export class A extends StatefulActor { @twice run() { return 1 } }",
        2,
    ),
    "top-level await": (actor("const v = await Promise.resolve(1);", "return v;"), 1),
    "types only": (
        actor(
            'import type { T } from "./none";\nimport { U } from "./none";', "return 1 as T & U;"
        ),
        1,
    ),
    "no require": (actor("", "return [typeof require, typeof Deno, typeof global];"), None),
}


@pytest.mark.parametrize("case", LANGUAGE)
def test_the_language(tmp_path: Path, case: str) -> None:
    source, expected = LANGUAGE[case]
    if expected is None:
        expected = ["undefined", "undefined", "object"]
    assert answer_of(write_modules(tmp_path, {"src/index.ts": source})) == expected


def test_decorators_and_jsx_are_written_as_tsconfig_says(tmp_path: Path) -> None:
    source = f"""{HEAD}
    import {{ page }} from "./page";
    function seen(target, key, index) {{ target.seen = [key, index] }}
    export class A extends StatefulActor {{
      method(@seen x) {{}}
      run() {{ return [this.seen, page("w")] }}
    }}
    """
    files = {
        "src/index.ts": source,
        "src/page.tsx": "export const page = (id: string) => <b id={id}>x</b>;",
        "tsconfig.json": """{"compilerOptions": {
            "experimentalDecorators": true, "jsx": "react-jsx", "jsxImportSource": "p"}}""",
        "node_modules/p/package.json": '{"exports": {"./jsx-runtime": "./j.mjs"}}',
        "node_modules/p/j.mjs": "export const jsx = (tag, props) => [tag, props];",
    }
    answer = answer_of(write_modules(tmp_path, files))
    assert answer == [["method", 0], ["b", {"id": "w", "children": "x"}]]


def test_json_text_and_attributes(tmp_path: Path) -> None:
    imports = """
    import plain, { v } from "./b.json";
    import marked from "./b.json" with { type: "json" };
    import { createRequire } from "node:module";
    import text from "./t.txt";
    """
    body = """
    const required = createRequire(import.meta.url)("./b.json");
    const later = (await import("./b.json")).default;
    return [v, Object.keys(plain), marked.v, required.v, later.v, text];
    """
    files = {"src/b.json": '{"v": 1, "__proto__": 2}', "src/t.txt": "`${x}`\n"}
    config = write_modules(tmp_path, {"src/index.ts": actor(imports, body), **files})
    assert answer_of(config) == [1, ["v", "__proto__"], 1, 1, 1, "`${x}`\n"]


def test_commonjs_requires_the_runtime_and_knows_its_place(tmp_path: Path) -> None:
    package = """
    const { StatefulActor } = require("@telnyx/edge-runtime");
    const { basename } = require("path");
    exports.told = (x) => [
      x === StatefulActor, basename(__dirname), basename(__filename), require("./data").v,
    ];
    """
    files = {"node_modules/p/index.js": package, "node_modules/p/data.json": '{"v": 1}'}
    source = actor('import { told } from "p";', "return told(StatefulActor);")
    config = write_modules(tmp_path, {"src/index.ts": source, **files})
    assert answer_of(config) == [True, "p", "index.js", 1]


@pytest.mark.parametrize("name", ["a b", "a#b", "a%20b", "a,b", "ä→", "a?b", "a'b"])
def test_a_folder_of_any_name(tmp_path: Path, name: str) -> None:
    source = actor('import { v } from "./b b#";', "return [v, (await import('./c')).v];")
    files = {"src/index.ts": source, "src/b b#.ts": ONE, "src/c/index.ts": TWO}
    assert answer_of(write_modules(tmp_path / name, files)) == [1, 2]


@pytest.mark.parametrize("name", ["src/index.js", "src/index.mts", "index.tsx", "deep/er/x.mjs"])
def test_the_main_module_may_be_any(tmp_path: Path, name: str) -> None:
    config = write_modules(tmp_path, {name: actor("", "return 1;")}, main=name)
    assert answer_of(config) == 1


def test_packages_that_are_linked(tmp_path: Path) -> None:
    """As npm links a package of a workspace, and pnpm every package to where it keeps it."""
    store = "node_modules/.pnpm/q@1/node_modules"
    files = {
        "package.json": '{"workspaces": ["packages/*"]}',
        "packages/shared/package.json": '{"name": "shared", "main": "src/index.ts"}',
        "packages/shared/src/index.ts": ONE,
        f"{store}/q/index.js": 'exports.v = require("r").v + 1;',
        f"{store}/r/index.js": "exports.v = 1;",
        "outside/index.js": "exports.v = 3;",
    }
    write_files(tmp_path, files)
    root = tmp_path / "packages/fn"
    (root / "node_modules").mkdir(parents=True)
    (tmp_path / "node_modules/shared").symlink_to("../packages/shared")
    (root / "node_modules/q").symlink_to(tmp_path / store / "q")
    (root / "node_modules/far").symlink_to(tmp_path / "outside")
    imports = """
    import { v as shared } from "shared";
    import { v as q } from "q";
    import { v as far } from "far";
    """
    source = actor(imports, "return [shared, q, far];")
    assert answer_of(write_modules(root, {"src/index.ts": source})) == [1, 2, 3]


def test_several_functions_in_several_folders(tmp_path: Path) -> None:
    def front(name: str, more: str) -> str:
        return f"""
        import {{ StatefulActor }} from "@telnyx/edge-runtime";
        import {{ v }} from "p";
        {more}
        export default {{ fetch: async (request, env) => new Response("{name}" + v) }};
        """

    types = "export class A extends StatefulActor { run() { return v } }"
    write_files(
        tmp_path,
        {
            "one/src/index.ts": front("one", types),
            "one/node_modules/p/index.js": "exports.v = 1",
            "two/telnyx.toml": 'name = "two"\nmain = "index.ts"\n',
            "two/index.ts": front("two", ""),
            "two/node_modules/p/index.js": "exports.v = 2",
            "one/edgeemu.toml": """
            name = "one"
            main = "src/index.ts"
            [[actors]]
            binding = "A"
            type = "A"
            [functions.two]
            config = "../two/telnyx.toml"
            """.replace("            ", ""),
        },
    )

    async def ask(emulator: Emulator) -> list[Any]:
        request = PlainRequest("GET", "http://x/", (), b"")
        fronts = [await emulator.fetch(request, function=name) for name in ("one", "two")]
        return [await emulator.call(inst("A/x"), "run"), *(front.body for front in fronts)]

    assert run_with(load_config(tmp_path / "one"), ask) == [1, b"one1", b"two2"]


def test_an_import_after_a_reload_is_of_the_same_generation(tmp_path: Path) -> None:
    body = 'return [v, (await import("./later")).v, (await import("./b")).v];'
    source = actor('import { v } from "./b";', body)
    config = write_modules(
        tmp_path, {"src/index.ts": source, "src/b.ts": ONE, "src/later.ts": 'export * from "./b"'}
    )

    async def ask(emulator: Emulator) -> list[Any]:
        answers = [await emulator.call(inst("A/x"), "run")]
        write_files(tmp_path, {"src/b.ts": TWO})
        answers.append(await emulator.call(inst("A/x"), "run"))
        emulator.reload(["src/b.ts"])
        answers.append(await emulator.call(inst("A/x"), "run"))
        return answers

    assert run_with(config, ask) == [[1, 1, 1], [1, 1, 1], [2, 2, 2]]


@pytest.mark.parametrize("prefix", ["node:", ""])
def test_modules_of_node(tmp_path: Path, prefix: str) -> None:
    imports = "\n".join(
        f'import {name.replace("/", "_")} from "{prefix}{name}";'
        for name in ("crypto", "path", "util", "events", "zlib", "https", "tls", "stream")
    )
    body = """
    const seen = await new Promise((resolve) => stream.Readable.from(["s"]).on("data", resolve));
    return [
      crypto.createHash("sha256").update("a").digest("hex").slice(0, 8), path.join("a", "..", "b"),
      util.format("%d", 1), typeof events, zlib.gunzipSync(zlib.gzipSync("z")).toString(),
      typeof https.request, typeof tls.connect, seen, Buffer.from("x").toString("hex"),
    ];
    """
    config = write_modules(tmp_path, {"src/index.ts": actor(imports, body)})
    expected = ["ca978112", "b", "1", "function", "z", "function", "function", "s", "78"]
    assert answer_of(config) == expected
