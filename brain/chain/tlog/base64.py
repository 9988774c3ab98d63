"""Base64 in its one canonical form: padded, no line breaks, unused bits zero."""

from __future__ import annotations

from binascii import a2b_base64, b2a_base64


def encoded(data: bytes) -> str:
    """Return `data` in base64."""
    return b2a_base64(data, newline=False).decode("ascii")


def decoded(text: str) -> bytes | None:
    """Return the bytes that a text stands for, None if it is not canonical base64."""
    if not text.isascii():
        return None
    try:
        data = a2b_base64(text, strict_mode=True)
    except ValueError:
        return None
    return data if encoded(data) == text else None
