"""Merge a revision into the current branch; resolve conflicts, resume or abort a merge."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import takewhile

from .. import limits
from ..digest import NO_DIGEST, is_hex
from ..errors import Conflict, InvalidInput, NotFound, printable_text
from ..folder.read import read_bounded_file
from ..merging import content_merge
from ..merging.content_merge import MERGE_CHOICES, Decision
from ..merging.lines import ContentSides, find_conflict_marker
from ..objects import lineage, operation
from ..objects.bundle import Edits
from ..objects.collisions import require_portable
from ..objects.lineage import walk_first_parents
from ..repo import derive, lineage_cache, working_copy
from ..repo.lineage_cache import AncestorSet
from ..repo.log_entry import ACCEPT_COMMAND, ConflictRow, MergeState
from ..repo.session import Session, head_ref
from ..repo.transaction import (
    WriteTransaction,
    lock_for_writing,
    store_transaction,
    write_transaction,
)
from ..repo.working_copy import BlobBatch
from ..results import MergeConflict, Merged, MergedSkill
from ..skills import skill_version
from ..skills.skill_layout import FOLDER_SUFFIXES
from ..util.progress import Progress, no_progress
from ..util.text import login_name
from . import merge_state
from .branches import PROPOSAL_REF_PREFIX, list_proposal_tips
from .merge_contents import (
    CONTENT_CHOICE,
    Chooser,
    PathConflict,
    StateMerge,
    build_base,
)

Prepare = Callable[[WriteTransaction], bytes]
"""Records what is to be merged, and returns its snapshot."""


def start_merge(
    session: Session,
    rev: str,
    choice: str | None = None,
    message: str = "",
    progress: Progress | None = None,
) -> Merged:
    """Merge a revision into the current branch.

    `choice` ("ours", "theirs" or "both") decides every conflict. If conflicts remain, nothing
    is recorded and no file is written: see `list_conflicts`, `resolve` and `resume`. Redacted
    files are left out, and named by `notices`.
    Raises `Conflict` (`merging`, `other_brain`) or `InvalidInput` (`bad_choice`).
    """
    if choice is not None:
        _check_choice(choice, MERGE_CHOICES)
    return begin_merge(session, rev, message, "merge", lambda _: choice, progress)


def begin_merge(
    session: Session,
    rev: str,
    message: str,
    command: str,
    choose: Chooser,
    progress: Progress | None,
    prepare: Prepare | None = None,
) -> Merged:
    """Merge a revision; `command` is stored with the merge.

    `prepare` may record what is merged instead, in the same operation, and return its snapshot.
    """
    head = session.head()
    with lock_for_writing(session):
        merge_state.refuse_during_merge(session)
        request = MergeState(
            theirs=session.resolve(rev),
            revision=rev,
            branch=session.current_branch(),
            message=message,
            command=command,
        )
        merged, request = _run_merge(session, request, choose, progress or no_progress, prepare)
    _sign_accepted(session, request, head)
    return merged


def resume_merge(session: Session, progress: Progress | None = None) -> Merged:
    """Record the unfinished merge, also that of a proposal, once its conflicts are resolved.

    Later changes of either side are merged as well, and may be conflicts in turn. If it accepts
    a proposal, it signs as `proposals.accept` does. Raises `NotFound` (`no_merge`, or
    `no_proposal` if the proposal was rejected since), `Conflict` (`other_branch`) or
    `InvalidInput` (`bad_choice`, of a conflict that is to be resolved again).
    """
    head = session.head()
    with lock_for_writing(session):
        state = merge_state.require_merge(session)
        tips = list_proposal_tips(session).values()
        if state.command == ACCEPT_COMMAND and not any(
            state.theirs in AncestorSet(session, tip) for tip in tips
        ):
            raise NotFound(
                "the proposal of the pending merge was rejected",
                code="no_proposal",
                hint="abort the merge with `brain merge --abort`",
            )
        if state.branch != session.current_branch():
            raise Conflict(
                f"the pending merge is into {state.branch}",
                code="other_branch",
                hint=f"switch to it with `brain switch {printable_text(state.branch)}`",
            )
        rows = {_subject_of(row): row for row in state.rows if row.choice}

        def choose(conflict: PathConflict) -> Decision | None:
            row = rows.get(_subject_of(conflict.to_row()))
            if row is not None and row.choice == CONTENT_CHOICE:
                return session.reader.read_blob(row.chosen)
            if row is not None:
                _check_choice(
                    row.choice, MERGE_CHOICES, f"the conflict at {printable_text(row.path)}"
                )
            return row and row.choice

        merged, _ = _run_merge(session, state, choose, progress or no_progress)
    _sign_accepted(session, state, head)
    return merged


def _check_choice(choice: str, choices: Sequence[str], what: str = "a conflict") -> None:
    if choice not in choices:
        raise InvalidInput(
            f"{printable_text(choice) or 'no text'} does not decide {what}",
            code="bad_choice",
            hint=f"choose one of {', '.join(choices)}",
        )


def _sign_accepted(session: Session, request: MergeState, head_before: bytes) -> None:
    if (
        request.command == ACCEPT_COMMAND
        and session.sign_with is not None
        and request.theirs in AncestorSet(session, session.head())
    ):
        from ..repo.signing.missing_signatures import sign_missing_but

        before = AncestorSet(session, head_before)
        sign_missing_but(session, request.theirs, session.sign_with(), before)


def _subject_of(row: ConflictRow) -> tuple[object, ...]:
    """Return what a decision holds for: the name or the content, of the same contents only."""
    return row.path, row.reason == "renamed", row.base, row.ours, row.theirs


def abort_merge(session: Session) -> list[MergeConflict]:
    """Give up the unfinished merge; return its conflicts. Raises `NotFound` (`no_merge`)."""
    with lock_for_writing(session):
        conflicts = merge_state.list_conflicts(session)
        merge_state.require_merge(session)
        with store_transaction(session) as tx:
            merge_state.save_merge_state(tx, None)
        merge_state.remove_marker_files(session)
    return conflicts


def resolve_conflicts(session: Session, paths: Sequence[str], choice: str) -> list[MergeConflict]:
    """Decide conflicts: "ours", "theirs", "both", or "content" for the edited marker file.

    A decision is about the files as they are by now, which may be later than the conflict; what
    was changed since is merged into an edited marker file. Raises `NotFound` (`no_merge`,
    `no_conflict`), `InvalidInput` (`bad_choice`, `markers_left`, `no_markers`, `too_large`, and
    as `read_bounded_file`) or `Conflict` (`stale_markers`).
    """
    _check_choice(choice, (*MERGE_CHOICES, CONTENT_CHOICE))
    with lock_for_writing(session), store_transaction(session) as tx:
        state = merge_state.require_merge(session)
        # The text of a skill is asked about after its name, and then the path means the text.
        names_first = sorted(state.rows, key=lambda row: row.reason != "renamed")
        rows = {row.path: row for row in names_first}
        others = [row for row in state.rows if rows[row.path] is not row]
        bundle = session.at()
        edits = working_copy.store_edits_at(tx, bundle, rows.keys() & paths)
        for path in paths:
            if path not in rows:
                raise NotFound(
                    f"there is no conflict at {path}",
                    code="no_conflict",
                    hint="`brain status` lists the conflicts",
                )
            row = rows[path]
            known = bundle.get(path)
            # Ours may be at another path: it was renamed, or collides with theirs.
            if not row.our_path and (known or path in edits or not row.ours):
                entry = edits.get(path, known)
                row = row._replace(ours=entry.blob if entry is not None else b"")
            chosen = b""
            if choice == CONTENT_CHOICE:
                chosen = tx.put_blob(_read_resolved_file(session, rows[path], row.ours))
            rows[path] = row._replace(choice=choice, chosen=chosen)
        new_rows = tuple(sorted([*others, *rows.values()]))
        merge_state.save_merge_state(tx, state._replace(rows=new_rows))
        return merge_state.describe_conflicts(session, new_rows)


def _read_resolved_file(session: Session, row: ConflictRow, ours: bytes) -> bytes:
    """Return the edited marker file of a conflict, with what changed from its `ours` to `ours`."""
    path = row.path
    file = merge_state.marker_file(session, path)
    if file.is_symlink() or not file.is_file():
        raise InvalidInput(
            f"no file with conflict markers exists for {path}",
            code="no_markers",
            hint=f"choose with one of {', '.join('--' + name for name in MERGE_CHOICES)}",
        )
    place = file.relative_to(session.control_folder).as_posix()
    content = read_bounded_file(session.control_folder, place, limits.MAX_LINE_MERGE_BYTES)
    if content is None:
        raise InvalidInput(
            f"{path} is too large to be merged",
            code="too_large",
            hint="choose one side with `brain resolve PATH --ours` or `--theirs`",
        )
    if find_conflict_marker(content):
        raise InvalidInput(
            f"there are conflict markers left in {file}",
            code="markers_left",
            hint="edit the file and remove the lines with markers",
        )
    if ours == row.ours:
        return content
    read = session.reader.read_blob
    sides = ContentSides(read(row.ours), content, read(ours)) if ours and row.ours else None
    draft = content_merge.draft_merge(path, sides, "") if sides else None
    merged = content_merge.finish_merge(draft, None) if draft else None
    if merged is None:
        raise Conflict(
            f"{path} was changed in other ways than its file with markers",
            code="stale_markers",
            hint="choose the file as it is by now with `brain resolve PATH --ours`, or `--theirs`",
        )
    return merged


def _run_merge(
    session: Session,
    request: MergeState,
    choose: Chooser,
    progress: Progress,
    prepare: Prepare | None = None,
) -> tuple[Merged, MergeState]:
    """Merge what is requested, or leave it pending.

    Accepting a proposal always records a snapshot, which names who accepted it.
    """
    description = f"{request.command} {printable_text(_short_revision(request), 80)}"
    with write_transaction(session, "merge", description, progress) as txn:
        brains = {  # a genesis names no brain: its own id is that of the brain
            session.load_snapshot(side).brain or side for side in (txn.head, request.theirs)
        }
        if len(brains) > 1:
            raise Conflict(
                f"{request.revision} is a snapshot of another brain",
                code="other_brain",
                hint="a fork is a separate brain",
            )
        if prepare is not None:
            request = request._replace(theirs=prepare(txn))
        approver = find_approver(session, request)
        bases, merge = _merge_states(txn, request.theirs, choose)
        ours, unresolved = txn.head, merge.unresolved
        edits: Edits = {}
        if not unresolved:
            edits = working_copy.drop_unchanged_edits(txn.state, merge.edits)
        added = sum(not txn.state.has(path) for path in edits)
        removed = sum(entry is None for entry in edits.values())
        is_whole = not any(notice.code == "redacted" for notice in merge.notices)
        fast_forward = bases == [ours] and not approver and not unresolved and is_whole
        if unresolved:
            # The decided ones stay, so that they are not asked again.
            rows = tuple(sorted(conflict.to_row() for conflict in merge.conflicts))
            merge_state.save_merge_state(txn.store_tx, request._replace(rows=rows))
        else:
            merge_state.save_merge_state(txn.store_tx, None)
            if fast_forward and request.theirs != ours:
                require_portable(session.reader, txn.state, session.state_of(request.theirs))
                txn.move_head(request.theirs)
                txn.writes.update(edits)
            elif bases != [request.theirs]:
                _record_merge(txn, request, bases, merge, edits, session.author or approver)
            if request.command == ACCEPT_COMMAND:
                _delete_accepted(txn, request.theirs)
    if unresolved:
        merge_state.write_marker_files(session, unresolved, request.branch, request.revision)
    else:
        merge_state.remove_marker_files(session)
    merged = Merged(
        snapshot=txn.head.hex(),
        bundle=txn.state.id.hex(),
        parents=[parent.hex() for parent in session.load_snapshot(txn.head).parents],
        bases=[base.hex() for base in bases],
        changed=txn.head != txn.old_head,
        fast_forward=fast_forward and txn.head != ours,
        added=added,
        modified=len(edits) - added - removed,
        removed=removed,
        skills=[
            MergedSkill(slug, *map(skill_version.version_value, rest))
            for slug, *rest in merge.skills
        ],
        conflicts=merge_state.list_conflicts(session),
        notices=merge.notices,
        commitment=None,
    )
    return merged, request


def _merge_states(
    txn: WriteTransaction, theirs: bytes, choose: Chooser
) -> tuple[list[bytes], StateMerge]:
    """Merge the states of both sides; manual edits that the merge is about are recorded first."""
    session = txn.session
    while True:
        merges = lineage_cache.list_merges(session)
        bases = lineage.find_merge_bases(session.load_snapshot, merges, txn.head, theirs)
        new_blobs: dict[bytes, bytes] = {}
        base = build_base(session, bases, merges, new_blobs)
        states = base, txn.state, session.state_of(theirs)
        merge = StateMerge(session, states, choose, new_blobs)
        if bases not in ([txn.head], [theirs]):
            merge.raise_versions(txn.head, theirs)
        session.nodes.drop_unstored()  # of a base that was merged itself, and of renamed skills
        head = txn.head
        deleted = [path for path, entry in merge.edits.items() if entry is None]
        txn.record_edits_below(
            path.rpartition("/")[0]
            for path in deleted
            if path.endswith(FOLDER_SUFFIXES) and derive.may_be_skill(path)
        )
        txn.record_edits_at(sorted({*merge.edits, *(item.path for item in merge.unresolved)}))
        if txn.head == head:
            return bases, merge


def _record_merge(
    txn: WriteTransaction,
    request: MergeState,
    bases: list[bytes],
    merge: StateMerge,
    edits: Edits,
    author: str,
) -> None:
    batch = BlobBatch(txn.session)
    for path, entry in edits.items():
        if entry is not None and (content := merge.new_blobs.get(entry.blob)) is not None:
            batch.add(path, content)
    batch.store(txn.store_tx)
    stated = [
        row
        for row in merge.skills
        if all(not text or operation.is_version(text) for text in row[1:])
    ]
    merge_operation = operation.merge_operation(bases, stated)
    message = request.message or f"Merge {_short_revision(request)}"
    txn.record_snapshot(edits, merge_operation, message, merged=(request.theirs,), author=author)
    txn.writes.update(edits)


def _delete_accepted(txn: WriteTransaction, theirs: bytes) -> None:
    """Delete the branches of proposals that have nothing beyond what was accepted."""
    accepted, session = AncestorSet(txn.session, theirs), txn.session
    for name in list_proposal_tips(session):
        ref = PROPOSAL_REF_PREFIX + name
        tip = txn.store_tx.read_ref(ref)
        if tip is not None and tip in accepted and ref != head_ref(txn.branch):
            txn.store_tx.update_ref(ref, tip, None)
            before = next((old for one, old, _ in txn.other_refs if one == ref), tip)
            txn.other_refs = [move for move in txn.other_refs if move[0] != ref]
            txn.other_refs.append((ref, before, NO_DIGEST))


def _short_revision(request: MergeState) -> str:
    return request.revision[:12] if is_hex(request.revision) else request.revision


def find_approver(session: Session, request: MergeState) -> str:
    """Return who takes over a proposal, or a part of one, by a merge; "" if it takes over none.

    Nobody accepts what they proposed. A reviewer may have edited the proposal: their snapshots have
    no receipt, and one by the proposer before them. Raises `Conflict` (`own_proposal`).
    """
    tips = list_proposal_tips(session).values()
    branches = [
        AncestorSet(session, head)
        for ref, head in session.reader.list_refs().items()
        if ref.startswith(head_ref("")) and not ref.startswith(PROPOSAL_REF_PREFIX)
    ]

    def is_in_branch(snapshot_id: bytes) -> bool:
        return any(snapshot_id in branch for branch in branches)

    theirs = request.theirs
    is_said = request.command == ACCEPT_COMMAND or head_ref(request.revision).startswith(
        PROPOSAL_REF_PREFIX
    )  # also of a proposal that was rejected while its merge waited
    if not (is_said or theirs in tips) and (
        is_in_branch(theirs) or not any(theirs in AncestorSet(session, tip) for tip in tips)
    ):
        return ""
    snapshots = walk_first_parents(session.load_snapshot, theirs)
    made = [one for _, one in takewhile(lambda pair: not is_in_branch(pair[0]), snapshots)]
    proposers = {one.author for one in made[:-1] if one.receipt} | {one.author for one in made[-1:]}
    approver = session.author or login_name()
    if approver in proposers:
        raise Conflict(
            f"{printable_text(approver, 80)} made this proposal, and cannot accept it",
            code="own_proposal",
            hint="accept it as the person who reviewed it: `brain --author NAME proposal accept`",
        )
    return approver
