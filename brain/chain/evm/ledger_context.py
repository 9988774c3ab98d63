"""The state that the parts of an EVM ledger share: nodes, contract, account and folders."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ...errors import InvalidInput
from ..evidence import offline_check
from ..ledger_protocol import LedgerHead
from .evm_config import EvmLedgerConfig
from .fees import Quote
from .journal import TxIntent, TxJournals, TxRecord
from .nodes import NodeQuorum, QuorumView, WarnUser
from .registry import BlockProofs, BrainView, CommitmentReader, EventFinder, RegistryContract
from .rollback_guard import RollbackGuard
from .tx_sender import ApproveQuote, SentTransaction, TxSender, TxTracker
from .unsigned import Signer


class LedgerContext:
    """One configured ledger, its nodes and the user's key; see `EvmLedger` for the arguments."""

    def __init__(
        self,
        config: EvmLedgerConfig,
        folder: Path,
        account: Signer | Callable[[], Signer] | None,
        *,
        approve: ApproveQuote,
        patience: float,
        timeout: float,
        warn: WarnUser,
    ) -> None:
        self.config = config
        self.folder = folder
        self.nodes = NodeQuorum(config, timeout, warn)
        self.journals = TxJournals(folder / "chains" / self._chain_key)
        self.events = EventFinder(config, self.nodes)
        self.registry = RegistryContract(config, self.nodes)
        self.tx_tracker = TxTracker(self.nodes, self.registry, self.journals)
        self.commitments = CommitmentReader(config, self.nodes, self.registry, self.events)
        self.block_proofs = BlockProofs(config, self.nodes)
        self.rollback_guard = RollbackGuard(
            folder / "seen" / self.contract_key, self.nodes, self.block_proofs
        )
        self._account = None if callable(account) else account
        self._open_account = account
        self._approve = approve
        self.patience = patience

    @property
    def contract_key(self) -> str:
        """File-name key for the contract."""
        return f"{self._chain_key}-{self.config.contract}"

    @property
    def _chain_key(self) -> str:
        return f"{self.config.chain_id}-{self.config.genesis[2:18]}"

    @property
    def creator(self) -> str:
        """The account to which the ids of brains in the contract are bound.

        Raises `InvalidInput` (`no_key`) if neither the configuration nor a key names it.
        """
        address = self.config.creator
        if not address and self._open_account is not None:
            address = self.account.address
        if not address:
            raise InvalidInput(
                f"the account that opens brains in {self.config.name} is unknown",
                code="no_key",
                hint=f"name it with `brain config ledger.{self.config.name}.creator ADDRESS`",
            )
        return address

    def require_creator(self, address: str) -> None:
        """Refuse to open a brain with an account to which the ids of brains are not bound.

        Raises `InvalidInput` (`wrong_creator`).
        """
        if address != self.creator:
            raise InvalidInput(
                f"the settings name the creator {self.creator}, and {address} would open the"
                " brain: it would have another id",
                code="wrong_creator",
                hint="open it with the account of the creator, or add the ledger again under"
                " another name",
            )

    @property
    def account(self) -> Signer:
        """The account that signs, opened when first needed. Raises `InvalidInput` (`no_key`)."""
        if self._account is None and callable(self._open_account):
            self._account = self._open_account()
        if self._account is None:
            raise InvalidInput(
                f"writing to {self.config.name} needs the key of an account",
                code="no_key",
                hint=f"name its keystore: `brain config ledger.{self.config.name}.keystore FILE`",
            )
        return self._account

    @property
    def sender_address(self) -> str:
        """The address of the opened account, else the creator; no account is opened for it."""
        return self._account.address if self._account else self.creator

    @property
    def sender(self) -> TxSender:
        """Sends with the user's key. Raises `InvalidInput` (`no_key`)."""
        account = self.account
        journal = self.journals.journal(account.address)
        return TxSender(self.config, self.nodes, self.tx_tracker, journal, account, self._approve)

    def registry_id(self, brain: bytes) -> bytes:
        """Return the id of a brain in the contract, which is bound to its creator."""
        return offline_check.brain_id(bytes.fromhex(self.creator[2:]), brain)

    def contract_view(self) -> QuorumView:
        """Return the latest block. Raises `InvalidInput` (`bad_ledger`) without a contract."""
        if not self.config.contract:
            raise InvalidInput(
                f"the ledger {self.config.name} has no contract",
                code="bad_ledger",
                hint=f"deploy one with `brain chain deploy`, or name its address with"
                f" `brain config ledger.{self.config.name}.contract ADDRESS`",
            )
        return self.nodes.latest_view()

    def read_head(self, view: QuorumView, id: bytes) -> LedgerHead | None:
        """Return the head of a brain in the contract, None if it was never opened.

        Raises `VerificationFailed` (`rolled_back`) if it is behind what was seen before.
        """
        head = self.registry.read_head(view, id)
        self.rollback_guard.check_head(view, id, head)
        return head

    def view_brain(self, brain: bytes) -> BrainView:
        """Return a brain at the latest block; raises as `read_head`."""
        view, id = self.contract_view(), self.registry_id(brain)
        return BrainView(brain, id, view, self.read_head(view, id))

    def quote(self, data: bytes) -> Quote:
        """Return the cost of a call to the contract, and send nothing."""
        view = self.contract_view()
        self.registry.check_code(view)
        return self.sender.quote(view, self.config.contract, data)

    def transact(self, kind: str, data: bytes) -> SentTransaction:
        """Send a call to the contract, unless the same call is pending, and wait for it."""
        sender = self.sender
        with sender.exclusive_lock():
            view = self.contract_view()
            self.registry.check_code(view)
            call = (self.config.contract, data)
            record = sender.send_once(
                view, TxIntent(kind), *call, lambda pending: (pending.to, pending.data) == call
            )
        return self.wait_until_included(record)

    def wait_for_outcome(self, record: TxRecord) -> SentTransaction:
        """Wait for a transaction, as long as patience lasts; see `TxTracker`."""
        return self.tx_tracker.wait_for_outcome(record, self.sender_address, self.patience)

    def wait_until_included(self, record: TxRecord) -> SentTransaction:
        """Wait for a transaction, as long as patience lasts; see `TxTracker`."""
        return self.tx_tracker.wait_until_included(record, self.sender_address, self.patience)
