"""Reading TypeScript and JavaScript as text: where a call stands, and what becomes of its result.

Nothing is parsed in full. Promise: where a place cannot be told for sure, it is not reported.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

_CALL = re.compile(r"\.\s*([A-Za-z_$][\w$]*)\s*(?:<[\w\s,.\[\]|]*>\s*)?\(")
_WORD_AT_END = re.compile(r"([A-Za-z_$#][\w$]*)\s*$")
_PARAMETERS_END = re.compile(r"\)\s*(?::[^(){};]*)?$")
_NO_BLANK = re.compile(r"\S")
_WORD_CHARS_MAX = 200
_HEAD_CHARS_MAX = 400
_BLOCKS = {"if", "for", "while", "switch", "catch", "with"}
_BARE_BLOCKS = {"else", "try", "finally", "do"}
_USES_WHAT_FOLLOWS = {
    *("await", "return", "void", "yield", "throw", "typeof", "new", "delete", "in", "of"),
    *("case", "async", "instanceof", "extends", "default", "as"),
}
_BEFORE_REGEX = set("(,=:[!&|?{};+-*%<>~^") | {""}
_GOES_ON = set(".?([+-*/,&|=`<>%^:)]")
_OPENS = {")": "(", "]": "[", "}": "{"}


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a method.

    Attributes:
        line: of the name, from 1.
        owner: what the method is called on, without blanks, such as `this.ctx.storage`.
        name: of the method.
        start, open, end: where the expression begins, its `(` stands, and its `)`.
    """

    line: int
    owner: str
    name: str
    start: int
    open: int
    end: int


class Script:
    """One module as text.

    Attributes:
        text: as it is.
        code: the same with strings and comments blanked, so that all positions agree.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.code = _masked(text)
        self._lines = [match.end() for match in re.finditer("\n", text)]

    def line_at(self, position: int) -> int:
        """The line of a position, from 1."""
        return bisect_right(self._lines, position) + 1

    def calls(self, *names: str) -> Iterator[Call]:
        """The calls of methods with these names, in order."""
        for match in _CALL.finditer(self.code):
            if match[1] not in names:
                continue
            start = self._chain_start(match.start())
            end = self.closing(match.end() - 1)
            if start is not None and end is not None:
                owner = re.sub(r"[\s!?]", "", self.code[start : match.start()])
                line = self.line_at(match.start(1))
                yield Call(line, owner, match[1], start, match.end() - 1, end)

    def arguments(self, call: Call) -> str:
        """What stands between the parentheses, strings and comments blanked."""
        return self.code[call.open + 1 : call.end].strip().rstrip(",")

    def is_discarded(self, call: Call) -> bool:
        """Whether a call is a statement of its own in `async` code: nothing awaits its result."""
        return (
            self._begins_statement(call.start)
            and self._ends_statement(call.end + 1)
            and self._in_async(call.start)
        )

    def closing(self, position: int) -> int | None:
        """Where what opens at a position closes."""
        depth = 0
        for at in range(position, len(self.code)):
            if self.code[at] in "([{":
                depth += 1
            elif self.code[at] in ")]}":
                depth -= 1
                if depth == 0:
                    return at
        return None

    def block_around(self, position: int) -> int | None:
        """The `{` of the innermost block around a position."""
        depth = 0
        for at in range(position - 1, -1, -1):
            if self.code[at] == "}":
                depth += 1
            elif self.code[at] == "{":
                if depth == 0:
                    return at
                depth -= 1
        return None

    def _opening(self, position: int) -> int | None:
        """Where what closes at a position opens."""
        closes, opens, depth = self.code[position], _OPENS[self.code[position]], 0
        for at in range(position, -1, -1):
            if self.code[at] == closes:
                depth += 1
            elif self.code[at] == opens:
                depth -= 1
                if depth == 0:
                    return at
        return None

    def _back(self, at: int, more: str = "") -> int:
        """The position behind the last character before `at` that is no blank, nor one of more."""
        while at and (self.code[at - 1].isspace() or self.code[at - 1] in more):
            at -= 1
        return at

    def _word_before(self, at: int) -> re.Match[str] | None:
        return _WORD_AT_END.search(self.code, max(0, at - _WORD_CHARS_MAX), at)

    def _chain_start(self, dot: int) -> int | None:
        """Where the expression before a dot begins: names, calls and dots."""
        at = dot
        while True:
            at = self._back(at, "?!")
            while at and self.code[at - 1] in ")]":
                opened = self._opening(at - 1)
                if opened is None:
                    return None
                at = self._back(opened)
            word = self._word_before(at)
            if word is None:
                return None
            at = self._back(word.start())
            if not at or self.code[at - 1] != ".":
                return word.start()
            at -= 1

    def _begins_statement(self, start: int) -> bool:
        at = self._back(start)
        if not at or self.code[at - 1] in ";{}":
            return True
        new_line = "\n" in self.code[at:start]
        if self.code[at - 1] == ")":
            opened = self._opening(at - 1)
            word = None if opened is None else self._word_before(opened)
            return new_line or (word is not None and word[1] in _BLOCKS)
        word = self._word_before(at)
        if word is not None:
            return word[1] in _BARE_BLOCKS or (new_line and word[1] not in _USES_WHAT_FOLLOWS)
        return new_line and self.code[at - 1] in "]\"'`"

    def _ends_statement(self, end: int) -> bool:
        after = _NO_BLANK.search(self.code, end)
        if after is None or after[0] in ";}":
            return True
        return "\n" in self.code[end : after.start()] and after[0] not in _GOES_ON

    def _in_async(self, position: int) -> bool:
        """Whether the innermost function around a position is `async`."""
        opened = self.block_around(position)
        while opened is not None:
            at = self._back(opened)
            if self.code.startswith("=>", at - 2):
                at = self._back(at - 2)
            found = _PARAMETERS_END.search(self.code, max(0, at - _HEAD_CHARS_MAX), at)
            if found is not None:
                opens = self._opening(found.start())
                if opens is None:
                    return False
                before = self.code[max(0, opens - _HEAD_CHARS_MAX) : opens].rstrip()
                before = re.sub(r"<[^<>]*>\s*$", "", before)
                word = _WORD_AT_END.search(before)
                if word is None or word[1] not in _BLOCKS:
                    return re.search(r"\basync\b[\w$#*\s]*$", before) is not None
            opened = self.block_around(opened)
        return False


def _masked(text: str) -> str:
    """Strings, comments and patterns as blanks, code as it is; lines stay lines."""
    masked: list[str] = []
    templates: list[int] = []  # for each template literal around: braces open in its `${`
    at = 0
    last = ""  # the last character of code
    while at < len(text):
        char = text[at]
        if templates and char == "}" and templates[-1] == 0:
            templates.pop()
            end = _template_end(text, at + 1, templates)
        elif char == "`":
            end = _template_end(text, at + 1, templates)
        elif char in "\"'":
            end = _end(text, at, char)
        elif text.startswith("//", at):
            end = _found(text.find("\n", at), text)
        elif text.startswith("/*", at):
            end = _found(text.find("*/", at + 2), text, 2)
        elif char == "/" and (last in _BEFORE_REGEX or _after_keyword(masked)):
            end = _end(text, at, "/")
        else:
            if templates and char in "{}":
                templates[-1] += 1 if char == "{" else -1
            masked.append(char)
            last = char if not char.isspace() else last
            at += 1
            continue
        piece = text[at:end]
        is_value = char not in "/}" or (char == "/" and not piece.startswith(("//", "/*")))
        blank = re.sub(r"[^\n]", " ", piece)
        if is_value and blank:
            blank = '"' + blank[1:-1] + '"' if len(blank) > 1 else '"'
            last = '"'
        masked.append(blank)
        at = end
    return "".join(masked)


def _template_end(text: str, at: int, templates: list[int]) -> int:
    """Where the text of a template literal ends: at its backquote, or behind the next `${`."""
    while at < len(text):
        if text[at] == "\\":
            at += 2
        elif text[at] == "`":
            return at + 1
        elif text.startswith("${", at):
            templates.append(0)
            return at + 2
        else:
            at += 1
    return len(text)


def _end(text: str, at: int, quote: str) -> int:
    """Behind a string or a pattern, which end with their line at the latest."""
    in_class = False
    at += 1
    while at < len(text) and text[at] != "\n":
        if text[at] == "\\":
            at += 1
        elif quote == "/" and text[at] in "[]":
            in_class = text[at] == "["
        elif text[at] == quote and not in_class:
            return at + 1
        at += 1
    return min(at, len(text))


def _found(at: int, text: str, more: int = 0) -> int:
    return len(text) if at < 0 else at + more


def _after_keyword(masked: list[str]) -> bool:
    word = _WORD_AT_END.search("".join(masked[-12:]))
    return word is not None and word[1] in {"return", "typeof", "case", "in", "of", "void"}
