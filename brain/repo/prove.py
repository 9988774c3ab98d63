"""Build proofs about the files and the descent of a revision, and look for a descent."""

from __future__ import annotations

from ..errors import InvalidInput
from ..objects.lineage import find_descent_path
from ..objects.snapshot import Snapshot
from ..proofs import build
from ..proofs.proof import render_proof
from ..results import Ancestry
from .session import BrainState, Session


def prove_file(session: Session, path: str, rev: str = "@") -> bytes:
    """Prove that a file is in the snapshot, with its content. Raises `NotFound`."""
    return render_proof(build.build_path_proof(*_load_state_and_snapshot(session, rev), path))


def prove_section(session: Session, name: str, rev: str = "@") -> bytes:
    """Prove a top-level folder as a whole; "." is the files outside of folders.

    Raises `NotFound`, `InvalidInput` (`bad_path`).
    """
    if "/" in name:
        raise InvalidInput(
            f"{name} is not a top-level folder",
            code="bad_path",
            hint=f"prove {name.partition('/')[0]}/ as a whole, or single files",
        )
    return render_proof(build.build_section_proof(*_load_state_and_snapshot(session, rev), name))


def prove_descent(session: Session, ancestor: str, rev: str = "@") -> bytes:
    """Prove that a revision is `ancestor` or descends from it, also across forks.

    Raises `NotFound` (`not_an_ancestor`).
    """
    old, new = session.resolve(ancestor), session.resolve(rev)
    return render_proof(build.build_descent_proof(session.load_snapshot, old, new))


def _load_state_and_snapshot(session: Session, rev: str) -> tuple[BrainState, Snapshot]:
    snapshot_id = session.resolve(rev)
    return session.state_of(snapshot_id), session.load_snapshot(snapshot_id)


def check_ancestry(session: Session, old: str, new: str = "@") -> Ancestry:
    """Return whether `new` descends from `old`, also across forks, and by which path."""
    ancestor, descendant = session.resolve(old), session.resolve(new)
    path = find_descent_path(session.load_snapshot, ancestor, descendant)
    ids = [snapshot_id.hex() for snapshot_id in path or ()]
    return Ancestry(path is not None, ancestor.hex(), descendant.hex(), ids)
