"""An entry of the log: one commitment, encoded as the data of its leaf."""

from __future__ import annotations

from typing import NamedTuple

from ...encoding import pack, unpack
from ...errors import FormatError
from ..ledger_protocol import NO_PARENT

ENTRY_FORMAT = 1
MAX_ENTRY_BYTES = 122
"""Bytes of the longest entry."""
MAX_SEQ = (1 << 63) - 1
MAX_TIME_MS = 253_402_300_799_999
"""The last millisecond of the year 9999, UTC, as in snapshots."""

_HINT = "run `brain verify --ledger local` to check the whole log"
_ID_BYTES = 32


class LogLeaf(NamedTuple):
    """The commitment `seq` of a brain: `snapshot` after `parent`, at `time` in ms UTC."""

    brain: bytes
    seq: int
    snapshot: bytes
    parent: bytes
    time: int


def encode_entry(entry: tuple[bytes, int, bytes, bytes, int]) -> bytes:
    """Return the data of the leaf of an entry, from the fields of `LogLeaf`."""
    return pack((ENTRY_FORMAT, *entry))


def decode_entry(data: bytes) -> LogLeaf:
    """Return the entry in the data of a leaf.

    Raises `FormatError`: `bad_entry`, and the codes of `encoding.unpack`.
    """
    if len(data) > MAX_ENTRY_BYTES:
        raise FormatError(
            f"the entry of the log has {len(data)} bytes, more than {MAX_ENTRY_BYTES}",
            code="too_large",
            hint=_HINT,
        )
    fields = unpack(data)
    if type(fields) is not tuple or [type(field) for field in fields] != _FIELD_TYPES:
        raise FormatError(
            "the entry of the log does not have the fields of an entry",
            code="bad_entry",
            hint=_HINT,
        )
    form, entry = fields[0], LogLeaf(*fields[1:])
    if form != ENTRY_FORMAT or not _is_valid(entry):
        raise FormatError(
            "a field of the entry of the log is out of range", code="bad_entry", hint=_HINT
        )
    return entry


_FIELD_TYPES = [int, bytes, int, bytes, bytes, int]


def _is_valid(entry: LogLeaf) -> bool:
    ids = entry.brain, entry.snapshot, entry.parent
    return (
        all(len(id) == _ID_BYTES for id in ids)
        and entry.snapshot != NO_PARENT
        and (entry.parent == NO_PARENT) == (entry.seq == 1)
        and 1 <= entry.seq <= MAX_SEQ
        and entry.time <= MAX_TIME_MS
    )
