"""Checking that a snapshot descends from another, link by link."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from ..objects.lineage import landing
from ..objects.snapshot import Snapshot, snapshot_id
from .proof import DescentProof
from .rise import decoded, require


class _Link(NamedTuple):
    id: bytes
    snapshot: Snapshot

    @property
    def brain(self) -> bytes:
        return self.snapshot.brain or self.id


def check_descent(proof: DescentProof) -> bytes:
    """Check the chain of a proof; return the brain of the ancestor."""
    require(proof.chain, "broken_chain", "it holds no snapshot")
    chain = [_Link(snapshot_id(encoded), decoded(encoded)) for encoded in proof.chain]
    require(chain[0].id == proof.snapshot, "wrong_snapshot", "it starts at another snapshot")
    require(chain[0].brain == proof.brain, "wrong_brain", "another brain")
    require(chain[-1].id == proof.ancestor, "wrong_ancestor", "it ends at another snapshot")
    for new, old in pairwise(chain):
        holds = _is_origin(new, old) or _is_parent(new, old) or _is_jump(new, old)
        require(holds, "broken_chain", f"{new.id.hex()} does not lead to {old.id.hex()}")
    return chain[-1].brain


def _is_origin(new: _Link, old: _Link) -> bool:
    """Tell whether `new` is the genesis of a fork of `old`; it begins with the same bundle."""
    fork, origin = new.snapshot, old.snapshot
    return fork.is_genesis and fork.operation[2] == old.id and fork.bundle == origin.bundle


def _is_parent(new: _Link, old: _Link) -> bool:
    child, parent = new.snapshot, old.snapshot
    first = child.parents[:1] == (old.id,)
    return (
        old.id in child.parents
        and new.brain == old.brain
        and child.generation > parent.generation
        and (not first or child.jump.depth == parent.jump.depth + 1)
    )


def _is_jump(new: _Link, old: _Link) -> bool:
    """Tell whether `new` jumps to `old`, which lies as deep as the rule of jumps says."""
    child, ancestor = new.snapshot, old.snapshot
    return (
        child.jump.target == old.id
        and new.brain == old.brain
        and child.generation > ancestor.generation
        and landing(child.jump.depth) == ancestor.jump.depth
    )
