"""A secret that a scanner found, and how sure it is."""

from __future__ import annotations

from typing import NamedTuple

CERTAIN = "certain"
"""The format leaves no doubt: the prefix and length of an issuer, or the body of a private key."""
DOUBTFUL = "doubtful"
"""A keyword or the look of a value speaks for it; such a finding can be wrong."""


class SecretHit(NamedTuple):
    """A secret with its rule, its place in bytes, and its grade: CERTAIN or DOUBTFUL."""

    rule: str
    start: int
    stop: int
    secret: bytes
    grade: str
