"""Verification findings and proof claims in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..terminal import escape
from .changes import FILE_TYPE_NAMES
from .human_format import align_columns, colorize, format_size, pluralize, short_id

if TYPE_CHECKING:
    from brain.results import Finding, Proof


_SEVERITY_COLORS = {"error": "red", "warning": "yellow", "note": "cyan"}


def finding_line(found: Finding) -> str:
    """Return a finding as one line."""
    parts = [
        colorize(found.severity, _SEVERITY_COLORS[found.severity]),
        found.code,
        *([f"snapshot {short_id(found.snapshot)}"] if found.snapshot else []),
        *([escape(found.path)] if found.path else []),
    ]
    return f"{': '.join(parts)}: {escape(found.message)}"


_ID_FIELDS = ("blob", "root", "ancestor", "ancestor_brain", "bundle", "snapshot", "brain")


def claim_text(proof: Proof) -> str:
    """Describe what the proof shows."""
    return escape(_CLAIMS[proof.kind](proof))


def _path_claim(proof: Proof) -> str:
    kind = FILE_TYPE_NAMES[proof.type or "file"]
    return f"{proof.path} is in the snapshot, {kind} of {format_size(proof.size or 0)}"


def _section_claim(proof: Proof) -> str:
    name = "the section ." if proof.section == "." else f"{proof.section}/"
    files = pluralize(proof.files or 0, "file")
    return f"{name} is in the snapshot, {files}, {format_size(proof.size or 0)}"


def _descent_claim(proof: Proof) -> str:
    if proof.ancestor_brain != proof.brain:
        return "the snapshot descends from the ancestor, which is of another brain"
    if proof.ancestor != proof.snapshot:
        return "the snapshot descends from the ancestor"
    return "the snapshot is the ancestor itself"


_CLAIMS = {
    "path": _path_claim,
    "section": _section_claim,
    "descent": _descent_claim,
}


def proof_id_lines(proof: Proof) -> list[str]:
    """Return the ids in the proof, complete."""
    rows = ((name.replace("_", "'s "), getattr(proof, name)) for name in _ID_FIELDS)
    return align_columns((name, value) for name, value in rows if value)


def proof_caveat_lines(proof: Proof) -> Iterator[str]:
    """Say from where the reader knows the snapshot, and what that does not show."""
    if "snapshot" in proof.vouched_by:
        yield "It is about the snapshot you named."
    elif "brain" in proof.vouched_by and proof.snapshot != proof.brain:
        yield "The brain you named does; nothing that you know vouches for this snapshot of it."
    elif "own_store" in proof.vouched_by:
        yield "The brain you named with -C has the snapshot, which counts if it is yours."
