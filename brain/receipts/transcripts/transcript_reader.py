"""Reads a transcript of another program as a receipt, detecting which program wrote it.

Transcripts are foreign: how long they are is known before they are taken apart, records
that are no JSON or not understood are counted and passed over, and secrets in their texts
are not kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any

from ... import limits
from ...digest import blob_id
from ...errors import InvalidInput, printable_text
from ..receipt_types import Receipt
from . import claude_transcript, codex_transcript, openai_transcript, otel_transcript
from .lenient_json import JsonObject, object_or_empty, objects_in_list, parse_record, split_records
from .run_builder import RunBuilder

TRANSCRIPT_FORMATS = ("otel", "claude", "codex", "openai")
"""Formats that are read: OpenTelemetry, Claude Code, Codex, OpenAI."""

_FORMAT_DETECTORS: dict[str, Callable[[JsonObject], bool]] = {
    "otel": otel_transcript.is_otlp_export,
    "codex": codex_transcript.is_codex_record,
    "claude": claude_transcript.is_claude_record,
    "openai": openai_transcript.is_openai_record,
}
TranscriptParser = Callable[[RunBuilder, Iterable[Any]], None]
_MAX_SAMPLED_RECORDS = 20
"""Records by which the format is told."""


def read_transcript(data: bytes, format_name: str = "") -> Receipt:
    """Return the receipt that a transcript tells; `form` is one of FORMATS, or found out.

    Raises `InvalidInput` (`too_large`, `no_transcript`, `bad_format`), or `FormatError`
    (`too_many`) for one of very many steps.
    """
    if len(data) > limits.MAX_TRANSCRIPT_BYTES:
        raise InvalidInput(f"a transcript of {len(data)} bytes", code="too_large")
    if format_name and format_name not in TRANSCRIPT_FORMATS:
        raise InvalidInput(f"no format {printable_text(format_name, 80)!r}", code="bad_format")
    whole = _parse_whole(data)
    format_name = format_name or _detect_format(data, whole)
    run = RunBuilder()
    _PARSERS[format_name](
        run, [whole] if whole is not None else map(parse_record, split_records(data))
    )
    if run.is_empty:
        raise _unreadable_error(format_name)
    return run.build_receipt(format_name, blob_id(data))


def _parse_whole(data: bytes) -> Any:
    """Return the value of a file that is one text of JSON, None of any other."""
    first = next(split_records(data), b"")
    if first[:1] not in (b"{", b"[") or (parse_record(first) is not None and first != data.strip()):
        return None
    return parse_record(data)


def _detect_format(data: bytes, whole: Any) -> str:
    if whole is not None:
        found = (
            objects_in_list(whole)[:_MAX_SAMPLED_RECORDS]
            if isinstance(whole, list)
            else [object_or_empty(whole)]
        )
    else:
        found = [
            object_or_empty(parse_record(line))
            for line in islice(split_records(data), _MAX_SAMPLED_RECORDS)
        ]
    for one in found:
        for format_name, is_format in _FORMAT_DETECTORS.items():
            if is_format(one):
                return format_name
    raise _unreadable_error("")


def _unreadable_error(format_name: str) -> InvalidInput:
    return InvalidInput(
        f"nothing of a transcript{f' of {format_name}' if format_name else ''} in this file",
        code="no_transcript",
        hint=f"it is read as one of {', '.join(TRANSCRIPT_FORMATS)}; name another with --from",
    )


def _line_parser(take: Callable[[RunBuilder, JsonObject], None]) -> TranscriptParser:
    def parse(run: RunBuilder, values: Iterable[Any]) -> None:
        for value in values:
            run.records += 1
            if isinstance(value, dict):
                take(run, value)
            else:
                run.unknown += 1

    return parse


def _parse_chat(run: RunBuilder, values: Iterable[Any]) -> None:
    chat = openai_transcript.ChatParser()
    for value in values:
        chat.add_record(run, value)


def _parse_trace(run: RunBuilder, values: Iterable[Any]) -> None:
    found: list[otel_transcript.OtelSpan] = []
    for value in values:
        if isinstance(value, dict) and otel_transcript.is_otlp_export(value):
            found += otel_transcript.iterate_spans(value)
        else:
            run.records += 1
            run.unknown += 1
    if found:
        otel_transcript.add_spans(run, found)


_PARSERS: dict[str, TranscriptParser] = {
    "claude": _line_parser(claude_transcript.add_claude_record),
    "codex": _line_parser(codex_transcript.add_codex_record),
    "openai": _parse_chat,
    "otel": _parse_trace,
}
