"""How receipts are written down: canonical JSON (RFC 8785), one text for one receipt.

Keys ascend, nothing is spaced, and what has its default is left out. The decoder writes
again what it read and refuses anything that differs. Everything here raises
`FormatError`: `too_large`, `too_deep`, `too_many`, `bad_json`, `duplicate_key`,
`unsupported_version`, `bad_field` or `not_canonical`.
"""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

from .. import jsontext, limits
from ..digest import EMPTY, blob_id
from ..errors import FormatError, printable
from . import fields
from .fields import Field, bad
from .receipt import KINDS, OUTCOMES, Receipt, Source, Step, Text, Write

FORMAT = "brain v1 receipt"
MAX_DEPTH = 8
"""Lists and objects inside each other; a receipt has five."""
MAX_VALUES = 64 * limits.MAX_STEPS
"""Values and keys of one receipt."""


def encode(receipt: Receipt) -> bytes:
    """Return the canonical text of a receipt. Raises `FormatError` for what none can hold."""
    document = {"format": FORMAT, **as_json(receipt)}
    _check(receipt)
    data = _text(document)
    if len(data) > limits.MAX_RECEIPT_BYTES:
        raise FormatError(f"a receipt of {len(data)} bytes", code="too_large")
    return data


def of_bytes(data: bytes) -> Receipt | bytes:
    """Return the receipt that `data` is, or `data` if it is a record of another format."""
    try:
        return decode(data)
    except FormatError:
        return data


def as_json(receipt: Receipt) -> dict[str, Any]:
    """Return the document of a receipt, without what has its default."""
    return fields.record(receipt, _RECEIPT)


def size_of(step: Step) -> int:
    """Return the bytes that a step takes in a receipt. Raises `FormatError` for what is none."""
    document = fields.record(step, _STEP)
    _check_step(step)
    return len(_text(document))


def decode(data: bytes) -> Receipt:
    """Return the receipt that canonical `data` encodes."""
    if len(data) > limits.MAX_RECEIPT_BYTES:
        raise FormatError(f"a receipt of {len(data)} bytes", code="too_large")
    value = jsontext.parse(data, MAX_DEPTH, MAX_VALUES, _refuse)
    if type(value) is not dict:
        raise bad(value, "a receipt")
    found = value.pop("format", None)
    if found != FORMAT:
        raise FormatError(
            f"not a receipt of this format: {printable(found)}",
            code="unsupported_version",
            hint=f'the field "format" of a receipt is "{FORMAT}"',
        )
    receipt = Receipt(**fields.values(value, _RECEIPT))
    if encode(receipt) != data:
        raise FormatError("not the canonical text of this receipt", code="not_canonical")
    return receipt


def _text(document: dict[str, Any]) -> bytes:
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return text.encode()


def _refuse(message: str, code: str) -> FormatError:
    return FormatError(message, code=code)


def _check(receipt: Receipt) -> None:
    """Check what one field alone does not show."""
    closing = (receipt.ended, receipt.reason)
    if not receipt.outcome and any(closing):
        raise FormatError("an end without an outcome", code="bad_field")
    if (receipt.part > 0) != (receipt.previous != EMPTY):
        raise FormatError("a part that does not follow another", code="bad_field")
    if (receipt.snapshot_before != EMPTY) != (receipt.bundle_before != EMPTY):
        raise FormatError("a snapshot before without its bundle", code="bad_field")
    if sum(len(step.writes) for step in receipt.steps) > limits.MAX_WRITES:
        raise FormatError(f"more than {limits.MAX_WRITES} writes", code="too_many")
    for step in receipt.steps:
        _check_step(step)


def _check_step(step: Step) -> None:
    writes = step.kind in ("skill_create", "memory_write")
    if (step.writes or step.omitted) and not writes:
        raise FormatError(f"a step of kind {step.kind} that writes", code="bad_field")
    if any(a.path >= b.path for a, b in pairwise(step.writes)):
        raise FormatError("writes that are not sorted by path", code="bad_field")
    for text in (step.input, step.output):
        if text is not None:
            _check_text(text)


def _check_text(text: Text) -> None:
    """An excerpt that is the whole text has its digest; no other is that long."""
    data = text.excerpt.encode()
    if len(data) == text.size and blob_id(data) != text.digest:
        raise FormatError("a text with the digest of another", code="bad_field")
    if text.size <= limits.MAX_EXCERPT_BYTES and data and len(data) != text.size:
        raise FormatError("an excerpt longer or shorter than its text", code="bad_field")


_NAME = fields.text(limits.MAX_STEP_NAME_BYTES)
_LONG = fields.text(limits.MAX_TASK_BYTES)
_EXCERPT = fields.text(limits.MAX_EXCERPT_BYTES)
_TEXT = (
    Field("digest", *fields.DIGEST),
    Field("size", *fields.NUMBER),
    Field("excerpt", *_EXCERPT, ""),
    Field("redacted", *fields.NUMBER, 0),
)
_WRITE = (
    Field("path", *fields.PATH),
    Field("blob", *fields.DIGEST, EMPTY),
)
_STEP = (
    Field("kind", *fields.one_of(KINDS, "a kind of step")),
    Field("at", *fields.TIME, 0),
    Field("name", *_NAME, ""),
    Field("version", *_NAME, ""),
    Field("from_version", *_NAME, ""),
    Field("input", *fields.nested(_TEXT, Text), None),
    Field("output", *fields.nested(_TEXT, Text), None),
    Field("error", *_EXCERPT, ""),
    Field("took", *fields.NUMBER, 0),
    Field("tokens_in", *fields.NUMBER, 0),
    Field("tokens_out", *fields.NUMBER, 0),
    Field("writes", *fields.several(_WRITE, Write, limits.MAX_WRITES), ()),
    Field("omitted", *fields.NUMBER, 0),
)
_SOURCE = (
    Field("format", *_NAME),
    Field("digest", *fields.DIGEST),
    Field("records", *fields.NUMBER),
    Field("unknown", *fields.NUMBER, 0),
)
_RECEIPT = (
    Field("run", *fields.text(limits.MAX_STEP_NAME_BYTES, 1)),
    Field("task", *_LONG, ""),
    Field("agent", *_NAME, ""),
    Field("model", *_NAME, ""),
    Field("started", *fields.TIME, 0),
    Field("ended", *fields.TIME, 0),
    Field("snapshot_before", *fields.DIGEST, EMPTY),
    Field("bundle_before", *fields.DIGEST, EMPTY),
    Field("bundle_after", *fields.DIGEST, EMPTY),
    Field("part", *fields.NUMBER, 0),
    Field("previous", *fields.DIGEST, EMPTY),
    Field("steps", *fields.several(_STEP, Step, limits.MAX_STEPS), ()),
    Field("outcome", *fields.one_of(OUTCOMES, "an outcome"), ""),
    Field("reason", *_LONG, ""),
    Field("source", *fields.nested(_SOURCE, Source), None),
)
