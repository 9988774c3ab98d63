"""Encode and decode receipts as canonical JSON (RFC 8785): one text for each receipt.

Keys are sorted, there is no white space, and fields with their default are left out. The
decoder encodes the result again and refuses a text that differs. All functions raise
`FormatError`: `too_large`, `too_deep`, `too_many`, `bad_json`, `duplicate_key`,
`unsupported_version`, `bad_field` or `not_canonical`.
"""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

from .. import limits
from ..digest import NO_DIGEST, blob_id
from ..errors import FormatError, printable_text
from ..util import strict_json
from . import receipt_fields
from .receipt_fields import READER, RECEIPT_HINT, FieldSpec, ObjectCodec
from .receipt_types import (
    RUN_OUTCOMES,
    STEP_KINDS,
    FileWrite,
    Receipt,
    RunStep,
    TextExcerpt,
    TranscriptSource,
)

RECEIPT_FORMAT = "brain v1 receipt"
MAX_JSON_DEPTH = 8
"""The deepest nesting of lists and objects that is read; a receipt has five levels."""
MAX_JSON_VALUES = 64 * limits.MAX_RECEIPT_STEPS
"""The most values and keys of one receipt that are read."""


def encode_receipt(receipt: Receipt) -> bytes:
    """Return the canonical text of a receipt. Raises `FormatError` for invalid fields."""
    document = {"format": RECEIPT_FORMAT, **receipt_to_json(receipt)}
    _check_receipt(receipt)
    data = _canonical_bytes(document)
    if len(data) > limits.MAX_RECEIPT_BYTES:
        raise FormatError(
            f"the receipt would have {len(data)} bytes, more than {limits.MAX_RECEIPT_BYTES}",
            code="too_large",
            hint="split the transcript and import the parts",
        )
    return data


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
    return len(_canonical_bytes(document))


def decode_receipt(data: bytes) -> Receipt:
    """Return the receipt that canonical `data` encodes."""
    try:
        return _decode_receipt(data)
    except FormatError as error:
        raise FormatError(
            f"the receipt cannot be read: {error.message}", code=error.code, hint=error.hint
        ) from error


def _decode_receipt(data: bytes) -> Receipt:
    if len(data) > limits.MAX_RECEIPT_BYTES:
        raise FormatError(
            f"it has {len(data)} bytes, more than {limits.MAX_RECEIPT_BYTES}",
            code="too_large",
            hint=RECEIPT_HINT,
        )
    value = strict_json.parse_json(
        data, MAX_JSON_DEPTH, MAX_JSON_VALUES, receipt_fields.make_format_error
    )
    if type(value) is not dict:
        raise READER.error(value, "a receipt")
    format_name = value.pop("format", None)
    if format_name != RECEIPT_FORMAT:
        raise FormatError(
            f'its field "format" is "{printable_text(format_name or "")}", not "{RECEIPT_FORMAT}"',
            code="unsupported_version",
            hint="it is another file, or a newer version of brain wrote it",
        )
    receipt = _RECEIPT.read(value)
    if encode_receipt(receipt) != data:
        raise FormatError(
            "its text is not canonical JSON, with sorted keys and without white space",
            code="not_canonical",
            hint=RECEIPT_HINT,
        )
    return receipt


def _canonical_bytes(document: dict[str, Any]) -> bytes:
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return text.encode()


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


_NAME_CODEC = receipt_fields.text_codec(limits.MAX_STEP_NAME_BYTES)
_LONG_TEXT_CODEC = receipt_fields.text_codec(limits.MAX_TASK_BYTES)
_EXCERPT_CODEC = receipt_fields.text_codec(limits.MAX_EXCERPT_BYTES)
_TEXT = ObjectCodec(
    TextExcerpt,
    FieldSpec("digest", receipt_fields.DIGEST_CODEC),
    FieldSpec("size", receipt_fields.NUMBER_CODEC),
    FieldSpec("excerpt", _EXCERPT_CODEC, ""),
    FieldSpec("redacted", receipt_fields.NUMBER_CODEC, 0),
)
_WRITE = ObjectCodec(
    FileWrite,
    FieldSpec("path", receipt_fields.PATH_CODEC),
    FieldSpec("blob", receipt_fields.DIGEST_CODEC, NO_DIGEST),
)
_STEP = ObjectCodec(
    RunStep,
    FieldSpec("kind", receipt_fields.choice_codec(STEP_KINDS)),
    FieldSpec("at", receipt_fields.TIME_CODEC, 0),
    FieldSpec("name", _NAME_CODEC, ""),
    FieldSpec("version", _NAME_CODEC, ""),
    FieldSpec("from_version", _NAME_CODEC, ""),
    FieldSpec("input", _TEXT, None),
    FieldSpec("output", _TEXT, None),
    FieldSpec("error", _EXCERPT_CODEC, ""),
    FieldSpec("took", receipt_fields.NUMBER_CODEC, 0),
    FieldSpec("tokens_in", receipt_fields.NUMBER_CODEC, 0),
    FieldSpec("tokens_out", receipt_fields.NUMBER_CODEC, 0),
    FieldSpec("writes", _WRITE.list_codec(limits.MAX_RECEIPT_WRITES), ()),
    FieldSpec("omitted", receipt_fields.NUMBER_CODEC, 0),
)
_SOURCE = ObjectCodec(
    TranscriptSource,
    FieldSpec("format", _NAME_CODEC),
    FieldSpec("digest", receipt_fields.DIGEST_CODEC),
    FieldSpec("records", receipt_fields.NUMBER_CODEC),
    FieldSpec("unknown", receipt_fields.NUMBER_CODEC, 0),
)
_RECEIPT = ObjectCodec(
    Receipt,
    FieldSpec("run", receipt_fields.text_codec(limits.MAX_STEP_NAME_BYTES, 1)),
    FieldSpec("task", _LONG_TEXT_CODEC, ""),
    FieldSpec("agent", _NAME_CODEC, ""),
    FieldSpec("model", _NAME_CODEC, ""),
    FieldSpec("started", receipt_fields.TIME_CODEC, 0),
    FieldSpec("ended", receipt_fields.TIME_CODEC, 0),
    FieldSpec("snapshot_before", receipt_fields.DIGEST_CODEC, NO_DIGEST),
    FieldSpec("bundle_before", receipt_fields.DIGEST_CODEC, NO_DIGEST),
    FieldSpec("bundle_after", receipt_fields.DIGEST_CODEC, NO_DIGEST),
    FieldSpec("part", receipt_fields.NUMBER_CODEC, 0),
    FieldSpec("previous", receipt_fields.DIGEST_CODEC, NO_DIGEST),
    FieldSpec("steps", _STEP.list_codec(limits.MAX_RECEIPT_STEPS), ()),
    FieldSpec("outcome", receipt_fields.choice_codec(RUN_OUTCOMES), ""),
    FieldSpec("reason", _LONG_TEXT_CODEC, ""),
    FieldSpec("source", _SOURCE, None),
)
