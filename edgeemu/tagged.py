"""Values as tagged JSON, the form of the codec, whichever language can hold them.

Python cannot hold each value of JavaScript (an invalid date, a map with objects as keys): what only
passes through the tool, to be shown, kept, exported and imported, stays JSON.
"""

import json
import re
from collections.abc import Callable
from typing import Any

import msgspec

from edgeemu.codec import DEPTH_MAX, from_json, to_json
from edgeemu.sdk.errors import CodecError

_DATE_MS_MAX = 8_640_000_000_000_000
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")

_parse_json = msgspec.json.Decoder().decode
_dump_json = msgspec.json.Encoder().encode


def parse(data: bytes) -> object:
    """The tagged JSON that encoded bytes are.

    Args:
        data: what the codec of any language wrote.

    Raises:
        CodecError: the bytes are damaged; the message says where.
    """
    try:
        parsed = json.loads(data) if _SURROGATE.search(data) else _parse_json(data)
    except (ValueError, RecursionError) as error:
        raise CodecError(f"stored value is damaged: {error}") from None
    return check(parsed)


def dump(tagged: object) -> bytes:
    """The bytes that stand for a value, as the codec writes them.

    Args:
        tagged: JSON with tags, such as a user gave.

    Raises:
        CodecError: a tag is unknown or its content is wrong; the message has the path to it.
    """
    checked = check(tagged)
    try:
        return _dump_json(checked)
    except UnicodeEncodeError:
        return json.dumps(checked, separators=(",", ":")).encode()


def check(tagged: object) -> object:
    """Tagged JSON in the form that the codec writes: numbers in their one spelling, say.

    Raises:
        CodecError: as `dump`.
    """
    try:
        return _check(tagged, "value", DEPTH_MAX)
    except RecursionError:
        raise _too_deep() from None


def _too_deep() -> CodecError:
    return CodecError(f"value: nested deeper than {DEPTH_MAX} levels, or than the stack allows")


def _check(tagged: object, path: str, depth: int) -> object:
    if depth < 0:
        raise _too_deep()
    # Loops, for each level of the value is to take one call only.
    if isinstance(tagged, list):
        items: list[object] = []
        for number, item in enumerate(tagged):
            items.append(_check(item, f"{path}[{number}]", depth - 1))
        return items
    if not isinstance(tagged, dict):
        return to_json(from_json(tagged))  # A number, written the one way, or plain.
    if len(tagged) == 1:
        [(tag, content)] = tagged.items()
        if type(tag) is str and tag[:1] == "$":
            return _check_tag(tag, content, path, depth)
    members: dict[str, object] = {}
    for key, item in tagged.items():
        if type(key) is not str:
            raise CodecError(f"{path}: the key {key!r} is not JSON; keys are strings")
        members[key] = _check(item, f"{path}.{key}", depth - 1)
    return members


def _check_tag(tag: str, content: Any, path: str, depth: int) -> object:
    if tag == "$map" and _is_list_of_pairs(content):
        return {tag: [_check(pair, f"{path}[{n}]", depth - 2) for n, pair in enumerate(content)]}
    if tag == "$set" and type(content) is list:
        return {tag: _check(content, path, depth - 1)}
    if tag == "$object" and type(content) is dict:
        plain = {key: _check(item, f"{path}.{key}", depth - 2) for key, item in content.items()}
        is_like_tag = len(content) == 1 and next(iter(content))[:1] == "$"
        return {tag: plain} if is_like_tag else plain
    if tag in _ONLY_OTHERS and _ONLY_OTHERS[tag](content):
        return {tag: content}
    try:
        value = from_json({tag: content})
    except CodecError as error:
        raise CodecError(str(error).replace("value", path, 1)) from None
    return to_json(value) if tag == "$float" else {tag: content}


def _is_list_of_pairs(content: Any) -> bool:
    return type(content) is list and all(type(x) is list and len(x) == 2 for x in content)


def _is_date(content: Any) -> bool:
    is_whole = type(content) is int and abs(content) <= _DATE_MS_MAX
    return content is None or is_whole


def _is_pattern(content: Any) -> bool:
    match content:
        case [str(_), str(letters)]:
            return set(letters) <= set("dgimsuvy") and len(set(letters)) == len(letters)
    return False


_ONLY_OTHERS: dict[str, Callable[[Any], bool]] = {"$date": _is_date, "$regexp": _is_pattern}
"""What is a value in another language, though not always in Python."""
