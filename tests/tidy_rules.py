"""House rules as functions over source text: each names the place and the remedy.

A rule takes a `Source` and yields findings; it reads no other file, except that `links` asks
whether a target exists. `check` applies a rule to the files of its scope.
"""

import ast
import io
import os
import re
import tokenize
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import NamedTuple

LINE_COLUMNS_MAX = 100
FILE_LINES_MAX = 500
FUNCTION_LINES_MAX = 70
FILE_BYTES_MAX = 200_000
REASON_CHARACTERS_MIN = 10

SKIPPED_FOLDERS = {"node_modules", "build", "dist", "htmlcov", "__pycache__"}
DOTTED_FOLDERS_READ = {".ci", ".github"}
CODE_SUFFIXES = {".py", ".ts", ".js", ".mjs", ".css", ".html", ".toml", ".sh"}
CODE_NAMES = {"Makefile", "run"}
CLOCK_MODULES = {"time"}
RNG_MODULES = {"random", "secrets", "uuid"}
BANNED_NAMES = {
    "asyncio": {"sleep": "edgeemu.clock"},
    "os": {"urandom": "edgeemu.rng"},
    "threading": {"Timer": "edgeemu.clock"},
}
DATE_READS = {"now", "utcnow", "today"}
ENGINE_NAME = re.compile(r"(?<![a-z])deno(?![a-z])", re.IGNORECASE)


class Finding(NamedTuple):
    """One breach of one rule."""

    path: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}"


@dataclass(frozen=True)
class Source:
    """One file of the project: its path from the root, and its bytes."""

    path: str
    content: bytes = field(repr=False)
    root: Path

    @cached_property
    def text(self) -> str | None:
        """The content as text, or None for a binary file."""
        try:
            return self.content.decode()
        except UnicodeDecodeError:
            return None

    @cached_property
    def lines(self) -> list[str]:
        return (self.text or "").split("\n")

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text or "")

    def at(self, where: ast.AST | int, message: str) -> Finding:
        """A finding in this file, at a line number or a node."""
        line = where if isinstance(where, int) else getattr(where, "lineno", 1)
        return Finding(self.path, line, message)


Rule = Callable[[Source], Iterator[Finding]]


def line_length(source: Source) -> Iterator[Finding]:
    """Lines are short enough to stand side by side; one that ends in a link may be longer."""
    for number, line in enumerate(source.lines, 1):
        if len(line) > LINE_COLUMNS_MAX and not re.search(r"https?://\S+$", line):
            yield source.at(number, f"{len(line)} columns; at most {LINE_COLUMNS_MAX}: break it")


def file_length(source: Source) -> Iterator[Finding]:
    """Files stay small enough to read in one sitting."""
    count = len((source.text or "").splitlines())
    if count > FILE_LINES_MAX:
        yield source.at(1, f"{count} lines; at most {FILE_LINES_MAX}: split the file by idea")


def function_length(source: Source) -> Iterator[Finding]:
    """Functions, with their docstrings, fit on a page."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            count = (node.end_lineno or node.lineno) - node.lineno + 1
            if count > FUNCTION_LINES_MAX:
                message = f"`{node.name}` has {count} lines; at most {FUNCTION_LINES_MAX}: split it"
                yield source.at(node, message)


def leftovers(source: Source) -> Iterator[Finding]:
    """Markers of unfinished work do not stay; what can wait says why."""
    for number, line in enumerate(source.lines, 1):
        if found := re.search(r"\b(FIXME|XXX)\b", line):
            yield source.at(number, f"left-over {found[1]}: finish it, or TODO(later) and a reason")
        for found in re.finditer(r"\bTODO\b(\(later\): *\S+ +\S+)?", line):
            if not found[1]:
                message = "a TODO is finished now, or written `TODO(later): the reason in words`"
                yield source.at(number, message)


def bare_except(source: Source) -> Iterator[Finding]:
    """An `except` names what it expects."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.ExceptHandler) and node.type is None:
            yield source.at(node, "bare `except:` hides our bugs: name the exception")


def prints(source: Source) -> Iterator[Finding]:
    """Only the command line prints."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call) and dotted(node.func) == "print":
            yield source.at(node, "only edgeemu/cli/ prints: return the data, or journal it")


def module_docstring(source: Source) -> Iterator[Finding]:
    """A module begins with the promise it makes."""
    if not (ast.get_docstring(source.tree) or "").strip():
        yield source.at(1, "no module docstring: begin with the promise the module makes")


def real_time_and_chance(source: Source) -> Iterator[Finding]:
    """Time comes from edgeemu.clock, chance from edgeemu.rng: a second net beside the linter."""
    for node in ast.walk(source.tree):
        for name in imported(node):
            module, _, member = name.partition(".")
            if module in CLOCK_MODULES:
                yield source.at(node, f"`{module}` is read in edgeemu/clock.py only: use the clock")
            elif module in RNG_MODULES:
                yield source.at(node, f"`{module}` is used in edgeemu/rng.py only: use a stream")
            elif home := BANNED_NAMES.get(module, {}).get(member):
                yield source.at(node, f"`{name}` is banned: use {home}")
        if isinstance(node, ast.Attribute):
            name = dotted(node)
            module, _, member = name.rpartition(".")
            if home := BANNED_NAMES.get(module, {}).get(member):
                yield source.at(node, f"`{name}` is banned: use {home}")
            elif member in DATE_READS and module.rpartition(".")[2] in {"date", "datetime"}:
                yield source.at(node, f"`{name}` reads real time: use the `now_ms` of the clock")


def reasons_of_skips(source: Source) -> Iterator[Finding]:
    """A test that is skipped, or expected to fail, says why."""
    called = {id(node.func) for node in ast.walk(source.tree) if isinstance(node, ast.Call)}
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call):
            name = dotted(node.func)
            by_position = name in {"pytest.skip", "pytest.xfail", "pytest.mark.skip"}
            needs = by_position or name in {
                "pytest.mark.xfail",
                "pytest.mark.skipif",
                "pytest.importorskip",
            }
            given = [word.value for word in node.keywords if word.arg in {"reason", "msg"}]
            if needs and not any(says_why(value) for value in given + node.args * by_position):
                yield source.at(node, f"`{name}` gives no reason: add `reason=`, in a sentence")
        elif id(node) not in called and dotted(node) in {"pytest.mark.skip", "pytest.mark.xfail"}:
            yield source.at(node, f"`{dotted(node)}` gives no reason: add `(reason=...)`")


def engine_name(source: Source) -> Iterator[Finding]:
    """Only the JavaScript engine's adapter knows what the engine is."""
    message = "only edgeemu/engines/javascript* names the engine: say `the JavaScript engine`"
    if not source.path.endswith(".py"):
        for number, line in enumerate(source.lines, 1):
            if ENGINE_NAME.search(line):
                yield source.at(number, message)
        return
    # Messages of these two may tell the user what to install; their code may not use it.
    messages_allowed = PurePosixPath(source.path).match("edgeemu/config*")
    messages_allowed = messages_allowed or source.path == "edgeemu/errors.py"
    for token in tokenize.generate_tokens(io.StringIO(source.text or "").readline):
        code = token.type in {tokenize.NAME, tokenize.COMMENT}
        if ENGINE_NAME.search(token.string) and (code or not messages_allowed):
            yield source.at(token.start[0], message)


def links(source: Source) -> Iterator[Finding]:
    """Relative links in Markdown lead to a file."""
    folder = (source.root / source.path).parent
    fenced = False
    for number, line in enumerate(source.lines, 1):
        if re.match(r"\s*(```|~~~)", line):
            fenced = not fenced
        if fenced:
            continue
        prose = re.sub(r"`[^`]*`", "``", line)
        targets = re.findall(r"\]\(<?([^)>\s]+)", prose)
        targets += re.findall(r"^\s*\[[^\]]+\]:\s*<?([^>\s]+)", prose)
        for target in targets:
            name = target.partition("#")[0]
            if not name or re.match(r"[a-z][a-z0-9+.-]*:", name):
                continue
            if not (folder / name).exists():
                yield source.at(number, f"`{target}` leads nowhere: mend the link")


def file_size(source: Source) -> Iterator[Finding]:
    """No large files: they stay in every clone for ever."""
    if len(source.content) > FILE_BYTES_MAX:
        message = f"{len(source.content)} bytes; at most {FILE_BYTES_MAX}: keep it out, or make it"
        yield source.at(1, message)


def dotted(node: ast.AST) -> str:
    """`a.b.c` for such an expression, and the empty string for any other."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (owner := dotted(node.value)):
        return f"{owner}.{node.attr}"
    return ""


def imported(node: ast.AST) -> Iterable[str]:
    """The full names that a statement or a call such as `import_module("x")` imports."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.level == 0:
        return [f"{node.module}.{alias.name}" for alias in node.names]
    if isinstance(node, ast.Call) and node.args:
        first = node.args[0]
        function = dotted(node.func).rpartition(".")[2]
        if function in {"import_module", "__import__"} and isinstance(first, ast.Constant):
            return [str(first.value)]
    return []


def says_why(value: ast.expr) -> bool:
    """Whether an argument can be a reason: enough words, or text made while the test runs."""
    if isinstance(value, ast.Constant):
        return isinstance(value.value, str) and len(value.value.strip()) >= REASON_CHARACTERS_MIN
    return True


def python_in(*folders: str, but: tuple[str, ...] = ()) -> Callable[[str], bool]:
    """The scope of a rule for the Python files below some folders, less some paths or folders."""

    def holds(path: str) -> bool:
        return path.endswith(".py") and path.startswith(folders) and not path.startswith(but)

    return holds


def is_code(path: str) -> bool:
    """Whether a path is a program, a style or a setting: text that a formatter could break."""
    name = PurePosixPath(path)
    return name.suffix in CODE_SUFFIXES or name.name in CODE_NAMES


def may_not_name_markers(path: str) -> bool:
    """Whether a path is code that has no business with the markers that `leftovers` looks for."""
    return is_code(path) and path not in {"tests/tidy_rules.py", "tests/test_tidy.py"}


def is_product_code(path: str) -> bool:
    """Whether a path is code of the package itself, in either language."""
    return path.startswith("edgeemu/") and PurePosixPath(path).suffix in {".py", ".ts", ".js"}


def names_no_engine(path: str) -> bool:
    """Whether a path is part of the package and outside the adapter of the JavaScript engine."""
    adapter = ("edgeemu/engines/javascript", "edgeemu/engines/js/")
    return path.startswith("edgeemu/") and not path.startswith(adapter)


PRODUCT = python_in("edgeemu/")
RULES: dict[Rule, Callable[[str], bool]] = {
    line_length: is_code,
    file_length: is_product_code,
    function_length: PRODUCT,
    leftovers: may_not_name_markers,
    bare_except: python_in("edgeemu/", "tests/", "templates/", "benchmarks/"),
    prints: python_in("edgeemu/", but=("edgeemu/cli/",)),
    module_docstring: PRODUCT,
    real_time_and_chance: python_in("edgeemu/", but=("edgeemu/clock.py", "edgeemu/rng.py")),
    reasons_of_skips: python_in("tests/"),
    engine_name: names_no_engine,
    links: lambda path: path.endswith(".md"),
    file_size: lambda path: True,
}


def check(rule: Rule, sources: Iterable[Source]) -> list[Finding]:
    """What one rule finds in the files of its scope; only `file_size` looks at binary files."""
    found: list[Finding] = []
    for source in sources:
        if RULES[rule](source.path) and (source.text is not None or rule is file_size):
            found.extend(rule(source))
    return found


def project_sources(root: Path) -> list[Source]:
    """All files of the project in order of path, without what tools and runs leave behind."""
    sources: list[Source] = []
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(
            name
            for name in folders
            if name not in SKIPPED_FOLDERS
            and (not name.startswith(".") or name in DOTTED_FOLDERS_READ)
        )
        for name in sorted(names):
            path = Path(folder, name)
            relative = path.relative_to(root).as_posix()
            sources.append(Source(relative, path.read_bytes(), root))
    return sources
