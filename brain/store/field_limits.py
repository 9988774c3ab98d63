"""Limits on the fields of a store, checked when they are read.

An untrusted store may have correct checksums, so lengths, ranges and texts of its fields are
checked. Each function returns the fault, "" if there is none.
"""

from __future__ import annotations

from .. import limits
from ..digest import DIGEST_SIZE
from ..encoding import MAX_OBJECT_BYTES
from ..errors import InvalidInput
from ..objects import paths
from ..objects.tree_entry import LINK
from .protocol import PendingWrite

MAX_FIELD_BYTES = 32 << 20
"""The longest field of any row; the engine refuses longer ones before it reads them."""
MAX_FINGERPRINT_BYTES = 256
"""Size of the fingerprint of a file."""
MAX_FACT_NAME_BYTES = 512
"""UTF-8 bytes in the name of a fact."""
MAX_DICTIONARY_BYTES = 1 << 20
"""Size of a dictionary for compression."""

_REF_PREFIX = "ref:"
_BRANCH_FACT = "meta:branch"
_FACT_SIZES = {
    "operations": 8 + DIGEST_SIZE,
    "epoch": 8,
    "redactions": 8,
    "meta:brain": DIGEST_SIZE,
    "meta:let-go": 8,
}
"""The sizes of facts in bytes."""
_COUNTER_FACTS = {"operations", "epoch", "redactions", "meta:let-go"}
"""Facts that begin with a count, which must be below 2^63."""


def find_fact_error(name: str, value: bytes) -> str:
    """Return the fault of a fact: a ref, a small setting, a count."""
    size = _FACT_SIZES.get(name)
    if size is not None:
        if len(value) != size:
            return f"it has {len(value)} bytes, not {size}"
        return "its count is too great" if value[0] >= 0x80 and name in _COUNTER_FACTS else ""
    if not name.isprintable() or len(name.encode()) > MAX_FACT_NAME_BYTES:
        return "its name is too long or cannot be shown"
    if name.startswith(_REF_PREFIX) and not 0 < len(value) <= DIGEST_SIZE:
        return f"a ref of {len(value)} bytes"
    if name == _BRANCH_FACT and not _is_branch_name(value):
        return "it is not the name of a branch"
    return ""


def _is_branch_name(value: bytes) -> bool:
    try:
        return len(value) <= limits.MAX_BRANCH_BYTES and value.decode().isprintable()
    except UnicodeDecodeError:
        return False


def find_operation_error(number: int, id: bytes, data: bytes) -> str:
    """Return the fault of a row of the operation log."""
    if number < 1 or len(id) != DIGEST_SIZE:
        return "its number or its id is impossible"
    return "" if len(data) <= MAX_OBJECT_BYTES else f"it has {len(data)} bytes"


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


def find_signature_error(snapshot: bytes, key: bytes, signature: bytes) -> str:
    """Return the fault of a signature."""
    sizes = len(snapshot), len(key), len(signature)
    return "" if sizes == (DIGEST_SIZE, 32, 64) else "its fields have the wrong sizes"
