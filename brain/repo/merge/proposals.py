"""Proposals: branches `proposed/NAME` that a person reviews and accepts or rejects.

A proposal is a branch `proposed/NAME`. It is written without touching the folder or the
head, merged by the id of a snapshot, so that what was looked at is what comes in, and
rejected by removing its branch. What is written to it after a look is not part of that
look: it stays open and is asked about again.
"""

from __future__ import annotations

from pathlib import Path

from ...errors import Conflict, InvalidInput, NotFound, printable_text
from ...objects import ancestry
from ...objects.lineage import walk_first_parents
from ...results import Merged, Proposal, SnapshotInfo
from ...store.protocol import Store
from ..core.checkout import Progress, no_progress
from ..core.transaction import lock_for_writing, log_operation, store_transaction
from ..history import diff, unified_diff
from ..history.log import snapshot_info
from ..open.session import Session, head_ref
from ..read import lineage_cache
from ..read.ancestor_set import AncestorSet
from ..read.merge_state_format import load_merge_state
from ..read.revisions import resolve_revision
from . import branches, merge

PROPOSAL_BRANCH_PREFIX = branches.PROPOSAL_REF_PREFIX.removeprefix(head_ref(""))


class ProposalSession(Session):
    """A session that reads and writes a proposal, and has no folder.

    Until the proposal holds what the current branch lacks, it stands where that stands.
    """

    has_folder = False

    def __init__(self, root: Path, store: Store, name: str, author: str = "") -> None:
        super().__init__(root, store, author)
        self._branch_name = branches.check_branch_name(PROPOSAL_BRANCH_PREFIX + name)
        self._checked_refs: tuple[bytes, bytes] = (b"", b"")
        self._was_open = False

    def current_branch(self) -> str:
        """Return the branch of the proposal."""
        return self._branch_name

    def head(self) -> bytes:
        """Return where the proposal stands.

        Raises `Conflict` (`proposal_is_current`) while somebody works on its branch.
        """
        current = super().current_branch()
        if current == self._branch_name:
            raise Conflict(
                f"{self._branch_name} is the current branch, so nothing is proposed to it now",
                code="proposal_is_current",
                hint="somebody looks at it: wait for `brain switch` to another branch",
            )
        base = self._read_branch_head(current)
        tip = self.reader.read_ref(head_ref(self._branch_name))
        return tip if tip is not None and self._is_open(tip, base) else base

    def base(self) -> bytes:
        """Return the last snapshot that the proposal and the current branch have in common."""
        return _find_merge_base(self, self._read_branch_head(super().current_branch()), self.head())

    def _is_open(self, tip: bytes, base: bytes) -> bool:
        if self._checked_refs != (tip, base):
            self._was_open = tip not in AncestorSet(self, base)
            self._checked_refs = tip, base
        return self._was_open


def list_proposals(session: Session) -> list[Proposal]:
    """Return the proposals that hold what the current branch lacks, by name."""
    inside = AncestorSet(session, session.head())
    return [
        _describe_proposal(session, name.removeprefix(branches.PROPOSAL_REF_PREFIX), tip)
        for name, tip in session.reader.list_refs().items()
        if _is_proposal_ref(name)
        and name != head_ref(session.current_branch())
        and tip not in inside
    ]


def find_proposal(session: Session, name_or_id: str) -> Proposal:
    """Return the open proposal of a name, or up to the snapshot of an id, which `accept` takes.

    An id comes before a name: a client may have named itself after one. Raises `NotFound`.
    """
    found = _resolve_proposal_name(session, name_or_id)
    asked = name_or_id.removeprefix(PROPOSAL_BRANCH_PREFIX) != found
    return _describe_proposal(
        session,
        found,
        resolve_revision(session, name_or_id) if asked else _require_tip(session, found),
    )


def accept_proposal(
    session: Session,
    name_or_id: str,
    message: str = "",
    progress: Progress = no_progress,
    also_unshown: bool = False,
) -> Merged:
    """Merge a snapshot of a proposal, given by its id, into the current branch.

    If the session has a key, the snapshots that come in, and no others, are signed where
    too few have; after conflicts by `go_on`. Content that no patch shows comes in only if
    it is `also_unshown`. Raises `InvalidInput` (`not_an_id`, `not_shown`), `NotFound`
    (`no_proposal`), or as `merging.merge`.
    """
    if (
        session.reader.read_ref(head_ref(name_or_id)) is not None
        or not set(name_or_id) <= _HEX_DIGITS
    ):
        raise InvalidInput(
            f"{printable_text(name_or_id, 80)} is not the id of a snapshot",
            code="not_an_id",
            hint="give the id that was looked at: a name may lead elsewhere by now",
        )
    try:
        at = resolve_revision(session, name_or_id)
    except NotFound as error:
        error.hint = "see `brain proposal list`"
        raise
    _resolve_proposal_name(session, at.hex())
    head = session.head()
    if not also_unshown:
        unified_diff.refuse_undiffable(
            session,
            diff.diff_revisions(session, _find_merge_base(session, head, at).hex(), at.hex()),
        )
    done = merge.merge_revision(session, at.hex(), None, message, progress, _ACCEPT_COMMAND)
    _sign_accepted(session, at, AncestorSet(session, head))
    return done


def resume_merge_or_accept(session: Session, progress: Progress = no_progress) -> Merged:
    """Finish the merge that waits; if it accepts a proposal, as `accept` does.

    Raises `NotFound` (`no_proposal`) if that was rejected since, or as `merging.go_on`.
    """
    state = load_merge_state(session)
    if state is None or state.command != _ACCEPT_COMMAND:
        return merge.resume_merge(session, progress)
    if _find_proposal_with(session, state.theirs) is None:
        raise NotFound(
            "what waits to be accepted is proposed no more",
            code="no_proposal",
            hint="give it up with `brain merge --abort`",
        )
    head = session.head()
    done = merge.resume_merge(session, progress)
    _sign_accepted(session, state.theirs, AncestorSet(session, head))
    return done


def _sign_accepted(session: Session, accepted: bytes, before: AncestorSet) -> None:
    """Sign what came in with a snapshot, if it did and there is a key."""
    if session.sign_with is not None and accepted in AncestorSet(session, session.head()):
        from ..signing.missing_signatures import sign_missing

        sign_missing(session, accepted.hex(), session.sign_with(), before)


def reject_proposal(session: Session, name_or_id: str) -> Proposal:
    """Remove the branch of a proposal; `undo` brings it back. Raises `NotFound`."""
    with lock_for_writing(session), store_transaction(session) as tx:
        name = _resolve_proposal_name(session, name_or_id)
        found = _describe_proposal(session, name, _require_tip(session, name))
        ref, tip = branches.PROPOSAL_REF_PREFIX + found.name, bytes.fromhex(found.snapshot)
        tx.update_ref(ref, tip, None)
        log_operation(
            session, tx, "branch", f"reject {PROPOSAL_BRANCH_PREFIX}{found.name}", [(ref, tip, b"")]
        )
    return found


_HEX_DIGITS = frozenset("0123456789abcdef")
_ACCEPT_COMMAND = "accept"


def _is_proposal_ref(ref: str) -> bool:
    return ref.startswith(branches.PROPOSAL_REF_PREFIX)


def _require_tip(session: Session, name: str) -> bytes:
    tip = session.reader.read_ref(branches.PROPOSAL_REF_PREFIX + name)
    if tip is None:
        raise _no_proposal_error(name)
    return tip


def _resolve_proposal_name(session: Session, name_or_id: str) -> str:
    """Return the name of the open proposal that `text` names, or that holds that snapshot."""
    inside = AncestorSet(session, session.head())
    name = (
        ""
        if _is_snapshot_id(session, name_or_id)
        else name_or_id.removeprefix(PROPOSAL_BRANCH_PREFIX)
    )
    tip = session.reader.read_ref(branches.PROPOSAL_REF_PREFIX + name) if name else None
    if tip is not None and tip not in inside:
        return name
    at = (
        resolve_revision(session, name_or_id)
        if name_or_id and set(name_or_id) <= _HEX_DIGITS
        else None
    )
    found = _find_proposal_with(session, at) if at and at not in inside else None
    if found is None:
        raise _no_proposal_error(name_or_id)
    return found


def _find_proposal_with(session: Session, at: bytes) -> str | None:
    """Return the name of a proposal that holds a snapshot, None if none does."""
    holding_names = (
        ref.removeprefix(branches.PROPOSAL_REF_PREFIX)
        for ref, tip in session.reader.list_refs().items()
        if _is_proposal_ref(ref) and at in AncestorSet(session, tip)
    )
    return next(holding_names, None)


def _is_snapshot_id(session: Session, name_or_id: str) -> bool:
    """Tell whether a text is the id of a snapshot, after which a client may have named itself."""
    if not name_or_id or not set(name_or_id) <= _HEX_DIGITS:
        return False
    try:
        return bool(resolve_revision(session, name_or_id))
    except (InvalidInput, NotFound):
        return False


def _no_proposal_error(name_or_id: str) -> NotFound:
    return NotFound(
        f"no open proposal {printable_text(name_or_id, 80)}",
        code="no_proposal",
        hint="see `brain proposal list`",
    )


def _describe_proposal(session: Session, name: str, tip: bytes) -> Proposal:
    base = _find_merge_base(session, session.head(), tip)
    made = _list_snapshots_since(session, base, tip)
    changed = diff.diff_revisions(session, base.hex(), tip.hex())
    return Proposal(name, tip.hex(), base.hex(), made, changed.changes, changed.skills)


def _find_merge_base(session: Session, head: bytes, tip: bytes) -> bytes:
    bases = ancestry.find_merge_bases(
        session.load_snapshot, lineage_cache.list_merges(session), head, tip
    )
    return bases[0] if bases else session.brain_id()


def _list_snapshots_since(session: Session, base: bytes, tip: bytes) -> list[SnapshotInfo]:
    """Return the snapshots of a proposal, newest first."""
    inside = AncestorSet(session, base)
    found = []
    for snapshot_id, snapshot in walk_first_parents(session.load_snapshot, tip):
        if snapshot_id in inside:
            break
        found.append(snapshot_info(snapshot_id, snapshot))
    return found
