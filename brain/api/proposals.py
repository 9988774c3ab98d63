"""`brain.proposals`: changes that wait for review."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Generic, TypeVar

from ..repo.part import LockedSession, Part, call_system
from ..util.progress import no_progress

if TYPE_CHECKING:
    import builtins

    from .. import results
    from ..repo.open.session import Session
    from ..util.progress import Progress

AnyBrain = TypeVar("AnyBrain")


class ProposalsPart(Part, Generic[AnyBrain]):
    """Proposals: branches `proposed/NAME` beside the head."""

    def __init__(self, locked: LockedSession, make_brain: Callable[[Session], AnyBrain]) -> None:
        super().__init__(locked)
        self._make_brain = make_brain

    def open(
        self,
        name: str,
        *,
        author: str = "",
        own_programs: set[bytes] | frozenset[bytes] | None = None,
    ) -> AnyBrain:
        """Open this brain again, as it reads and changes within a proposal.

        Writes go to the proposal alone, not to the folder or the head, and are neither signed
        nor committed. A proposal without changes reads as the head. Of the programs that it has
        and the head has not, those run that were made here: their ids come into `own_programs`,
        which a caller may keep for the next time it opens the proposal; a frozenset stays empty,
        for several clients that nothing tells apart. Raises `InvalidInput`
        (`bad_branch`) or `StoreError`.
        """
        from ..ops.proposals import open_proposal

        session = call_system(open_proposal, self._locked.session, name, author, own_programs)
        try:
            return self._make_brain(session)
        except BaseException:
            session.close()
            raise

    def list(self) -> builtins.list[results.Proposal]:
        """Return the proposals with changes that the head lacks, by name."""
        from ..ops import proposals

        return self._locked.run(proposals.list_proposals)

    def show(self, name: str) -> results.Proposal:
        """Return a proposal by its name or a snapshot in it. Raises `NotFound` (`no_proposal`)."""
        from ..ops import proposals

        return self._locked.run(proposals.find_proposal, name)

    @property
    def current(self) -> str:
        """The name of the proposal that this brain works on, "" outside of one."""
        return self._locked.session.proposal

    def programs(self, name: str) -> builtins.list[results.ProposedProgram]:
        """Return the programs that a proposal adds or changes, with the verdicts about them.

        Nobody but who proposed one can run it before it is accepted. Raises as `show`.
        """
        from ..repo.learning import list_programs

        found = self.show(name)
        ids = map(bytes.fromhex, (found.base, found.snapshot))
        return self._locked.run(list_programs.list_proposed_programs, *ids)

    def accept(
        self,
        snapshot: str,
        message: str = "",
        progress: Progress | None = None,
        *,
        include_undiffable: bool = False,
    ) -> results.Merged:
        """Merge a proposal up to one snapshot, given by its full id: the one that was reviewed.

        With `sign_with` the merged snapshots are signed; after conflicts, `merge.resume` signs.
        Files that `history.find_undiffable` names need `include_undiffable`. Raises
        `InvalidInput` (`not_an_id`, `not_shown`), `NotFound` (`no_proposal`), or as
        `merge.start`.
        """
        from ..ops import proposals

        accept = partial(proposals.accept_proposal, allow_undiffable=include_undiffable)
        return self._locked.run_write(accept, snapshot, message, progress or no_progress)

    def reject(self, name: str) -> results.Proposal:
        """Delete a proposal; `undo` restores it. Raises `NotFound` (`no_proposal`)."""
        from ..ops import proposals

        return self._locked.run(proposals.reject_proposal, name)
