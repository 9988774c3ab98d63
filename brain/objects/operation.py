"""What a snapshot did, as a record: `[kind, field, …]`, text, numbers and digests only.

The kinds below have fixed fields. Other kinds, which later versions of this
program may write, are kept and shown as they are: a lineage stays verifiable for
a reader who does not know every kind.
"""

from __future__ import annotations

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
}
"""Kind to its fields: name and type. `origin` and `source` are snapshot ids."""
_TYPES = {kind: [str, *(of for _, of in fields)] for kind, fields in _FIELDS.items()}


def genesis(nonce: bytes, origin: bytes = EMPTY) -> Operation:
    """The first snapshot of a brain; `origin` is the snapshot a fork came from."""
    return ("genesis", nonce, origin)


def snapshot() -> Operation:
    """The folder was recorded as somebody had left it."""
    return ("snapshot",)


def upsert(slug: str, from_version: str, to_version: str) -> Operation:
    """A skill was written; `from_version` is "" for a new one."""
    return ("upsert", slug, from_version, to_version)


def delete(slug: str, version: str) -> Operation:
    """A skill was removed at `version`."""
    return ("delete", slug, version)


def restore(source: bytes) -> Operation:
    """Paths were brought back to what they were in the snapshot `source`."""
    return ("restore", source)


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
    return value


def describe(operation: Operation) -> dict[str, Any]:
    """Return the operation as JSON-ready fields; digests become hex."""
    kind, *fields = operation
    known = _FIELDS.get(kind)
    if known is None:
        return {"kind": kind, "fields": [_plain(field) for field in fields]}
    out = {"kind": kind}
    for (name, _), field in zip(known, fields, strict=True):
        out[name] = field if type(field) is str else field.hex()
    return out


def _plain(field: Any) -> Any:
    if isinstance(field, bytes):
        return field.hex()
    if isinstance(field, (list, tuple)):
        return [_plain(item) for item in field]
    if isinstance(field, dict):
        return {key: _plain(item) for key, item in field.items()}
    return field
