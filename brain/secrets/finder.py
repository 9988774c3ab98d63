"""Find and mask secrets in the content of a file, also in base64.

Each rule is a plain search for a few letters, followed by a regular expression of bounded
length at that place, so the time is linear in the length of the content.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterator
from itertools import chain, compress, islice
from operator import attrgetter

from ..digest import domain_hash
from ..errors import printable_text
from ..named_tuple import NamedTuple
from ..util.text import lazy_pattern
from . import key_patterns, keyword_rules
from .key_patterns import EXAMPLE, SecretHit

_BYTES_BEFORE = 60
_BYTES_AFTER = 40
_MAX_TAIL_BYTES = 200
_TAIL = lazy_pattern(rb"[^\s\"'`]{0,%d}" % _MAX_TAIL_BYTES)
"""What directly follows a secret may belong to it, so it is not shown."""


_MIN_SECRET_BYTES = 16
"""The length of the shortest secret of a known format, except PEM."""
_NON_KEY_BYTES = bytes(set(range(256)) - set(b"0123456789_=\n"))
_BASE64_RUN = lazy_pattern(rb"[A-Za-z0-9+/_-]{24,}")
_TO_STANDARD_BASE64 = bytes.maketrans(b"-_", b"+/")
_NOT_CAPITALS = bytes(set(range(256)) - set(range(ord("A"), ord("Z") + 1)))
_MIN_CAPITALS = 4
_MAX_SHIFTED_BYTES = 64 << 10
"""The longest run that is also decoded from its second, third and fourth character on."""


def _long_words(text: bytes) -> list[bytes]:
    """Return the words that may hold a secret: long ones, in lines with a digit, `_` or `=`."""
    signs = text.translate(None, _NON_KEY_BYTES).split(b"\n")
    lines = compress(text.split(b"\n"), signs)
    return [word for line in lines for word in line.split() if len(word) >= _MIN_SECRET_BYTES]


def _scan_base64(text: bytes, words: list[bytes]) -> Iterator[SecretHit]:
    """Yield base64 that encodes a secret of a known format; `words` are those of `text`."""
    at = 0
    for word in words:
        at = text.find(word, at)
        for match in _BASE64_RUN().finditer(word):
            found = _find_decoded(match[0])
            if found:
                start, stop = at + match.start(), at + match.end()
                yield SecretHit(f"{found.rule}-base64", start, stop, match[0], found.grade)
        at += len(word)


def _find_decoded(run: bytes) -> SecretHit | None:
    if len(run.translate(None, _NOT_CAPITALS)) < _MIN_CAPITALS:
        return None  # words with hyphens, a path
    standard = run.translate(_TO_STANDARD_BASE64)
    for shift in range(4 if len(run) <= _MAX_SHIFTED_BYTES else 1):
        stop = shift + (len(run) - shift) // 4 * 4
        rest = standard[stop:]
        tail = rest + b"=" * (-len(rest) % 4) if len(rest) > 1 else b""
        decoded = binascii.a2b_base64(standard[shift:stop] + tail)
        for hit in key_patterns.scan_key_patterns(decoded, [decoded]):
            return hit
    return None


MAX_SECRET_FINDINGS = 1000
"""The most findings in one file; the rest of the file is not scanned."""

_FINDING_ID_DIGITS = 16
_finding_digest = domain_hash("brain v1 secret finding")


class SecretFinding(NamedTuple):
    """The place of a likely secret; it does not contain the secret.

    `line` and `column` count from 1, the column in bytes. `id` is 16 hex digits of a hash
    over rule and secret, the same at every place of that secret: the user allows a false
    positive by it. A weak password could be guessed from it. `grade` is CERTAIN or DOUBTFUL;
    `excerpt` is the line around the secret, in which the rule replaces the secret.
    """

    rule: str
    line: int
    column: int
    id: str
    grade: str
    excerpt: str


def find_secrets(content: bytes) -> list[SecretFinding]:
    """Return the likely secrets in `content`, in order.

    Never raises. Time and memory are linear in the length of `content`.
    """
    hits = find_hits(content)
    if not hits:
        return []
    out: list[SecretFinding] = []
    line = 1
    counted = end = covered = 0
    is_complete = len(hits) < MAX_SECRET_FINDINGS
    following = [*(hit.start for hit in hits[1:]), len(content)]
    for hit, next_start in zip(hits, following, strict=True):
        if hit.start >= end:
            name = b"%s\0%s" % (hit.rule.encode(), hit.secret)
            line += content.count(b"\n", counted, hit.start)
            counted, end = hit.start, hit.stop
            out.append(
                SecretFinding(
                    rule=hit.rule,
                    line=line,
                    column=hit.start - content.rfind(b"\n", 0, hit.start),
                    id=_finding_digest(name).hex()[:_FINDING_ID_DIGITS],
                    grade=hit.grade,
                    excerpt=masked_excerpt(content, hit, covered, next_start)
                    if is_complete
                    else secret_mark(hit),
                )
            )
        covered = max(covered, hit.stop)
    return out


def find_hits(content: bytes, with_examples: bool = False) -> list[SecretHit]:
    """Return the first MAX_SECRET_FINDINGS hits in order; they may overlap."""
    words = _long_words(content)
    hits = chain(  # the most specific rules first
        key_patterns.scan_key_patterns(content, words),
        _scan_base64(content, words),
        keyword_rules.scan_keywords(content),
    )
    counted = (hit for hit in hits if with_examples or hit.grade != EXAMPLE)
    return sorted(islice(counted, MAX_SECRET_FINDINGS), key=attrgetter("start"))


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
    hits = find_hits(content, with_examples=True)
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
