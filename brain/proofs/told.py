"""A proof, checked for who holds nothing else, and told in text as the façade tells it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..digest import parse_digest
from ..results import Proof
from .check import Proven, check, check_content
from .document import TYPES
from .rise import require

if TYPE_CHECKING:
    from io import RawIOBase


def check_proof(
    data: bytes, *, content: RawIOBase | None = None, brain: str = "", snapshot: str = ""
) -> Proof:
    """Return what the proof in `data` shows, and raise if it does not hold.

    `content` is the content of the file, which has to be the one proven; `brain` and
    `snapshot` are ids that the proof has to be about, in full. Needs no brain. Raises
    `ProofError` (`not_this_brain`, `not_this_snapshot`, and the codes of
    `proofs.check`) or `InvalidInput` (`bad_id`, `no_content`).
    """
    wanted = {name: parse_digest(id) for name, id in _named(brain, snapshot) if id}
    proven = check(data)
    for name, id in wanted.items():
        found = getattr(proven, name)
        require(found == id, f"not_this_{name}", f"it is about the {name} {found.hex()}")
    if content is not None:
        check_content(proven, content)
    return _told(proven)


def _named(brain: str, snapshot: str) -> list[tuple[str, str]]:
    return [("brain", brain), ("snapshot", snapshot)]


def _told(proven: Proven) -> Proof:
    has_path, has_section = proven.kind == "path", proven.kind == "section"
    return Proof(
        True,
        proven.kind,
        proven.brain.hex(),
        proven.snapshot.hex(),
        proven.bundle.hex() or None,
        proven.path or None,
        TYPES[proven.type] if has_path else None,
        proven.blob.hex() or None,
        proven.size if has_path or has_section else None,
        proven.section or None,
        proven.root.hex() or None,
        proven.files or None,
        proven.ancestor.hex() or None,
        proven.ancestor_brain.hex() or None,
    )
