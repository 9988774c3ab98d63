"""What all operations of an EVM ledger share: the chain, the contract and the sender."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from ...errors import InvalidInput, LedgerError
from ..ledger_protocol import PENDING
from . import abi, commitment_reader
from .abi import ContractState
from .account import Account
from .commitment_reader import CommitmentReader, FinalityBounds
from .evm_config import EvmLedgerConfig
from .fees import Quote
from .journal import TX_DONE, TX_FAILED, TX_LIVE, TxIntent, TxJournal, TxRecord
from .node_quorum import NodeQuorum, QuorumView
from .registry_contract import RegistryContract, TxReceipt
from .rollback_guard import RollbackGuard
from .rpc import RPC_TIMEOUT_SECONDS
from .tx_sender import ApproveQuote, TxSender
from .tx_status import TxTracker

FIRST_POLL_SECONDS = 0.05
MAX_POLL_SECONDS = 3.0
"""Seconds between two looks for a transaction that was sent; each is twice the one before."""


class SentTransaction(NamedTuple):
    """A transaction: `status` is pending, included, safe or finalized; `fee` is in wei."""

    transaction: str
    status: str
    block: int | None
    gas: int | None
    fee: int | None


class EvmLedgerBase:
    """A ledger on an EVM chain. `folder` holds what all such ledgers of a user remember.

    `account` signs, or is what opens the one that does, when it is needed; reading does
    without. `approve` is told the cost of each transaction before it is signed, and may
    raise to prevent it. `patience` is how many seconds to wait until what was sent is in
    a block; what is not is `pending`.
    """

    def __init__(
        self,
        config: EvmLedgerConfig,
        folder: Path,
        account: Account | Callable[[], Account] | None = None,
        *,
        approve: ApproveQuote = lambda quote: None,
        patience: float = 0.0,
        timeout: float = RPC_TIMEOUT_SECONDS,
    ) -> None:
        self.config = config
        self.name = config.name
        self.identity = config.identity
        self._folder = folder
        self._account = account if isinstance(account, Account) else None
        self._open_account = account
        self._approve = approve
        self._patience = patience
        self._nodes = NodeQuorum(config, timeout)
        self._registry = RegistryContract(config, self._nodes)
        self._tx_tracker = TxTracker(self._nodes, self._registry)
        self._rollback_guard = RollbackGuard(folder / "seen" / self._contract_key, self._nodes)
        self._commitment_reader = CommitmentReader(config, self._nodes, self._registry)

    @property
    def creator(self) -> str:
        """The account that opened, or would open, the brains this ledger speaks of.

        Raises `InvalidInput` (`no_key`) if neither the ledger nor a key says so.
        """
        address = self.config.creator
        if not address and self._open_account is not None:
            address = self._signer.address
        if not address:
            raise InvalidInput(
                f"it is not known who opens brains in {self.name}",
                code="no_key",
                hint="name the creator of the ledger, or give a key",
            )
        return address

    @property
    def folder(self) -> Path:
        """What all ledgers on chains remember is here."""
        return self._folder

    @property
    def sender(self) -> str:
        """The account that signs. Raises `InvalidInput` (`no_key`)."""
        return self._signer.address

    def registry_id(self, brain: bytes) -> bytes:
        """Return the name of a brain in the registry, which is bound to its creator."""
        return abi.registry_id(self.creator, brain)

    def _contract_view(self) -> QuorumView:
        if not self.config.contract:
            raise InvalidInput(
                f"the ledger {self.name} has no contract",
                code="bad_ledger",
                hint="deploy one, or name its address",
            )
        return self._latest_view()

    def _latest_view(self) -> QuorumView:
        view = self._nodes.view_at_tag()
        if view is None:
            raise LedgerError(f"{self.name} has no block", code="bad_rpc")
        return view

    def _finality_bounds(self, view: QuorumView) -> FinalityBounds:
        return commitment_reader.finality_bounds(self.config, self._nodes, view)

    @property
    def _signer(self) -> Account:
        if self._account is None and callable(self._open_account):
            self._account = self._open_account()
        if self._account is None:
            raise InvalidInput(
                f"{self.name} needs a key for this",
                code="no_key",
                hint="give a keystore file, or a private key in the environment",
            )
        return self._account

    @property
    def _sender(self) -> TxSender:
        signer = self._signer
        journal = self._journal(signer.address)
        return TxSender(self.config, self._nodes, self._tx_tracker, journal, signer, self._approve)

    def _journal(self, address: str) -> TxJournal:
        """Return the journal of a key: it is of the chain, whatever contract is spoken to."""
        return TxJournal(self._chain_folder / address)

    def _read_state(self, view: QuorumView, id: bytes) -> ContractState | None:
        """Return what the contract knows of a brain. Raises `VerificationFailed`
        (`rolled_back`) if it is less than was seen before."""
        state = self._registry.read_state(view, id)
        self._rollback_guard.check_head(view, id, state)
        return state

    @property
    def _contract_key(self) -> str:
        """What names the contract in names of files."""
        return f"{self.config.chain_id}-{self.config.genesis[2:18]}-{self.config.contract}"

    @property
    def _chain_folder(self) -> Path:
        return self._folder / "chains" / f"{self.config.chain_id}-{self.config.genesis[2:18]}"

    def _quote(self, data: bytes) -> Quote:
        view = self._contract_view()
        self._registry.check_code(view)
        return self._sender.quote(view, self.config.contract, data)

    def _transact(self, kind: str, data: bytes) -> SentTransaction:
        """Send a call to the contract, unless the same one waits already."""
        sender = self._sender
        with sender.exclusive_lock():
            view = self._contract_view()
            self._registry.check_code(view)
            call = (self.config.contract, data)
            live = sender.resend_waiting(view, self._finality_bounds(view).final)
            same = next((one for one in live if (one.to, one.data) == call), None)
            new = sender.resend(view, same) if same else sender.send(view, TxIntent(kind), *call)
        return self._wait_for(new)

    def _wait_for(self, record: TxRecord) -> SentTransaction:
        """Wait for a transaction, as long as patience lasts.

        Raises `LedgerError` (`reverted`, `replaced`).
        """
        deadline, pause = time.monotonic() + self._patience, FIRST_POLL_SECONDS
        doubtful = False
        while True:
            view = self._latest_view()
            outcome = self._tx_tracker.find_outcome(record, self._sender_address(), view)
            if outcome.state == TX_DONE and outcome.receipt is not None:
                return self._sent_transaction(outcome.receipt, view)
            if outcome.state == TX_FAILED:
                raise LedgerError(
                    f"the transaction was reverted: {record.last_attempt.hash}",
                    code="reverted",
                    hint="the state changed under it; look at the ledger and try again",
                )
            if outcome.state != TX_LIVE and (doubtful or outcome.receipt is not None):
                raise LedgerError(
                    f"another transaction took the place of {record.last_attempt.hash}",
                    code="replaced",
                    hint="another program uses this key; try again",
                )
            # Nodes know of a nonce that is used a moment before they know by what: look twice.
            doubtful = outcome.state != TX_LIVE
            left = deadline - time.monotonic()
            if left <= 0 and not doubtful:
                return SentTransaction(record.last_attempt.hash, PENDING, None, None, None)
            time.sleep(pause if doubtful else min(pause, left))
            pause = min(2 * pause, MAX_POLL_SECONDS)

    def _sender_address(self) -> str:
        return self._account.address if self._account else self.creator

    def _sent_transaction(self, receipt: TxReceipt, view: QuorumView) -> SentTransaction:
        status = self._finality_bounds(view).status(receipt.block)
        fee = receipt.gas * receipt.gas_price
        return SentTransaction(receipt.transaction, status, receipt.block, receipt.gas, fee)
