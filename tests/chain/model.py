"""What BrainRegistry should do, said in a few plain rules: the oracle of the fuzzing."""

from __future__ import annotations

from typing import NamedTuple

from tests.chain.registry import NOBODY, ZERO

Refusal = tuple[object, ...] | None
"""The error that a call is refused with, None if it is not."""

UNAUTHORIZED = ("Unauthorized",)


class Kept(NamedTuple):
    """A brain, with all that is kept of it."""

    owner: str = NOBODY
    seq: int = 0
    head: bytes = ZERO
    signer: str = NOBODY
    pending: str = NOBODY


class Model:
    """Brains by id, anchors by account; every operation says how it is refused."""

    def __init__(self) -> None:
        self.brains: dict[bytes, Kept] = {}
        self.anchors: dict[str, bytes] = {}

    def kept(self, brain: bytes) -> Kept:
        return self.brains.get(brain, Kept())

    def open(self, sender: str, brain: bytes, snapshot: bytes) -> Refusal:
        if snapshot == ZERO:
            return ("ZeroSnapshot",)
        if brain in self.brains:
            return ("Exists",)
        self.brains[brain] = Kept(sender, 1, snapshot)
        return None

    def commit(self, author: str | None, brain: bytes, snapshot: bytes, parent: bytes) -> Refusal:
        """`author` sends it or signed it; None if nobody is known to have signed."""
        kept = self.kept(brain)
        if author is None or kept.seq == 0 or author not in (kept.owner, kept.signer):
            return UNAUTHORIZED
        if snapshot == ZERO:
            return ("ZeroSnapshot",)
        if parent != kept.head:
            return ("StaleParent", kept.head, kept.seq)
        self.brains[brain] = kept._replace(seq=kept.seq + 1, head=snapshot)
        return None

    def set_signer(self, sender: str, brain: bytes, signer: str) -> Refusal:
        return self._as_owner(sender, brain, signer=signer)

    def offer(self, sender: str, brain: bytes, to: str) -> Refusal:
        return self._as_owner(sender, brain, pending=to)

    def _as_owner(self, sender: str, brain: bytes, **changed: str) -> Refusal:
        kept = self.kept(brain)
        if sender != kept.owner:
            return UNAUTHORIZED
        self.brains[brain] = kept._replace(**changed)
        return None

    def accept(self, sender: str, brain: bytes) -> Refusal:
        kept = self.kept(brain)
        if sender != kept.pending:
            return UNAUTHORIZED
        self.brains[brain] = kept._replace(owner=sender, signer=NOBODY, pending=NOBODY)
        return None

    def anchor(self, sender: str, root: bytes) -> Refusal:
        if root == ZERO:
            return ("ZeroRoot",)
        self.anchors[sender] = root
        return None
