"""Readers that convert transcripts of other programs to receipts."""

from __future__ import annotations

from .transcript_reader import (
    TRANSCRIPT_FORMATS,
    choose_run,
    many_runs_error,
    read_transcript,
    read_transcripts,
)

__all__ = [
    "TRANSCRIPT_FORMATS",
    "choose_run",
    "many_runs_error",
    "read_transcript",
    "read_transcripts",
]
