"""Proposals: what agents change while nobody looks, until somebody does."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Self

from .ledgers import Ledgers
from .opened import given, told

if TYPE_CHECKING:
    from .. import results
    from ..repo.core.checkout import Progress


class Proposals(Ledgers):
    """Changes beside the head, on branches `proposed/NAME`."""

    def proposal(self, name: str, *, author: str = "") -> Self:
        """Open this brain once more, as the proposal of that name reads and changes it.

        What is written there touches neither the folder nor the head, is not signed and
        not committed. Until something is, it reads as the head does. Raises `InvalidInput`
        (`bad_branch`) or `StoreError`.
        """
        from ..repo.merge.proposals import ProposalSession
        from ..store.sqlite_store import open_store_or_readonly

        store = told(open_store_or_readonly, self._session.control_folder)
        try:
            session = ProposalSession(self.root, store, name, author)
            session.pinned_roots_provider = self._session.pinned_roots_provider
            return type(self)(session)
        except BaseException:
            store.close()
            raise

    def proposals(self) -> list[results.Proposal]:
        """Return the proposals that hold what the head lacks, by name."""
        from ..repo.merge import proposals

        return self._do(proposals.list_proposals)

    def show_proposal(self, name: str) -> results.Proposal:
        """Return one by its name or by a snapshot in it. Raises `NotFound` (`no_proposal`)."""
        from ..repo.merge import proposals

        return self._do(proposals.find_proposal, name)

    def accept_proposal(
        self,
        snapshot: str,
        message: str = "",
        progress: Progress | None = None,
        *,
        also_unshown: bool = False,
    ) -> results.Merged:
        """Merge a snapshot of a proposal, given by its id: what was looked at, and no more.

        With `sign_with` what comes in is signed, after conflicts by `continue_merge`. What
        `unshown` names comes in only if it is wanted, too. Raises `InvalidInput`
        (`not_an_id`, `not_shown`), `NotFound` (`no_proposal`), or as `merge`.
        """
        from ..repo.merge import proposals

        accept = partial(proposals.accept_proposal, allow_undiffable=also_unshown)
        return self._committing(self._do(accept, snapshot, message, *given(progress)))

    def reject_proposal(self, name: str) -> results.Proposal:
        """Remove a proposal; `undo` brings it back. Raises `NotFound` (`no_proposal`)."""
        from ..repo.merge import proposals

        return self._do(proposals.reject_proposal, name)
