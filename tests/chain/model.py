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

    def commit(self, sender: str, brain: bytes, snapshot: bytes, parent: bytes) -> Refusal:
        if not self._may(sender, brain):
            return UNAUTHORIZED
        return self._following(brain, snapshot, parent) or self._moved(brain, snapshot)

    def commit_for(
        self, author: str | None, brain: bytes, snapshot: bytes, parent: bytes
    ) -> Refusal:
        """`author` signed it; None if nobody did who could have been meant."""
        if refusal := self._following(brain, snapshot, parent):
            return refusal
        return self._moved(brain, snapshot) if self._may(author, brain) else UNAUTHORIZED

    def _may(self, author: str | None, brain: bytes) -> bool:
        kept = self.kept(brain)
        return kept.seq > 0 and author in (kept.owner, kept.signer)

    def _following(self, brain: bytes, snapshot: bytes, parent: bytes) -> Refusal:
        kept = self.kept(brain)
        if snapshot == ZERO:
            return ("ZeroSnapshot",)
        return None if parent == kept.head else ("StaleParent", kept.head, kept.seq)

    def _moved(self, brain: bytes, snapshot: bytes) -> None:
        kept = self.kept(brain)
        self.brains[brain] = kept._replace(seq=kept.seq + 1, head=snapshot)

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
