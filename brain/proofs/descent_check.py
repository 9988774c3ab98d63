"""Check a proof that a snapshot descends from another."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from ..objects.lineage import jump_target_depth
from ..objects.snapshot import Snapshot, snapshot_id
from .proof_types import DescentProof
from .recompute_root import decode_proof_snapshot, require_valid_proof


class _ChainLink(NamedTuple):
    id: bytes
    snapshot: Snapshot

    @property
    def brain(self) -> bytes:
        return self.snapshot.brain or self.id


def check_descent_proof(proof: DescentProof) -> bytes:
    """Check the chain of a proof; return the brain of the ancestor."""
    require_valid_proof(proof.chain, "broken_chain", "its chain holds no snapshot")
    chain = [
        _ChainLink(snapshot_id(encoded), decode_proof_snapshot(encoded)) for encoded in proof.chain
    ]
    require_valid_proof(
        chain[0].id == proof.snapshot, "wrong_snapshot", "its chain starts at another snapshot"
    )
    require_valid_proof(
        chain[0].brain == proof.brain, "wrong_brain", "its chain is of another brain"
    )
    require_valid_proof(
        chain[-1].id == proof.ancestor, "wrong_ancestor", "its chain ends at another snapshot"
    )
    for new, old in pairwise(chain):
        holds = _is_fork_origin(new, old) or _is_parent(new, old) or _is_jump_target(new, old)
        require_valid_proof(
            holds, "broken_chain", f"snapshot {new.id.hex()} does not lead to {old.id.hex()}"
        )
    return chain[-1].brain


def _is_fork_origin(new: _ChainLink, old: _ChainLink) -> bool:
    """Tell whether `new` is the genesis of a fork of `old`; it begins with the same bundle."""
    fork, origin = new.snapshot, old.snapshot
    return fork.is_genesis and fork.operation[2] == old.id and fork.bundle == origin.bundle


def _is_parent(new: _ChainLink, old: _ChainLink) -> bool:
    child, parent = new.snapshot, old.snapshot
    first = child.parents[:1] == (old.id,)
    return (
        old.id in child.parents
        and new.brain == old.brain
        and child.generation > parent.generation
        and (not first or child.jump.depth == parent.jump.depth + 1)
    )


def _is_jump_target(new: _ChainLink, old: _ChainLink) -> bool:
    """Tell whether `new` jumps to `old`, whose depth is that of its jump target."""
    child, ancestor = new.snapshot, old.snapshot
    return (
        child.jump.target == old.id
        and new.brain == old.brain
        and child.generation > ancestor.generation
        and jump_target_depth(child.jump.depth) == ancestor.jump.depth
    )
