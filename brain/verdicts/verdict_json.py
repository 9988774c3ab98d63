"""Encode and decode verdicts as canonical documents: one text for each verdict.

All functions raise `FormatError`, as `objects.canonical_document` says.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from .. import limits
from ..digest import NO_DIGEST
from ..errors import FormatError, find_repeated, printable_text
from ..objects import canonical_document as fields
from ..objects.canonical_document import DocumentFormat, FieldCodec, FieldSpec, ObjectCodec
from ..objects.operation import DECISION_KINDS
from ..programs import PROGRAM_FILE
from ..programs.program import is_program_file
from ..skills.slug import is_slug
from .verdict_types import (
    CASE_KINDS,
    CASE_OUTCOMES,
    DECIDERS,
    NamedNumber,
    NamedText,
    ProgramFile,
    Verdict,
    VerdictCase,
)


def encode_verdict(verdict: Verdict) -> bytes:
    """Return the canonical text of a verdict. Raises `FormatError` for invalid fields."""
    return VERDICT_FORMAT.encode(verdict)


def decode_verdict(data: bytes) -> Verdict:
    """Return the verdict that canonical `data` encodes."""
    return VERDICT_FORMAT.decode(data)


def verdict_to_json(verdict: Verdict) -> dict[str, Any]:
    """Return a verdict as a JSON object, without fields that have their default."""
    return VERDICT_FORMAT.fields.write(verdict)


def _check_verdict(verdict: Verdict) -> None:
    """Check the rules that involve several fields."""
    paths = [file.path for file in verdict.files]
    if any(a >= b for a, b in pairwise(paths)):
        raise FormatError("its files are not sorted by path", code="bad_field")
    for path in paths:
        if not is_program_file(path):
            message = f"a file is not part of a program: {printable_text(path)}"
            raise FormatError(message, code="bad_field")
    if paths and PROGRAM_FILE not in paths:
        raise FormatError(f"its files lack {PROGRAM_FILE}", code="bad_field")
    if verdict.cases and not paths:
        raise FormatError("it has cases, but no files that were tried", code="bad_field")
    if name := find_repeated([case.name for case in verdict.cases]):
        message = f"two cases have the name {printable_text(name)}"
        raise FormatError(message, code="duplicate_key")


def _check_slug(value: Any) -> str:
    if type(value) is not str or not is_slug(value):
        raise fields.READER.error(value, "a slug")
    return value


_SLUG_CODEC = FieldCodec(_check_slug, _check_slug)
_NAME_CODEC = fields.text_codec(limits.MAX_VERDICT_NAME_BYTES)
_FULL_NAME_CODEC = fields.text_codec(limits.MAX_VERDICT_NAME_BYTES, 1)
_TEXT_CODEC = fields.text_codec(limits.MAX_VERDICT_TEXT_BYTES)
_NUMBERS_CODEC = fields.table_codec(NamedNumber, fields.NUMBER_CODEC, limits.MAX_VERDICT_ROWS)
_FILE = ObjectCodec(
    ProgramFile,
    FieldSpec("path", fields.PATH_CODEC),
    FieldSpec("blob", fields.DIGEST_CODEC),
)
_CASE = ObjectCodec(
    VerdictCase,
    FieldSpec("kind", fields.choice_codec(CASE_KINDS)),
    FieldSpec("name", _FULL_NAME_CODEC),
    FieldSpec("outcome", fields.choice_codec(CASE_OUTCOMES)),
    FieldSpec("payload", fields.DIGEST_CODEC, NO_DIGEST),
    FieldSpec("output", fields.DIGEST_CODEC, NO_DIGEST),
    FieldSpec("detail", _TEXT_CODEC, ""),
    FieldSpec("took", fields.NUMBER_CODEC, 0),
)
_VERDICT = ObjectCodec(
    Verdict,
    FieldSpec("decision", fields.choice_codec(DECISION_KINDS)),
    FieldSpec("skill", _SLUG_CODEC),
    FieldSpec("decider", fields.choice_codec(DECIDERS)),
    FieldSpec("decided_by", _FULL_NAME_CODEC),
    FieldSpec("reason", _TEXT_CODEC, ""),
    FieldSpec("files", _FILE.list_codec(limits.MAX_VERDICT_FILES), ()),
    FieldSpec("code_check", _NAME_CODEC, ""),
    FieldSpec("findings", fields.text_list_codec(_TEXT_CODEC, limits.MAX_VERDICT_ROWS), ()),
    FieldSpec("sandbox", _NAME_CODEC, ""),
    FieldSpec("limits", _NUMBERS_CODEC, ()),
    FieldSpec(
        "versions", fields.table_codec(NamedText, _FULL_NAME_CODEC, limits.MAX_VERDICT_ROWS), ()
    ),
    FieldSpec("seed", fields.NUMBER_CODEC, 0),
    FieldSpec("cases", _CASE.list_codec(limits.MAX_VERDICT_CASES), ()),
    FieldSpec("numbers", _NUMBERS_CODEC, ()),
)
VERDICT_FORMAT = DocumentFormat(
    name="brain v1 verdict",
    label="verdict",
    fields=_VERDICT,
    check=_check_verdict,
    max_bytes=limits.MAX_VERDICT_BYTES,
    max_values=32 * limits.MAX_VERDICT_CASES,
    hint="it was changed, or is another file: try the skill again",
    size_hint="give the skill fewer or smaller tests",
)
"""What a verdict is as a document."""
