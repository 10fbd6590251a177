"""Lines of the JavaScript host as frames, also where a text in them holds half a character.

The fast reader refuses the escape of a lone surrogate, which a string of JavaScript may hold.
"""

import re

import msgspec
from msgspec import Raw

from edgeemu.engines.javascript.frames import Frame

_LONE = re.compile(rb"(?<!\\)((?:\\\\)*)\\u(d[89a-f][0-9a-f]{2})")
"""The host writes whole characters as they are, so each such escape is of half a one."""

_decode = msgspec.json.Decoder(Frame).decode


def decode_frame(line: bytes) -> Frame:
    """The frame that a line of the host is; encoded values in it stay as they were written."""
    try:
        frame: Frame = _decode(line)
    except msgspec.DecodeError:
        if _LONE.search(line) is None:
            raise
        return _decode_marked(line)
    return frame


def _decode_marked(line: bytes) -> Frame:
    number = 0
    while (mark := b"(half %d:" % number) in line:
        number += 1
    frame: Frame = _decode(_LONE.sub(rb"\1" + mark + rb"\2", line))
    values = {}
    for name in frame.__struct_fields__:
        value = getattr(frame, name)
        if isinstance(value, Raw):
            values[name] = Raw(bytes(value).replace(mark, rb"\u"))
    return msgspec.structs.replace(frame, **values)
