"""Secrets in text: keys, tokens and passwords that do not belong into what is shared."""

from .finder import MAX_SECRET_FINDINGS, SecretFinding, find_secrets, find_secrets_in_each
from .mask import mask_message, mask_secrets

__all__ = [
    "MAX_SECRET_FINDINGS",
    "SecretFinding",
    "find_secrets",
    "find_secrets_in_each",
    "mask_message",
    "mask_secrets",
]
