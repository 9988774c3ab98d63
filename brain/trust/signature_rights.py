"""Whether a key had the right to sign a snapshot, decided with bit masks.

Each snapshot that some trust file names has a bit. The mask of a snapshot has the bits
of those it is or descends from, and always `EVERY_SNAPSHOT`; so "from X on" is one `&`.

All trust files on the way to the head share one table of revocations: a later file cannot
undo a revocation by omitting it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from .policy import Policy

EVERY_SNAPSHOT = 1
"""The bit that stands for all snapshots."""

SnapshotBits = Mapping[bytes, int]
"""Snapshot id to its bit."""


class SigningRules(NamedTuple):
    """The rights of a trust file.

    `spans` has, by key, the bits that its rights begin and end with (0: never); `banned` is
    what `collect_revocations` returned for all trust files.
    """

    threshold: int
    spans: Mapping[bytes, tuple[int, int]]
    banned: Mapping[bytes, int]


def assign_bits(policies: Iterable[Policy]) -> SnapshotBits:
    """Return a bit for each snapshot that one of the policies names."""
    bits = {b"": EVERY_SNAPSHOT}
    for policy in policies:
        for key in policy.keys:
            since = key.revoked.since if key.revoked else b""
            for name in (key.begin, key.end, since):
                bits.setdefault(name, EVERY_SNAPSHOT << len(bits))
    return bits


def collect_revocations(policies: Iterable[Policy], bits: SnapshotBits) -> dict[bytes, int]:
    """Return, by key, the bits from which on some policy revokes it."""
    banned: dict[bytes, int] = {}
    for policy in policies:
        for key in policy.keys:
            if key.revoked:
                banned[key.key] = banned.get(key.key, 0) | bits[key.revoked.since]
    return banned


def build_rules(policy: Policy, bits: SnapshotBits, banned: Mapping[bytes, int]) -> SigningRules:
    """Return the rules of a policy, with the revocations of all policies."""
    spans = {key.key: (bits[key.begin], bits[key.end] if key.end else 0) for key in policy.keys}
    return SigningRules(policy.threshold, spans, banned)


def find_objection(rules: SigningRules, key: bytes, mask: int) -> str:
    """Return why the signature of a key does not count for a snapshot of this mask, "" if it does.

    The answer is `revoked_key`, `unknown_key` or `expired_rights`.
    """
    if rules.banned.get(key, 0) & mask:
        return "revoked_key"
    span = rules.spans.get(key)
    if span is None:
        return "unknown_key"
    begin, end = span
    return "" if begin & mask and not end & mask else "expired_rights"
