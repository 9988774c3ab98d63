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

from ..digest import EMPTY, SIZE, blob_id
from ..errors import FormatError, InvalidInput
from . import paths

Operation = tuple[Any, ...]

NONCE_SIZE = 16
MAX_KIND_BYTES = 64
"""UTF-8 bytes of a kind."""
MAX_TEXT_BYTES = 1024
"""UTF-8 bytes of the id of a run, of what an import names, and of an account."""
MAX_REASON_BYTES = 65_536
"""UTF-8 bytes of the reason of a redaction."""
MAX_MERGED = 4096
"""Skills that a merge names: the first ones in their order."""
OUTCOMES = ("success", "failure", "cancelled", "unknown")
"""How a run can end."""
DECISIONS = ("admit", "reject", "retire", "reinstate")
"""Reserved: what a verdict decided about one skill."""
BINDINGS = ("bind", "unbind")
"""Reserved: that a key and an account belong together, or no longer do."""
KEY_SIZE = 32

_MAX_SLUG = 64
_SLUG = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_VERSION = re.compile(r"[1-9][0-9]{0,8}|(?:0|[1-9][0-9]{0,8})(?:\.[0-9]{1,9}){1,3}")

_Check = Callable[[Any], bool]


def is_slug(value: Any) -> bool:
    """Tell whether this is a slug: ASCII letters and digits with single hyphens between."""
    return len(value) <= _MAX_SLUG and _SLUG.fullmatch(value) is not None


def is_version(value: Any) -> bool:
    """Tell whether this is a version: one to four numbers of at most nine digits each."""
    return _VERSION.fullmatch(value) is not None


def _is_version_or_none(value: Any) -> bool:
    return value == "" or is_version(value)


def _text(least: int, most: int) -> _Check:
    return lambda value: least <= len(value.encode()) <= most


def _is_id(value: Any) -> bool:
    return len(value) == SIZE


def _is_id_or_none(value: Any) -> bool:
    return len(value) in (0, SIZE)


def _is_path(value: Any) -> bool:
    try:
        paths.check(value)
    except InvalidInput:
        return False
    return True


@cache
def _too_small() -> frozenset[bytes]:
    return frozenset(map(blob_id, (b"", *(bytes([byte]) for byte in range(256)))))


def _is_redactable(value: Any) -> bool:
    """Every file may hold nothing or a single byte, so this can be no secret."""
    return len(value) == SIZE and value not in _too_small()


def _are_bases(value: Any) -> bool:
    return (
        value != ()
        and all(type(base) is bytes and len(base) == SIZE for base in value)
        and all(a < b for a, b in pairwise(value))
    )


def _are_merged(value: Any) -> bool:
    return (
        len(value) <= MAX_MERGED
        and all(type(row) is tuple and list(map(type, row)) == [str] * 4 for row in value)
        and all(is_slug(row[0]) and all(map(_is_version_or_none, row[1:])) for row in value)
        and all(a <= b for a, b in pairwise(value))
    )


_slug, _version = ("slug", str, is_slug), ("version", str, is_version)
_from, _to = ("from_version", str, _is_version_or_none), ("to_version", str, is_version)
_decided = (
    _slug,
    _from,
    ("to_version", str, _is_version_or_none),
    ("verdict", bytes, _is_id),
)
_bound = (
    ("key", bytes, lambda value: len(value) == KEY_SIZE),
    ("account", str, _text(1, MAX_TEXT_BYTES)),
    ("statement", bytes, _is_id),
)

_FIELDS: dict[str, tuple[tuple[str, type, _Check], ...]] = {
    "genesis": (
        ("nonce", bytes, lambda value: len(value) == NONCE_SIZE),
        ("origin", bytes, _is_id_or_none),
    ),
    "snapshot": (),
    "upsert": (_slug, _from, _to),
    "delete": (_slug, _version),
    "restore": (("source", bytes, _is_id),),
    "merge": (("bases", tuple, _are_bases), ("skills", tuple, _are_merged)),
    "redact": (
        ("path", str, _is_path),
        ("blob", bytes, _is_redactable),
        ("reason", str, _text(1, MAX_REASON_BYTES)),
    ),
    "task": (("run", str, _text(1, MAX_TEXT_BYTES)), ("outcome", str, OUTCOMES.__contains__)),
    "absorb": (
        _slug,
        _from,
        _to,
        ("absorbed", str, is_slug),
        ("absorbed_version", str, is_version),
    ),
    "import": (
        ("origin", str, _text(1, MAX_TEXT_BYTES)),
        ("name", str, _text(1, MAX_TEXT_BYTES)),
        ("revision", str, _text(0, MAX_TEXT_BYTES)),
    ),
    **dict.fromkeys(DECISIONS, _decided),
    **dict.fromkeys(BINDINGS, _bound),
}
"""Kind to its fields: name, type, and what its values must be."""
_TYPES = {kind: [str, *(of for _, of, _ in fields)] for kind, fields in _FIELDS.items()}
_CHECKS = {kind: [check for _, _, check in fields] for kind, fields in _FIELDS.items()}
_MERGED = ("slug", "ours", "theirs", "version")
_PARENTS = {"genesis": range(1), "merge": range(2, 3), "import": range(1, 17)}
"""How many parents snapshots of a kind have; of any other known kind, one."""


def genesis(nonce: bytes, origin: bytes = EMPTY) -> Operation:
    """The first snapshot of a brain; `origin` is the snapshot a fork came from."""
    return ("genesis", nonce, origin)


def origin(operation: Operation) -> bytes:
    """Return the snapshot that the brain of a genesis was forked from, empty if from none."""
    return bytes(operation[2])


def snapshot() -> Operation:
    """The folder was recorded as somebody had left it."""
    return ("snapshot",)


def upsert(slug: str, from_version: str, to_version: str) -> Operation:
    """A skill was written; `from_version` is "" for a new one."""
    return ("upsert", slug, from_version, to_version)


def version_given(done: Operation) -> str:
    """Return the version that a skill was written with, "" if none was."""
    return str(done[3]) if done[0] in ("upsert", "absorb") else ""


def delete(slug: str, version: str) -> Operation:
    """A skill was removed at `version`."""
    return ("delete", slug, version)


def absorb(
    slug: str, from_version: str, to_version: str, absorbed: str, absorbed_version: str
) -> Operation:
    """A skill took in another one, `absorbed`, which is gone with it."""
    return ("absorb", slug, from_version, to_version, absorbed, absorbed_version)


def restore(source: bytes) -> Operation:
    """Paths were brought back to what they were in the snapshot `source`."""
    return ("restore", source)


def merge(bases: Sequence[bytes], skills: Sequence[tuple[str, str, str, str]]) -> Operation:
    """Two lineages became one again.

    `bases` are the best common ancestors, sorted; `skills` those that both sides
    had changed, as (slug, version of the first parent, of the second, merged one),
    sorted; of very many, the first ones.
    """
    return ("merge", tuple(bases), tuple(skills[:MAX_MERGED]))


def redact(path: str, blob: bytes, reason: str) -> Operation:
    """The content of a blob was destroyed; its id stays in the lineage."""
    return ("redact", path, blob, reason)


def imported(kind: str, name: str, revision: str = "") -> Operation:
    """What another program keeps was taken in: its kind, such as `hermes`, and a name for it.

    `revision` is the id this state has in the history of the source, "" where it has none.
    """
    return ("import", kind, name, revision)


def task(run: str, outcome: str) -> Operation:
    """A run of an agent ended; the receipt says what it did, the files are as before."""
    return ("task", run, outcome)


def closes_task(operation: Operation) -> bool:
    """Tell whether this is the end of a run."""
    return bool(operation[0] == "task")


def is_known(value: tuple[Any, ...]) -> bool:
    """Tell whether this is an operation of a known kind, with fields of the right types."""
    return value != () and type(value[0]) is str and list(map(type, value)) == _TYPES.get(value[0])


def check(value: Any) -> Operation:
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
    if not is_known(value):
        raise FormatError(f"not a {kind} operation", code="bad_object")
    for (name, _, _), fits, field in zip(_FIELDS[kind], _CHECKS[kind], value[1:], strict=True):
        if not fits(field):
            raise FormatError(f"not a {kind} operation: its {name}", code="bad_object")
    return value


def fits_parents(operation: Operation, count: int) -> bool:
    """Tell whether a snapshot of so many parents may say that it did this."""
    kind = operation[0]
    if kind in _PARENTS:
        return count in _PARENTS[kind]
    return count == 1 or (count > 1 and kind not in _FIELDS)


def redacted_blob(operation: Operation) -> bytes:
    """Return the blob whose content this destroyed, empty if it destroyed none."""
    return bytes(operation[2]) if operation[0] == "redact" else EMPTY


def evidence(operation: Operation) -> bytes:
    """Return the blob of the verdict or statement that this names, empty if it names none."""
    return bytes(operation[-1]) if operation[0] in DECISIONS + BINDINGS else EMPTY


def describe(operation: Operation) -> dict[str, Any]:
    """Return the operation as JSON-ready fields; digests become hex."""
    kind, *fields = operation
    known = _FIELDS.get(kind)
    if known is None:
        return {"kind": kind, "fields": [_plain(field) for field in fields]}
    out: dict[str, Any] = {"kind": kind}
    for (name, *_), field in zip(known, fields, strict=True):
        out[name] = field if type(field) is str else _plain(field)
    if kind == "merge":
        out["skills"] = [dict(zip(_MERGED, row, strict=True)) for row in out["skills"]]
    return out


def _plain(field: Any) -> Any:
    if isinstance(field, bytes):
        return field.hex()
    if isinstance(field, (list, tuple)):
        return [_plain(item) for item in field]
    if isinstance(field, dict):
        return {key: _plain(item) for key, item in field.items()}
    return field
