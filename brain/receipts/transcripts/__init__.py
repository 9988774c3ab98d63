"""Read a transcript of another program as a receipt; detect the program's format.

Transcripts are untrusted: their size is checked before parsing, records that are not JSON or
not understood are counted and skipped, and secrets are removed from texts.
"""

from __future__ import annotations

from itertools import islice
from typing import Any

from ... import limits
from ...digest import blob_id
from ...errors import InvalidInput, printable_text
from ..receipt import Receipt
from .formats import PARSERS
from .lenient_json import JsonObject, parse_record, split_records

TRANSCRIPT_FORMATS = ("claude", "codex", "gemini", "hermes", "opencode", "openai")
"""The supported formats, by the name of the program. Older receipts may name others."""
_MAX_SAMPLED_RECORDS = 20
"""The records by which the format is detected."""


def read_transcript(data: bytes, format_name: str = "") -> Receipt:
    """Return the receipt of a transcript of one run; raises as `read_transcripts`.

    Raises `InvalidInput` (`many_runs`) if the file has several.
    """
    receipts = read_transcripts(data, format_name)
    if len(receipts) > 1:
        raise InvalidInput(
            f"the transcript has {len(receipts)} runs, and one is needed",
            code="many_runs",
            hint="write a receipt of each with `brain adopt FILE FOLDER`, and name one of these",
        )
    return receipts[0]


def read_transcripts(data: bytes, format_name: str = "") -> list[Receipt]:
    """Return the receipt of each run in a file; `format_name` is detected unless it is set.

    Raises `InvalidInput` (`too_large`, `no_transcript`, `bad_format`), or `FormatError`
    (`too_many`) for a run with too many steps.
    """
    if len(data) > limits.MAX_TRANSCRIPT_BYTES:
        raise InvalidInput(
            f"the transcript has {len(data)} bytes, more than {limits.MAX_TRANSCRIPT_BYTES}",
            code="too_large",
            hint="split it and import the parts",
        )
    if format_name and format_name not in TRANSCRIPT_FORMATS:
        raise InvalidInput(
            f'there is no format of transcripts "{printable_text(format_name, 80)}"',
            code="bad_format",
            hint=f"the formats are {', '.join(TRANSCRIPT_FORMATS)}",
        )
    document = _parse_document(data)
    format_name = format_name or _detect_format(data, document)
    values = [document] if document is not None else map(parse_record, split_records(data))
    parsed = PARSERS[format_name][1](values)
    runs = [run for run in parsed if not run.is_empty]
    if not runs:
        raise _unreadable_error(format_name)
    runs[0].records += sum(run.records for run in parsed if run.is_empty)
    runs[0].unknown += sum(run.unknown for run in parsed if run.is_empty)
    digest = blob_id(data)
    for number, run in enumerate(runs):
        own = blob_id(digest + str(number).encode()) if number else digest
        run.run = run.run or own.hex()[:32]
    return [run.build_receipt(format_name, digest) for run in runs]


def _parse_document(data: bytes) -> Any:
    """Return the value of a file that is one JSON document, None for a file of lines."""
    first = next(split_records(data), b"")
    if first[:1] not in (b"{", b"[") or (parse_record(first) is not None and first != data.strip()):
        return None
    return parse_record(data)


def _detect_format(data: bytes, document: Any) -> str:
    values = map(parse_record, split_records(data)) if document is None else iter([document])
    values = iter(document) if isinstance(document, list) else values
    for record in map(JsonObject.of, islice(values, _MAX_SAMPLED_RECORDS)):
        for format_name, (is_format, _) in PARSERS.items():
            if is_format(record):
                return format_name
    raise _unreadable_error("")


def _unreadable_error(format_name: str) -> InvalidInput:
    return InvalidInput(
        f"the file holds no run of {format_name}"
        if format_name
        else "the file is not a transcript of a known format",
        code="no_transcript",
        hint=f"the formats are {', '.join(TRANSCRIPT_FORMATS)}; choose one with --from",
    )
