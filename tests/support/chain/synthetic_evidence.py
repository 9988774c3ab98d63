"""Deterministic evidence: a synthetic chain, a log of a few entries, two snapshots."""

import copy
import functools
import json
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from brain.chain.evidence import offline_check
from brain.chain.evidence.evidence_builder import build_chain_part, build_evidence
from brain.chain.evidence.evidence_model import KIND_ANCHOR, KIND_BRAIN
from brain.chain.ledger_protocol import FINALIZED, NO_PARENT, Commitment
from brain.chain.tlog import note
from brain.chain.tlog.note import (
    ALGORITHM_COSIGNATURE,
    ALGORITHM_ED25519,
    Checkpoint,
    LogLeaf,
    VerifierKey,
    encode_entry,
)
from brain.objects.snapshot import Snapshot
from brain.proofs.build import build_descent_proof, build_path_proof
from brain.proofs.proof import render_proof
from brain.trust import ed25519
from tests.support import tlog_ledgers
from tests.support.chain import rfc6962
from tests.support.chain.merkle_patricia import keccak
from tests.support.chain.synthetic_chain import (
    CONTRACT_ADDRESS,
    OWNER_ADDRESS,
    SENDER_ADDRESS,
    SIGNER_ADDRESS,
    ChainState,
    brain_slots,
    other_slots,
)
from tests.support.recorded_snapshots import FEW_PATHS, FIXED_TIME_MS, record_snapshot

FIRST_SNAPSHOT = record_snapshot()
LAST_SNAPSHOT = record_snapshot([*FEW_PATHS, "skills/d/SKILL.md"], brain=FIRST_SNAPSHOT.id)
NEW_PATH = "skills/d/SKILL.md"
OLD_PATH = "skills/b.md"
NEW_PATH_CONTENT = NEW_PATH.encode()
"""What is at `PATH`."""


def _load_snapshot(id: bytes) -> Snapshot:
    return {FIRST_SNAPSHOT.id: FIRST_SNAPSHOT.snapshot, LAST_SNAPSHOT.id: LAST_SNAPSHOT.snapshot}[
        id
    ]


def path_proof_text(path: str = NEW_PATH) -> bytes:
    """Return a proof of a path in the snapshot that has it."""
    return render_proof(
        build_path_proof(*(FIRST_SNAPSHOT if path == OLD_PATH else LAST_SNAPSHOT), path)
    )


def descent_proof_text() -> bytes:
    """Return a proof that the last snapshot descends from the first."""
    return render_proof(build_descent_proof(_load_snapshot, FIRST_SNAPSHOT.id, LAST_SNAPSHOT.id))


CHAIN_ID = 31337
LOG_KEY_SEED, WITNESS_KEY_SEED = keccak(b"key of the log"), keccak(b"key of the witness")
LOG_KEY = VerifierKey("log.example", ALGORITHM_ED25519, ed25519.public_key(LOG_KEY_SEED))
WITNESS_KEY = VerifierKey(
    "witness.example", ALGORITHM_COSIGNATURE, ed25519.public_key(WITNESS_KEY_SEED)
)
OPENING_ENTRY = LogLeaf(FIRST_SNAPSHOT.id, 1, FIRST_SNAPSHOT.id, NO_PARENT, FIXED_TIME_MS)
COMMIT_ENTRY = LogLeaf(
    FIRST_SNAPSHOT.id, 2, LAST_SNAPSHOT.id, FIRST_SNAPSHOT.id, FIXED_TIME_MS + 1000
)
OTHER_ENTRIES = [
    LogLeaf(keccak(b"%d" % n), 1, keccak(b"at %d" % n), NO_PARENT, FIXED_TIME_MS) for n in range(5)
]
LOG_ENTRIES = [*OTHER_ENTRIES[:3], OPENING_ENTRY, OTHER_ENTRIES[3], COMMIT_ENTRY, OTHER_ENTRIES[4]]

EvidenceDocument = dict[str, Any]


def leaf_hashes(entries: Sequence[LogLeaf]) -> list[bytes]:
    return [rfc6962.leaf_hash(encode_entry(entry)) for entry in entries]


def log_root(entries: Sequence[LogLeaf]) -> bytes:
    return rfc6962.merkle_root(leaf_hashes(entries))


def signed_checkpoint(
    entries: Sequence[LogLeaf],
    seed: bytes = LOG_KEY_SEED,
    key: VerifierKey = LOG_KEY,
    judges: int = 0,
) -> str:
    """Return the signed checkpoint of a log, with the line of a witness if one is asked for."""
    answer = Checkpoint(key.name, len(entries), log_root(entries))
    lines = [tlog_ledgers.sign_note(answer.text, key, seed)]
    lines += [
        tlog_ledgers.sign_cosignature(
            answer.text, WITNESS_KEY, WITNESS_KEY_SEED, FIXED_TIME_MS // 1000
        )
    ] * judges
    return str(note.SignedNote(answer.text, tuple(lines)))


def make_log_field(
    entry: LogLeaf = COMMIT_ENTRY, entries: Sequence[LogLeaf] = LOG_ENTRIES, **by: Any
) -> EvidenceDocument:
    """Return the field `log` for an entry of a log."""
    place = list(entries).index(entry)
    return {
        "checkpoint": signed_checkpoint(entries, **by),
        "key": str(by.get("key", LOG_KEY)),
        "index": place,
        "entry": encode_entry(entry).hex(),
        "path": [one.hex() for one in rfc6962.inclusion_path(place, leaf_hashes(entries))],
    }


def anchored_slot(sender: bytes, key: VerifierKey = LOG_KEY) -> bytes:
    """Return the slot of the checkpoint that an account anchored."""
    return offline_check.anchor_slot(sender, sha256(str(key).encode()).digest())


def anchored_word(entries: Sequence[LogLeaf] = LOG_ENTRIES, key: VerifierKey = LOG_KEY) -> int:
    """Return what is anchored of a log."""
    text = Checkpoint(key.name, len(entries), log_root(entries)).text
    return int.from_bytes(sha256(text.encode()).digest(), "big")


def make_chain_field(
    world: ChainState,
    kind: str = KIND_BRAIN,
    by: bytes = OWNER_ADDRESS,
    salt: bytes = FIRST_SNAPSHOT.id,
    key: VerifierKey = LOG_KEY,
) -> EvidenceDocument:
    """Return the field `chain`."""
    slots = offline_check.brain_slots(offline_check.brain_id(by, salt))
    wanted = [anchored_slot(by, key)] if kind == KIND_ANCHOR else slots
    address, account = (f"0x{one.hex()}" for one in (CONTRACT_ADDRESS, by))
    return build_chain_part(
        CHAIN_ID, address, kind, account, world.block(), world.storage_proof(wanted)
    )


def make_chain_state(**besides: Any) -> ChainState:
    """Return a world in which the brain was opened, committed to and anchored."""
    head = {
        "salt": FIRST_SNAPSHOT.id,
        "head": LAST_SNAPSHOT.id,
        "seq": 2,
        "signer": SIGNER_ADDRESS,
        **besides,
    }
    return ChainState(
        other_slots()
        | brain_slots(OWNER_ADDRESS, **head)
        | {anchored_slot(SENDER_ADDRESS): anchored_word()}
    )


def make_evidence(
    *,
    log: EvidenceDocument | None = None,
    chain: EvidenceDocument | None = None,
    skipped: bool = False,
) -> EvidenceDocument:
    """Return evidence of the last snapshot, or of the first, which it descends from."""
    made = Commitment(
        "made", "", FIRST_SNAPSHOT.id, 2, LAST_SNAPSHOT.id, FIRST_SNAPSHOT.id, FINALIZED, 0
    )
    part = {"log": log, "chain": chain}
    if skipped:
        old, down = path_proof_text(OLD_PATH), descent_proof_text()
        text = build_evidence(made, part, FIRST_SNAPSHOT.id, path=old, descent=down)
    else:
        text = build_evidence(made, part, LAST_SNAPSHOT.id, path=path_proof_text())
    result: EvidenceDocument = json.loads(text)
    return result


def make_all_evidence() -> dict[str, EvidenceDocument]:
    """Return evidence of every kind."""
    return copy.deepcopy(_all_evidence())


@functools.cache
def _all_evidence() -> dict[str, EvidenceDocument]:
    world = make_chain_state()
    head, anchor = make_chain_field(world), make_chain_field(world, KIND_ANCHOR, SENDER_ADDRESS)
    return {
        "brain": make_evidence(chain=head),
        "skipped": make_evidence(chain=head, skipped=True),
        "log": make_evidence(log=make_log_field()),
        "skipped log": make_evidence(log=make_log_field(), skipped=True),
        "witnessed": make_evidence(log=make_log_field(judges=1)),
        "anchor": make_evidence(log=make_log_field(), chain=anchor),
    }
