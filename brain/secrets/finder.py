"""Find secrets in the content of a file.

Each rule is a plain search for a few letters, followed by a regular expression of bounded
length at that place, so the time is linear in the length of the content. Existing libraries
take seconds to import, and look at single lines, so they miss split and encoded secrets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from operator import attrgetter
from typing import NamedTuple

from ..digest import domain_hash
from . import encoded_secrets, key_patterns, keyword_rules
from .key_patterns import EXAMPLE, SecretHit, masked_excerpt, secret_mark

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
    text = encoded_secrets.split_text_lines(content)
    long_words = text.long_words()
    yield from key_patterns.scan_key_patterns(content, long_words)
    yield from encoded_secrets.scan_split_and_encoded(content, text, long_words)
    yield from keyword_rules.scan_keywords(content)
