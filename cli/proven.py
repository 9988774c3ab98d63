"""What a proof shows, and what has to be known besides, in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .terminal import escape
from .text import columns, count, size
from .words import TYPES

if TYPE_CHECKING:
    from brain.results import Equivocal, Proof

_IDS = ("blob", "root", "ancestor", "ancestor_brain", "bundle", "snapshot", "brain")


def claim(proof: Proof) -> str:
    """Say what is shown."""
    return escape(_CLAIMS[proof.kind](proof))


def _path(proof: Proof) -> str:
    kind = TYPES[proof.type or "file"]
    return f"{proof.path} is in the snapshot, {kind} of {size(proof.size or 0)}"


def _absence(proof: Proof) -> str:
    return f"no file is at {proof.path} in the snapshot"


def _section(proof: Proof) -> str:
    name = "the section ." if proof.section == "." else f"{proof.section}/"
    return f"{name} is in the snapshot, {count(proof.files or 0, 'file')}, {size(proof.size or 0)}"


def _descent(proof: Proof) -> str:
    if proof.ancestor_brain != proof.brain:
        return "the snapshot descends from the ancestor, which is of another brain"
    if proof.ancestor != proof.snapshot:
        return "the snapshot descends from the ancestor"
    return "the snapshot is the ancestor itself"


_CLAIMS = {"path": _path, "absence": _absence, "section": _section, "descent": _descent}


def ids(proof: Proof) -> list[str]:
    """Return the ids that the proof ties together, in full."""
    rows = ((name.replace("_", "'s "), getattr(proof, name)) for name in _IDS)
    return columns((name, value) for name, value in rows if value)


ADVICE = (
    "To rely on it, know the snapshot besides: compare its id with one from a signature, a",
    "ledger or somebody you trust, or name that one with --snapshot.",
)
CAUTION = "It is certain that nothing is there if somebody you trust has verified the snapshot."


def besides(proof: Proof, snapshot: str) -> Iterator[str]:
    """Say what has to be known besides; `snapshot` is the one that was asked for, if any."""
    if snapshot:
        yield "It is about the snapshot you named."
    else:
        yield from ADVICE
    if proof.kind == "absence":
        yield CAUTION


def equivocation(found: Equivocal) -> Iterator[str]:
    """Say what a proof of equivocation shows, and what it does not."""
    yield "Proven: one key signed two continuations of one snapshot"
    first, second = found.snapshots
    rows = (("key", found.key), ("signed", first), ("and", second), ("after", found.parent))
    yield from columns((*rows, ("brain", found.brain)))
    yield "It may be a branch that was made on purpose, which looks the same."
