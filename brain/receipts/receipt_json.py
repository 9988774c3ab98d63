"""Encode and decode receipts as canonical documents: one text for each receipt.

All functions raise `FormatError`, as `objects.canonical_document` says.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from .. import limits
from ..digest import NO_DIGEST, blob_id
from ..errors import FormatError
from ..objects import canonical_document as fields
from ..objects.canonical_document import DocumentFormat, FieldSpec, ObjectCodec
from .receipt_types import (
    RUN_OUTCOMES,
    STEP_KINDS,
    FileWrite,
    Receipt,
    RunStep,
    TextExcerpt,
    TranscriptSource,
)

RECEIPT_HINT = "it was changed, or is another file: write it again from its transcript"
"""The hint for a malformed receipt."""


def encode_receipt(receipt: Receipt) -> bytes:
    """Return the canonical text of a receipt. Raises `FormatError` for invalid fields."""
    return RECEIPT_FORMAT.encode(receipt)


def decode_or_bytes(data: bytes) -> Receipt | bytes:
    """Return the decoded receipt, or `data` itself if it has another format."""
    try:
        return decode_receipt(data)
    except FormatError:
        return data


def receipt_to_json(receipt: Receipt) -> dict[str, Any]:
    """Return a receipt as a JSON object, without fields that have their default."""
    return _RECEIPT.write(receipt)


def encoded_step_size(step: RunStep) -> int:
    """Return the size of an encoded step in bytes. Raises `FormatError` for invalid fields."""
    document = _STEP.write(step)
    _check_step(step)
    return len(fields.canonical_bytes(document))


def decode_receipt(data: bytes) -> Receipt:
    """Return the receipt that canonical `data` encodes."""
    return RECEIPT_FORMAT.decode(data)


def _check_receipt(receipt: Receipt) -> None:
    """Check the rules that involve several fields."""
    if not receipt.outcome and (receipt.ended or receipt.reason):
        raise FormatError(
            "it has an end or a reason, but no outcome", code="bad_field", hint=RECEIPT_HINT
        )
    if (receipt.part > 0) != (receipt.previous != NO_DIGEST):
        raise FormatError(
            "its fields part and previous contradict each other",
            code="bad_field",
            hint=RECEIPT_HINT,
        )
    if (receipt.snapshot_before != NO_DIGEST) != (receipt.bundle_before != NO_DIGEST):
        raise FormatError(
            "it has one of snapshot_before and bundle_before without the other",
            code="bad_field",
            hint=RECEIPT_HINT,
        )
    if sum(len(step.writes) for step in receipt.steps) > limits.MAX_RECEIPT_WRITES:
        raise FormatError(
            f"its steps have more than {limits.MAX_RECEIPT_WRITES} writes",
            code="too_many",
            hint=RECEIPT_HINT,
        )
    for step in receipt.steps:
        _check_step(step)


def _check_step(step: RunStep) -> None:
    writes = step.kind in ("skill_create", "memory_write")
    if (step.writes or step.omitted) and not writes:
        raise FormatError(
            f"a step of the kind {step.kind} has writes", code="bad_field", hint=RECEIPT_HINT
        )
    if any(a.path >= b.path for a, b in pairwise(step.writes)):
        raise FormatError(
            "the writes of a step are not sorted by path", code="bad_field", hint=RECEIPT_HINT
        )
    for text in (step.input, step.output):
        if text is not None:
            _check_excerpt(text)


def _check_excerpt(text: TextExcerpt) -> None:
    """Check the digest of an excerpt that is the whole text, and the length of any other."""
    data = text.excerpt.encode()
    if len(data) == text.size and blob_id(data) != text.digest:
        raise FormatError(
            "the digest of a text is not that of its excerpt, which is the whole text",
            code="bad_field",
            hint=RECEIPT_HINT,
        )
    if text.size <= limits.MAX_EXCERPT_BYTES and data and len(data) != text.size:
        raise FormatError(
            "an excerpt is longer or shorter than its text", code="bad_field", hint=RECEIPT_HINT
        )


_NAME_CODEC = fields.text_codec(limits.MAX_STEP_NAME_BYTES)
_LONG_TEXT_CODEC = fields.text_codec(limits.MAX_TASK_BYTES)
_EXCERPT_CODEC = fields.text_codec(limits.MAX_EXCERPT_BYTES)
_TEXT = ObjectCodec(
    TextExcerpt,
    FieldSpec("digest", fields.DIGEST_CODEC),
    FieldSpec("size", fields.NUMBER_CODEC),
    FieldSpec("excerpt", _EXCERPT_CODEC, ""),
    FieldSpec("redacted", fields.NUMBER_CODEC, 0),
)
_WRITE = ObjectCodec(
    FileWrite,
    FieldSpec("path", fields.PATH_CODEC),
    FieldSpec("blob", fields.DIGEST_CODEC, NO_DIGEST),
)
_STEP = ObjectCodec(
    RunStep,
    FieldSpec("kind", fields.choice_codec(STEP_KINDS)),
    FieldSpec("at", fields.TIME_CODEC, 0),
    FieldSpec("name", _NAME_CODEC, ""),
    FieldSpec("version", _NAME_CODEC, ""),
    FieldSpec("from_version", _NAME_CODEC, ""),
    FieldSpec("input", _TEXT, None),
    FieldSpec("output", _TEXT, None),
    FieldSpec("error", _EXCERPT_CODEC, ""),
    FieldSpec("took", fields.NUMBER_CODEC, 0),
    FieldSpec("tokens_in", fields.NUMBER_CODEC, 0),
    FieldSpec("tokens_out", fields.NUMBER_CODEC, 0),
    FieldSpec("writes", _WRITE.list_codec(limits.MAX_RECEIPT_WRITES), ()),
    FieldSpec("omitted", fields.NUMBER_CODEC, 0),
)
_SOURCE = ObjectCodec(
    TranscriptSource,
    FieldSpec("format", _NAME_CODEC),
    FieldSpec("digest", fields.DIGEST_CODEC),
    FieldSpec("records", fields.NUMBER_CODEC),
    FieldSpec("unknown", fields.NUMBER_CODEC, 0),
)
_RECEIPT = ObjectCodec(
    Receipt,
    FieldSpec("run", fields.text_codec(limits.MAX_STEP_NAME_BYTES, 1)),
    FieldSpec("task", _LONG_TEXT_CODEC, ""),
    FieldSpec("agent", _NAME_CODEC, ""),
    FieldSpec("model", _NAME_CODEC, ""),
    FieldSpec("started", fields.TIME_CODEC, 0),
    FieldSpec("ended", fields.TIME_CODEC, 0),
    FieldSpec("snapshot_before", fields.DIGEST_CODEC, NO_DIGEST),
    FieldSpec("bundle_before", fields.DIGEST_CODEC, NO_DIGEST),
    FieldSpec("bundle_after", fields.DIGEST_CODEC, NO_DIGEST),
    FieldSpec("part", fields.NUMBER_CODEC, 0),
    FieldSpec("previous", fields.DIGEST_CODEC, NO_DIGEST),
    FieldSpec("steps", _STEP.list_codec(limits.MAX_RECEIPT_STEPS), ()),
    FieldSpec("outcome", fields.choice_codec(RUN_OUTCOMES), ""),
    FieldSpec("reason", _LONG_TEXT_CODEC, ""),
    FieldSpec("source", _SOURCE, None),
)

RECEIPT_FORMAT = DocumentFormat(
    name="brain v1 receipt",
    label="receipt",
    fields=_RECEIPT,
    check=_check_receipt,
    max_bytes=limits.MAX_RECEIPT_BYTES,
    max_values=64 * limits.MAX_RECEIPT_STEPS,
    hint=RECEIPT_HINT,
    size_hint="split the transcript and import the parts",
)
"""The format of a receipt as a document."""
