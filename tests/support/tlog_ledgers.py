"""Transparency logs for tests, and the Merkle definitions of RFC 6962 taken literally."""

from collections.abc import Iterable, Sequence
from hashlib import sha256
from pathlib import Path

from brain.chain.ledger_protocol import NO_PARENT, CommitRequest
from brain.chain.tlog.embedded_ledger import EmbeddedLedger
from brain.chain.tlog.merkle import LeafRange
from brain.chain.tlog.note import ALGORITHM_COSIGNATURE, SignatureLine, VerifierKey
from brain.trust import ed25519

FIXED_TIME_MS = 1_700_000_000_000
WITNESS_SEED = bytes(range(32))
WITNESS = VerifierKey("witness.example/w1", ALGORITHM_COSIGNATURE, ed25519.public_key(WITNESS_SEED))


def derive_id(*of: object) -> bytes:
    """Return an id of its own for each `of`."""
    return sha256(repr(of).encode()).digest()


def open_ledger_with_fixed_clock(folder: Path) -> EmbeddedLedger:
    """Return a ledger whose clock stands still."""
    return EmbeddedLedger(folder, clock=lambda: FIXED_TIME_MS)


def commit_snapshots(log: EmbeddedLedger, brain: str, seqs: Iterable[int]) -> None:
    """Commit snapshots of a brain, each after the one before."""
    for seq in seqs:
        parent = derive_id(brain, seq - 1) if seq > 1 else NO_PARENT
        log.commit(derive_id(brain), derive_id(brain, seq), parent)


def opening_requests(names: Iterable[object]) -> list[CommitRequest]:
    """Return wishes to open brains."""
    return [CommitRequest(derive_id(name), derive_id(name, 1), NO_PARENT) for name in names]


def sign_note(text: str, key: VerifierKey, seed: bytes) -> SignatureLine:
    """Return the signature line of a log for a text that ends in a line feed."""
    return SignatureLine(key.name, key.id, ed25519.sign_message(seed, text.encode()))


def sign_cosignature(text: str, key: VerifierKey, seed: bytes, time: int) -> SignatureLine:
    """Return the signature line of a witness for the text of a checkpoint."""
    message = f"cosignature/v1\ntime {time}\n{text}".encode()
    signature = time.to_bytes(8, "big") + ed25519.sign_message(seed, message)
    return SignatureLine(key.name, key.id, signature)


def merkle_tree_hash(leaves: Sequence[bytes]) -> bytes:
    """Return MTH(D[n]) of RFC 6962, section 2.1."""
    if not leaves:
        return sha256().digest()
    if len(leaves) == 1:
        return sha256(b"\0" + leaves[0]).digest()
    k = _largest_power_of_two_below(len(leaves))
    return sha256(b"\1" + merkle_tree_hash(leaves[:k]) + merkle_tree_hash(leaves[k:])).digest()


def inclusion_path(m: int, leaves: Sequence[bytes]) -> list[bytes]:
    """Return PATH(m, D[n]) of RFC 6962, section 2.1.1."""
    if len(leaves) == 1:
        return []
    k = _largest_power_of_two_below(len(leaves))
    if m < k:
        return [*inclusion_path(m, leaves[:k]), merkle_tree_hash(leaves[k:])]
    return [*inclusion_path(m - k, leaves[k:]), merkle_tree_hash(leaves[:k])]


def consistency_proof(m: int, leaves: Sequence[bytes]) -> list[bytes]:
    """Return PROOF(m, D[n]) of RFC 6962, section 2.1.2."""
    return _consistency_subproof(m, leaves, True)


def _consistency_subproof(m: int, leaves: Sequence[bytes], known: bool) -> list[bytes]:
    if m == len(leaves):
        return [] if known else [merkle_tree_hash(leaves)]
    k = _largest_power_of_two_below(len(leaves))
    if m <= k:
        return [*_consistency_subproof(m, leaves[:k], known), merkle_tree_hash(leaves[k:])]
    return [*_consistency_subproof(m - k, leaves[k:], False), merkle_tree_hash(leaves[:k])]


def _largest_power_of_two_below(n: int) -> int:
    k = 1
    while 2 * k < n:
        k *= 2
    return k


def range_hashes(ranges: Iterable[LeafRange], leaves: Sequence[bytes]) -> list[bytes]:
    """Return the hashes of ranges of leaves."""
    return [merkle_tree_hash(leaves[start:end]) for start, end in ranges]
