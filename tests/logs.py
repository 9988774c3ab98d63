"""Trees and logs for tests, and the definitions of RFC 6962 taken literally."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256
from pathlib import Path

from brain.chain.protocol import NO_PARENT, Wish
from brain.chain.tlog.ledger import EmbeddedLedger
from brain.chain.tlog.shape import Range
from brain.chain.tlog.vkey import COSIGNATURE, VerifierKey
from brain.trust import ed25519

TIME = 1_700_000_000_000
WITNESS_SEED = bytes(range(32))
WITNESS = VerifierKey("witness.example/w1", COSIGNATURE, ed25519.public_key(WITNESS_SEED))


def an_id(*of: object) -> bytes:
    """Return an id of its own for each `of`."""
    return sha256(repr(of).encode()).digest()


def ledger(folder: Path) -> EmbeddedLedger:
    """Return a ledger whose clock stands still."""
    return EmbeddedLedger(folder, clock=lambda: TIME)


def grow(log: EmbeddedLedger, brain: str, seqs: Iterable[int]) -> None:
    """Commit snapshots of a brain, each after the one before."""
    for seq in seqs:
        parent = an_id(brain, seq - 1) if seq > 1 else NO_PARENT
        log.commit(an_id(brain), an_id(brain, seq), parent)


def opening(names: Iterable[object]) -> list[Wish]:
    """Return wishes to open brains."""
    return [Wish(an_id(name), an_id(name, 1), NO_PARENT) for name in names]


def mth(leaves: Sequence[bytes]) -> bytes:
    """Return MTH(D[n]) of RFC 6962, section 2.1."""
    if not leaves:
        return sha256().digest()
    if len(leaves) == 1:
        return sha256(b"\0" + leaves[0]).digest()
    k = _split(len(leaves))
    return sha256(b"\1" + mth(leaves[:k]) + mth(leaves[k:])).digest()


def path(m: int, leaves: Sequence[bytes]) -> list[bytes]:
    """Return PATH(m, D[n]) of RFC 6962, section 2.1.1."""
    if len(leaves) == 1:
        return []
    k = _split(len(leaves))
    if m < k:
        return [*path(m, leaves[:k]), mth(leaves[k:])]
    return [*path(m - k, leaves[k:]), mth(leaves[:k])]


def proof(m: int, leaves: Sequence[bytes]) -> list[bytes]:
    """Return PROOF(m, D[n]) of RFC 6962, section 2.1.2."""
    return _subproof(m, leaves, True)


def _subproof(m: int, leaves: Sequence[bytes], known: bool) -> list[bytes]:
    if m == len(leaves):
        return [] if known else [mth(leaves)]
    k = _split(len(leaves))
    if m <= k:
        return [*_subproof(m, leaves[:k], known), mth(leaves[k:])]
    return [*_subproof(m - k, leaves[k:], False), mth(leaves[:k])]


def _split(n: int) -> int:
    k = 1
    while 2 * k < n:
        k *= 2
    return k


def of_ranges(ranges: Iterable[Range], leaves: Sequence[bytes]) -> list[bytes]:
    """Return the hashes of ranges of leaves."""
    return [mth(leaves[start:end]) for start, end in ranges]
