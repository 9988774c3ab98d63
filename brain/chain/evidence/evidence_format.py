"""The JSON format of evidence, parsed strictly (schemas/evidence.json).

Ids are hex. Values of a chain are lower-case hex after `0x`, with every address, slot and
word in full length.
"""

from __future__ import annotations

from typing import Any, TypeVar

from ...errors import ProofError
from ...limits import MAX_EVIDENCE_BYTES
from ...proofs import json_fields
from ...proofs.proof import DescentProof, PathProof, proof_from_json
from ..tlog.note import MAX_ENTRY_BYTES
from .evidence_model import (
    KIND_ANCHOR,
    KIND_BRAIN,
    ChainPart,
    CommittedSnapshot,
    EvidenceDocument,
    LogPart,
    StorageSlot,
)
from .state_proof import MAX_HEADER_BYTES, MAX_PROOF_NODES, MAX_TRIE_NODE_BYTES

EVIDENCE_FORMAT = "brain v1 evidence"
COMMITMENT_CLAIM = "commitment"
LOG_FIELDS = ("checkpoint", "key", "index", "entry", "path")
ADDRESS_FIELDS = {KIND_BRAIN: "creator", KIND_ANCHOR: "sender"}
"""The field of each kind that names an account."""

MAX_JSON_INTEGER = (1 << 63) - 1
MAX_CHECKPOINT_CHARS = 64 << 10
MAX_KEY_CHARS = 1024
MAX_PATH_HASHES = 63
"""Hashes in the path from an entry to the root of a log."""

_SLOT_COUNTS = {KIND_BRAIN: 3, KIND_ANCHOR: 1}
_EVIDENCE_FIELDS = (
    "format",
    "brain",
    "snapshot",
    "claim",
    "proof",
    "descent",
    "committed",
    "log",
    "chain",
)
_ProofT = TypeVar("_ProofT", PathProof, DescentProof)


def parse_evidence(data: bytes) -> EvidenceDocument:
    """Return the evidence in `data`, well-formed but not verified.

    Raises `ProofError`: the codes of proofs/json_fields.py, or `unsupported_version`.
    """
    with json_fields.name_document("the evidence"):
        return _parse_evidence(data)


def _parse_evidence(data: bytes) -> EvidenceDocument:
    if len(data) > MAX_EVIDENCE_BYTES:
        raise ProofError(
            f"it has {len(data)} bytes, more than {MAX_EVIDENCE_BYTES}",
            code="too_large",
            hint="ask for evidence of a later snapshot",
        )
    value = json_fields.parse_untrusted_json(data)
    if type(value) is not dict:
        raise json_fields.bad_field_error(value, "evidence")
    format = value.get("format")
    if format != EVIDENCE_FORMAT:
        raise ProofError(
            f'its field "format" is "{format or ""}", not "{EVIDENCE_FORMAT}"',
            code="unsupported_version",
            hint="it is another file, or a newer version of brain wrote it",
        )
    if "accounts" in value:
        raise ProofError(
            "it shows statements of accounts, which are read no more",
            code="unsupported_version",
            hint="ask for evidence that a newer version of brain wrote",
        )
    _, brain, snapshot, claim, proof, descent, committed, log, chain = json_fields.read_record(
        value, *_EVIDENCE_FIELDS
    )
    if claim != COMMITMENT_CLAIM:
        raise json_fields.bad_field_error(claim, f"the claim {COMMITMENT_CLAIM}")
    return EvidenceDocument(
        brain=json_fields.read_digest(brain),
        snapshot=json_fields.read_digest(snapshot),
        proof=_parse_proof(proof, PathProof),
        descent=_parse_proof(descent, DescentProof),
        committed=_parse_committed(committed),
        log=None if log is None else _parse_log_part(log),
        chain=None if chain is None else parse_chain_part(chain),
    )


def _parse_proof(value: Any, kind: type[_ProofT]) -> _ProofT | None:
    if value is None:
        return None
    proof = proof_from_json(value)
    if not isinstance(proof, kind):
        raise json_fields.bad_field_error(value, f"a {kind.__name__}")
    return proof


def _parse_committed(value: Any) -> CommittedSnapshot:
    snapshot, parent, seq = json_fields.read_record(value, *CommittedSnapshot._fields)
    return CommittedSnapshot(
        json_fields.read_digest(snapshot),
        None if parent is None else json_fields.read_digest(parent),
        json_fields.read_integer_field(seq, 1, MAX_JSON_INTEGER),
    )


def _parse_log_part(value: Any) -> LogPart:
    checkpoint, key, leaf_index, entry, path = json_fields.read_record(value, *LOG_FIELDS)
    return LogPart(
        checkpoint=json_fields.read_text(checkpoint, 1, MAX_CHECKPOINT_CHARS),
        key=json_fields.read_text(key, 1, MAX_KEY_CHARS),
        leaf_index=json_fields.read_integer_field(leaf_index, 0, MAX_JSON_INTEGER),
        entry=json_fields.read_hex(entry, 1, MAX_ENTRY_BYTES),
        path=[
            json_fields.read_digest(one) for one in json_fields.read_array(path, 0, MAX_PATH_HASHES)
        ],
    )


def parse_chain_part(value: Any) -> ChainPart:
    """Return the field `chain` of evidence. Raises `ProofError`."""
    kind = json_fields.read_choice(
        value.get("kind") if type(value) is dict else None, ADDRESS_FIELDS
    )
    names = ("chain_id", "contract", "kind", ADDRESS_FIELDS[kind], "header", "account", "slots")
    chain_id, contract, _, address, header, account, slots = json_fields.read_record(value, *names)
    count = _SLOT_COUNTS[kind]
    return ChainPart(
        chain_id=json_fields.read_integer_field(chain_id, 1, MAX_JSON_INTEGER),
        contract=json_fields.read_hex(contract, 20, 20, "0x"),
        kind=kind,
        account_address=json_fields.read_hex(address, 20, 20, "0x"),
        header=json_fields.read_hex(header, 1, MAX_HEADER_BYTES, "0x"),
        account_proof=_parse_nodes(account),
        slots=[_parse_slot(one) for one in json_fields.read_array(slots, count, count)],
    )


def _parse_slot(value: Any) -> StorageSlot:
    slot, word, proof = json_fields.read_record(value, *StorageSlot._fields)
    return StorageSlot(
        json_fields.read_hex(slot, 32, 32, "0x"),
        json_fields.read_hex(word, 32, 32, "0x"),
        _parse_nodes(proof),
    )


def _parse_nodes(value: Any) -> list[bytes]:
    return [
        json_fields.read_hex(one, 1, MAX_TRIE_NODE_BYTES, "0x")
        for one in json_fields.read_array(value, 0, MAX_PROOF_NODES)
    ]
