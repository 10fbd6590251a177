"""Keys and values larger than the platform may take (spec/telnyx-actors.md section 6, U25)."""

from edgeemu.limits import KEY_BYTES_ADVISED_MAX, VALUE_BYTES_ADVISED_MAX


def oversize_text(key: str, data: bytes) -> str | None:
    """What to say of a write whose key or encoded value is large; None for any other."""
    if len(data) > VALUE_BYTES_ADVISED_MAX:
        return (
            f"the value of {key[:40]!r} takes {len(data)} bytes, more than "
            f"{VALUE_BYTES_ADVISED_MAX}: the platform names no limit, and may refuse it; "
            "keep parts of it under keys of their own"
        )
    # A character takes four bytes at most.
    if len(key) * 4 <= KEY_BYTES_ADVISED_MAX:
        return None
    key_bytes = len(key.encode())
    if key_bytes <= KEY_BYTES_ADVISED_MAX:
        return None
    return (
        f"the key {key[:40] + '…'!r} takes {key_bytes} bytes, more than {KEY_BYTES_ADVISED_MAX}: "
        "the platform names no limit, and may refuse it; keep what is long in the value"
    )
