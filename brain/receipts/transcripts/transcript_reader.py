"""Read a transcript of another program as a receipt; detect the program's format.

Transcripts are untrusted: their size is checked before parsing, records that are not JSON or
not understood are counted and skipped, and secrets are removed from texts.
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
from .lenient_json import JsonObject, objects_in_list, parse_record, split_records
from .run_builder import RunBuilder

TRANSCRIPT_FORMATS = ("otel", "claude", "codex", "openai")
"""The supported formats: OpenTelemetry, Claude Code, Codex, OpenAI."""

_FORMAT_DETECTORS: dict[str, Callable[[JsonObject], bool]] = {
    "otel": otel_transcript.is_otlp_export,
    "codex": codex_transcript.is_codex_record,
    "claude": claude_transcript.is_claude_record,
    "openai": openai_transcript.is_openai_record,
}
TranscriptParser = Callable[[RunBuilder, Iterable[Any]], None]
_MAX_SAMPLED_RECORDS = 20
"""The records by which the format is detected."""


def read_transcript(data: bytes, format_name: str = "") -> Receipt:
    """Return the receipt of a transcript; `format_name` is detected unless it is set.

    Raises `InvalidInput` (`too_large`, `no_transcript`, `bad_format`), or `FormatError`
    (`too_many`) for a transcript with too many steps.
    """
    if len(data) > limits.MAX_TRANSCRIPT_BYTES:
        raise InvalidInput(f"a transcript of {len(data)} bytes", code="too_large")
    if format_name and format_name not in TRANSCRIPT_FORMATS:
        raise InvalidInput(f"unknown format {printable_text(format_name, 80)!r}", code="bad_format")
    document = _parse_document(data)
    format_name = format_name or _detect_format(data, document)
    run = RunBuilder()
    _PARSERS[format_name](
        run, [document] if document is not None else map(parse_record, split_records(data))
    )
    if run.is_empty:
        raise _unreadable_error(format_name)
    return run.build_receipt(format_name, blob_id(data))


def _parse_document(data: bytes) -> Any:
    """Return the value of a file that is one JSON document, None for a file of lines."""
    first = next(split_records(data), b"")
    if first[:1] not in (b"{", b"[") or (parse_record(first) is not None and first != data.strip()):
        return None
    return parse_record(data)


def _detect_format(data: bytes, document: Any) -> str:
    if isinstance(document, list):
        samples = objects_in_list(document)[:_MAX_SAMPLED_RECORDS]
    elif document is not None:
        samples = [JsonObject.of(document)]
    else:
        lines = islice(split_records(data), _MAX_SAMPLED_RECORDS)
        samples = [JsonObject.of(parse_record(line)) for line in lines]
    for record in samples:
        for format_name, is_format in _FORMAT_DETECTORS.items():
            if is_format(record):
                return format_name
    raise _unreadable_error("")


def _unreadable_error(format_name: str) -> InvalidInput:
    return InvalidInput(
        f"the file is not a transcript{f' of {format_name}' if format_name else ''}",
        code="no_transcript",
        hint=f"the formats are {', '.join(TRANSCRIPT_FORMATS)}; choose one with --from",
    )


def _line_parser(add_record: Callable[[RunBuilder, JsonObject], None]) -> TranscriptParser:
    def parse(run: RunBuilder, values: Iterable[Any]) -> None:
        for value in values:
            run.records += 1
            if isinstance(value, dict):
                add_record(run, JsonObject(value))
            else:
                run.unknown += 1

    return parse


def _parse_chat(run: RunBuilder, values: Iterable[Any]) -> None:
    chat = openai_transcript.ChatParser()
    for value in values:
        chat.add_record(run, value)


def _parse_trace(run: RunBuilder, values: Iterable[Any]) -> None:
    spans: list[otel_transcript.OtelSpan] = []
    for value in values:
        export = JsonObject.of(value)
        if otel_transcript.is_otlp_export(export):
            spans += otel_transcript.iterate_spans(export)
        else:
            run.records += 1
            run.unknown += 1
    if spans:
        otel_transcript.add_spans(run, spans)


_PARSERS: dict[str, TranscriptParser] = {
    "claude": _line_parser(claude_transcript.add_claude_record),
    "codex": _line_parser(codex_transcript.add_codex_record),
    "openai": _parse_chat,
    "otel": _parse_trace,
}
