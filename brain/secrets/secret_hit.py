"""A secret that a scanner found, and how sure it is."""

from __future__ import annotations

from typing import NamedTuple

CERTAIN = "certain"
"""The format leaves no doubt: the prefix and length of an issuer, or the body of a private key."""
DOUBTFUL = "doubtful"
"""A keyword or the look of a value speaks for it; such a finding can be wrong."""
EXAMPLE = "example"
"""A password as documents give it. It is masked in a text that is stored, but not reported."""


class SecretHit(NamedTuple):
    """A secret with its rule, its place in bytes, and its grade: CERTAIN, DOUBTFUL or EXAMPLE."""

    rule: str
    start: int
    stop: int
    secret: bytes
    grade: str
