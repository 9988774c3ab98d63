"""Mask secrets in content that is stored or shown."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..util.text import lazy_pattern
from .finder import MAX_SECRET_FINDINGS, find_hits_and_examples
from .key_patterns import SecretHit, secret_mark

_PEM_END = lazy_pattern(rb"-----END [A-Z0-9 ]{0,40}-----")
_MARK = lazy_pattern(r"\[redacted: [^\]\n]+\]")
_MIN_URL_PART_CHARS = 8
"""The least length of a part of a URL that may be a key; `v1` or `rpc` is shorter."""
_TOO_MANY_MARK = b"[redacted: too many secrets]"


def mask_secrets(content: bytes) -> tuple[bytes, int]:
    """Return `content` with each secret replaced by the name of its rule, and their number.

    Passwords that documents give as examples count too: somebody may have one. Of a private
    key, everything up to its END line is replaced. Content with MAX_SECRET_FINDINGS secrets
    is replaced as a whole.
    """
    hits = find_hits_and_examples(content)
    if not hits:
        return content, 0
    if len(hits) >= MAX_SECRET_FINDINGS:
        return _TOO_MANY_MARK, len(hits)
    pieces: list[bytes] = []
    end = count = 0
    for hit in hits:
        if hit.start >= end:
            pieces += [content[end : hit.start], secret_mark(hit).encode()]
            count += 1
        end = max(end, _hit_end(content, hit))
    pieces.append(content[end:])
    return b"".join(pieces), count


def has_masked_secret(text: str) -> bool:
    """Tell whether the name of a rule stands in a text in place of a secret."""
    return _MARK().search(text) is not None


def mask_remote_message(message: str, url: str = "", *keys: str) -> str:
    """Return the message of a remote server without secrets.

    It may repeat the `url` of the request, the parts of it that may contain a key (all but
    the host), or the `keys` that were sent; these are replaced too.
    """
    for known in sorted({*_url_parts(url), *filter(None, keys)}, key=len, reverse=True):
        message = message.replace(known, "[redacted]")
    return mask_secrets(message.encode("utf-8", "backslashreplace"))[0].decode("utf-8", "replace")


def _url_parts(url: str) -> Iterator[str]:
    """Yield a URL and all its parts except the host, also percent-decoded."""
    from urllib.parse import unquote, urlsplit

    try:
        parts = urlsplit(url)
    except ValueError:  # not a URL, so no request was sent
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
