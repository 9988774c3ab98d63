"""Texts as a receipt keeps them: a digest of the whole, and little of it to read."""

from __future__ import annotations

from ..digest import blob_id
from ..limits import MAX_EXCERPT_BYTES
from .receipt import Text

_GAP = " … "
_TAIL = MAX_EXCERPT_BYTES // 4
_HEAD = MAX_EXCERPT_BYTES - _TAIL - len(_GAP.encode())


def of_text(text: str) -> Text | None:
    """Return what a receipt keeps of `text`, nothing of an empty one.

    Secrets are taken out first. Of a long text the excerpt is its beginning and its end,
    where errors tend to say what they are.
    """
    if not text:
        return None
    data, redacted = _without_secrets(text)
    return Text(blob_id(data), len(data), excerpt(data), redacted)


def _without_secrets(text: str) -> tuple[bytes, int]:
    from ..secrets import masked

    data, redacted = masked(well_formed(text).encode())
    return (data.decode(errors="replace").encode(), redacted) if redacted else (data, 0)


def excerpt(data: bytes) -> str:
    """Return `data`, UTF-8, if it is short, else its two ends."""
    if len(data) <= MAX_EXCERPT_BYTES:
        return data.decode()
    head, tail = data[:_HEAD], data[-_TAIL:]
    return head.decode(errors="ignore") + _GAP + tail.decode(errors="ignore")


def shortened(text: str, most: int) -> str:
    """Return `text` without secrets, cut to `most` bytes of UTF-8 with a mark at the cut."""
    data, _ = _without_secrets(text)
    if len(data) <= most:
        return data.decode()
    return data[: most - len("…".encode())].decode(errors="ignore") + "…"


def well_formed(text: str) -> str:
    """Return `text` with halves of characters, which JSON can smuggle in, replaced."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
