"""How evidence is written down: one JSON document each (schemas/evidence.json).

Ids are hex. What a chain knows is written as its nodes write it, `0x` before lower-case
hex, with every address, slot and word in its full length.
"""

from __future__ import annotations

from typing import Any, TypeVar

from ...errors import ProofError, printable
from ...limits import MAX_EVIDENCE_BYTES
from ...proofs import strict
from ...proofs.document import of_json
from ...proofs.proof import DescentProof, PathProof
from ..tlog.entry import MAX_BYTES as MAX_ENTRY_BYTES
from . import fields
from .evidence import ANCHOR, BRAIN, ChainPart, Entry, Evidence, LogPart, Slot
from .header import MAX_HEADER_BYTES
from .trie import MAX_NODE_BYTES, MAX_NODES

FORMAT = "brain v1 evidence"
CLAIM = "commitment"
LOG = ("checkpoint", "key", "index", "entry", "path")
BY = {BRAIN: "creator", ANCHOR: "sender"}
"""The field of each kind that names an account."""

MAX_NUMBER = (1 << 63) - 1
MAX_CHECKPOINT_CHARS = 64 << 10
MAX_KEY_CHARS = 1024
MAX_PATH = 63
"""Hashes on the way from an entry to the root of a log."""

_SLOTS = {BRAIN: 3, ANCHOR: 1}
_NAMES = ("format", "brain", "snapshot", "claim", "proof", "descent", "committed", "log", "chain")
_Inner = TypeVar("_Inner", PathProof, DescentProof)


def read(data: bytes) -> Evidence:
    """Return the evidence that `data` writes down; it is well-formed and not yet checked.

    Raises `ProofError`: what proofs/strict.py says, or `unsupported_version`.
    """
    if len(data) > MAX_EVIDENCE_BYTES:
        raise ProofError(f"evidence of {len(data)} bytes", code="too_large")
    value = strict.parse(data)
    if type(value) is not dict:
        raise strict.bad(value, "evidence")
    found = value.get("format")
    if found != FORMAT:
        raise ProofError(
            f"not evidence of this format: {printable(found)}",
            code="unsupported_version",
            hint=f'the field "format" of evidence is "{FORMAT}"',
        )
    _, brain, snapshot, claim, proof, descent, committed, log, chain = strict.record(value, *_NAMES)
    if claim != CLAIM:
        raise strict.bad(claim, f"the claim {CLAIM}")
    return Evidence(
        strict.digest(brain),
        strict.digest(snapshot),
        _inner(proof, PathProof),
        _inner(descent, DescentProof),
        _entry(committed),
        None if log is None else _log(log),
        None if chain is None else _chain(chain),
    )


def _inner(value: Any, kind: type[_Inner]) -> _Inner | None:
    if value is None:
        return None
    proof = of_json(value)
    if not isinstance(proof, kind):
        raise strict.bad(value, f"a {kind.__name__}")
    return proof


def _entry(value: Any) -> Entry:
    snapshot, parent, seq = strict.record(value, *Entry._fields)
    return Entry(
        strict.digest(snapshot),
        None if parent is None else strict.digest(parent),
        strict.number(seq, 1, MAX_NUMBER),
    )


def _log(value: Any) -> LogPart:
    checkpoint, key, place, entry, path = strict.record(value, *LOG)
    return LogPart(
        fields.text(checkpoint, MAX_CHECKPOINT_CHARS),
        fields.text(key, MAX_KEY_CHARS),
        strict.number(place, 0, MAX_NUMBER),
        fields.octets(entry, 1, MAX_ENTRY_BYTES),
        [strict.digest(one) for one in fields.array(path, 0, MAX_PATH)],
    )


def _chain(value: Any) -> ChainPart:
    kind = value.get("kind") if type(value) is dict else None
    if type(kind) is not str or kind not in BY:
        raise strict.bad(kind, f"one of {', '.join(BY)}")
    names = ("chain_id", "contract", "kind", BY[kind], "header", "account", "slots")
    chain_id, contract, _, by, header, account, slots = strict.record(value, *names)
    return ChainPart(
        strict.number(chain_id, 1, MAX_NUMBER),
        fields.prefixed(contract, 20, 20),
        kind,
        fields.prefixed(by, 20, 20),
        fields.prefixed(header, 1, MAX_HEADER_BYTES),
        _nodes(account),
        [_slot(one) for one in fields.array(slots, _SLOTS[kind], _SLOTS[kind])],
    )


def _slot(value: Any) -> Slot:
    slot, word, proof = strict.record(value, *Slot._fields)
    return Slot(fields.prefixed(slot, 32, 32), fields.prefixed(word, 32, 32), _nodes(proof))


def _nodes(value: Any) -> list[bytes]:
    return [fields.prefixed(one, 1, MAX_NODE_BYTES) for one in fields.array(value, 0, MAX_NODES)]
