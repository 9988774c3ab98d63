"""The rights of a brain in the contract: its owner, its signer, and the offer to another owner.

The owner may name a signer, and transfer the brain in two steps, so that the new owner
has to exist.
"""

from __future__ import annotations

from ...errors import BrainError, Conflict, InvalidInput
from ...util.utc_time import iso_second
from ..ledger_protocol import LedgerHead, Offer, not_open_error
from . import abi
from .abi import ZERO_ADDRESS
from .ledger_context import LedgerContext
from .tx_sender import SentTransaction


class Ownership:
    """Changes the rights of brains in an EVM ledger.

    Addresses are 0x… text. Methods that send raise as `EvmLedger.commit` does.
    """

    def __init__(self, context: LedgerContext) -> None:
        self._context = context

    def set_signer(self, brain: bytes, signer: str) -> SentTransaction:
        """Let `signer` commit besides the owner, in place of any before; "" for no signer."""
        to = abi.parse_account(signer) if signer else ZERO_ADDRESS
        data = abi.encode_call(abi.SET_SIGNER_SELECTOR, self._context.registry_id(brain), to)
        return self._transact_as_owner("signer", brain, data)

    def offer(self, brain: bytes, to: str, ends: int) -> SentTransaction:
        """Offer the brain to another account up to the second `ends` since 1970.

        It replaces any offer before; "" withdraws it. Raises `Conflict` (`expired`),
        `InvalidInput` (`bad_address`).
        """
        recipient = abi.parse_account(to) if to else ZERO_ADDRESS
        if recipient == self.read_open_head(brain).owner:
            raise InvalidInput(
                f"{recipient} is the owner of this brain already",
                code="bad_address",
                hint="name the account of the new owner",
            )
        id = self._context.registry_id(brain)
        data = abi.encode_call(abi.OFFER_SELECTOR, id, recipient, ends)
        return self._transact_as_owner("offer", brain, data)

    def accept(self, brain: bytes) -> SentTransaction:
        """Take over a brain that was offered to this account; its signer is removed.

        Raises `InvalidInput` (`unauthorized`) if it was not offered, `Conflict` (`expired`) if
        the offer ended.
        """
        id = self._context.registry_id(brain)
        try:
            return self._context.transact("accept", abi.encode_call(abi.ACCEPT_SELECTOR, id))
        except InvalidInput as error:
            if error.code != "unauthorized":
                raise
            raise InvalidInput(
                f"this brain of {self._context.creator} is not offered to"
                f" {self._context.account.address}",
                code="unauthorized",
                hint="check that the creator of the ledger opened the brain; its owner offers it",
            ) from error
        except Conflict as error:
            if error.code != "expired":
                raise
            offer = self.read_offer(brain)
            when = f" at {iso_second(offer.ends)}" if offer else ""
            raise Conflict(
                f"the offer of this brain ended{when}",
                code="expired",
                hint="ask its owner to offer it again, with `brain chain owner --offer`",
            ) from error

    def read_offer(self, brain: bytes) -> Offer | None:
        """Return the offer of a brain, None if there is none; it may have ended."""
        id = self._context.registry_id(brain)
        return self._context.registry.read_offer(self._context.contract_view(), id)

    def read_open_head(self, brain: bytes) -> LedgerHead:
        """Return the head of a brain. Raises `NotFound` (`not_open`)."""
        return self.require_open(self._context.view_brain(brain).head)

    def require_open(self, head: LedgerHead | None) -> LedgerHead:
        """Return a head, unless it is None. Raises `NotFound` (`not_open`)."""
        if head is None:
            raise not_open_error(self._context.config.name, self._context.creator)
        return head

    def owner_only_error(self, head: LedgerHead) -> BrainError:
        """Return the error for an account that asked for what only the owner may do."""
        address = self._context.account.address
        is_signer = address == head.signer
        role = "is its signer, which may only commit" if is_signer else "has no right to it"
        return InvalidInput(
            f"only the owner of this brain, {head.owner}, may do this; {address} {role}",
            code="unauthorized",
            hint="use the key of the owner",
        )

    def _transact_as_owner(self, kind: str, brain: bytes, data: bytes) -> SentTransaction:
        try:
            return self._context.transact(kind, data)
        except InvalidInput as error:
            if error.code != "unauthorized":
                raise
            raise self.owner_only_error(self.read_open_head(brain)) from error
