"""Real evidence: of a small brain, a log on disk, and a BrainRegistry on a real node."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from brain.chain.evidence import offline_check as slots
from brain.chain.evidence.evidence_builder import build_chain_part, build_evidence
from brain.chain.evidence.evidence_model import KIND_ANCHOR, KIND_BRAIN
from brain.chain.ledger_protocol import FINALIZED, NO_PARENT, Commitment, CommitRequest
from brain.chain.tlog.embedded_ledger import EmbeddedLedger
from brain.chain.tlog.note import verify_checkpoint
from tests.support.chain.registry_contract import RegistryContract, word_of
from tests.support.chain.synthetic_evidence import (
    FIRST_SNAPSHOT,
    LAST_SNAPSHOT,
    OLD_PATH,
    descent_proof_text,
    path_proof_text,
)
from tests.support.recorded_snapshots import FIXED_TIME_MS

OTHER_BRAIN_COUNT = 40
"""Brains besides, so that the tries and the log are deep."""

EVIDENCE_KINDS = ("brain", "skipped", "log", "anchor")


class EvidenceCase(NamedTuple):
    """Evidence, what a reader who is well informed knows besides, and the log's private key."""

    document: dict[str, Any]
    known: dict[str, Any]
    log_seed: bytes = b""

    @property
    def encode(self) -> bytes:
        return json.dumps(self.document).encode()


def capture_chain_field(
    registry: RegistryContract, kind: str, by: str, wanted: list[bytes]
) -> tuple[dict[str, Any], str]:
    """Return the field `chain` of evidence at the last block, and the hash of that block."""
    node = registry.node
    block = node.block()
    names = [f"0x{slot.hex()}" for slot in wanted]
    proof = node.call("eth_getProof", registry.address, names, block["number"])
    return build_chain_part(node.chain, registry.address, kind, by, block, proof), block["hash"]


def capture_all_kinds(registry: RegistryContract, folder: Path) -> dict[str, EvidenceCase]:
    """Commit the brain in all the ways there are; return the evidence of each."""
    return {**capture_brain_evidence(registry), **capture_log_evidence(registry, folder)}


def capture_brain_evidence(registry: RegistryContract) -> dict[str, EvidenceCase]:
    """Return evidence of the head of a brain, and of the snapshot before it."""
    owner, signer = registry.node.accounts[1:3]
    for number in range(OTHER_BRAIN_COUNT):
        registry.send(owner, "open", word_of(number), word_of(-number))
    id = registry.open_brain(owner, FIRST_SNAPSHOT.id, FIRST_SNAPSHOT.id)
    registry.send(owner, "commit", id, LAST_SNAPSHOT.id, FIRST_SNAPSHOT.id)
    registry.send(owner, "setSigner", id, signer)
    brain_id = slots.brain_id(bytes.fromhex(owner[2:]), FIRST_SNAPSHOT.id)
    part, block_hash = capture_chain_field(registry, KIND_BRAIN, owner, slots.brain_slots(brain_id))
    made = Commitment(
        "chain", "", FIRST_SNAPSHOT.id, 2, LAST_SNAPSHOT.id, FIRST_SNAPSHOT.id, FINALIZED, 0
    )
    known, given = {"block_hash": block_hash, "owner": owner}, {"chain": part, "log": None}
    head = build_evidence(made, given, LAST_SNAPSHOT.id, path=path_proof_text())
    skipped = build_evidence(
        made, given, FIRST_SNAPSHOT.id, path=path_proof_text(OLD_PATH), descent=descent_proof_text()
    )
    return {
        "brain": EvidenceCase(json.loads(head), known),
        "skipped": EvidenceCase(json.loads(skipped), known),
    }


def capture_log_evidence(registry: RegistryContract, folder: Path) -> dict[str, EvidenceCase]:
    """Return evidence of an entry of a log, and of the same once the log is anchored."""
    with EmbeddedLedger(folder, lambda: FIXED_TIME_MS) as log:
        others = [
            CommitRequest(word_of(f"log {n}"), word_of(f"at {n}"), NO_PARENT)
            for n in range(OTHER_BRAIN_COUNT)
        ]
        log.commit_many([*others, CommitRequest(FIRST_SNAPSHOT.id, FIRST_SNAPSHOT.id, NO_PARENT)])
        made = log.commit(FIRST_SNAPSHOT.id, LAST_SNAPSHOT.id, FIRST_SNAPSHOT.id)
        part, known = log.evidence(FIRST_SNAPSHOT.id, LAST_SNAPSHOT.id), {"log_key": log.key}
        seed = log._load_seed(log._require_log())
    text = verify_checkpoint(part["log"]["checkpoint"], known["log_key"]).text
    sender, log_id = registry.node.accounts[3], sha256(known["log_key"].encode()).digest()
    registry.send(sender, "anchor", log_id, sha256(text.encode()).digest())
    slot = slots.anchor_slot(bytes.fromhex(sender[2:]), log_id)
    chain, block_hash = capture_chain_field(registry, KIND_ANCHOR, sender, [slot])
    alone = build_evidence(made, part, LAST_SNAPSHOT.id, path=path_proof_text())
    both = build_evidence(made, {**part, "chain": chain}, LAST_SNAPSHOT.id, path=path_proof_text())
    return {
        "log": EvidenceCase(json.loads(alone), known, seed),
        "anchor": EvidenceCase(
            json.loads(both), {**known, "block_hash": block_hash, "owner": sender}, seed
        ),
    }
