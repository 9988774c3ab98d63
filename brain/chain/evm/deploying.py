"""Putting the contract on a chain, at the same address on all of them where that can be.

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
from . import wire
from .base import Base, Sent
from .fees import Quote
from .journal import Intent, Record
from .nodes import View
from .sending import Sender

PROXY = "0x4e59b44847b379578588920ca78fbf26c0b4956c"
"""The deterministic deployment proxy; its calldata is a salt and the code to run."""
SALT = bytes(32)


class Deployed(NamedTuple):
    """Where the contract is, and from which block on; `sent` is None if it was there before."""

    contract: str
    since: int
    sent: Sent | None


class Deploying(Base):
    """The part of an EVM ledger that puts its contract on the chain."""

    def deploy(self) -> Deployed:
        """Deploy BrainRegistry, unless it is there already, and return its address.

        Raises `InvalidInput` (`no_key`, `fee_cap`, `unfunded`), `LedgerError` (`pending`:
        it was sent, and is in no block yet; run it again).
        """
        sender = self._sender
        with sender.alone():
            view = self._latest()
            known = self._deterministic(view)
            if known and self._has_code(view, known):
                return Deployed(known, view.block.number, None)
            record = self._waiting_deployment(sender, view)
            if record is None:
                to, data = self._making(known)
                record = sender.send(view, Intent("deploy"), to, data)
            else:
                record = sender.again(view, record)
        sent = self._awaited(record)
        if sent.block is None:
            raise LedgerError(
                f"the contract is on its way, in transaction {sent.transaction}",
                code="pending",
                hint="wait for the next blocks and run it again",
            )
        address = known or self._made_by(record)
        if not self._has_code(self._latest(), address):
            raise LedgerError(f"{address} has not the code that was sent", code="reverted")
        return Deployed(address, sent.block, sent)

    def quote_deploy(self) -> Quote | None:
        """Return what `deploy` would cost, None if it is there already, and send nothing."""
        view = self._latest()
        known = self._deterministic(view)
        if known and self._has_code(view, known):
            return None
        return self._sender.quote(view, *self._making(known))

    def _waiting_deployment(self, sender: Sender, view: View) -> Record | None:
        waiting = sender.live(view, self._bounds(view).final)
        return next((one for one in waiting if one.intent.kind == "deploy"), None)

    def _making(self, known: str) -> tuple[str, bytes]:
        """Return what to call with what, to make the contract."""
        return (PROXY, SALT + contracts.creation()) if known else ("", contracts.creation())

    def _deterministic(self, view: View) -> str:
        """Return the address the proxy makes the contract at, "" if there is no proxy."""
        if not self._code(view, PROXY):
            return ""
        made = keccak256(contracts.creation())
        return _last_20(b"\xff" + bytes.fromhex(PROXY[2:]) + SALT + made)

    def _made_by(self, record: Record) -> str:
        creator = bytes.fromhex(self._sender_address()[2:])
        return _last_20(rlp.encode([creator, rlp.from_number(record.nonce)]))

    def _has_code(self, view: View, address: str) -> bool:
        return self._code(view, address) == contracts.runtime()

    def _code(self, view: View, address: str) -> bytes:
        def read(value: object) -> bytes:
            return wire.data(value, "code")

        return self._nodes.agreed(view, read, "eth_getCode", address, view.tag)


def _last_20(hashed: bytes) -> str:
    """Return the address that is the end of a hash."""
    return "0x" + keccak256(hashed)[12:].hex()
