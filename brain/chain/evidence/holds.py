"""What every check of evidence says where it does not hold."""

from __future__ import annotations

from ...errors import ProofError


def require(truth: object, code: str, what: str) -> None:
    """Raise `ProofError` unless `truth`."""
    if not truth:
        raise ProofError(f"the evidence does not hold: {what}", code=code)
