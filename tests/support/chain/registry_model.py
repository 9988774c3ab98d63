"""What BrainRegistry should do in a few plain rules: the oracle of the state machine."""

from __future__ import annotations

from typing import NamedTuple

from tests.support.chain.registry_contract import ZERO_ADDRESS, ZERO_WORD

Refusal = tuple[object, ...] | None
"""The error that a call is refused with, None if it is not."""

UNAUTHORIZED = ("Unauthorized",)
EXPIRED = ("Expired",)


class BrainState(NamedTuple):
    """A brain, with all that is kept of it; the first six fields are those of `brain(id)`."""

    owner: str = ZERO_ADDRESS
    seq: int = 0
    head: bytes = ZERO_WORD
    signer: str = ZERO_ADDRESS
    epoch: int = 0
    repairs: int = 0
    pending: str = ZERO_ADDRESS
    ends: int = 0


class RegistryModel:
    """Brains by id, anchors by account and log; every operation says how it is refused."""

    def __init__(self) -> None:
        self.brains: dict[bytes, BrainState] = {}
        self.anchors: dict[tuple[str, bytes], bytes] = {}
        self.disowned: dict[tuple[bytes, int], int] = {}

    def state_of(self, brain: bytes) -> BrainState:
        return self.brains.get(brain, BrainState())

    def open(self, owner: str | None, brain: bytes, snapshot: bytes) -> Refusal:
        """`owner` opens it or permitted it; None if nobody did who could have been meant."""
        if owner is None:
            return UNAUTHORIZED
        if snapshot == ZERO_WORD:
            return ("ZeroSnapshot",)
        if brain in self.brains:
            return ("Exists",)
        self.brains[brain] = BrainState(owner, 1, snapshot)
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

    def supersede(
        self, sender: str, brain: bytes, snapshot: bytes, head: bytes, since: int
    ) -> Refusal:
        stored = self.state_of(brain)
        if sender != stored.owner:
            return UNAUTHORIZED
        if refusal := self._check_parent(brain, snapshot, head):
            return refusal
        if not 2 <= since <= stored.seq:
            return ("BadRange",)
        self.disowned[brain, stored.seq + 1] = since
        self.brains[brain] = stored._replace(repairs=stored.repairs + 1)
        self._change_signer(brain, ZERO_ADDRESS)
        return self._move_head(brain, snapshot)

    def set_signer(self, sender: str | None, brain: bytes, signer: str) -> Refusal:
        """`sender` calls, or permitted it."""
        if sender != self.state_of(brain).owner:
            return UNAUTHORIZED
        self._change_signer(brain, signer)
        return None

    def offer(self, sender: str, brain: bytes, to: str, ends: int, now: int) -> Refusal:
        stored = self.state_of(brain)
        if sender != stored.owner:
            return UNAUTHORIZED
        if to == ZERO_ADDRESS:
            ends = 0
        elif now > ends:
            return EXPIRED
        self.brains[brain] = stored._replace(pending=to, ends=ends)
        return None

    def accept(self, sender: str, brain: bytes, now: int) -> Refusal:
        stored = self.state_of(brain)
        if sender != stored.pending:
            return UNAUTHORIZED
        if now > stored.ends:
            return EXPIRED
        self.brains[brain] = stored._replace(owner=sender, pending=ZERO_ADDRESS, ends=0)
        self._change_signer(brain, ZERO_ADDRESS)
        return None

    def anchor(self, sender: str, log: bytes, checkpoint: bytes) -> Refusal:
        if checkpoint == ZERO_WORD:
            return ("ZeroCheckpoint",)
        self.anchors[sender, log] = checkpoint
        return None

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

    def _change_signer(self, brain: bytes, signer: str) -> None:
        stored = self.state_of(brain)
        self.brains[brain] = stored._replace(signer=signer, epoch=stored.epoch + 1)
