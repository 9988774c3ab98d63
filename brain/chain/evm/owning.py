"""Who may commit, and commitment by proxy: the rights of a brain in the contract.

An owner may name a signer, and hand the brain over in two steps, so that it cannot be
handed to nobody. Either may authorize one commitment that anybody then pays for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NoReturn

from ...errors import Conflict, InvalidInput, printable
from ..protocol import not_open
from . import abi
from .abi import NOBODY
from .account import Commit
from .base import Base, Sent
from .fees import Quote

FORMAT = "brain v1 authorization"
_ID = re.compile(r"[0-9a-f]{64}", re.ASCII)
_SIGNATURE = re.compile(r"0x(?:[0-9a-f]{2}){1,4096}", re.ASCII)
_NUMBERS = ("chain_id", "seq", "deadline")
_IDS = ("brain", "id", "snapshot", "parent")
_FIELDS = frozenset(("format", "contract", "signature", *_NUMBERS, *_IDS))


class Owning(Base):
    """The part of an EVM ledger about rights. What sends returns `Sent`, and raises as
    `commit` does; addresses are 0x… text."""

    def set_signer(self, brain: bytes, signer: str) -> Sent:
        """Let `signer`, and nobody else but the owner, commit; "" for nobody."""
        to = abi.account(signer) if signer else NOBODY
        return self._transact("signer", abi.set_signer(self.id_of(brain), to))

    def offer(self, brain: bytes, to: str) -> Sent:
        """Offer the brain to another account, in place of any before; "" withdraws."""
        there = abi.account(to) if to else NOBODY
        return self._transact("offer", abi.offer(self.id_of(brain), there))

    def accept(self, brain: bytes) -> Sent:
        """Take over a brain that was offered to this account; it has no signer then.

        Raises `InvalidInput` (`unauthorized`) if it was not.
        """
        try:
            return self._transact("accept", abi.accept(self.id_of(brain)))
        except InvalidInput as error:
            if error.code != "unauthorized":
                raise
            raise InvalidInput(
                f"this brain of {self.creator} is not offered to {self.sender}",
                code="unauthorized",
                hint="the ledger's creator is the account that opened the brain; its owner offers",
            ) from error

    def authorize(
        self, brain: bytes, snapshot: bytes, parent: bytes, deadline: int
    ) -> dict[str, Any]:
        """Sign for one commitment that anybody may send until `deadline`, seconds since 1970.

        Raises `NotFound` (`not_open`), `Conflict` (`stale_parent`, `expired`),
        `InvalidInput` (`no_key`, `unauthorized`).
        """
        view, id = self._view(), self.id_of(brain)
        state = self._state(view, id)
        signer = self._signer
        if state is None:
            raise not_open(self.name)
        if state.head != parent:
            raise abi.stale(state.head, state.seq)
        commit = Commit(id, snapshot, parent, state.seq + 1, deadline)
        signature = signer.sign_commit(self.config.chain_id, self.config.contract, commit)
        # Wallet contracts have their own rules: the registry itself says who may sign.
        self._registry.rehearse(view, abi.commit_for(id, snapshot, parent, deadline, signature))
        return {
            "format": FORMAT,
            "chain_id": self.config.chain_id,
            "contract": self.config.contract,
            "brain": brain.hex(),
            "id": id.hex(),
            "snapshot": snapshot.hex(),
            "parent": parent.hex(),
            "seq": commit.seq,
            "deadline": deadline,
            "signature": "0x" + signature.hex(),
        }

    def relay(self, authorization: Mapping[str, Any]) -> Sent:
        """Send and pay for a commitment that somebody else has signed for.

        Raises `InvalidInput` (`bad_authorization`, `wrong_chain`, `unauthorized`),
        `Conflict` (`stale_parent`, `expired`).
        """
        return self._transact("relay", self._relayed(authorization))

    def quote_relay(self, authorization: Mapping[str, Any]) -> Quote:
        """Return what `relay` would cost, and send nothing; raises as it does."""
        return self._quote(self._relayed(authorization))

    def _relayed(self, said: Mapping[str, Any]) -> bytes:
        _check(said)
        if (said["chain_id"], said["contract"]) != (self.config.chain_id, self.config.contract):
            raise InvalidInput(
                "the authorization is for another chain or contract",
                code="wrong_chain",
                hint=f"it is for eip155:{said['chain_id']}:{printable(said['contract'])}",
            )
        id, snapshot, parent = (bytes.fromhex(said[name]) for name in _IDS[1:])
        state = self._state(self._view(), id)
        if state is not None and state.seq >= said["seq"]:
            raise Conflict(
                f"commitment {said['seq']} has been made: the ledger is at {state.seq}",
                code="stale_parent",
                hint="an authorization counts once; ask for a new one",
            )
        signature = bytes.fromhex(said["signature"][2:])
        return abi.commit_for(id, snapshot, parent, said["deadline"], signature)


def _check(said: Mapping[str, Any]) -> None:
    if said.keys() != _FIELDS or said["format"] != FORMAT:
        _refuse("its fields are not those of one")
    for name in _IDS:
        if not isinstance(said[name], str) or not _ID.fullmatch(said[name]):
            _refuse(f"{name} is not 32 bytes in hex")
    for name in _NUMBERS:
        if type(said[name]) is not int or not 0 <= said[name] < 1 << 64:
            _refuse(f"{name} is not a number below 2^64")
    if not isinstance(said["signature"], str) or not _SIGNATURE.fullmatch(said["signature"]):
        _refuse("signature is not bytes in hex")


def _refuse(why: str) -> NoReturn:
    raise InvalidInput(f"not an authorization: {why}", code="bad_authorization")
