"""The rows of a store: their types, their checksums, and the limits of their fields.

An id proves content. Other fields of a row have no id, so the row has a checksum over all its
fields, each framed by its length. An untrusted store may have correct checksums, so lengths,
ranges and texts are checked too when they are read: each `find_…_error` returns the fault, "" if
there is none.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from zlib import crc32

from blake3 import blake3

from .. import limits
from ..digest import DIGEST_SIZE
from ..errors import InvalidInput, StoreError
from ..named_tuple import NamedTuple
from ..objects import paths
from ..objects.tree_node import LINK

BlobSource = io.RawIOBase | io.BytesIO
"""Where a large blob is read from, such as a file opened unbuffered."""
LARGE_BLOB_BYTES = 256 << 10
"""Blobs of this many bytes or more are cut into chunks and should be streamed."""
CHECKSUM_BYTES = 8
MAX_FINGERPRINT_BYTES = 256
MAX_FACT_NAME_BYTES = 512

SEAL_FACT = ""
REF_PREFIX = "ref:"
META_PREFIX = "meta:"
OPERATIONS_FACT = "operations"
"""Number and id of the latest operation."""
REDACTIONS_FACT = "redactions"
"""The number of redacted blobs; absent if there are none."""
COMPACTION_FACT = "traces"
"""Present while old pages may hold redacted content."""
EPOCH_FACT = "epoch"
"""The number of times that objects were removed."""
INTERNAL_FACTS = frozenset({OPERATIONS_FACT, REDACTIONS_FACT, COMPACTION_FACT, EPOCH_FACT})
"""Names of the facts that are neither refs nor settings."""

_FACT_SIZES = {
    OPERATIONS_FACT: 8 + DIGEST_SIZE,
    EPOCH_FACT: 8,
    REDACTIONS_FACT: 8,
    "meta:brain": DIGEST_SIZE,
    "meta:let-go": 8,
}


class ObjectKind:
    """Kinds of objects; all but blobs are structured."""

    BLOB = 0
    NODE = 1
    BUNDLE = 2
    SNAPSHOT = 3


class PendingWrite(NamedTuple):
    """A file of the work tree that has yet to be written.

    `blob` is b"" if the file is to be removed. `before` is an opaque fingerprint of the file
    that it replaces, b"" for none.
    """

    path: str
    kind: int
    blob: bytes
    before: bytes


class OperationRow(NamedTuple):
    """One operation; `number` counts from 1, `id` chains to the operation before."""

    number: int
    id: bytes
    data: bytes


class BlobCheckResult(NamedTuple):
    """The result of reading some blobs again.

    `sizes` holds (id, size) of sound blobs, `faults` (id, message) of the others, and
    `selected` the sound ones that a `BlobPredicate` selected.
    """

    sizes: list[tuple[bytes, int]]
    faults: list[tuple[bytes, str]]
    selected: list[bytes]


BlobRow = tuple[bytes, int, bytes]
"""Id, codec and stored data of a blob."""
BlobPredicate = Callable[[bytes, bytes], bool]
"""Selects blobs by id and content; called in the process that reads them."""
ExpectedSize = Callable[[bytes, int], int]
"""Returns the size that a large blob must have, given its id and the size it claims."""
FindStandalone = Callable[[set[bytes]], set[bytes]]
"""Returns those of some blobs that are the whole content of a file."""
ObjectRange = tuple[int, int]
"""The first and the last row number of a range of structured objects."""
StoredObject = tuple[int, bytes, bytes | StoreError]
"""Kind, id, and the data or the error that reading it raised."""


def row_checksum(*fields: bytes) -> bytes:
    """Return the checksum of a row of byte strings."""
    framed = b"".join([b"%d:%b" % (len(field), field) for field in fields])
    return blake3(framed).digest(length=CHECKSUM_BYTES)


def object_checksum(id: bytes, kind: int, data: bytes) -> bytes:
    """Return the checksum of a row of `objects`."""
    return row_checksum(id, b"%d" % kind, data)


def pending_checksum(row: PendingWrite) -> bytes:
    """Return the checksum of a row of `pending`."""
    path = row.path.encode("utf-8", "surrogateescape")
    return row_checksum(path, b"%d" % row.kind, row.blob, row.before)


def facts_checksum(facts: dict[str, bytes]) -> bytes:
    """Return the seal over every fact, by name, so that a lost row is noticed too."""
    return row_checksum(*[part for name in sorted(facts) for part in (name.encode(), facts[name])])


def cache_row_checksum(id: bytes, data: bytes) -> bytes:
    """Return the checksum of a derived row: CRC-32, since thousands are read at once."""
    return crc32(data, crc32(id)).to_bytes(4, "big")


def find_fact_error(name: str, value: bytes) -> str:
    """Return the fault of a fact: a ref, a small setting, a count."""
    size = _FACT_SIZES.get(name)
    if size is not None:
        if len(value) != size:
            return f"it has {len(value)} bytes, not {size}"
        is_count = name != "meta:brain"  # the others begin with one, which is below 2^63
        return "its count is too great" if is_count and value[0] >= 0x80 else ""
    if not name.isprintable() or len(name.encode()) > MAX_FACT_NAME_BYTES:
        return "its name is too long or cannot be shown"
    if name.startswith(REF_PREFIX) and not 0 < len(value) <= DIGEST_SIZE:
        return f"a ref of {len(value)} bytes"
    if name == "meta:branch":
        try:
            is_branch = len(value) <= limits.MAX_BRANCH_BYTES and value.decode().isprintable()
        except UnicodeDecodeError:
            is_branch = False
        return "" if is_branch else "it is not the name of a branch"
    return ""


def find_pending_error(row: PendingWrite) -> str:
    """Return the fault of a pending write."""
    try:
        paths.check_path(row.path)
    except InvalidInput as error:
        return error.message
    if not 0 <= row.kind <= LINK:
        return "its kind is not that of a file"
    if len(row.blob) not in (0, DIGEST_SIZE) or len(row.before) > MAX_FINGERPRINT_BYTES:
        return "its fields have the wrong sizes"
    return ""
