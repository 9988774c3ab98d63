"""Receipts: the record of the work that caused a change. Format 1 (docs/FORMAT.md)."""

from __future__ import annotations

from .receipt_json import decode_or_bytes, decode_receipt, encode_receipt
from .receipt_types import (
    RUN_OUTCOMES,
    STEP_KINDS,
    FileWrite,
    Receipt,
    RunStep,
    TextExcerpt,
    TranscriptSource,
)
from .size_budget import keep_text

__all__ = [
    "RUN_OUTCOMES",
    "STEP_KINDS",
    "FileWrite",
    "Receipt",
    "RunStep",
    "TextExcerpt",
    "TranscriptSource",
    "decode_or_bytes",
    "decode_receipt",
    "encode_receipt",
    "keep_text",
]
