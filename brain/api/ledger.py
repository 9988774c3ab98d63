"""`brain.ledger`, `brain.trust` and `brain.signatures`: commitments, keys and signatures."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from ..repo.part import Part, lazy, reads

if TYPE_CHECKING:
    from ..chain.evm.evm_ledger import EvmLedger
    from ..chain.evm.tx_sender import SentTransaction
    from ..chain.ledger_protocol import Ledger
    from ..chain.tlog.embedded_ledger import EmbeddedLedger
    from ..repo import manifest
    from ..repo.ledgers import (
        commit,
        commit_policy,
        evidence,
        ledger_verify,
        supersede,
    )
    from ..repo.ledgers.commit_policy import OpenLedger
    from ..repo.signing import missing_signatures, rights, sign
    from ..trust import pinned_roots
else:
    lazy(globals(), "repo", "manifest")
    lazy(globals(), "repo.ledgers", "commit commit_policy")
    lazy(globals(), "repo.ledgers", "evidence ledger_verify supersede")
    lazy(globals(), "repo.signing", "missing_signatures rights sign")
    lazy(globals(), "trust", "pinned_roots")


class LedgerPart(Part):
    """Commitments of this brain in ledgers."""

    @property
    def opener(self) -> OpenLedger | None:
        """Opens the ledgers that the manifest names; without it nothing is committed by itself."""
        return self._locked.open_ledger

    @opener.setter
    def opener(self, open_ledger: OpenLedger | None) -> None:
        self._locked.open_ledger = open_ledger

    commit = reads(lambda: commit.commit_snapshot)
    try_commit = reads(lambda: commit_policy.try_commit)
    open = reads(lambda: commit.open_in_ledger)
    quote_commit = reads(lambda: commit.quote_commit)
    quote_open = reads(lambda: commit.quote_open)
    build_request = reads(lambda: commit.build_request)
    status = reads(lambda: commit.read_ledger_status)
    verify = reads(lambda: ledger_verify.verify_ledgers)
    extend = reads(lambda: ledger_verify.extend)
    read_policy = reads(lambda: manifest.read_commit_policy)
    build_evidence = reads(lambda: evidence.build_commit_evidence)
    plan_repair = reads(lambda: supersede.plan_repair)
    supersede = reads(lambda: supersede.supersede)
    quote_supersede = reads(lambda: supersede.quote_supersede)

    # Transactions of wallets elsewhere, on an EVM chain

    record_mined = reads(lambda: commit.record_mined_commitment)

    def find_creator(self, ledger: EvmLedger, transaction: str) -> str:
        """Return the account that opened this brain in a transaction, of whatever wallet."""
        return ledger.find_creator(self._brain_id(), transaction)

    # Ownership in the contract of an EVM chain

    def set_signer(self, ledger: EvmLedger, address: str) -> SentTransaction:
        """Let the account `address` commit this brain, beside its owner; "" for nobody."""
        return ledger.ownership.set_signer(self._brain_id(), address)

    def offer(self, ledger: EvmLedger, address: str, *, ends: int) -> SentTransaction:
        """Offer the brain to the account `address`, which may accept it until `ends` (s, UTC)."""
        return ledger.ownership.offer(self._brain_id(), address, ends)

    def withdraw_offer(self, ledger: EvmLedger) -> SentTransaction:
        """Withdraw the offer of the brain to another account."""
        return ledger.ownership.offer(self._brain_id(), "", 0)

    def accept_offer(self, ledger: EvmLedger) -> SentTransaction:
        """Become the owner of the brain, which was offered to the account of this ledger."""
        return ledger.ownership.accept(self._brain_id())

    def find_holder(self, ledger: EvmLedger, log: EmbeddedLedger) -> Ledger:
        """Return the ledger with this brain: the contract, or the log that is anchored in it."""
        from ..chain.anchored_log import find_holding_ledger

        return find_holding_ledger(self._brain_id(), ledger, log)

    def _brain_id(self) -> bytes:
        return self._locked.session.brain_id()


class TrustPart(Part):
    """Keys with the right to sign. A key is `ed25519:` and 64 hex digits."""

    show = reads(lambda: rights.read_trust)
    add = reads(lambda: rights.trust_key)
    retire = reads(lambda: rights.retire_key)
    revoke = reads(lambda: rights.revoke_key)
    set_threshold = reads(lambda: rights.set_threshold)
    repair = reads(lambda: rights.repair_trust)

    # Root keys that the user pinned, in a file for all brains

    def list_roots(self, path: Path) -> list[str]:
        """Return the root keys that the file `path` pins for this brain.

        Raises `InvalidInput` (`bad_roots`).
        """
        return self._locked.run(
            lambda session: pinned_roots.load_pinned_roots(path, session.brain_id().hex())
        )

    def pin_first_roots(self, path: Path, keys: Collection[str]) -> bool:
        """Pin root keys if the file has none for this brain; return whether they were pinned."""
        return self._locked.run(
            lambda session: pinned_roots.pin_first_roots(path, session.brain_id().hex(), keys)
        )

    def change_roots(
        self, path: Path, *, add: Collection[str] = (), remove: Collection[str] = ()
    ) -> list[str]:
        """Pin and unpin root keys of this brain; return those that are then pinned.

        Raises `InvalidInput` (`bad_key`, `bad_roots`, `not_pinned`).
        """
        return self._locked.run(
            lambda session: pinned_roots.change_pinned_roots(
                path, session.brain_id().hex(), add, remove
            )
        )


class SignaturesPart(Part):
    """Ed25519 signatures of snapshots. `brain.trust.keyfile` creates and stores keys."""

    sign = reads(lambda: sign.sign_revision)
    sign_missing = reads(lambda: missing_signatures.sign_missing)
    find_missing = reads(lambda: missing_signatures.find_unsigned)
    find_unverifiable = reads(lambda: missing_signatures.find_unverifiable)
    list = reads(lambda: sign.list_signatures)
