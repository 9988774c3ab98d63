"""What BrainRegistry should do in a few plain rules: the oracle of the state machine."""

from __future__ import annotations

from typing import NamedTuple

from tests.support.chain.registry_contract import ZERO_ADDRESS, ZERO_WORD

Refusal = tuple[object, ...] | None
"""The error that a call is refused with, None if it is not."""

UNAUTHORIZED = ("Unauthorized",)


class BrainState(NamedTuple):
    """A brain, with all that is kept of it."""

    owner: str = ZERO_ADDRESS
    seq: int = 0
    head: bytes = ZERO_WORD
    signer: str = ZERO_ADDRESS
    pending: str = ZERO_ADDRESS


class RegistryModel:
    """Brains by id, anchors by account; every operation says how it is refused."""

    def __init__(self) -> None:
        self.brains: dict[bytes, BrainState] = {}
        self.anchors: dict[str, bytes] = {}

    def state_of(self, brain: bytes) -> BrainState:
        return self.brains.get(brain, BrainState())

    def open(self, sender: str, brain: bytes, snapshot: bytes) -> Refusal:
        if snapshot == ZERO_WORD:
            return ("ZeroSnapshot",)
        if brain in self.brains:
            return ("Exists",)
        self.brains[brain] = BrainState(sender, 1, snapshot)
        return None

    def commit(self, sender: str, brain: bytes, snapshot: bytes, parent: bytes) -> Refusal:
        if not self._is_authorized(sender, brain):
            return UNAUTHORIZED
        return self._check_parent(brain, snapshot, parent) or self._move_head(brain, snapshot)

    def commit_for(
        self, author: str | None, brain: bytes, snapshot: bytes, parent: bytes
    ) -> Refusal:
        """`author` signed it; None if nobody did who could have been meant."""
        if refusal := self._check_parent(brain, snapshot, parent):
            return refusal
        return (
            self._move_head(brain, snapshot) if self._is_authorized(author, brain) else UNAUTHORIZED
        )

    def _is_authorized(self, author: str | None, brain: bytes) -> bool:
        stored = self.state_of(brain)
        return stored.seq > 0 and author in (stored.owner, stored.signer)

    def _check_parent(self, brain: bytes, snapshot: bytes, parent: bytes) -> Refusal:
        stored = self.state_of(brain)
        if snapshot == ZERO_WORD:
            return ("ZeroSnapshot",)
        return None if parent == stored.head else ("StaleParent", stored.head, stored.seq)

    def _move_head(self, brain: bytes, snapshot: bytes) -> None:
        stored = self.state_of(brain)
        self.brains[brain] = stored._replace(seq=stored.seq + 1, head=snapshot)

    def set_signer(self, sender: str, brain: bytes, signer: str) -> Refusal:
        return self._change_as_owner(sender, brain, signer=signer)

    def offer(self, sender: str, brain: bytes, to: str) -> Refusal:
        return self._change_as_owner(sender, brain, pending=to)

    def _change_as_owner(self, sender: str, brain: bytes, **changed: str) -> Refusal:
        stored = self.state_of(brain)
        if sender != stored.owner:
            return UNAUTHORIZED
        self.brains[brain] = stored._replace(**changed)
        return None

    def accept(self, sender: str, brain: bytes) -> Refusal:
        stored = self.state_of(brain)
        if sender != stored.pending:
            return UNAUTHORIZED
        self.brains[brain] = stored._replace(
            owner=sender, signer=ZERO_ADDRESS, pending=ZERO_ADDRESS
        )
        return None

    def anchor(self, sender: str, root: bytes) -> Refusal:
        if root == ZERO_WORD:
            return ("ZeroRoot",)
        self.anchors[sender] = root
        return None
