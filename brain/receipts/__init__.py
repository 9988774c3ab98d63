"""Receipts: the record of the work that caused a change. Format 1 (docs/FORMAT.md)."""

from __future__ import annotations

from .budget import keep_text
from .receipt import (
    RUN_OUTCOMES,
    STEP_KINDS,
    FileWrite,
    Receipt,
    RunStep,
    TextExcerpt,
    TranscriptSource,
    decode_or_bytes,
    decode_receipt,
    encode_receipt,
)

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
