"""Merge a revision into the current branch; resume, resolve or abort a merge with conflicts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...errors import Conflict, InvalidInput, NotFound, printable_text
from ...merging import content_merge
from ...merging.content_merge import MERGE_CHOICES
from ...merging.tree_merge import EditedBundle, PathConflict
from ...objects import ancestry, operation
from ...objects import bundle as bundles
from ...results import MergeConflict, Merged, MergedSkill
from ...skills import skill_version
from ..core import working_copy
from ..core.checkout import Progress, no_progress
from ..core.manual_edits import record_manual_edits
from ..core.path_collisions import refuse_invalid_bundle
from ..core.transaction import (
    WriteTransaction,
    lock_for_writing,
    store_transaction,
    write_transaction,
)
from ..open.session import Session
from ..read import card_cache, lineage_cache, skill_rows
from ..read.merge_state_format import ConflictRow, MergeState
from ..read.revisions import resolve_revision
from . import append_merge, merge_state, merge_versions
from .reconcile import Chooser, MergeOutcome, Merger, UnresolvedConflict, list_merge_paths

CONTENT_CHOICE = "content"


class _MergePlan(NamedTuple):
    """A merge, worked out: `bases` are sorted, `added` are the paths that are new to our side."""

    bases: list[bytes]
    outcome: MergeOutcome
    merger: Merger
    added: set[str]


def merge_revision(
    session: Session,
    revision: str,
    choice: str | None = None,
    message: str = "",
    progress: Progress = no_progress,
    command: str = "merge",
) -> Merged:
    """Merge a revision into the current branch; see `results.Merged`.

    `choice` ("ours", "theirs" or "both") decides every conflict. With conflicts left,
    nothing is recorded and no file is touched; they wait for `resolve` and `go_on`, with
    a note of the command they came of, `by`.
    Raises `Conflict` (`merging`, `other_brain`).
    """
    with lock_for_writing(session):
        merge_state.refuse_during_merge(session)
        theirs = resolve_revision(session, revision)
        request = MergeState(theirs, revision, session.current_branch(), message, (), command)
        return _run_merge(session, request, lambda contest: choice, progress)


def resume_merge(session: Session, progress: Progress = no_progress) -> Merged:
    """Finish the merge that waits, with what was decided.

    What changed on either side since is merged as well, and asked about if need be.
    Raises `NotFound` (`no_merge`) or `Conflict` (`other_branch`).
    """
    with lock_for_writing(session):
        state = merge_state.require_merge(session)
        if state.branch != session.current_branch():
            raise Conflict(
                f"this merge is into {printable_text(state.branch)}",
                code="other_branch",
                hint=f"go there with `brain switch {printable_text(state.branch)}`",
            )
        return _run_merge(session, state, _build_chooser(session, state.rows), progress)


def abort_merge(session: Session) -> list[MergeConflict]:
    """Give up the merge that waits; nothing it would have done was done. Raises `NotFound`."""
    with lock_for_writing(session):
        left = merge_state.list_conflicts(session)
        merge_state.require_merge(session)
        with store_transaction(session) as tx:
            merge_state.save_merge_state(tx, None)
        merge_state.remove_marker_files(session)
    return left


def resolve_conflicts(
    session: Session, conflict_paths: Sequence[str], choice: str
) -> list[MergeConflict]:
    """Decide conflicts: "ours", "theirs", "both", or "content" for the file with markers.

    Raises `NotFound` (`no_merge`, `no_conflict`), `InvalidInput` (`markers_left`,
    `no_markers`), or what reading a file raises.
    """
    with lock_for_writing(session), store_transaction(session) as tx:
        state = merge_state.require_merge(session)
        rows = {row.path: row for row in state.rows}
        for path in conflict_paths:
            if path not in rows:
                raise NotFound(
                    f"no conflict at {printable_text(path)}",
                    code="no_conflict",
                    hint="see `brain status`",
                )
            chosen = (
                tx.put_blob(_read_resolved_file(session, path)) if choice == CONTENT_CHOICE else b""
            )
            rows[path] = rows[path]._replace(choice=choice, chosen=chosen)
        merge_state.save_merge_state(tx, state._replace(rows=tuple(rows.values())))
        return merge_state.describe_conflicts(session, tuple(rows.values()))


def _read_resolved_file(session: Session, path: str) -> bytes:
    content = merge_state.read_marker_file(session, path)
    if content is None:
        raise InvalidInput(
            f"{printable_text(path)} has no file with markers",
            code="no_markers",
            hint=f"choose with one of {', '.join('--' + name for name in MERGE_CHOICES)}",
        )
    if content_merge.has_conflict_markers(content):
        raise InvalidInput(
            f"there are markers left in {printable_text(merge_state.marker_file(session, path))}",
            code="markers_left",
            hint="edit the file until it is as it should be",
        )
    return content


def _build_chooser(session: Session, rows: tuple[ConflictRow, ...]) -> Chooser:
    """Return the decisions of `rows`; one holds only for the sides it was made about."""
    decided_rows = {merge_state.conflict_sides(row): row for row in rows if row.choice}

    def choose(contest: PathConflict) -> str | bytes | None:
        row = decided_rows.get(
            merge_state.conflict_sides(
                merge_state.build_conflict_row(UnresolvedConflict(contest, "", None))
            )
        )
        if row is None:
            return None
        return session.reader.read_blob(row.chosen) if row.choice == CONTENT_CHOICE else row.choice

    return choose


def _run_merge(
    session: Session, request: MergeState, choose: Chooser, progress: Progress
) -> Merged:
    with write_transaction(
        session, "merge", f"merge {printable_text(request.revision, 80)}", progress
    ) as txn:
        if session.load_snapshot(request.theirs).brain != session.load_snapshot(txn.head).brain:
            _refuse_other_brain(session, txn.head, request)
        plan = _plan_merge(txn, request.theirs, choose)
        ours = txn.head
        unresolved = plan.outcome.unresolved
        fast_forward = not unresolved and plan.bases == [ours]
        if unresolved:
            request = request._replace(rows=_build_conflict_rows(plan.outcome, request.rows))
        elif fast_forward and request.theirs != ours:
            refuse_invalid_bundle(session, txn.bundle, session.bundle_of(request.theirs))
            txn.move_head(request.theirs)
            txn.writes.update(plan.outcome.edits)
        elif plan.bases != [request.theirs]:
            _record_merge(txn, request, plan)
        merge_state.save_merge_state(txn.store_tx, request if unresolved else None)
    if unresolved:
        merge_state.write_marker_files(session, unresolved, request.branch, request.revision)
        return _build_merge_result(txn, plan, False, merge_state.list_conflicts(session))
    merge_state.remove_marker_files(session)
    return _build_merge_result(txn, plan, fast_forward and txn.head != ours, [])


def _refuse_other_brain(session: Session, head: bytes, request: MergeState) -> None:
    """A genesis names no brain, for it is its own."""
    brains = {session.load_snapshot(side).brain or side for side in (head, request.theirs)}
    if len(brains) > 1:
        raise Conflict(
            f"{printable_text(request.revision)} is a snapshot of another brain",
            code="other_brain",
            hint="a fork is a brain of its own",
        )


def _plan_merge(txn: WriteTransaction, theirs: bytes, choose: Chooser) -> _MergePlan:
    """Work a merge out, on top of what was changed by hand in the files it is about."""
    session = txn.session
    other = EditedBundle(session.bundle_of(theirs), {})
    while True:
        merges = lineage_cache.list_merges(session)
        bases = ancestry.find_merge_bases(session.load_snapshot, merges, txn.head, theirs)
        merger = Merger(session)
        base = merger.build_base(bases, merges)
        outcome = merger.merge(base, EditedBundle(txn.bundle, {}), other, choose)
        if bases not in ([txn.head], [theirs]):
            merge_versions.raise_versions(txn, theirs, outcome, merger)
        by_hand = working_copy.store_edits_at(
            session, txn.store_tx, txn.bundle, list_merge_paths(outcome)
        )
        if not by_hand:
            return _drop_unchanged_edits(txn, bases, outcome, merger)
        record_manual_edits(txn, by_hand)


def _drop_unchanged_edits(
    txn: WriteTransaction, bases: list[bytes], outcome: MergeOutcome, merger: Merger
) -> _MergePlan:
    """Leave out what is as our side has it already."""
    nodes = txn.session.nodes
    was = {path: bundles.get_entry(nodes, txn.bundle, path) for path in outcome.edits}
    edits = {path: entry for path, entry in outcome.edits.items() if was[path] != entry}
    added = {path for path in edits if was[path] is None}
    return _MergePlan(bases, outcome._replace(edits=edits), merger, added)


def _record_merge(txn: WriteTransaction, request: MergeState, plan: _MergePlan) -> None:
    session, tx = txn.session, txn.store_tx
    for path, entry in plan.outcome.edits.items():
        if entry is None:
            continue
        if (content := plan.merger.new_blobs.get(entry.blob)) is not None:
            tx.put_blob(content)
            if skill_rows.may_be_skill(path):
                row = card_cache.build_card_row(session, path, entry.blob, content)
                card_cache.stage_cards(session, [row])
        if (appended_blob := plan.merger.appended_blobs.get(entry.blob)) is not None:
            append_merge.store_appended(session, tx, appended_blob)
    done = operation.merge_operation(plan.bases, plan.outcome.skills)
    message = request.message or f"Merge {request.revision}"
    txn.record_snapshot(plan.outcome.edits, done, message, merged=(request.theirs,))
    txn.writes.update(plan.outcome.edits)


def _build_conflict_rows(
    outcome: MergeOutcome, earlier: tuple[ConflictRow, ...]
) -> tuple[ConflictRow, ...]:
    """Return what is to decide, and what was decided, so that it need not be asked again."""
    chosen = {merge_state.conflict_sides(row): row for row in earlier if row.choice}
    rows = list(map(merge_state.build_conflict_row, outcome.unresolved))
    for contest, choice in outcome.decided:
        row = merge_state.build_conflict_row(
            UnresolvedConflict(contest, merge_state.conflict_reason(contest), None)
        )
        if isinstance(choice, str):
            row = row._replace(choice=choice)
        rows.append(chosen.get(merge_state.conflict_sides(row), row))
    return tuple(sorted(rows))


def _build_merge_result(
    txn: WriteTransaction,
    plan: _MergePlan,
    fast_forward: bool,
    conflicts: list[MergeConflict],
) -> Merged:
    session = txn.session
    edits = {} if conflicts else plan.outcome.edits
    return Merged(
        txn.head.hex(),
        bundles.bundle_id(txn.bundle).hex(),
        [parent.hex() for parent in session.load_snapshot(txn.head).parents],
        [base.hex() for base in plan.bases],
        txn.head != txn.old_head,
        fast_forward,
        sum(path in plan.added for path in edits),
        sum(entry is not None and path not in plan.added for path, entry in edits.items()),
        sum(entry is None for entry in edits.values()),
        [
            MergedSkill(slug, *map(skill_version.version_value, rest))
            for slug, *rest in plan.outcome.skills
        ],
        conflicts,
        None,
    )
