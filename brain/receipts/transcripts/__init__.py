"""Transcripts that other programs write, read as receipts."""

from __future__ import annotations

from .reading import FORMATS, read

__all__ = ["FORMATS", "read"]
