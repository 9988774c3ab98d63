"""The rights of a brain in the contract: owner, signer, transfer, authorized commitments.

The owner may name a signer, and transfer the brain in two steps, so that the new owner
has to exist. Owner and signer may authorize one commitment that anybody sends and pays for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NoReturn

from ...errors import BrainError, Conflict, InvalidInput, printable_text
from ..ledger_protocol import not_open_error
from . import abi
from .abi import ZERO_ADDRESS
from .fees import Quote
from .ledger_context import LedgerContext
from .permit_json import PermitValue, permit_typed_data
from .tx_status import SentTransaction

AUTHORIZATION_FORMAT = "brain v1 authorization"
_ID_HEX = re.compile(r"[0-9a-f]{64}", re.ASCII)
_SIGNATURE_HEX = re.compile(r"0x(?:[0-9a-f]{2}){1,4096}", re.ASCII)
_NUMBER_FIELDS = ("chain_id", "seq", "epoch", "deadline")
_ID_FIELDS = ("brain", "id", "snapshot", "parent")
_AUTHORIZATION_FIELDS = frozenset(("format", "contract", "signature", *_NUMBER_FIELDS, *_ID_FIELDS))


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

        It replaces any offer before; "" withdraws it. Raises `Conflict` (`expired`).
        """
        recipient = abi.parse_account(to) if to else ZERO_ADDRESS
        id = self._context.registry_id(brain)
        data = abi.encode_call(abi.OFFER_SELECTOR, id, recipient, ends)
        return self._transact_as_owner("offer", brain, data)

    def accept(self, brain: bytes) -> SentTransaction:
        """Take over a brain that was offered to this account; its signer is removed.

        Raises `InvalidInput` (`unauthorized`) if it was not offered.
        """
        try:
            return self._context.transact(
                "accept", abi.encode_call(abi.ACCEPT_SELECTOR, self._context.registry_id(brain))
            )
        except InvalidInput as error:
            if error.code != "unauthorized":
                raise
            raise InvalidInput(
                f"this brain of {self._context.creator} is not offered to"
                f" {self._context.account.address}",
                code="unauthorized",
                hint="check that the creator of the ledger opened the brain; its owner offers it",
            ) from error

    def authorize(
        self, brain: bytes, snapshot: bytes, parent: bytes, deadline: int
    ) -> dict[str, Any]:
        """Sign one commitment that anybody may send until `deadline`, in seconds since 1970.

        Returns the fields that `relay` takes. Raises `NotFound` (`not_open`), `Conflict`
        (`stale_parent`, `expired`), `InvalidInput` (`no_key`, `unauthorized`).
        """
        _, id, view, head = self._context.view_brain(brain)
        config, signer = self._context.config, self._context.account
        if head is None:
            raise not_open_error(config.name)
        if head.snapshot != parent:
            raise abi.stale_parent_error(head.snapshot, head.seq)
        fields: dict[str, PermitValue] = {
            "brainId": id,
            "snapshot": snapshot,
            "parent": parent,
            "seq": head.seq + 1,
            "epoch": head.epoch,
            "deadline": deadline,
        }
        typed_data = permit_typed_data("Commit", fields, config.chain_id, config.contract)
        signature = signer.sign_typed_data(typed_data)
        # Wallet contracts have their own rules for signing: only the contract can apply them.
        self._context.registry.simulate_call(
            view, abi.encode_commit_for(id, snapshot, parent, deadline, signature)
        )
        return {
            "format": AUTHORIZATION_FORMAT,
            "chain_id": config.chain_id,
            "contract": config.contract,
            "brain": brain.hex(),
            "id": id.hex(),
            "snapshot": snapshot.hex(),
            "parent": parent.hex(),
            "seq": head.seq + 1,
            "epoch": head.epoch,
            "deadline": deadline,
            "signature": "0x" + signature.hex(),
        }

    def relay(self, authorization: Mapping[str, Any]) -> SentTransaction:
        """Send and pay for a commitment that somebody else signed.

        Raises `InvalidInput` (`bad_authorization`, `wrong_chain`, `unauthorized`),
        `Conflict` (`stale_parent`, `expired`).
        """
        return self._context.transact("relay", self._relay_calldata(authorization))

    def quote_relay(self, authorization: Mapping[str, Any]) -> Quote:
        """Return the cost of `relay`, and send nothing; raises as it does."""
        return self._context.quote(self._relay_calldata(authorization))

    def owner_only_error(self, brain: bytes) -> BrainError:
        """Return the error for an account that asked for what only the owner may do."""
        head, address = self._context.view_brain(brain).head, self._context.account.address
        if head is None:
            return not_open_error(self._context.config.name)
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
            raise self.owner_only_error(brain) from error

    def _relay_calldata(self, fields: Mapping[str, Any]) -> bytes:
        _check_authorization(fields)
        config = self._context.config
        if (fields["chain_id"], fields["contract"]) != (config.chain_id, config.contract):
            raise InvalidInput(
                "the authorization is for another chain or contract",
                code="wrong_chain",
                hint=f"it is for eip155:{fields['chain_id']}:{printable_text(fields['contract'])};"
                " name the ledger of that contract with --ledger",
            )
        id, snapshot, parent = (bytes.fromhex(fields[name]) for name in _ID_FIELDS[1:])
        head = self._context.read_head(self._context.contract_view(), id)
        if head is not None and head.seq >= fields["seq"]:
            raise Conflict(
                f"commitment {fields['seq']} was made before: the ledger is at {head.seq}",
                code="stale_parent",
                hint="an authorization is valid once; ask for a new one",
            )
        signature = bytes.fromhex(fields["signature"][2:])
        return abi.encode_commit_for(id, snapshot, parent, fields["deadline"], signature)


def _check_authorization(fields: Mapping[str, Any]) -> None:
    if fields.keys() != _AUTHORIZATION_FIELDS or fields["format"] != AUTHORIZATION_FORMAT:
        _refuse_authorization("it has other fields than an authorization, or another format")
    for name in _ID_FIELDS:
        if not isinstance(fields[name], str) or not _ID_HEX.fullmatch(fields[name]):
            _refuse_authorization(f"its field {name} is not 32 bytes in hex")
    for name in _NUMBER_FIELDS:
        if type(fields[name]) is not int or not 0 <= fields[name] < 1 << 64:
            _refuse_authorization(f"its field {name} is not a number below 2^64")
    if not isinstance(fields["signature"], str) or not _SIGNATURE_HEX.fullmatch(
        fields["signature"]
    ):
        _refuse_authorization("its field signature is not bytes in hex")


def _refuse_authorization(reason: str) -> NoReturn:
    raise InvalidInput(
        f"the authorization cannot be read: {reason}",
        code="bad_authorization",
        hint="ask for it again; `brain chain authorize` writes it",
    )
