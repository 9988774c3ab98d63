"""Delimiters around untrusted text in a prompt, which the text can neither close nor forge.

Both delimiter lines hold a tag that is derived from the text and does not occur in it.
"""

from __future__ import annotations

from ..digest import blob_id
from .visible_text import fold_to_line

_TAG_DIGITS = 16


def delimit_text(kind: str, about: str, text: str) -> str:
    """Return `text` between two lines that name its `kind`; the first also holds `about`.

    `about` may contain untrusted names; it is folded to one line.
    """
    about = fold_to_line(about)
    tag = _unforgeable_tag(f"{about}\n{text}")
    return f"[{kind} {tag} begins: {about}]\n{text}\n[{kind} {tag} ends]"


def _unforgeable_tag(text: str) -> str:
    """Return the first digits of a digest of the text that do not occur in it."""
    digest = blob_id(text.encode("utf-8", "surrogatepass"))
    while (tag := digest.hex()[:_TAG_DIGITS]) in text.lower():
        digest = blob_id(digest)
    return tag
