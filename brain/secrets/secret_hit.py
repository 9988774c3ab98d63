"""A secret that a scanner found, how sure it is, and the line around it without the secret."""

from __future__ import annotations

from typing import NamedTuple

from ..errors import printable_text
from ..util.text import lazy_pattern

CERTAIN = "certain"
"""The format leaves no doubt: the prefix and length of an issuer, or the body of a private key."""
DOUBTFUL = "doubtful"
"""A keyword or the look of a value speaks for it; such a finding can be wrong."""
EXAMPLE = "example"
"""A password as documents give it. It is masked in a text that is stored, but not reported."""

_BYTES_BEFORE = 60
_BYTES_AFTER = 40
_MAX_TAIL_BYTES = 200
_TAIL = lazy_pattern(rb"[^\s\"'`]{0,%d}" % _MAX_TAIL_BYTES)
"""What directly follows a secret may belong to it, so it is not shown."""


class SecretHit(NamedTuple):
    """A secret with its rule, its place in bytes, and its grade: CERTAIN, DOUBTFUL or EXAMPLE."""

    rule: str
    start: int
    stop: int
    secret: bytes
    grade: str


def masked_excerpt(content: bytes, hit: SecretHit, covered: int, following: int) -> str:
    """Return the line of a hit, cut around the secret, which its rule replaces.

    Other hits end before `covered` or begin at `following` or later; their bytes are not shown.
    """
    begin = max(content.rfind(b"\n", 0, hit.start) + 1, covered)
    first = max(begin, hit.start - _BYTES_BEFORE)
    before = ("…" if first > begin else "") + _decode(content[first : hit.start]).lstrip()
    return f"{before}{secret_mark(hit)}{_text_after(content, hit, following)}"


def secret_mark(hit: SecretHit) -> str:
    """Return the text that stands for a secret."""
    return f"[redacted: {hit.rule}]"


def _text_after(content: bytes, hit: SecretHit, following: int) -> str:
    tail = _TAIL().match(content, hit.stop)
    start = tail.end() if tail else hit.stop
    line_end = content.find(b"\n", hit.start)
    end = min(line_end if line_end >= 0 else len(content), following)
    if start >= end or start - hit.stop >= _MAX_TAIL_BYTES:
        return ""
    last = min(end, start + _BYTES_AFTER)
    return _decode(content[start:last]).rstrip() + ("…" if last < end else "")


def _decode(part: bytes) -> str:
    return printable_text(part.decode("utf-8", "ignore").expandtabs(1), 4 * _BYTES_BEFORE)
