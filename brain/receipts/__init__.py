"""Receipts: the record of the work that caused a change. Format 1 (docs/FORMAT.md)."""

from __future__ import annotations

from .document import decode, encode, of_bytes
from .excerpt import of_text
from .receipt import KINDS, OUTCOMES, Receipt, Source, Step, Text, Write

__all__ = [
    "KINDS",
    "OUTCOMES",
    "Receipt",
    "Source",
    "Step",
    "Text",
    "Write",
    "decode",
    "encode",
    "of_bytes",
    "of_text",
]
