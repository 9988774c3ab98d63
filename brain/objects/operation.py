"""What a snapshot did, as a record: `[kind, field, …]`, text, numbers and digests only.

The kinds below have fixed fields, each within limits of its own; some are reserved
for what comes later, so that nobody uses them otherwise. All other kinds are kept and
shown as they are: a lineage stays verifiable for a reader who does not know every kind.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

from ..digest import DIGEST_SIZE, NO_DIGEST, blob_id
from ..errors import FormatError, InvalidInput
from . import paths

SnapshotOperation = tuple[Any, ...]

NONCE_SIZE = 16
MAX_KIND_BYTES = 64
"""UTF-8 bytes of a kind."""
MAX_OPERATION_TEXT_BYTES = 1024
"""UTF-8 bytes of the id of a run, of what an import names, and of an account."""
MAX_REDACTION_REASON_BYTES = 65_536
"""UTF-8 bytes of the reason of a redaction."""
MAX_MERGED_SKILLS = 4096
"""Skills that a merge names: the first ones in their order."""
TASK_OUTCOMES = ("success", "failure", "cancelled", "unknown")
"""How a run can end."""
DECISION_KINDS = ("admit", "reject", "retire", "reinstate")
"""Reserved: what a verdict decided about one skill."""
BINDING_KINDS = ("bind", "unbind")
"""Reserved: that a key and an account belong together, or no longer do."""
BOUND_KEY_SIZE = 32

_MAX_SLUG_CHARS = 64
_SLUG_PATTERN = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_VERSION_PATTERN = re.compile(r"[1-9][0-9]{0,8}|(?:0|[1-9][0-9]{0,8})(?:\.[0-9]{1,9}){1,3}")

_FieldCheck = Callable[[Any], bool]


def _is_slug(value: Any) -> bool:
    """Tell whether this is a slug: ASCII letters and digits with single hyphens between."""
    return len(value) <= _MAX_SLUG_CHARS and _SLUG_PATTERN.fullmatch(value) is not None


def is_version(value: Any) -> bool:
    """Tell whether this is a version: one to four numbers of at most nine digits each."""
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
    """Every file may hold nothing or a single byte, so this can be no secret."""
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
"""Kind to its fields: name, type, and what its values must be."""
_TYPES = {kind: [str, *(of for _, of, _ in fields)] for kind, fields in _FIELDS.items()}
_CHECKS = {kind: [check for _, _, check in fields] for kind, fields in _FIELDS.items()}
_MERGED_SKILL_KEYS = ("slug", "ours", "theirs", "version")
_PARENT_COUNTS = {"genesis": range(1), "merge": range(2, 3), "import": range(1, 17)}
"""How many parents snapshots of a kind have; of any other known kind, one."""


def genesis_operation(nonce: bytes, origin: bytes = NO_DIGEST) -> SnapshotOperation:
    """The first snapshot of a brain; `origin` is the snapshot a fork came from."""
    return ("genesis", nonce, origin)


def fork_origin(operation: SnapshotOperation) -> bytes:
    """Return the snapshot that the brain of a genesis was forked from, empty if from none."""
    return bytes(operation[2])


def snapshot_operation() -> SnapshotOperation:
    """The folder was recorded as somebody had left it."""
    return ("snapshot",)


def upsert_operation(slug: str, from_version: str, to_version: str) -> SnapshotOperation:
    """A skill was written; `from_version` is "" for a new one."""
    return ("upsert", slug, from_version, to_version)


def written_version(operation: SnapshotOperation) -> str:
    """Return the version that a skill was written with, "" if none was."""
    return str(operation[3]) if operation[0] in ("upsert", "absorb") else ""


def delete_operation(slug: str, version: str) -> SnapshotOperation:
    """A skill was removed at `version`."""
    return ("delete", slug, version)


def absorb_operation(
    slug: str, from_version: str, to_version: str, absorbed: str, absorbed_version: str
) -> SnapshotOperation:
    """A skill took in another one, `absorbed`, which is gone with it."""
    return ("absorb", slug, from_version, to_version, absorbed, absorbed_version)


def restore_operation(source: bytes) -> SnapshotOperation:
    """Paths were brought back to what they were in the snapshot `source`."""
    return ("restore", source)


def merge_operation(
    bases: Sequence[bytes], skills: Sequence[tuple[str, str, str, str]]
) -> SnapshotOperation:
    """Two lineages became one again.

    `bases` are the best common ancestors, sorted; `skills` those that both sides
    had changed, as (slug, version of the first parent, of the second, merged one),
    sorted; of very many, the first ones.
    """
    return ("merge", tuple(bases), tuple(skills[:MAX_MERGED_SKILLS]))


def redact_operation(path: str, blob: bytes, reason: str) -> SnapshotOperation:
    """The content of a blob was destroyed; its id stays in the lineage."""
    return ("redact", path, blob, reason)


def import_operation(kind: str, name: str, revision: str = "") -> SnapshotOperation:
    """What another program keeps was taken in: its kind, such as `hermes`, and a name for it.

    `revision` is the id this state has in the history of the source, "" where it has none.
    """
    return ("import", kind, name, revision)


def task_operation(run: str, outcome: str) -> SnapshotOperation:
    """A run of an agent ended; the receipt says what it did, the files are as before."""
    return ("task", run, outcome)


def is_task_end(operation: SnapshotOperation) -> bool:
    """Tell whether this is the end of a run."""
    return bool(operation[0] == "task")


def is_known_operation(value: tuple[Any, ...]) -> bool:
    """Tell whether this is an operation of a known kind, with fields of the right types."""
    return value != () and type(value[0]) is str and list(map(type, value)) == _TYPES.get(value[0])


def check_operation(value: Any) -> SnapshotOperation:
    """Return the operation in the decoded `value`.

    Raises `FormatError` (`bad_object`) for another shape, or a known kind with
    other fields.
    """
    if type(value) is not tuple or not value or type(value[0]) is not str or not value[0]:
        raise FormatError("not an operation", code="bad_object")
    kind = value[0]
    if kind not in _FIELDS:
        if len(kind.encode()) > MAX_KIND_BYTES:
            raise FormatError("an operation of too long a kind", code="bad_object")
        return value
    if not is_known_operation(value):
        raise FormatError(f"not a {kind} operation", code="bad_object")
    for (name, _, _), fits, field in zip(_FIELDS[kind], _CHECKS[kind], value[1:], strict=True):
        if not fits(field):
            raise FormatError(f"not a {kind} operation: its {name}", code="bad_object")
    return value


def can_have_parents(operation: SnapshotOperation, count: int) -> bool:
    """Tell whether a snapshot of so many parents may say that it did this."""
    kind = operation[0]
    if kind in _PARENT_COUNTS:
        return count in _PARENT_COUNTS[kind]
    return count == 1 or (count > 1 and kind not in _FIELDS)


def redacted_blob(operation: SnapshotOperation) -> bytes:
    """Return the blob whose content this destroyed, empty if it destroyed none."""
    return bytes(operation[2]) if operation[0] == "redact" else NO_DIGEST


def evidence_blob(operation: SnapshotOperation) -> bytes:
    """Return the blob of the verdict or statement that this names, empty if it names none."""
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
