"""Proofs of what a revision holds, written down."""

from __future__ import annotations

from ..errors import InvalidInput, printable
from ..objects.bundle import Bundle
from ..objects.snapshot import Snapshot
from ..proofs import build
from ..proofs.document import render
from ..session import Session
from .revisions import resolve


def path(session: Session, full: str, revision: str) -> bytes:
    """Prove that a file is there. Raises `NotFound`."""
    return render(build.path_proof(session.nodes, *_state(session, revision), full))


def absence(session: Session, full: str, revision: str) -> bytes:
    """Prove that a file is not there. Raises `InvalidInput` (`path_is_there`, `bad_path`)."""
    return render(build.absence_proof(session.nodes, *_state(session, revision), full))


def section(session: Session, name: str, revision: str) -> bytes:
    """Prove a section as a whole. Raises `NotFound`, `InvalidInput` (`bad_path`)."""
    if "/" in name:
        raise InvalidInput(
            f"not a folder at the top of the brain: {printable(name)}",
            code="bad_path",
            hint=f"prove {name.partition('/')[0]}/ as a whole, or single files",
        )
    return render(build.section_proof(*_state(session, revision), name))


def descent(session: Session, ancestor: str, revision: str) -> bytes:
    """Prove that a revision descends from another. Raises `NotFound` (`not_an_ancestor`)."""
    old, new = resolve(session, ancestor), resolve(session, revision)
    return render(build.descent_proof(session.load, old, new))


def _state(session: Session, revision: str) -> tuple[Bundle, Snapshot]:
    here = resolve(session, revision)
    return session.bundle_of(here), session.load(here)
