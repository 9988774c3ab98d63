"""`brain.ledger`: commit snapshots to ledgers, compare with them, and build evidence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..repo.part import Part, lazy, reads

if TYPE_CHECKING:
    from .. import results
    from ..chain.evm.evm_ledger import EvmLedger
    from ..chain.evm.permit_file import PermitFile
    from ..chain.evm.signing.signed_transaction import ReceivedTransaction
    from ..chain.evm.tx_status import SentTransaction
    from ..chain.ledger_protocol import CommitRequest, Ledger
    from ..chain.tlog.embedded_ledger import EmbeddedLedger
    from ..repo.ledgers import commit_policy
    from ..repo.ledgers.commit_policy import OpenLedger
    from ..repo.ledgers.supersede import RepairPlan
    from ..repo.manifest import CommitPolicy

else:
    commit_policy = lazy("brain.repo.ledgers.commit_policy")


class LedgerPart(Part):
    """Commitments of this brain in ledgers."""

    @property
    def opener(self) -> OpenLedger | None:
        """Opens the ledgers that the manifest names; without it nothing is committed by itself."""
        return self._locked.open_ledger

    @opener.setter
    def opener(self, open_ledger: OpenLedger | None) -> None:
        self._locked.open_ledger = open_ledger

    def commit(self, ledger: Ledger, rev: str = "@") -> results.Committed:
        """Commit a revision to a ledger that already has an ancestor of it.

        Committing it again changes nothing. Raises `Conflict` (`ledger_ahead`,
        `ledger_forked`, `stale_parent`), `NotFound` (`not_open`), `VerificationFailed`
        (`rolled_back`) or `LedgerError`.
        """
        from ..repo.ledgers import commit

        return self._locked.run(commit.commit_snapshot, ledger, rev)

    try_commit = reads(lambda: commit_policy.try_commit)

    def open(self, ledger: Ledger, rev: str = "@") -> results.Committed:
        """Make the first commitment of this brain in a ledger.

        Raises `Conflict` (`already_open`) or `LedgerError`.
        """
        from ..repo.ledgers import commit

        return self._locked.run(commit.open_in_ledger, ledger, rev)

    def quote_commit(self, ledger: Ledger, rev: str = "@") -> results.CostQuote:
        """Return the cost of `commit`, and send nothing. Raises as `commit`."""
        from ..repo.ledgers import commit

        return self._locked.run(commit.quote_commit, ledger, rev)

    def quote_open(self, ledger: Ledger, rev: str = "@") -> results.CostQuote:
        """Return the cost of `open`, and send nothing. Raises as `open`."""
        from ..repo.ledgers import commit

        return self._locked.run(commit.quote_open, ledger, rev)

    def build_request(self, ledger: Ledger, rev: str = "@") -> CommitRequest:
        """Return the request that `commit` would send, with raw ids. Raises as `commit`."""
        from ..repo.ledgers import commit
        from ..repo.revisions import resolve_revision

        return self._locked.run(
            lambda session: commit.build_commit_request(
                session, ledger, resolve_revision(session, rev)
            )
        )

    def status(self, ledger: Ledger, rev: str = "@") -> results.LedgerStatus:
        """Return the commitment of this brain in a ledger, and its distance to a revision.

        Raises `VerificationFailed` (`rolled_back`) or `LedgerError`.
        """
        from ..repo.ledgers import commit

        return self._locked.run(commit.read_ledger_status, ledger, rev)

    def verify(self, ledgers: Sequence[Ledger]) -> results.LedgersVerified:
        """Check the lineage against ledgers, and the ledgers themselves."""
        from ..repo.ledgers import ledger_verify

        return self._locked.run(ledger_verify.verify_ledgers, ledgers)

    def extend(self, verified: results.Verified, ledgers: Sequence[Ledger]) -> results.Verified:
        """Return a verification of this brain with the findings of `verify` added."""
        from ..repo.ledgers import ledger_verify

        return ledger_verify.add_ledger_findings(verified, self.verify(ledgers))

    def read_policy(self) -> CommitPolicy | None:
        """Return the commit policy of the manifest. Raises `InvalidInput` (`bad_manifest`)."""
        from ..repo import manifest

        return self._locked.run(
            lambda session: manifest.load_commit_policy(session, session.head())
        )

    def build_evidence(self, ledger: Ledger, rev: str = "@", path: str = "") -> bytes:
        """Return evidence that a revision, or a file in it, is committed; see `check_evidence`.

        If the revision itself was not committed, the evidence has the first later commitment
        and a proof of descent. Raises `NotFound` (`not_committed`, `no_path`).
        """
        from ..repo.ledgers import evidence

        return self._locked.run(evidence.build_commit_evidence, ledger, rev, path)

    def plan_repair(self, ledger: EvmLedger, rev: str = "@") -> RepairPlan:
        """Return what `supersede` would disown; the plan is its argument.

        Raises `Conflict` (`nothing_to_disown`, `not_descended`), `NotFound` (`not_open`).
        """
        from ..repo.ledgers import supersede

        return self._locked.run(supersede.plan_repair, ledger, rev)

    def supersede(self, ledger: EvmLedger, plan: RepairPlan) -> results.Superseded:
        """Disown commitments of a stolen signer, and commit a snapshot in their place.

        The signer loses its right. Raises `InvalidInput` (`unauthorized`), `Conflict`
        (`stale_parent`) if there are more commitments by now.
        """
        from ..repo.ledgers import supersede

        return self._locked.run(supersede.supersede, ledger, plan)

    def quote_supersede(self, ledger: EvmLedger, plan: RepairPlan) -> results.Superseded:
        """Return the cost of `supersede`, and send nothing; raises as it does."""
        from ..repo.ledgers import supersede

        return self._locked.run(supersede.quote_supersede, ledger, plan)

    # Transactions of wallets elsewhere, on an EVM chain

    def send_signed(self, ledger: EvmLedger, received: ReceivedTransaction) -> results.Committed:
        """Send a commitment of this brain that was signed elsewhere.

        `ledger` has the account that signed. Raises `InvalidInput` (`another_brain`, `not_ours`,
        `wrong_chain`), and as `commit`.
        """
        from ..repo.ledgers import commit_elsewhere

        return self._locked.run(commit_elsewhere.send_signed_commitment, ledger, received)

    def record_mined(self, ledger: EvmLedger, transaction: str) -> results.Committed:
        """Record the commitment that another wallet made in a transaction.

        Raises `NotFound` (`not_committed`).
        """
        from ..repo.ledgers import commit_elsewhere

        return self._locked.run(commit_elsewhere.record_mined_commitment, ledger, transaction)

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

    def build_commit_permit(
        self, ledger: EvmLedger, rev: str = "@", *, deadline: int
    ) -> PermitFile:
        """Return the permit to commit a revision, to be signed by the owner or the signer.

        `deadline` is the last second since 1970 at which it is valid. `ledger.permits` signs it,
        and another account relays it. Raises as `commit`.
        """
        return ledger.permits.build_commit(self.build_request(ledger, rev), deadline)

    def build_open_permit(self, ledger: EvmLedger, rev: str = "@", *, deadline: int) -> PermitFile:
        """Return the permit to open this brain for the creator of the ledger.

        Raises `Conflict` (`already_open`).
        """
        from ..repo.revisions import resolve_revision

        snapshot = self._locked.run(resolve_revision, rev)
        return ledger.permits.build_open(self._brain_id(), snapshot, deadline)

    def build_signer_permit(self, ledger: EvmLedger, address: str, *, deadline: int) -> PermitFile:
        """Return the permit to let `address` commit, "" for nobody, to be signed by the owner."""
        return ledger.permits.build_signer(self._brain_id(), address, deadline)

    def find_holder(self, ledger: EvmLedger, log: EmbeddedLedger) -> Ledger:
        """Return the ledger with this brain: the contract, or the log that is anchored in it."""
        from ..chain.anchored_log import find_holding_ledger

        return find_holding_ledger(self._brain_id(), ledger, log)

    def _brain_id(self) -> bytes:
        return self._locked.session.brain_id()
