"""Find and mask secrets in text: keys, tokens and passwords."""

from .finder import (
    MAX_SECRET_FINDINGS,
    SecretFinding,
    find_secrets,
    has_masked_secret,
    mask_remote_message,
    mask_secrets,
)
from .key_patterns import CERTAIN, DOUBTFUL

__all__ = [
    "CERTAIN",
    "DOUBTFUL",
    "MAX_SECRET_FINDINGS",
    "SecretFinding",
    "find_secrets",
    "has_masked_secret",
    "mask_remote_message",
    "mask_secrets",
]
