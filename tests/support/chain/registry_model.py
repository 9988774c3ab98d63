"""What BrainRegistry should do in a few plain rules: the oracle of the random calls."""

from typing import NamedTuple

from tests.support.chain.registry_contract import ZERO_ADDRESS, ZERO_WORD, ContractEvent

Refusal = tuple[object, ...] | None
"""The error that a call is refused with, None if it is not."""

UNAUTHORIZED = ("Unauthorized",)
EXPIRED = ("Expired",)


class SignedPermit(NamedTuple):
    """What an account really signed; nobody, if the signature is good for no account."""

    author: str | None
    fields: tuple[object, ...]


class BrainState(NamedTuple):
    """A brain, with all that is kept of it; the first six fields are those of `brain(id)`."""

    owner: str = ZERO_ADDRESS
    seq: int = 0
    head: bytes = ZERO_WORD
    signer: str = ZERO_ADDRESS
    epoch: int = 0
    repairs: int = 0
    offered_to: str = ZERO_ADDRESS
    ends: int = 0


class RegistryModel:
    """Brains by id, anchors by account and log. Every operation returns how it is refused.

    `now` is the time of the block, and `events` is what the contract told so far.
    """

    def __init__(self, now: int) -> None:
        self.now = now
        self.brains: dict[bytes, BrainState] = {}
        self.anchors: dict[tuple[str, bytes], bytes] = {}
        self.disowned: dict[tuple[bytes, int], int] = {}
        self.events: list[ContractEvent] = []

    def state_of(self, brain: bytes) -> BrainState:
        return self.brains.get(brain, BrainState())

    def open(self, owner: str, brain: bytes, salt: bytes, snapshot: bytes) -> Refusal:
        if snapshot == ZERO_WORD:
            return ("ZeroSnapshot",)
        if brain in self.brains:
            return ("Exists",)
        self.brains[brain] = BrainState(owner)
        self._tell("Opened", brain, owner, salt)
        return self._move_head(brain, snapshot, owner)

    def open_for(
        self,
        owner: str,
        brain: bytes,
        salt: bytes,
        snapshot: bytes,
        deadline: int,
        by: SignedPermit,
    ) -> Refusal:
        if self.now > deadline:
            return EXPIRED
        if by != (owner, (owner, salt, snapshot, deadline)):
            return UNAUTHORIZED
        return self.open(owner, brain, salt, snapshot)

    def commit(self, sender: str, brain: bytes, snapshot: bytes, parent: bytes) -> Refusal:
        if not self._may_commit(sender, brain):
            return UNAUTHORIZED
        refusal = self._check_parent(brain, snapshot, parent)
        return refusal or self._move_head(brain, snapshot, sender)

    def commit_for(
        self, brain: bytes, snapshot: bytes, parent: bytes, deadline: int, by: SignedPermit
    ) -> Refusal:
        if self.now > deadline:
            return EXPIRED
        if refusal := self._check_parent(brain, snapshot, parent):
            return refusal
        stored = self.state_of(brain)
        fields = (brain, snapshot, parent, stored.seq + 1, stored.epoch, deadline)
        if by.author is None or by.fields != fields or not self._may_commit(by.author, brain):
            return UNAUTHORIZED
        return self._move_head(brain, snapshot, by.author)

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
        self._tell("Disowned", brain, since, stored.seq)
        self._change_signer(brain, ZERO_ADDRESS)
        return self._move_head(brain, snapshot, sender)

    def set_signer(self, sender: str, brain: bytes, signer: str) -> Refusal:
        if sender != self.state_of(brain).owner:
            return UNAUTHORIZED
        return self._change_signer(brain, signer)

    def set_signer_for(self, brain: bytes, signer: str, deadline: int, by: SignedPermit) -> Refusal:
        if self.now > deadline:
            return EXPIRED
        stored = self.state_of(brain)
        if by != (stored.owner, (brain, signer, stored.epoch, deadline)):
            return UNAUTHORIZED
        return self._change_signer(brain, signer)

    def offer(self, sender: str, brain: bytes, to: str, ends: int) -> Refusal:
        stored = self.state_of(brain)
        if sender != stored.owner:
            return UNAUTHORIZED
        if to == ZERO_ADDRESS:
            ends = 0
        elif self.now > ends:
            return EXPIRED
        self.brains[brain] = stored._replace(offered_to=to, ends=ends)
        return self._tell("OwnershipOffered", brain, sender, to, ends)

    def accept(self, sender: str, brain: bytes) -> Refusal:
        stored = self.state_of(brain)
        if sender != stored.offered_to:
            return UNAUTHORIZED
        if self.now > stored.ends:
            return EXPIRED
        self.brains[brain] = stored._replace(owner=sender, offered_to=ZERO_ADDRESS, ends=0)
        self._tell("OwnershipTransferred", brain, stored.owner, sender, stored.seq)
        return self._change_signer(brain, ZERO_ADDRESS)

    def anchor(self, sender: str, log: bytes, checkpoint: bytes) -> Refusal:
        if checkpoint == ZERO_WORD:
            return ("ZeroCheckpoint",)
        self.anchors[sender, log] = checkpoint
        return self._tell("Anchored", sender, log, checkpoint)

    def _may_commit(self, author: str, brain: bytes) -> bool:
        stored = self.state_of(brain)
        return author in (stored.owner, stored.signer)

    def _check_parent(self, brain: bytes, snapshot: bytes, parent: bytes) -> Refusal:
        stored = self.state_of(brain)
        if snapshot == ZERO_WORD:
            return ("ZeroSnapshot",)
        return None if parent == stored.head else ("StaleParent", stored.head, stored.seq)

    def _move_head(self, brain: bytes, snapshot: bytes, by: str) -> None:
        stored = self.state_of(brain)
        self.brains[brain] = stored._replace(seq=stored.seq + 1, head=snapshot)
        self._tell("Committed", brain, snapshot, stored.head, stored.seq + 1, by)

    def _change_signer(self, brain: bytes, signer: str) -> None:
        stored = self.state_of(brain)
        self.brains[brain] = stored._replace(signer=signer, epoch=stored.epoch + 1)
        self._tell("SignerChanged", brain, signer, stored.seq, stored.epoch + 1)

    def _tell(self, name: str, *fields: object) -> None:
        self.events.append(ContractEvent(name, fields))
