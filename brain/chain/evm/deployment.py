"""Deploys the contract, at the same address on every chain where possible (CREATE2).

The proxy for CREATE2 stands on most chains at one address; what it makes has an address
that depends on the code alone (EIP-1014). Where it is missing, the contract is made the
plain way. Either way it is the code found there in the end that counts.
"""

from __future__ import annotations

from typing import NamedTuple

from ...errors import LedgerError
from .. import contracts
from ..evidence import rlp
from ..evidence.keccak import keccak256
from . import rpc_decode
from .fees import Quote
from .journal import TxIntent, TxRecord
from .ledger_base import EvmLedgerBase, SentTransaction
from .node_quorum import QuorumView
from .tx_sender import TxSender

CREATE2_PROXY = "0x4e59b44847b379578588920ca78fbf26c0b4956c"
"""The deterministic deployment proxy; its calldata is a salt and the code to run."""
CREATE2_SALT = bytes(32)


class DeployResult(NamedTuple):
    """Where the contract is, and from which block on; `sent` is None if it was there before."""

    contract: str
    since: int
    sent: SentTransaction | None


class Deployment(EvmLedgerBase):
    """The part of an EVM ledger that puts its contract on the chain."""

    def deploy(self) -> DeployResult:
        """Deploy BrainRegistry, unless it is there already, and return its address.

        Raises `InvalidInput` (`no_key`, `fee_cap`, `unfunded`), `LedgerError` (`pending`:
        it was sent, and is in no block yet; run it again).
        """
        sender = self._sender
        with sender.exclusive_lock():
            view = self._latest_view()
            create2_address = self._create2_address(view)
            if create2_address and self._has_code(view, create2_address):
                return DeployResult(create2_address, view.block.number, None)
            record = self._find_waiting_deployment(sender, view)
            if record is None:
                to, data = self._creation_call(create2_address)
                record = sender.send(view, TxIntent("deploy"), to, data)
            else:
                record = sender.resend(view, record)
        sent = self._wait_for(record)
        if sent.block is None:
            raise LedgerError(
                f"the contract is on its way, in transaction {sent.transaction}",
                code="pending",
                hint="wait for the next blocks and run it again",
            )
        address = create2_address or self._create_address(record)
        if not self._has_code(self._latest_view(), address):
            raise LedgerError(f"{address} has not the code that was sent", code="reverted")
        return DeployResult(address, sent.block, sent)

    def quote_deploy(self) -> Quote | None:
        """Return what `deploy` would cost, None if it is there already, and send nothing."""
        view = self._latest_view()
        create2_address = self._create2_address(view)
        if create2_address and self._has_code(view, create2_address):
            return None
        return self._sender.quote(view, *self._creation_call(create2_address))

    def _find_waiting_deployment(self, sender: TxSender, view: QuorumView) -> TxRecord | None:
        waiting = sender.resend_waiting(view, self._finality_bounds(view).final)
        return next((one for one in waiting if one.intent.kind == "deploy"), None)

    def _creation_call(self, create2_address: str) -> tuple[str, bytes]:
        """Return what to call with what, to make the contract."""
        return (
            (CREATE2_PROXY, CREATE2_SALT + contracts.creation_code())
            if create2_address
            else ("", contracts.creation_code())
        )

    def _create2_address(self, view: QuorumView) -> str:
        """Return the address the proxy makes the contract at, "" if there is no proxy."""
        if not self._read_code(view, CREATE2_PROXY):
            return ""
        code_hash = keccak256(contracts.creation_code())
        return _hash_to_address(
            b"\xff" + bytes.fromhex(CREATE2_PROXY[2:]) + CREATE2_SALT + code_hash
        )

    def _create_address(self, record: TxRecord) -> str:
        creator = bytes.fromhex(self._sender_address()[2:])
        return _hash_to_address(rlp.encode_rlp([creator, rlp.encode_integer(record.nonce)]))

    def _has_code(self, view: QuorumView, address: str) -> bool:
        return self._read_code(view, address) == contracts.runtime_code()

    def _read_code(self, view: QuorumView, address: str) -> bytes:
        def read(value: object) -> bytes:
            return rpc_decode.decode_bytes(value, "code")

        return self._nodes.ask_quorum(view, read, "eth_getCode", address, view.tag)


def _hash_to_address(preimage: bytes) -> str:
    """Return the address that is the end of a hash."""
    return "0x" + keccak256(preimage)[12:].hex()
