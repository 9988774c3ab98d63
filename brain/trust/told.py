"""A proof of equivocation, checked for who holds nothing else, and told in text."""

from __future__ import annotations

from ..digest import parse_digest
from ..errors import ProofError
from ..proofs import strict
from ..results import Equivocal
from . import accusation
from .statement import key_text


def is_of_equivocation(data: bytes) -> bool:
    """Tell whether a text says of itself that it is such a proof."""
    if accusation.FORMAT.encode() not in data:  # not to parse each proof twice
        return False
    try:
        said = strict.parse(data)
    except ProofError:
        return False
    return type(said) is dict and said.get("format") == accusation.FORMAT


def check_equivocation(data: bytes, *, brain: str = "", snapshot: str = "") -> Equivocal:
    """Return what a proof of equivocation shows, and raise if it does not hold.

    `brain` and `snapshot` are ids in full: that of its brain, and of one of the two
    snapshots or their parent. Needs no brain. Raises `ProofError` (`not_this_brain`,
    `not_this_snapshot`, and the codes of `accusation.check`) or `InvalidInput` (`bad_id`).
    """
    about = {name: parse_digest(id) for name, id in _named(brain, snapshot) if id}
    shown = accusation.check(data)
    known = {"brain": [shown.brain], "snapshot": [*shown.snapshots, shown.parent]}
    for name, id in about.items():
        if id not in known[name]:
            raise ProofError(f"it is not about the {name} {id.hex()}", code=f"not_this_{name}")
    return Equivocal(
        True,
        "equivocation",
        shown.brain.hex(),
        shown.parent.hex(),
        key_text(shown.key),
        [one.hex() for one in shown.snapshots],
    )


def _named(brain: str, snapshot: str) -> list[tuple[str, str]]:
    return [("brain", brain), ("snapshot", snapshot)]
