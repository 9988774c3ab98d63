"""Records of signatures, which FORMAT.md defines for files that carry them.

The product writes no such file, so their codec is here, for the golden vectors and for the
readers of the format alone.
"""

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

from brain.digest import DIGEST_SIZE
from brain.encoding import pack, unpack
from brain.errors import FormatError
from brain.trust import ed25519
from brain.trust.ed25519 import KeySignature

MAX_SIGNATURES_PER_SNAPSHOT = 256
"""Signatures of one snapshot in one record."""


def encode_signatures(snapshot_id: bytes, signatures: Iterable[KeySignature]) -> bytes:
    """Return the signatures of a snapshot as canonical MessagePack, by key."""
    return pack((snapshot_id, tuple(sorted(signatures))))


def decode_signatures(data: bytes) -> tuple[bytes, list[KeySignature]]:
    """Return a snapshot id and its signatures, which are well formed but not verified.

    Raises `FormatError`: `bad_signature` for another shape, and the codes of `encoding.unpack`.
    """
    value = unpack(data)
    if not _is_signature_record(value):
        raise FormatError("not a record of signatures", code="bad_signature")
    return value[0], [KeySignature(*pair) for pair in value[1]]


def _is_signature_record(value: Any) -> bool:
    return (
        type(value) is tuple
        and [type(field) for field in value] == [bytes, tuple]
        and len(value[0]) == DIGEST_SIZE
        and 0 < len(value[1]) <= MAX_SIGNATURES_PER_SNAPSHOT
        and all(map(_is_signature_pair, value[1]))
        and all(a[0] < b[0] for a, b in pairwise(value[1]))
    )


def _is_signature_pair(pair: Any) -> bool:
    return (
        type(pair) is tuple
        and [type(field) for field in pair] == [bytes, bytes]
        and len(pair[1]) == ed25519.SIGNATURE_SIZE
        and ed25519.is_usable_key(pair[0])
    )
