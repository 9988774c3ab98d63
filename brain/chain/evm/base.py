"""What all operations of an EVM ledger share: the chain, the contract, and who sends."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from ...errors import InvalidInput, LedgerError
from ..protocol import PENDING
from . import abi, reading
from .abi import State
from .account import Account
from .config import LedgerConfig
from .fees import Quote
from .journal import DONE, FAILED, LIVE, Intent, Journal, Record
from .memory import Memory
from .nodes import Nodes, View
from .reading import Bounds, Reading
from .registry import Receipt, Registry
from .rpc import TIMEOUT
from .sending import Approve, Sender
from .watching import Watch

FIRST_POLL = 0.05
LONGEST_POLL = 3.0
"""Seconds between two looks for a transaction that was sent; each is twice the one before."""


class Sent(NamedTuple):
    """A transaction: `status` is pending, included, safe or finalized; `fee` is in wei."""

    transaction: str
    status: str
    block: int | None
    gas: int | None
    fee: int | None


class Base:
    """A ledger on an EVM chain. `folder` holds what all such ledgers of a user remember.

    `account` signs, or is what opens the one that does, when it is needed; reading does
    without. `approve` is told the cost of each transaction before it is signed, and may
    raise to prevent it. `patience` is how many seconds to wait until what was sent is in
    a block; what is not is `pending`.
    """

    def __init__(
        self,
        config: LedgerConfig,
        folder: Path,
        account: Account | Callable[[], Account] | None = None,
        *,
        approve: Approve = lambda quote: None,
        patience: float = 0.0,
        timeout: float = TIMEOUT,
    ) -> None:
        self.config = config
        self.name = config.name
        self.identity = config.identity
        self._folder = folder
        self._account = account if isinstance(account, Account) else None
        self._open_account = account
        self._approve = approve
        self._patience = patience
        self._nodes = Nodes(config, timeout)
        self._registry = Registry(config, self._nodes)
        self._watch = Watch(self._nodes, self._registry)
        self._memory = Memory(folder / "seen" / self._place_name, self._nodes)
        self._reading = Reading(config, self._nodes, self._registry)

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

    def id_of(self, brain: bytes) -> bytes:
        """Return the name of a brain in the registry, which is bound to its creator."""
        return abi.id_of(self.creator, brain)

    def _view(self) -> View:
        if not self.config.contract:
            raise InvalidInput(
                f"the ledger {self.name} has no contract",
                code="bad_ledger",
                hint="deploy one, or name its address",
            )
        return self._latest()

    def _latest(self) -> View:
        view = self._nodes.view()
        if view is None:
            raise LedgerError(f"{self.name} has no block", code="bad_rpc")
        return view

    def _bounds(self, view: View) -> Bounds:
        return reading.bounds(self.config, self._nodes, view)

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
    def _sender(self) -> Sender:
        signer = self._signer
        journal = self._journal(signer.address)
        return Sender(self.config, self._nodes, self._watch, journal, signer, self._approve)

    def _journal(self, address: str) -> Journal:
        """Return the journal of a key: it is of the chain, whatever contract is spoken to."""
        return Journal(self._keys / address)

    def _state(self, view: View, id: bytes) -> State | None:
        """Return what the contract knows of a brain. Raises `VerificationFailed`
        (`rolled_back`) if it is less than was seen before."""
        state = self._registry.state(view, id)
        self._memory.compare(view, id, state)
        return state

    @property
    def _place_name(self) -> str:
        """What names the contract in names of files."""
        return f"{self.config.chain_id}-{self.config.genesis[2:18]}-{self.config.contract}"

    @property
    def _keys(self) -> Path:
        return self._folder / "chains" / f"{self.config.chain_id}-{self.config.genesis[2:18]}"

    def _quote(self, data: bytes) -> Quote:
        view = self._view()
        self._registry.check_code(view)
        return self._sender.quote(view, self.config.contract, data)

    def _transact(self, kind: str, data: bytes) -> Sent:
        """Send a call to the contract, unless the same one waits already."""
        sender = self._sender
        with sender.alone():
            view = self._view()
            self._registry.check_code(view)
            call = (self.config.contract, data)
            live = sender.live(view, self._bounds(view).final)
            same = next((one for one in live if (one.to, one.data) == call), None)
            new = sender.again(view, same) if same else sender.send(view, Intent(kind), *call)
        return self._awaited(new)

    def _awaited(self, record: Record) -> Sent:
        """Wait for a transaction, as long as patience lasts.

        Raises `LedgerError` (`reverted`, `replaced`).
        """
        deadline, pause = time.monotonic() + self._patience, FIRST_POLL
        doubtful = False
        while True:
            view = self._latest()
            outcome = self._watch.outcome(record, self._sender_address(), view)
            if outcome.state == DONE and outcome.receipt is not None:
                return self._sent(outcome.receipt, view)
            if outcome.state == FAILED:
                raise LedgerError(
                    f"the transaction was reverted: {record.last.hash}",
                    code="reverted",
                    hint="the state changed under it; look at the ledger and try again",
                )
            if outcome.state != LIVE and (doubtful or outcome.receipt is not None):
                raise LedgerError(
                    f"another transaction took the place of {record.last.hash}",
                    code="replaced",
                    hint="another program uses this key; try again",
                )
            # Nodes know of a nonce that is used a moment before they know by what: look twice.
            doubtful = outcome.state != LIVE
            left = deadline - time.monotonic()
            if left <= 0 and not doubtful:
                return Sent(record.last.hash, PENDING, None, None, None)
            time.sleep(pause if doubtful else min(pause, left))
            pause = min(2 * pause, LONGEST_POLL)

    def _sender_address(self) -> str:
        return self._account.address if self._account else self.creator

    def _sent(self, receipt: Receipt, view: View) -> Sent:
        status = self._bounds(view).status(receipt.block)
        fee = receipt.gas * receipt.price
        return Sent(receipt.transaction, status, receipt.block, receipt.gas, fee)
