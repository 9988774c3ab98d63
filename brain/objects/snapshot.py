"""Snapshots: a bundle with its parents, author, time and operation.

A snapshot is the canonical MessagePack of `[format, brain, bundle, parents,
generation, jump, author, time, operation, message, receipt]`. Its id is the
BLAKE3 of these bytes in a domain of its own. The id of a brain is the id of its
genesis snapshot, whose own `brain` is empty.
"""

from __future__ import annotations

from typing import Any

from .. import limits
from ..digest import DIGEST_SIZE, NO_DIGEST, domain_hash
from ..encoding import pack, unpack, unpack_unchecked
from ..errors import FormatError, ObjectError, corrupt_object_error, malformed_object_error
from ..named_tuple import NamedTuple
from . import operation as operations
from .operation import SnapshotOperation

SNAPSHOT_FORMAT = 1
MAX_PARENTS = 16
MAX_TIME_MS = 253_402_300_799_999
"""The last millisecond of the year 9999."""
_MAX_GENERATION = 1 << 48

snapshot_id = domain_hash("brain v1 snapshot")
"""Id of an encoded snapshot."""


class Jump(NamedTuple):
    """A skip pointer along first parents.

    `depth` is the distance of the snapshot that holds this jump from its genesis along first
    parents; `target` is an ancestor, empty for a genesis.
    """

    depth: int
    target: bytes


class Snapshot(NamedTuple):
    """A snapshot, decoded. Ids are 32 bytes or empty, `time` is in ms since 1970, UTC."""

    format: int
    brain: bytes
    bundle: bytes
    parents: tuple[bytes, ...]
    generation: int
    jump: Jump
    author: str
    time: int
    operation: SnapshotOperation
    message: str
    receipt: bytes

    @property
    def is_genesis(self) -> bool:
        """True for the first snapshot of a brain."""
        return not self.parents


def encode_snapshot(snapshot: Snapshot) -> bytes:
    """Return the canonical bytes."""
    return pack(snapshot)


def decode_snapshot(data: bytes) -> Snapshot:
    """Return the snapshot that canonical `data` encodes.

    Raises `FormatError`: `unsupported_version` for a later format, `bad_object`
    for another shape, and the codes of `encoding.unpack`.
    """
    value = unpack_unchecked(data)
    if not _is_known_shape(value) or pack(value) != data:
        value = unpack(data)  # raises the exact error
        _check_format(value)
        if not _is_well_formed(value):
            raise ObjectError("a field of the snapshot is malformed")
    jump, operation = Jump(*value[5]), operations.check_operation(value[8])
    snapshot = Snapshot._make((*value[:5], jump, *value[6:8], operation, *value[9:]))
    _check_genesis(snapshot)
    return snapshot


def decode_verified_snapshot(id: bytes, data: bytes) -> Snapshot:
    """Return the snapshot that `data` encodes. Raises `StoreError`, and as `decode_snapshot`."""
    if snapshot_id(data) != id:
        raise corrupt_object_error(id)
    try:
        return decode_snapshot(data)
    except FormatError as error:
        raise malformed_object_error("snapshot", id, error) from error


def _is_known_shape(value: Any) -> bool:
    """Tell whether a value is a snapshot of this format with a known operation.

    Then every type in it has been checked, which saves the general walk.
    """
    return (
        type(value) is tuple
        and value[:1] == (SNAPSHOT_FORMAT,)
        and _is_well_formed(value)
        and operations.is_known_operation(value[8])
        and tuple not in map(type, value[8])
    )


def _check_format(value: Any) -> None:
    if type(value) is not tuple or not value or type(value[0]) is not int:
        raise ObjectError("the object is not a snapshot")
    if value[0] != SNAPSHOT_FORMAT:
        raise FormatError(
            f"the snapshot has format {value[0]}; this version of brain reads {SNAPSHOT_FORMAT}",
            code="unsupported_version",
            hint="a newer version of brain wrote it: upgrade",
        )


_FIELD_TYPES = [int, bytes, bytes, tuple, int, tuple, str, int, tuple, str, bytes]
_ID_SIZES = {0, DIGEST_SIZE}


def _is_well_formed(value: tuple[Any, ...]) -> bool:
    if list(map(type, value)) != _FIELD_TYPES:
        return False
    _, brain, bundle, parents, generation, jump, author, time, _, message, receipt = value
    return (
        len(brain) in _ID_SIZES
        and len(bundle) == DIGEST_SIZE
        and len(parents) <= MAX_PARENTS
        and all(type(parent) is bytes and len(parent) == DIGEST_SIZE for parent in parents)
        and len(set(parents)) == len(parents)
        and generation <= _MAX_GENERATION
        and list(map(type, jump)) == [int, bytes]
        and 0 <= jump[0] <= generation
        and len(jump[1]) in _ID_SIZES
        and 0 <= time <= MAX_TIME_MS
        and len(author.encode()) <= limits.MAX_AUTHOR_BYTES
        and len(message.encode()) <= limits.MAX_MESSAGE_BYTES
        and len(receipt) in _ID_SIZES
    )


def _check_genesis(snapshot: Snapshot) -> None:
    """A genesis has no brain, parents, depth or jump; any other snapshot has all of them."""
    first = not snapshot.parents
    marks = (
        not snapshot.brain,
        snapshot.generation == 0,
        snapshot.jump == Jump(0, NO_DIGEST),
        snapshot.operation[0] == "genesis",
    )
    later = (snapshot.jump.depth == 0, not snapshot.jump.target)
    if any(mark != first for mark in marks) or (not first and any(later)):
        raise ObjectError("the snapshot has some fields of a genesis and some of a later snapshot")
    kind, count = snapshot.operation[0], len(snapshot.parents)
    if not operations.can_have_parents(snapshot.operation, count):
        raise ObjectError(f"a snapshot with {count} parents cannot have the operation {kind}")
