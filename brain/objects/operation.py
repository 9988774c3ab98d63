"""What a snapshot did, as a record: `[kind, field, …]`, text, numbers and digests only.

The kinds below have fixed fields. Other kinds, which later versions of this
program may write, are kept and shown as they are: a lineage stays verifiable for
a reader who does not know every kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from ..digest import EMPTY, SIZE
from ..errors import FormatError

Operation = tuple[Any, ...]

NONCE_SIZE = 16

_FIELDS: dict[str, tuple[tuple[str, type], ...]] = {
    "genesis": (("nonce", bytes), ("origin", bytes)),
    "snapshot": (),
    "upsert": (("slug", str), ("from_version", str), ("to_version", str)),
    "delete": (("slug", str), ("version", str)),
    "restore": (("source", bytes),),
    "merge": (("bases", tuple), ("skills", tuple)),
    "redact": (("path", str), ("blob", bytes), ("reason", str)),
    "task": (("run", str), ("outcome", str)),
    "absorb": (
        ("slug", str),
        ("from_version", str),
        ("to_version", str),
        ("absorbed", str),
        ("absorbed_version", str),
    ),
    "import": (("origin", str), ("name", str), ("revision", str)),
}
"""Kind to its fields: name and type. `bases`, and what is bytes, are snapshot ids."""
_TYPES = {kind: [str, *(of for _, of in fields)] for kind, fields in _FIELDS.items()}
_MERGED = ("slug", "ours", "theirs", "version")


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
    had changed, as (slug, version of the first parent, of the second, merged one).
    """
    return ("merge", tuple(bases), tuple(skills))


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
    kind, *fields = value
    if kind in _FIELDS and not is_known(value):
        raise FormatError(f"not a {kind} operation", code="bad_object")
    if kind == "genesis" and (len(fields[0]) != NONCE_SIZE or len(fields[1]) not in (0, SIZE)):
        raise FormatError("not a genesis operation", code="bad_object")
    if kind == "restore" and len(fields[0]) != SIZE:
        raise FormatError("not a restore operation", code="bad_object")
    if kind == "redact" and len(fields[1]) != SIZE:
        raise FormatError("not a redact operation", code="bad_object")
    if kind == "merge" and not _is_merge(*fields):
        raise FormatError("not a merge operation", code="bad_object")
    return value


def _is_merge(bases: tuple[Any, ...], skills: tuple[Any, ...]) -> bool:
    return (
        all(type(base) is bytes and len(base) == SIZE for base in bases)
        and all(a < b for a, b in pairwise(bases))
        and all(
            type(row) is tuple and [type(field) for field in row] == [str] * 4 for row in skills
        )
    )


def describe(operation: Operation) -> dict[str, Any]:
    """Return the operation as JSON-ready fields; digests become hex."""
    kind, *fields = operation
    known = _FIELDS.get(kind)
    if known is None:
        return {"kind": kind, "fields": [_plain(field) for field in fields]}
    out: dict[str, Any] = {"kind": kind}
    for (name, _), field in zip(known, fields, strict=True):
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
