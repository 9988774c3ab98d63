"""Takes secrets out of content that is kept."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .finder import MAX_SECRET_FINDINGS, find_hits
from .key_patterns import SecretHit
from .lazy_regex import lazy_pattern

_PEM_END = lazy_pattern(rb"-----END [A-Z0-9 ]{0,40}-----")
_MIN_URL_PART_CHARS = 8
"""Characters of a part of an address that may be a key, and no word such as `v1` or `rpc`."""
_TOO_MANY_MARK = b"[redacted: too many secrets]"


def mask_secrets(content: bytes) -> tuple[bytes, int]:
    """Return `content` with what `find` finds in it replaced by its rule, and how many those are.

    Of a private key everything up to its last line goes. Content with MAX_FINDINGS secrets
    or more goes as a whole.
    """
    found = find_hits(content)
    if not found:
        return content, 0
    if len(found) >= MAX_SECRET_FINDINGS:
        return _TOO_MANY_MARK, len(found)
    kept: list[bytes] = []
    end = count = 0
    for hit in found:
        stop = _hit_end(content, hit)
        if hit.start >= end:
            kept += [content[end : hit.start], b"[redacted: %b]" % hit.rule.encode()]
            count += 1
        end = max(end, stop)
    kept.append(content[end:])
    return b"".join(kept), count


def mask_message(message: str, url: str = "", *keys: str) -> str:
    """Return what a stranger said, without what was entrusted to them, nor what `masked` finds.

    They may repeat the address at which they were asked, or the parts of it that a provider
    hides a key in (all but the host), and the keys that they were shown.
    """
    for known in sorted({*_url_parts(url), *filter(None, keys)}, key=len, reverse=True):
        message = message.replace(known, "[redacted]")
    return mask_secrets(message.encode("utf-8", "backslashreplace"))[0].decode("utf-8", "replace")


def _url_parts(url: str) -> Iterator[str]:
    """Yield an address, and what follows its host: as a whole and piece by piece, also decoded."""
    from urllib.parse import unquote, urlsplit

    try:
        parts = urlsplit(url)
    except ValueError:  # then nobody was asked there
        return
    user, at, _ = parts.netloc.rpartition("@")
    pieces = [*user.split(":"), *parts.path.split("/"), *re.split("[&=]", parts.query)]
    for text in (url, f"{user}{at}" if at else "", parts.path, parts.query, *pieces):
        if len(text) >= _MIN_URL_PART_CHARS:
            yield text
            yield unquote(text)


def _hit_end(content: bytes, hit: SecretHit) -> int:
    if not hit.rule.startswith("private-key"):
        return hit.stop
    end = _PEM_END().search(content, hit.stop)
    return end.end() if end else len(content)
