"""Finds secrets in the content of a file.

Own rules, for speed: every search is a plain search for a few letters, after which an
expression of bounded length is tried at that place, so the time grows with the content
alone, whatever stands in it. The libraries that exist import for seconds and look at
one line at a time, and so miss what is cut in two or encoded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from ..digest import domain_hash
from . import encoded_secrets, key_patterns, keyword_rules
from .key_patterns import SecretHit

MAX_SECRET_FINDINGS = 1000
"""Findings of one file after which it is not looked at any further."""

_GROUP_BYTES = 64 << 10
"""Bytes of small contents that are looked through at once."""
_GROUP_SEPARATOR = b"\n\n\n"
"""Lines over which nothing goes on: what is found in one content is found beside others."""
_FINDING_ID_DIGITS = 16
_finding_digest = domain_hash("brain v1 secret finding")


class SecretFinding(NamedTuple):
    """Where something looks like a secret; it never holds the secret itself.

    `line` and `column` count from 1, the column in bytes. `id` is 16 hex digits of a hash
    over rule and secret, the same wherever that secret stands: who notes it down lets this
    one secret pass and no other. A weak password could be guessed from it.
    """

    rule: str
    line: int
    column: int
    id: str


def find_secrets(content: bytes) -> list[SecretFinding]:
    """Return what looks like a secret in `content`, in the order of places.

    Never raises. Time and memory grow with the length of `content` alone.
    """
    out: list[SecretFinding] = []
    line = 1
    counted = end = 0
    for rule, start, stop, secret in find_hits(content):
        if start < end:
            continue
        line += content.count(b"\n", counted, start)
        column = start - content.rfind(b"\n", 0, start)
        counted, end = start, stop
        name = _finding_digest(b"%s\0%s" % (rule.encode(), secret)).hex()[:_FINDING_ID_DIGITS]
        out.append(SecretFinding(rule, line, column, name))
    return out


def find_secrets_in_each(contents: Sequence[bytes]) -> list[list[SecretFinding]]:
    """Return what `find` returns for each of some contents, in less time for small clean ones."""
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
    """Look through all at once, and for each alone only if there is anything."""
    if len(group) > 1 and next(_scan_all(_GROUP_SEPARATOR.join(group)), None) is None:
        return [[] for _ in group]
    return list(map(find_secrets, group))


def find_hits(content: bytes) -> list[SecretHit]:
    """Return the first MAX_FINDINGS secrets with where they stand, in order; they may overlap."""
    return sorted(islice(_scan_all(content), MAX_SECRET_FINDINGS), key=_hit_start)


def _scan_all(content: bytes) -> Iterator[SecretHit]:
    """Yield what each way of looking finds; the surest names come first."""
    text = encoded_secrets.split_text_lines(content)
    long = text.long_words()
    yield from key_patterns.scan_key_patterns(content, long)
    yield from encoded_secrets.scan_split_and_encoded(content, text, long)
    yield from keyword_rules.scan_keywords(content)


def _hit_start(hit: SecretHit) -> int:
    return hit.start
