"""Builds evidence from the part of a ledger and the proofs of a brain."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ...errors import InvalidInput, LedgerError
from ...limits import MAX_EVIDENCE_BYTES
from ..ledger_protocol import Commitment
from . import offline_check
from .evidence_format import ADDRESS_FIELDS, COMMITMENT_CLAIM, EVIDENCE_FORMAT, parse_evidence
from .evidence_model import KIND_BRAIN, Expectations
from .offline_check import verify_evidence
from .state_proof import OTHER_NODE_HINT, encode_rpc_header

_HASH_BYTES = 32


def build_evidence(
    commitment: Commitment,
    part: Mapping[str, Any],
    snapshot: bytes,
    *,
    path: bytes = b"",
    descent: bytes = b"",
) -> bytes:
    """Return the text of evidence that `snapshot` is committed: one line of ASCII, verified.

    `part` is the result of `Ledger.evidence` for the commitment. `path` is the text of a proof of
    a path in `snapshot`; `descent` that of a proof that the committed snapshot descends from
    `snapshot`, needed if they differ. Raises `ProofError` if the parts do not fit, `InvalidInput`
    (`too_large`).
    """
    log, chain = part.get("log"), part.get("chain")
    value = {
        "format": EVIDENCE_FORMAT,
        "brain": commitment.brain.hex(),
        "snapshot": snapshot.hex(),
        "claim": COMMITMENT_CLAIM,
        "proof": json.loads(path) if path else None,
        "descent": json.loads(descent) if descent else None,
        "committed": {
            "snapshot": commitment.snapshot.hex(),
            "parent": commitment.parent.hex() if log else None,
            "seq": commitment.seq,
        },
        "log": log,
        "chain": chain,
    }
    text = json.dumps(value, separators=(",", ":")).encode() + b"\n"
    if len(text) > MAX_EVIDENCE_BYTES:
        raise InvalidInput(
            f"the evidence would have {len(text)} bytes, more than {MAX_EVIDENCE_BYTES}",
            code="too_large",
            hint="write evidence of a later snapshot, whose descent is shorter",
        )
    verify_evidence(parse_evidence(text), Expectations())
    return text


def read_proven_seq(part: Mapping[str, Any]) -> int | None:
    """Return the number of the commitment that `build_chain_part` proves; None for a log."""
    chain = part["chain"]
    if chain is None or chain["kind"] != KIND_BRAIN:
        return None
    words = [bytes.fromhex(slot["value"][2:]) for slot in chain["slots"]]
    return offline_check.decode_head(words).seq


def build_chain_part(
    chain_id: int, contract: str, kind: str, address: str, block: Mapping[str, Any], proof: Any
) -> dict[str, Any]:
    """Return the field `chain` of evidence from the answers of a node.

    `kind` is `KIND_BRAIN` for a brain that `address` opened, `KIND_ANCHOR` for a checkpoint that
    it anchored. `block` is the answer of `eth_getBlockByHash`, `proof` that of
    `eth_getProof` at this block, for the slots of `storage_layout` in order. Raises
    `LedgerError` (`bad_rpc`) for malformed answers.
    """
    try:
        slots = [
            {
                "slot": _pad_word(slot["key"]),
                "value": _pad_word(slot["value"]),
                "proof": _hashed_nodes(slot["proof"]),
            }
            for slot in proof["storageProof"]
        ]
        return {
            "chain_id": chain_id,
            "contract": contract.lower(),
            "kind": kind,
            ADDRESS_FIELDS[kind]: address.lower(),
            "header": f"0x{encode_rpc_header(block).hex()}",
            "account": _hashed_nodes(proof["accountProof"]),
            "slots": slots,
        }
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise LedgerError(
            "the node returned a malformed proof of storage", code="bad_rpc", hint=OTHER_NODE_HINT
        ) from error


def _pad_word(value: str) -> str:
    """Return a number in the full length of a word; nodes omit leading zeros."""
    return f"0x{int(value, 16):064x}"


def _hashed_nodes(nodes: list[str]) -> list[str]:
    """Return the nodes that are referenced by hash; some clients also list embedded nodes."""
    return [node.lower() for node in nodes if len(node) >= 2 + 2 * _HASH_BYTES]
