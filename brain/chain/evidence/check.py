"""Checking evidence, from nothing but what it holds and what the reader knows besides.

1. It is about the brain and the snapshot that the reader asks for.
2. A path, if one is shown, is in the snapshot, which is of the brain.
3. The committed snapshot is the snapshot, or descends from it in the same brain.
4. It was committed to a log, to a contract, or to a log whose root is in a contract.
5. The log: its checkpoint is signed, and holds the commitment as an entry.
6. The chain: the contract held, in the block, that head or the root of that checkpoint.

Hashes tie all of it together, and end at the key of the log and at the hash of the block.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .chained import Stored, check_chain
from .evidence import ANCHOR, BRAIN, Evidence
from .holds import require
from .known import Known, require_place

if TYPE_CHECKING:
    from ...proofs.check import Proven
    from ...proofs.proof import DescentProof, PathProof
    from ..tlog.check import Logged


class Checked(NamedTuple):
    """What evidence shows besides what it says: of a path, of a log, of a contract."""

    path: Proven | None
    log: Logged | None
    chain: Stored | None


def check(evidence: Evidence, known: Known) -> Checked:
    """Return what `evidence` shows.

    Raises `InvalidInput` as `require_place` does, and `ProofError`: `not_this_brain`,
    `not_this_snapshot`, `wrong_snapshot`, `wrong_brain`, `no_descent`, `wrong_descent`,
    `no_ledger`, `wrong_ledger`, `wrong_parent`, `wrong_root`, and the codes of
    `proofs.check`, `check_log` and `check_chain`.
    """
    # 1. What it is about.
    require_place(evidence, known)
    _check_asked(evidence, known)
    # 2. The path.
    path = _check_path(evidence)
    # 3. The committed snapshot.
    _check_descent(evidence)
    # 4. The ledger.
    _check_ledger(evidence)
    # 5. The log.
    log = _check_log(evidence, known)
    # 6. The chain.
    chain = check_chain(evidence.chain, evidence, known) if evidence.chain else None
    same = not (log and chain) or log.checkpoint.root == chain.root
    require(same, "wrong_root", "another root is anchored than that of the checkpoint")
    return Checked(path, log, chain)


def _check_asked(evidence: Evidence, known: Known) -> None:
    for name in ("brain", "snapshot"):
        wanted, found = getattr(known, name), getattr(evidence, name)
        same = not wanted or wanted == found
        require(same, f"not_this_{name}", f"it is about the {name} {found.hex()}")


def _check_path(evidence: Evidence) -> Proven | None:
    if evidence.proof is None:
        return None
    proven = _proven(evidence.proof)
    require(proven.snapshot == evidence.snapshot, "wrong_snapshot", "a path of another snapshot")
    require(proven.brain == evidence.brain, "wrong_brain", "a path of another brain")
    return proven


def _check_descent(evidence: Evidence) -> None:
    committed, descent = evidence.committed.snapshot, evidence.descent
    if descent is None:
        same = committed == evidence.snapshot
        require(same, "no_descent", "another snapshot was committed, and no descent is shown")
        return
    require(committed != evidence.snapshot, "wrong_descent", "a descent where none is needed")
    proven = _proven(descent)
    require(proven.snapshot == committed, "wrong_descent", "another snapshot descends")
    require(proven.ancestor == evidence.snapshot, "wrong_descent", "it descends from another")
    same = proven.brain == evidence.brain == proven.ancestor_brain
    require(same, "wrong_brain", "a descent in another brain")


def _check_ledger(evidence: Evidence) -> None:
    """Check that there is a log alone, a brain's contract alone, or a log that is anchored."""
    log, chain = evidence.log, evidence.chain
    require(log or chain, "no_ledger", "it names no ledger")
    fits = not chain or chain.kind == (ANCHOR if log else BRAIN)
    require(fits, "wrong_ledger", "the log and the contract do not belong together")
    told = evidence.committed.parent is not None
    require(told == bool(log), "wrong_parent", "a log tells a parent, and a contract none")


def _proven(proof: PathProof | DescentProof) -> Proven:
    from ...proofs.check import check_read

    return check_read(proof)


def _check_log(evidence: Evidence, known: Known) -> Logged | None:
    if evidence.log is None:
        return None
    from .logged import check_log

    return check_log(evidence.log, evidence, known)
