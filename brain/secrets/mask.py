"""Takes secrets out of content that is kept."""

from __future__ import annotations

from .expression import expression
from .finder import MAX_FINDINGS, hits
from .shapes import Hit

_END_OF_PEM = expression(rb"-----END [A-Z0-9 ]{0,40}-----")
_ALL = b"[redacted: too many secrets]"


def masked(content: bytes) -> tuple[bytes, int]:
    """Return `content` with what `find` finds in it replaced by its rule, and how many those are.

    Of a private key everything up to its last line goes. Content with MAX_FINDINGS secrets
    or more goes as a whole.
    """
    found = hits(content)
    if not found:
        return content, 0
    if len(found) >= MAX_FINDINGS:
        return _ALL, len(found)
    kept: list[bytes] = []
    end = count = 0
    for hit in found:
        stop = _stop(content, hit)
        if hit.start >= end:
            kept += [content[end : hit.start], b"[redacted: %b]" % hit.rule.encode()]
            count += 1
        end = max(end, stop)
    kept.append(content[end:])
    return b"".join(kept), count


def _stop(content: bytes, hit: Hit) -> int:
    if not hit.rule.startswith("private-key"):
        return hit.stop
    end = _END_OF_PEM().search(content, hit.stop)
    return end.end() if end else len(content)
