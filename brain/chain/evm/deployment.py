"""The address of BrainRegistry on chains that have the usual deployment proxy (EIP-1014)."""

from __future__ import annotations

from contextlib import suppress
from typing import NamedTuple

from ...errors import Conflict, LedgerError
from .. import contracts
from ..evidence import state_proof
from ..evidence.state_proof import keccak256
from . import registry
from .fees import Quote
from .journal import TxIntent, TxRecord
from .ledger_context import LedgerContext
from .nodes import QuorumView
from .tx_sender import SentTransaction

CREATE2_PROXY = "0x4e59b44847b379578588920ca78fbf26c0b4956c"
"""The deterministic deployment proxy; its calldata is a salt and the creation code."""
CREATE2_SALT = bytes(32)


def creation_calls() -> tuple[tuple[str, bytes], tuple[str, bytes]]:
    """Return how the contract is created: on its own, and by the proxy.

    Each is the address to call, "" for none, and the calldata.
    """
    code = contracts.creation_code()
    return ("", code), (CREATE2_PROXY, CREATE2_SALT + code)


def registry_address() -> str:
    """Return the address at which the proxy creates the contract, the same on all chains."""
    proxy = bytes.fromhex(CREATE2_PROXY[2:])
    code_hash = keccak256(contracts.creation_code())
    return "0x" + keccak256(b"\xff" + proxy + CREATE2_SALT + code_hash)[12:].hex()


class DeployResult(NamedTuple):
    """The address of the contract, and the block in which it was created.

    `since` is 0 if the nodes cannot tell the block. `sent` is None if the contract was there
    before.
    """

    contract: str
    since: int
    sent: SentTransaction | None


class Deployment:
    """Puts the contract of an EVM ledger on its chain."""

    def __init__(self, context: LedgerContext) -> None:
        self._context = context

    def deploy(self) -> DeployResult:
        """Deploy BrainRegistry, unless the chain has it at the CREATE2 address.

        Raises `InvalidInput` (`no_key`, `fee_cap`, `unfunded`), `LedgerError` (`pending`:
        the transaction is not in a block yet; call it again).
        """
        sender = self._context.sender
        with sender.exclusive_lock():
            view = self._context.nodes.latest_view()
            create2_address = self._create2_address(view)
            if create2_address and self._has_code(view, create2_address):
                return DeployResult(create2_address, self._since(view, create2_address), None)
            to, data = _creation_call(create2_address)
            record = sender.send_once(
                view, TxIntent("deploy"), to, data, lambda pending: pending.intent.kind == "deploy"
            )
        sent = self._context.wait_until_included(record)
        if sent.block is None:
            raise Conflict(
                f"the deployment is pending, in transaction {sent.transaction}",
                code="pending",
                hint="wait for the next blocks, and run it again",
            )
        address = registry_address() if record.to == CREATE2_PROXY else self._create_address(record)
        if not self._has_code(self._context.nodes.latest_view(), address):
            raise LedgerError(
                f"the contract at {address} does not have the code that was sent",
                code="reverted",
                hint="the nodes disagree or lag: run it again, or name other nodes",
            )
        return DeployResult(address, sent.block, sent)

    def quote_deploy(self) -> Quote | None:
        """Return the cost of `deploy`, None if the contract is there; send nothing."""
        view = self._context.nodes.latest_view()
        create2_address = self._create2_address(view)
        if create2_address and self._has_code(view, create2_address):
            return None
        return self._context.sender.quote(view, *_creation_call(create2_address))

    def find_creation_block(self) -> int:
        """Return the block in which the configured contract was created, 0 if unknown.

        Raises what `NodeQuorum.latest_view` raises.
        """
        return self._since(self._context.nodes.latest_view(), self._context.config.contract)

    def _since(self, view: QuorumView, address: str) -> int:
        """Return a creation block; if the nodes cannot tell it, the configured one or 0."""
        config = self._context.config
        known = config.since if config.contract == address else 0
        return self._bisect_creation(view, address) or known

    def _bisect_creation(self, view: QuorumView, address: str) -> int | None:
        """Return the first block with the contract, None if the nodes cannot tell it.

        Most nodes keep only recent states, and refuse to tell the code at older blocks. Then
        the first block with code that they know is not the first that has it.
        """
        first, before, before_is_empty = view.block.number + 1, -1, True
        while first - before > 1:
            middle = (first + before) // 2
            code = self._read_code_at(view, address, middle)
            if code:
                first = middle
            else:
                before, before_is_empty = middle, code is not None
        return first if before_is_empty and first <= view.block.number else None

    def _read_code_at(self, view: QuorumView, address: str, number: int) -> bytes | None:
        """Return the code at a block, None if the nodes do not tell it."""
        with suppress(LedgerError):
            return self._context.nodes.ask_quorum(
                view, registry.decode_code, "eth_getCode", address, hex(number)
            )
        return None

    def _create2_address(self, view: QuorumView) -> str:
        """Return the address at which the proxy creates the contract, "" without a proxy."""
        return registry_address() if self._read_code(view, CREATE2_PROXY) else ""

    def _create_address(self, record: TxRecord) -> str:
        creator = bytes.fromhex(self._context.sender_address[2:])
        return _hash_to_address(
            state_proof.encode_rlp([creator, state_proof.encode_integer(record.nonce)])
        )

    def _has_code(self, view: QuorumView, address: str) -> bool:
        return self._read_code(view, address) == contracts.runtime_code()

    def _read_code(self, view: QuorumView, address: str) -> bytes:
        return self._context.nodes.ask_quorum(
            view, registry.decode_code, "eth_getCode", address, view.tag
        )


def _creation_call(create2_address: str) -> tuple[str, bytes]:
    """Return the address to call, "" for a plain creation, and the calldata."""
    on_its_own, by_proxy = creation_calls()
    return by_proxy if create2_address else on_its_own


def _hash_to_address(preimage: bytes) -> str:
    """Return the last 20 bytes of the hash of `preimage`, as an address."""
    return "0x" + keccak256(preimage)[12:].hex()
