"""Ledgers: where others can see that this brain was what it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

from .opened import Opened

if TYPE_CHECKING:
    from .. import results
    from ..chain.ledger_protocol import CommitRequest, Ledger
    from ..repo.ledgers.commit_policy import OpenLedger
    from ..repo.open.manifest import CommitPolicy

Done = TypeVar("Done", "results.Absorbed", "results.Upserted", "results.Recorded", "results.Merged")


class Ledgers(Opened):
    """Commitment of snapshots, and evidence of it."""

    open_ledger: OpenLedger | None = None
    """Opens a ledger by its name, for what the manifest says; None if nobody does."""

    def commit(self, ledger: Ledger, rev: str = "@") -> results.Committed:
        """Record a revision in a ledger, after what it holds of this brain.

        Committing it again changes nothing. Raises `Conflict` (`ledger_ahead`,
        `ledger_forked`, `stale_parent`), `NotFound` (`not_open`), `VerificationFailed`
        (`rolled_back`) or `LedgerError`.
        """
        from ..repo.ledgers import commit

        return self._do(commit.commit_snapshot, ledger, rev)

    def open_in(self, ledger: Ledger, rev: str = "@") -> results.Committed:
        """Make the first commitment of this brain in a ledger.

        Raises `Conflict` (`already_open`) or `LedgerError`.
        """
        from ..repo.ledgers import commit

        return self._do(commit.open_in_ledger, ledger, rev)

    def quote_commit(self, ledger: Ledger, rev: str = "@") -> results.CostQuote:
        """Return what `commit` would cost, and send nothing; raises as it does."""
        from ..repo.ledgers import commit

        return self._do(commit.quote_commit, ledger, rev)

    def quote_open(self, ledger: Ledger, rev: str = "@") -> results.CostQuote:
        """Return what `open_in` would cost, and send nothing; raises as it does."""
        from ..repo.ledgers import commit

        return self._do(commit.quote_open, ledger, rev)

    def wish_for(self, ledger: Ledger, rev: str = "@") -> CommitRequest:
        """Return what `commit` would record after what, as raw ids; raises as it does."""
        from ..repo.ledgers import commit
        from ..repo.read.revisions import resolve_revision

        return self._do(
            lambda session: commit.build_commit_request(
                session, ledger, resolve_revision(session, rev)
            )
        )

    def ledger_status(self, ledger: Ledger, rev: str = "@") -> results.LedgerStatus:
        """Return what a ledger holds of this brain, and how far a revision is from it.

        Raises `VerificationFailed` (`rolled_back`) or `LedgerError`.
        """
        from ..repo.ledgers import commit

        return self._do(commit.read_ledger_status, ledger, rev)

    def verify_against(self, ledgers: Sequence[Ledger]) -> results.LedgersVerified:
        """Check the lineage against ledgers, and these by themselves; see `actions.vouching`."""
        from ..repo.ledgers import ledger_verify

        return self._do(ledger_verify.verify_ledgers, ledgers)

    def commit_policy(self) -> CommitPolicy | None:
        """Return what the manifest says of commitments. Raises `InvalidInput` (`bad_manifest`)."""
        from ..repo.open import manifest

        return self._do(lambda session: manifest.load_commit_policy(session, session.head()))

    def evidence(self, ledger: Ledger, rev: str = "@", path: str = "") -> bytes:
        """Return evidence that a revision, or a file in it, is committed; see `check_evidence`.

        Of a revision that was not committed itself, the first later commitment is shown
        and that it descends from it. Raises `NotFound` (`not_committed`, `no_path`).
        """
        from ..repo.ledgers import evidence

        return self._do(evidence.build_commit_evidence, ledger, rev, path)

    def _committing(self, done: Done, commit_to: Ledger | None = None) -> Done:
        """Return the outcome of a write with its commitment, if one is wanted or due."""
        if commit_to is not None:
            from ..repo.ledgers import commit_policy

            return done._replace(
                commitment=self._do(commit_policy.try_commit, commit_to, done.snapshot)
            )
        if self.open_ledger is None or not done.changed:
            return done
        from ..repo.open import manifest

        if not self._do(manifest.may_have_commit_policy, bytes.fromhex(done.snapshot)):
            return done
        from ..repo.ledgers import commit_policy

        return done._replace(
            commitment=self._do(commit_policy.commit_if_due, self.open_ledger, done.snapshot)
        )
