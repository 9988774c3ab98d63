"""Readers that convert transcripts of other programs to receipts."""

from __future__ import annotations

from .transcript_reader import TRANSCRIPT_FORMATS, read_transcript

__all__ = ["TRANSCRIPT_FORMATS", "read_transcript"]
