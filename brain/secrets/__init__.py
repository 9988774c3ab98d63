"""Secrets in text: keys, tokens and passwords that do not belong into what is shared."""

from .finder import MAX_FINDINGS, Finding, find, find_each
from .mask import masked, masked_words

__all__ = ["MAX_FINDINGS", "Finding", "find", "find_each", "masked", "masked_words"]
