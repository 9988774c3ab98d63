"""Delimiters around untrusted text in a prompt, which nothing inside can close or forge.

Nothing inside can close the frame or open another one, for the lines of the frame bear a
tag that follows from all that stands in it and does not occur there.
"""

from __future__ import annotations

from ..digest import blob_id
from .visible_text import fold_to_line

_TAG_DIGITS = 16


def delimit_text(kind: str, about: str, text: str) -> str:
    """Return `text` between two lines that name its `kind`; the first says what it is `about`.

    What it is about may name what others named, and is shown on one line.
    """
    about = fold_to_line(about)
    tag = _unforgeable_tag(f"{about}\n{text}")
    return f"[{kind} {tag} begins: {about}]\n{text}\n[{kind} {tag} ends]"


def _unforgeable_tag(text: str) -> str:
    """Return the first digits of a digest of the text that it does not hold."""
    digest = blob_id(text.encode("utf-8", "surrogatepass"))
    while (tag := digest.hex()[:_TAG_DIGITS]) in text.lower():
        digest = blob_id(digest)
    return tag
