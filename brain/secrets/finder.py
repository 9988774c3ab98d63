"""Find and mask secrets in the content of a file, also split over lines or in base64.

Each rule is a plain search for a few letters, followed by a regular expression of bounded
length at that place, so the time is linear in the length of the content. Existing libraries
look at single lines, so they miss split and encoded secrets.
"""

from __future__ import annotations

import binascii
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, chain, compress, count, islice
from operator import attrgetter

from ..digest import domain_hash
from ..named_tuple import NamedTuple
from ..util.text import lazy_pattern
from . import key_patterns, keyword_rules
from .key_patterns import EXAMPLE, SecretHit, masked_excerpt, secret_mark

_EDGE_CHARACTERS = b" \t\r\"'`\\+>#|*,;(){}[]"
"""Characters around the pieces of a split text: quotes, operators, margins."""
_LITERAL_END = lazy_pattern(rb"[\"'`]")
_QUOTES = (b'"', b"'", b"`")
_ASSIGNMENT = lazy_pattern(rb"[A-Za-z_][A-Za-z0-9_]*(?:[ \t]+[=:]|:[ \t]|=[\"']?[A-Za-z0-9_$])")
"""A name that gets a value: the next statement, not the rest of a key."""
_MIN_BASE64_CHARS = 24
_BASE64_RUN = lazy_pattern(rb"[A-Za-z0-9+/_-]{24,}")
_TO_STANDARD_BASE64 = bytes.maketrans(b"-_", b"+/")
_NOT_CAPITALS = bytes(set(range(256)) - set(range(ord("A"), ord("Z") + 1)))
_MIN_CAPITALS = 4
_MAX_SHIFTED_BYTES = 64 << 10
"""The longest run that is also decoded from its second, third and fourth character on."""


class _JoinedPieces:
    """The last words of lines joined with the first words of the next, with their origins."""

    def __init__(self) -> None:
        self.text = bytearray()
        self.starts: list[int] = []
        self.origins: list[int] = []

    def add_run(self, pieces: list[tuple[int, bytes]]) -> None:
        """Add consecutive pieces, each with its offset in the content."""
        for origin, piece in pieces:
            self.starts.append(len(self.text))
            self.origins.append(origin)
            self.text += piece
        self.text += b"\n"

    def piece_at(self, offset: int) -> int:
        """Return the index of the piece at an offset of the joined text."""
        return bisect_right(self.starts, offset) - 1

    def is_continued(self, text: bytes, first: int, last: int) -> bool:
        """Tell whether pieces continue one another; a literal may end, and a name may follow."""
        for piece in range(first, last):
            stop = self.starts[piece + 1] - self.starts[piece] + self.origins[piece]
            between = text[stop : self.origins[piece + 1]]
            if _LITERAL_END().match(between) and between[-1:] not in _QUOTES:
                return False
        end = self.origins[last]
        return _ASSIGNMENT().match(text, end, end + 200) is None


def scan_split_and_encoded(
    text: bytes, split_text: SplitText, long_words: list[bytes]
) -> Iterator[SecretHit]:
    """Yield the secrets that span lines or are encoded in base64.

    `split_text` has the lines of `text`, and `long_words` are their long words.
    """
    joined = _join_line_ends(split_text)
    content = bytes(joined.text)
    hits = [*_scan_joined(content), *_scan_base64(content, content.split())]
    for hit in hits:
        first, last = joined.piece_at(hit.start), joined.piece_at(hit.stop - 1)
        if first != last and joined.is_continued(text, first, last):
            start = joined.origins[first] + hit.start - joined.starts[first]
            stop = joined.origins[last] + hit.stop - joined.starts[last]
            yield hit._replace(start=start, stop=stop)
    yield from _scan_base64(text, long_words)


def _scan_joined(joined: bytes) -> Iterator[SecretHit]:
    if key_patterns.has_key_prefix(joined):
        yield from key_patterns.scan_issuer_keys(joined)


def _join_line_ends(split_text: SplitText) -> _JoinedPieces:
    """Join the last word of each line with the first word of the next, near key lines."""
    joined = _JoinedPieces()
    starts = list(accumulate(map(len, split_text.lines), initial=0))
    near = {*split_text.key_lines, *(number - 1 for number in split_text.key_lines if number)}
    run: list[tuple[int, bytes]] = []
    number = length = 0
    for begin in sorted(near):
        number = max(number, begin)
        while number < len(split_text.lines) and (number in near or run):
            line, at, is_near = split_text.lines[number], starts[number] + number, number in near
            number += 1
            core = line.strip(_EDGE_CHARACTERS)
            offset = at + line.find(core)
            first, space, rest = core.partition(b" ")
            if first:
                run.append((offset, first))
                length += len(first)
            if first and not space:
                continue
            if len(run) > 1 and length >= MIN_SECRET_BYTES:
                joined.add_run(run)
            last = rest.rpartition(b" ")[2] if is_near else b""
            run, length = [(offset + len(core) - len(last), last)] if last else [], len(last)
    if len(run) > 1 and length >= MIN_SECRET_BYTES:
        joined.add_run(run)
    return joined


def _scan_base64(text: bytes, words: list[bytes]) -> Iterator[SecretHit]:
    """Yield base64 that encodes a secret of a known format; `words` are those of `text`."""
    at = 0
    for word in words:
        if len(word) < _MIN_BASE64_CHARS:
            continue
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
        for hit in key_patterns.scan_key_patterns(decoded, decoded.split()):
            return hit
    return None


MIN_SECRET_BYTES = 16
"""The length of the shortest secret of a known format, except PEM."""

_NON_KEY_BYTES = bytes(set(range(256)) - set(b"0123456789_=\n"))


class SplitText(NamedTuple):
    """Lines, and the numbers of the key lines: those with a digit, `_` or `=`."""

    lines: list[bytes]
    key_lines: list[int]

    def long_words(self) -> list[bytes]:
        """Return the words of key lines that are long enough for a secret, in order."""
        words = chain.from_iterable(self.lines[number].split() for number in self.key_lines)
        return [word for word in words if len(word) >= MIN_SECRET_BYTES]


def split_text_lines(text: bytes) -> SplitText:
    """Split a text into lines, and find its key lines."""
    signs = text.translate(None, _NON_KEY_BYTES).split(b"\n")
    return SplitText(text.split(b"\n"), list(compress(count(), signs)))


MAX_SECRET_FINDINGS = 1000
"""The most findings in one file; the rest of the file is not scanned."""

_GROUP_BYTES = 64 << 10
"""The size of a group of small contents that are scanned together."""
_GROUP_SEPARATOR = b"\n\n\n"
"""Separates the contents of a group: no secret spans it."""
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
            line += content.count(b"\n", counted, hit.start)
            counted, end = hit.start, hit.stop
            out.append(
                SecretFinding(
                    rule=hit.rule,
                    line=line,
                    column=hit.start - content.rfind(b"\n", 0, hit.start),
                    id=_finding_id(hit),
                    grade=hit.grade,
                    excerpt=masked_excerpt(content, hit, covered, next_start)
                    if is_complete
                    else secret_mark(hit),
                )
            )
        covered = max(covered, hit.stop)
    return out


def _finding_id(hit: SecretHit) -> str:
    name = b"%s\0%s" % (hit.rule.encode(), hit.secret)
    return _finding_digest(name).hex()[:_FINDING_ID_DIGITS]


def find_secrets_in_each(contents: Sequence[bytes]) -> list[list[SecretFinding]]:
    """Return the findings of `find_secrets` for each content, faster for small clean ones."""
    out: list[list[SecretFinding]] = []
    group: list[bytes] = []
    size = 0
    for content in contents:
        if group and size + len(content) > _GROUP_BYTES:
            out += _find_in_group(group)
            group, size = [], 0
        group.append(content)
        size += len(content)
    return out + _find_in_group(group)


def _find_in_group(group: list[bytes]) -> list[list[SecretFinding]]:
    """Scan a group at once, and each content alone only if there is a hit."""
    if len(group) > 1 and next(_scan_reported(_GROUP_SEPARATOR.join(group)), None) is None:
        return [[] for _ in group]
    return list(map(find_secrets, group))


def find_hits(content: bytes) -> list[SecretHit]:
    """Return the first MAX_SECRET_FINDINGS hits that are reported, in order; they may overlap."""
    return _first_in_order(_scan_reported(content))


def find_hits_and_examples(content: bytes) -> list[SecretHit]:
    """Return the first MAX_SECRET_FINDINGS hits, also examples, in order; they may overlap."""
    return _first_in_order(_scan_all(content))


def _first_in_order(hits: Iterator[SecretHit]) -> list[SecretHit]:
    return sorted(islice(hits, MAX_SECRET_FINDINGS), key=attrgetter("start"))


def _scan_reported(content: bytes) -> Iterator[SecretHit]:
    return (hit for hit in _scan_all(content) if hit.grade != EXAMPLE)


def _scan_all(content: bytes) -> Iterator[SecretHit]:
    """Yield the hits of all scanners, the most specific rules first."""
    text = split_text_lines(content)
    long_words = text.long_words()
    yield from key_patterns.scan_key_patterns(content, long_words)
    yield from scan_split_and_encoded(content, text, long_words)
    yield from keyword_rules.scan_keywords(content)


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
