"""The operation of a snapshot, as a record `[kind, field, …]` of text, numbers and digests.

The kinds below have fixed fields with limits; some are reserved for later use. Other kinds are
kept and shown as they are, so that a lineage can be verified without knowing every kind.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

from ..digest import DIGEST_SIZE, NO_DIGEST, blob_id
from ..errors import InvalidInput, ObjectError
from . import paths

SnapshotOperation = tuple[Any, ...]

NONCE_SIZE = 16
MAX_KIND_BYTES = 64
"""UTF-8 bytes of a kind."""
MAX_OPERATION_TEXT_BYTES = 1024
"""UTF-8 bytes of the id of a run, of each field of an import, and of an account."""
MAX_REDACTION_REASON_BYTES = 65_536
"""UTF-8 bytes of the reason of a redaction."""
MAX_MERGED_SKILLS = 4096
"""Skills that a merge lists: the first ones in their order."""
TASK_OUTCOMES = ("success", "failure", "cancelled", "unknown")
DECISION_KINDS = ("admit", "reject", "retire", "reinstate")
"""Reserved for decisions of a verdict about one skill."""
BINDING_KINDS = ("bind", "unbind")
"""Reserved for binding an account to a key, and for undoing that."""
BOUND_KEY_SIZE = 32

_MAX_SLUG_CHARS = 64
_SLUG_PATTERN = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_VERSION_PATTERN = re.compile(r"[1-9][0-9]{0,8}|(?:0|[1-9][0-9]{0,8})(?:\.[0-9]{1,9}){1,3}")

_FieldCheck = Callable[[Any], bool]


def _is_slug(value: Any) -> bool:
    return len(value) <= _MAX_SLUG_CHARS and _SLUG_PATTERN.fullmatch(value) is not None


def is_version(value: Any) -> bool:
    """Tell whether a text is a version: one to four numbers of at most nine digits each."""
    return _VERSION_PATTERN.fullmatch(value) is not None


def _is_version_or_none(value: Any) -> bool:
    return value == "" or is_version(value)


def _text_check(least: int, most: int) -> _FieldCheck:
    return lambda value: least <= len(value.encode()) <= most


def _is_id(value: Any) -> bool:
    return len(value) == DIGEST_SIZE


def _is_id_or_none(value: Any) -> bool:
    return len(value) in (0, DIGEST_SIZE)


def _is_path(value: Any) -> bool:
    try:
        paths.check_path(value)
    except InvalidInput:
        return False
    return True


@cache
def _trivial_blob_ids() -> frozenset[bytes]:
    return frozenset(map(blob_id, (b"", *(bytes([byte]) for byte in range(256)))))


def _is_redactable(value: Any) -> bool:
    """Tell whether a blob may be redacted; an empty file or a single byte is not a secret."""
    return len(value) == DIGEST_SIZE and value not in _trivial_blob_ids()


def _is_base_list(value: Any) -> bool:
    return (
        value != ()
        and all(type(base) is bytes and len(base) == DIGEST_SIZE for base in value)
        and all(a < b for a, b in pairwise(value))
    )


def _is_merged_skill_list(value: Any) -> bool:
    return (
        len(value) <= MAX_MERGED_SKILLS
        and all(type(row) is tuple and list(map(type, row)) == [str] * 4 for row in value)
        and all(_is_slug(row[0]) and all(map(_is_version_or_none, row[1:])) for row in value)
        and all(a <= b for a, b in pairwise(value))
    )


_SLUG_FIELD, _VERSION_FIELD = ("slug", str, _is_slug), ("version", str, is_version)
_FROM_FIELD, _TO_FIELD = ("from_version", str, _is_version_or_none), ("to_version", str, is_version)
_DECISION_FIELDS = (
    _SLUG_FIELD,
    _FROM_FIELD,
    ("to_version", str, _is_version_or_none),
    ("verdict", bytes, _is_id),
)
_BINDING_FIELDS = (
    ("key", bytes, lambda value: len(value) == BOUND_KEY_SIZE),
    ("account", str, _text_check(1, MAX_OPERATION_TEXT_BYTES)),
    ("statement", bytes, _is_id),
)

_FIELDS: dict[str, tuple[tuple[str, type, _FieldCheck], ...]] = {
    "genesis": (
        ("nonce", bytes, lambda value: len(value) == NONCE_SIZE),
        ("origin", bytes, _is_id_or_none),
    ),
    "snapshot": (),
    "upsert": (_SLUG_FIELD, _FROM_FIELD, _TO_FIELD),
    "delete": (_SLUG_FIELD, _VERSION_FIELD),
    "restore": (("source", bytes, _is_id),),
    "merge": (("bases", tuple, _is_base_list), ("skills", tuple, _is_merged_skill_list)),
    "redact": (
        ("path", str, _is_path),
        ("blob", bytes, _is_redactable),
        ("reason", str, _text_check(1, MAX_REDACTION_REASON_BYTES)),
    ),
    "task": (
        ("run", str, _text_check(1, MAX_OPERATION_TEXT_BYTES)),
        ("outcome", str, TASK_OUTCOMES.__contains__),
    ),
    "absorb": (
        _SLUG_FIELD,
        _FROM_FIELD,
        _TO_FIELD,
        ("absorbed", str, _is_slug),
        ("absorbed_version", str, is_version),
    ),
    "import": (
        ("origin", str, _text_check(1, MAX_OPERATION_TEXT_BYTES)),
        ("name", str, _text_check(1, MAX_OPERATION_TEXT_BYTES)),
        ("revision", str, _text_check(0, MAX_OPERATION_TEXT_BYTES)),
    ),
    **dict.fromkeys(DECISION_KINDS, _DECISION_FIELDS),
    **dict.fromkeys(BINDING_KINDS, _BINDING_FIELDS),
}
"""The fields of each kind: name, type, and the check of a value."""
_TYPES = {kind: [str, *(type_ for _, type_, _ in fields)] for kind, fields in _FIELDS.items()}
_MERGED_SKILL_KEYS = ("slug", "ours", "theirs", "version")
_PARENT_COUNTS = {"genesis": range(1), "merge": range(2, 3), "import": range(1, 17)}
"""The possible numbers of parents of a kind; one for any other known kind."""


def genesis_operation(nonce: bytes, origin: bytes = NO_DIGEST) -> SnapshotOperation:
    """Return the operation of a first snapshot; `origin` is the snapshot that was forked."""
    return ("genesis", nonce, origin)


def fork_origin(operation: SnapshotOperation) -> bytes:
    """Return the snapshot from which a genesis was forked, empty if there is none."""
    return bytes(operation[2])


def upsert_operation(slug: str, from_version: str, to_version: str) -> SnapshotOperation:
    """Return the operation that writes a skill; `from_version` is "" for a new one."""
    return ("upsert", slug, from_version, to_version)


def written_version(operation: SnapshotOperation) -> str:
    """Return the version of the skill that an operation wrote, "" if it wrote none."""
    return str(operation[3]) if operation[0] in ("upsert", "absorb") else ""


def renamed_skill(operation: SnapshotOperation) -> str:
    """Return the old slug of the skill that an operation renamed, "" if it renamed none.

    A skill that did not exist and absorbs another one is that skill under a new name.
    """
    is_rename = operation[0] == "absorb" and not operation[2]
    return str(operation[4]) if is_rename else ""


def merge_operation(
    bases: Sequence[bytes], skills: Sequence[tuple[str, str, str, str]]
) -> SnapshotOperation:
    """Return the operation that merges two lineages.

    `bases` are the best common ancestors, sorted. `skills` are those that both sides changed,
    as (slug, version of the first parent, of the second, merged one), sorted; only the first
    MAX_MERGED_SKILLS are recorded.
    """
    return ("merge", tuple(bases), tuple(skills[:MAX_MERGED_SKILLS]))


def import_operation(kind: str, name: str, revision: str = "") -> SnapshotOperation:
    """Return the operation that imports the home `name` of another program, such as `hermes`.

    `revision` is the id of the imported state in the history of the source, "" if it has none.
    """
    return ("import", kind, name, revision)


def is_task_end(operation: SnapshotOperation) -> bool:
    """Tell whether an operation ends a run."""
    return bool(operation[0] == "task")


def is_known_operation(value: tuple[Any, ...]) -> bool:
    """Tell whether a value is an operation of a known kind, with fields of the right types."""
    return value != () and type(value[0]) is str and list(map(type, value)) == _TYPES.get(value[0])


def check_operation(value: Any) -> SnapshotOperation:
    """Return the operation in the decoded `value`.

    Raises `FormatError` (`bad_object`) for another shape, or a known kind with
    other fields.
    """
    if type(value) is not tuple or not value or type(value[0]) is not str or not value[0]:
        raise ObjectError("the operation of the snapshot does not begin with a kind")
    kind = value[0]
    if kind not in _FIELDS:
        if len(kind.encode()) > MAX_KIND_BYTES:
            raise ObjectError(f"the kind of the operation is longer than {MAX_KIND_BYTES} bytes")
        return value
    if not is_known_operation(value):
        raise ObjectError(
            f"the {kind} operation of the snapshot does not have the fields of its kind"
        )
    for (name, _, check), field in zip(_FIELDS[kind], value[1:], strict=True):
        if not check(field):
            raise ObjectError(
                f"the field {name} of the {kind} operation of the snapshot is invalid"
            )
    return value


def can_have_parents(operation: SnapshotOperation, count: int) -> bool:
    """Tell whether a snapshot with so many parents may have this operation."""
    kind = operation[0]
    if kind in _PARENT_COUNTS:
        return count in _PARENT_COUNTS[kind]
    return count == 1 or (count > 1 and kind not in _FIELDS)


def redacted_blob(operation: SnapshotOperation) -> bytes:
    """Return the blob whose content an operation destroys, empty if there is none."""
    return bytes(operation[2]) if operation[0] == "redact" else NO_DIGEST


def evidence_blob(operation: SnapshotOperation) -> bytes:
    """Return the blob of the verdict or statement of an operation, empty if there is none."""
    return bytes(operation[-1]) if operation[0] in DECISION_KINDS + BINDING_KINDS else NO_DIGEST


def operation_to_json(operation: SnapshotOperation) -> dict[str, Any]:
    """Return the operation as JSON-ready fields; digests become hex."""
    kind, *fields = operation
    known = _FIELDS.get(kind)
    if known is None:
        return {"kind": kind, "fields": [_value_to_json(field) for field in fields]}
    out: dict[str, Any] = {"kind": kind}
    for (name, *_), field in zip(known, fields, strict=True):
        out[name] = field if type(field) is str else _value_to_json(field)
    if kind == "merge":
        out["skills"] = [dict(zip(_MERGED_SKILL_KEYS, row, strict=True)) for row in out["skills"]]
    return out


def _value_to_json(field: Any) -> Any:
    if isinstance(field, bytes):
        return field.hex()
    if isinstance(field, (list, tuple)):
        return [_value_to_json(item) for item in field]
    if isinstance(field, dict):
        return {key: _value_to_json(item) for key, item in field.items()}
    return field
