"""What the fields of a store may hold, checked once, where they are read.

A store may come from anybody, with every checksum right. What a field says then has to
be of a length, a range and a text that the rest of the program is made for. Each function
returns what is wrong, "" if nothing is.
"""

from __future__ import annotations

from .. import limits
from ..digest import SIZE
from ..encoding import MAX_BYTES
from ..errors import InvalidInput
from ..objects import paths
from ..objects.entry import LINK
from .protocol import Pending

MAX_FIELD_BYTES = 32 << 20
"""The longest field of any row; the engine refuses longer ones before it reads them."""
MAX_FINGERPRINT_BYTES = 256
"""Size of what is known of a file that was in the folder."""
MAX_NAME_BYTES = 512
"""UTF-8 bytes in the name of a fact."""
MAX_DICTIONARY_BYTES = 1 << 20
"""Size of a dictionary for compression."""

_REF = "ref:"
_BRANCH = "meta:branch"
_SIZES = {"operations": 8 + SIZE, "epoch": 8, "redactions": 8, "meta:brain": SIZE, "meta:let-go": 8}
"""Facts to their sizes in bytes."""
_COUNTED = {"operations", "epoch", "redactions", "meta:let-go"}
"""Facts that begin with a count, which is one that the engine can hold too."""


def of_fact(name: str, value: bytes) -> str:
    """Check one of the facts: a ref, a small setting, a count."""
    size = _SIZES.get(name)
    if size is not None:
        if len(value) != size:
            return f"it has {len(value)} bytes, not {size}"
        return "its count is too great" if value[0] >= 0x80 and name in _COUNTED else ""
    if not name.isprintable() or len(name.encode()) > MAX_NAME_BYTES:
        return "its name is too long or cannot be shown"
    if name.startswith(_REF) and not 0 < len(value) <= SIZE:
        return f"a ref of {len(value)} bytes"
    return "it is not the name of a branch" if name == _BRANCH and not _is_branch(value) else ""


def _is_branch(value: bytes) -> bool:
    try:
        return len(value) <= limits.MAX_BRANCH and value.decode().isprintable()
    except UnicodeDecodeError:
        return False


def of_operation(number: int, id: bytes, data: bytes) -> str:
    """Check a row of the operation log."""
    if number < 1 or len(id) != SIZE:
        return "its number or its id cannot be right"
    return "" if len(data) <= MAX_BYTES else f"it has {len(data)} bytes"


def of_pending(row: Pending) -> str:
    """Check a note of a file that has yet to be written."""
    try:
        paths.check(row.path)
    except InvalidInput as error:
        return error.message
    if not 0 <= row.kind <= LINK:
        return "it is of no kind that files are of"
    if len(row.blob) not in (0, SIZE) or len(row.before) > MAX_FINGERPRINT_BYTES:
        return "its fields have the wrong sizes"
    return ""


def of_signature(snapshot: bytes, key: bytes, signature: bytes) -> str:
    """Check a row of the signatures."""
    sizes = len(snapshot), len(key), len(signature)
    return "" if sizes == (SIZE, 32, 64) else "its fields have the wrong sizes"
