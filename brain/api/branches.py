"""`brain.branches`, `brain.tags`, `brain.merge` and `brain.proposals`: work beside the head."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeVar

from ..repo.part import LockedSession, Part, call_system, lazy, reads, streams, writes

if TYPE_CHECKING:
    import builtins

    from .. import results
    from ..ops import branches, merge, merge_state, proposals
    from ..repo.learning import list_programs
    from ..repo.session import Session
else:
    lazy(globals(), "ops", "branches merge merge_state proposals")
    lazy(globals(), "repo.learning", "list_programs")

AnyBrain = TypeVar("AnyBrain")


class BranchesPart(Part):
    """The branches of a brain."""

    @property
    def current(self) -> str:
        """The name of the current branch."""
        return self._locked.session.current_branch()

    list = reads(lambda: branches.list_branches)
    create = reads(lambda: branches.create_branch)
    delete = reads(lambda: branches.delete_branch)
    switch = reads(lambda: branches.switch_branch)


class TagsPart(Part):
    """The tags of a brain: names of snapshots that never move; each is a revision."""

    list = reads(lambda: branches.list_tags)
    create = reads(lambda: branches.create_tag)
    delete = reads(lambda: branches.delete_tag)


class MergePart(Part):
    """A merge: started, resolved, then resumed or aborted."""

    start = writes(lambda: merge.start_merge)
    list_conflicts = reads(lambda: merge_state.list_conflicts)
    resolve = reads(lambda: merge.resolve_conflicts)
    resume = writes(lambda: merge.resume_merge)
    abort = reads(lambda: merge.abort_merge)


class ProposalsPart(Part, Generic[AnyBrain]):
    """Proposals: branches `proposed/NAME` beside the head, which wait for review."""

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
        session = call_system(
            proposals.open_proposal, self._locked.session, name, author, own_programs
        )
        try:
            return self._make_brain(session)
        except BaseException:
            session.close()
            raise

    list = reads(lambda: proposals.list_proposals)
    names = reads(lambda: proposals.list_names)
    show = reads(lambda: proposals.find_proposal)
    hunks = streams(lambda: proposals.list_hunks)
    accept = writes(lambda: proposals.accept_proposal)
    reject = reads(lambda: proposals.reject_proposal)
    list_rejections = reads(lambda: proposals.list_rejections)

    @property
    def current(self) -> str:
        """The name of the proposal that this brain works on, "" outside of one."""
        return self._locked.session.proposal

    def programs(self, name: str) -> builtins.list[results.ProposedProgram]:
        """Return the programs that a proposal adds or changes, with the verdicts about them.

        Nobody but who proposed one can run it before it is accepted. Raises as `show`.
        """
        found = self.show(name)
        ids = map(bytes.fromhex, (found.base, found.snapshot))
        return self._locked.run(list_programs.list_proposed_programs, *ids)
