"""Permits: the owner or the signer of a brain signs, and another account sends and pays.

Owner and signer may permit one commitment; the owner also the opening of a brain, and a
change of its signer. Before a permit is sent, it is compared with the chain.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...errors import BrainError, Conflict, InvalidInput, NotFound
from ...util.utc_time import iso_second
from ..ledger_protocol import NO_PARENT, CommitRequest, LedgerHead, already_open_error
from . import abi
from .abi import ZERO_ADDRESS
from .events.event_finder import BrainView
from .fees import Quote
from .ledger_context import LedgerContext
from .node_quorum import QuorumView
from .ownership import Ownership
from .permit_file import (
    CommitPermit,
    OpenPermit,
    Permit,
    PermitFile,
    SignerPermit,
    encode_permit_call,
    parse_permit,
)
from .tx_status import SentTransaction

_NEW_PERMIT_HINT = "ask for a new one; `brain chain authorize` makes it"


class Permits:
    """Makes and relays permits for brains in an EVM ledger; see `EvmLedger`."""

    def __init__(self, context: LedgerContext, ownership: Ownership) -> None:
        self._context = context
        self._ownership = ownership

    def build_commit(self, request: CommitRequest, deadline: int) -> PermitFile:
        """Return a permit for the next commitment, valid until `deadline` (s since 1970).

        Raises `NotFound` (`not_open`), `Conflict` (`stale_parent`, `nothing_new`).
        """
        id = self._context.registry_id(request.brain)
        head = self._ownership.read_open_head(request.brain)
        if head.snapshot != request.parent:
            raise abi.stale_parent_error(head.snapshot, head.seq)
        if head.snapshot == request.snapshot:
            raise Conflict(
                f"nothing new: {self._context.config.name} has {head.snapshot.hex()[:12]} as"
                f" commitment {head.seq}",
                code="nothing_new",
                hint="record a snapshot first, or name another one",
            )
        return self._file(
            CommitPermit(
                brain_id=id,
                snapshot=request.snapshot,
                parent=request.parent,
                seq=head.seq + 1,
                epoch=head.epoch,
                deadline=deadline,
            )
        )

    def build_open(self, brain: bytes, snapshot: bytes, deadline: int) -> PermitFile:
        """Return a permit to open a brain for its creator. Raises `Conflict` (`already_open`)."""
        if self._context.view_brain(brain).head is not None:
            raise already_open_error(self._context.config.name)
        return self._file(
            OpenPermit(
                owner=self._context.creator, salt=brain, snapshot=snapshot, deadline=deadline
            )
        )

    def build_signer(self, brain: bytes, signer: str, deadline: int) -> PermitFile:
        """Return a permit to make an account the signer, "" for none.

        Raises `NotFound` (`not_open`), `InvalidInput` (`bad_address`).
        """
        return self._file(
            SignerPermit(
                brain_id=self._context.registry_id(brain),
                signer=abi.parse_account(signer) if signer else ZERO_ADDRESS,
                epoch=self._ownership.read_open_head(brain).epoch,
                deadline=deadline,
            )
        )

    def sign(self, unsigned: PermitFile) -> PermitFile:
        """Sign a permit, and have the contract check it; needs no money on the chain.

        Raises `InvalidInput` (`no_key`, `unauthorized`), `Conflict` (`expired`).
        """
        signature = self._context.account.sign_typed_data(unsigned.typed_data())
        signed = unsigned._replace(signature=signature)
        view = self._context.contract_view()
        try:
            # Wallet contracts have their own rules for signing: only the contract can apply them.
            self._context.registry.simulate_call(view, encode_permit_call(signed.permit, signature))
        except InvalidInput as error:
            if error.code != "unauthorized":
                raise
            raise self._may_not_sign_error(view, signed.permit) from error
        return signed

    def relay(self, document: Mapping[str, Any]) -> SentTransaction:
        """Send and pay for what somebody else signed, from the JSON object of its file.

        Raises `InvalidInput` (`bad_permit`, `wrong_chain`, `unauthorized`), `NotFound`
        (`not_open`), `Conflict` (`permit_used`, `permit_void`, `stale_parent`, `already_open`,
        `expired`).
        """
        data = self._check(document)
        try:
            return self._context.transact("relay", data)
        except InvalidInput as error:
            raise _wrong_signature_error(error) from error

    def quote_relay(self, document: Mapping[str, Any]) -> Quote:
        """Return the cost of `relay`, and send nothing; raises as it does."""
        data = self._check(document)
        try:
            return self._context.quote(data)
        except InvalidInput as error:
            raise _wrong_signature_error(error) from error

    def _file(self, permit: Permit) -> PermitFile:
        config = self._context.config
        return PermitFile(permit, config.chain_id, config.contract)

    def _check(self, document: Mapping[str, Any]) -> bytes:
        """Return the calldata of a permit that can be valid still."""
        file, config = parse_permit(document), self._context.config
        if not file.signature:
            raise InvalidInput(
                "the permit is not signed",
                code="bad_permit",
                hint="let a wallet sign the file (eth_signTypedData_v4), and give what it answers"
                " with --signature",
            )
        for what, named, own in (
            ("chain", file.chain_id, config.chain_id),
            ("contract", file.contract, config.contract),
        ):
            if named != own:
                raise InvalidInput(
                    f"the permit is for another {what}: {named}, and {config.name} is {own}",
                    code="wrong_chain",
                    hint="name the ledger of that contract with --ledger",
                )
        view = self._context.contract_view()
        head = self._context.read_head(view, file.permit.brain_id)
        self._refuse_used(view, head, file.permit)
        if view.block.time > file.permit.deadline:
            raise Conflict(
                f"the permit expired at {iso_second(file.permit.deadline)}",
                code="expired",
                hint=_NEW_PERMIT_HINT,
            )
        return encode_permit_call(file.permit, file.signature)

    def _refuse_used(self, view: QuorumView, head: LedgerHead | None, permit: Permit) -> None:
        """Refuse a permit that was used or is void, and say which."""
        if isinstance(permit, OpenPermit):
            if head is not None:
                self._refuse_used_commitment(view, head, permit, 1, NO_PARENT)
                raise already_open_error(self._context.config.name)
            return
        if head is None:
            raise NotFound(
                f"the brain of the permit was never opened in {self._context.config.name}",
                code="not_open",
                hint="relay a permit to open it first, or let its owner open it",
            )
        if isinstance(permit, CommitPermit):
            if head.seq >= permit.seq:
                self._refuse_used_commitment(view, head, permit, permit.seq, permit.parent)
                raise Conflict(
                    f"another commitment {permit.seq} was made before: the ledger is at {head.seq}",
                    code="stale_parent",
                    hint="ask for a new permit, of a snapshot that descends from it",
                )
            self._refuse_other_head(head, permit)
        elif (head.epoch, head.signer or ZERO_ADDRESS) == (permit.epoch + 1, permit.signer):
            raise _used_error(f"{head.signer or 'nobody'} is the signer")
        if head.epoch != permit.epoch:
            raise Conflict(
                "the permit is void: the signer of the brain was set since it was signed",
                code="permit_void",
                hint=_NEW_PERMIT_HINT,
            )

    def _refuse_used_commitment(
        self,
        view: QuorumView,
        head: LedgerHead,
        permit: CommitPermit | OpenPermit,
        seq: int,
        parent: bytes,
    ) -> None:
        """Refuse a permit if commitment `seq` is the one that it is for."""
        events = self._context.registry.find_events(
            BrainView(b"", permit.brain_id, view, head), down_to=seq
        )
        for event in events:
            is_after_parent = parent in (b"", event.parent)
            if (event.seq, event.snapshot) == (seq, permit.snapshot) and is_after_parent:
                raise _used_error(f"commitment {seq} is in transaction {event.transaction}")

    def _refuse_other_head(self, head: LedgerHead, permit: CommitPermit) -> None:
        if (head.seq + 1, head.snapshot) != (permit.seq, permit.parent):
            raise Conflict(
                f"the permit is for commitment {permit.seq} after {permit.parent.hex()[:12]}, and"
                f" {self._context.config.name} is at {head.snapshot.hex()[:12]}, commitment"
                f" {head.seq}",
                code="stale_parent",
                hint="relay the permit for the commitment before it first, or ask for a new one",
            )

    def _may_not_sign_error(self, view: QuorumView, permit: Permit) -> BrainError:
        """Return the error for a permit that this account may not sign."""
        address = self._context.account.address
        if isinstance(permit, OpenPermit):
            return InvalidInput(
                f"only {permit.owner}, the creator in the settings of"
                f" {self._context.config.name}, may permit this; this key is of {address}",
                code="unauthorized",
                hint="use the key of the creator, or change --creator with `brain config ledger`",
            )
        head = self._ownership.require_open(self._context.read_head(view, permit.brain_id))
        if isinstance(permit, SignerPermit):
            return self._ownership.owner_only_error(head)
        return InvalidInput(
            f"{address} is neither the owner of this brain, {head.owner}, nor its signer",
            code="unauthorized",
            hint="use the key of the owner, or let the owner make this one the signer",
        )


def _used_error(reason: str) -> Conflict:
    return Conflict(
        f"the permit was already used: {reason}",
        code="permit_used",
        hint="nothing is left to do, and nothing was paid; a permit is valid once",
    )


def _wrong_signature_error(error: InvalidInput) -> InvalidInput:
    """Return the error for a signature that the contract refuses."""
    if error.code != "unauthorized":
        return error
    return InvalidInput(
        "the permit is not signed by an account that may do this, or was changed afterwards",
        code="unauthorized",
        hint="the owner signs; only a commitment may also be signed by the signer",
    )
