"""Merging: two lineages become one again, or say plainly what keeps them apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..errors import Conflict, InvalidInput, NotFound, printable
from ..merging import contents
from ..merging.contents import CHOICES
from ..merging.trees import Contest, State
from ..objects import ancestry, operation
from ..objects import bundle as bundles
from ..results import MergeConflict, Merged, MergedSkill
from ..session import Session
from ..skills import version
from . import appended, derived, folder, kept, lineage_cache, midst
from .byhand import record_by_hand
from .files import Progress, no_progress
from .holdable import refuse_target
from .midst import Midst, Row
from .reconcile import Choose, Clash, Merger, Outcome, paths_of
from .revisions import resolve
from .turn import Turn, locked, recording, transaction

CONTENT = "content"


class _Work(NamedTuple):
    """A merge, worked out: `bases` are sorted, `added` are the paths that are new to our side."""

    bases: list[bytes]
    outcome: Outcome
    merger: Merger
    added: set[str]


def merge(
    session: Session,
    revision: str,
    choice: str | None = None,
    message: str = "",
    progress: Progress = no_progress,
    by: str = "merge",
) -> Merged:
    """Merge a revision into the current branch; see `results.Merged`.

    `choice` ("ours", "theirs" or "both") decides every conflict. With conflicts left,
    nothing is recorded and no file is touched; they wait for `resolve` and `go_on`, with
    a note of the command they came of, `by`.
    Raises `Conflict` (`merging`, `other_brain`).
    """
    with locked(session):
        midst.refuse(session)
        theirs = resolve(session, revision)
        asked = Midst(theirs, revision, session.branch(), message, (), by)
        return _merge(session, asked, lambda contest: choice, progress)


def go_on(session: Session, progress: Progress = no_progress) -> Merged:
    """Finish the merge that waits, with what was decided.

    What changed on either side since is merged as well, and asked about if need be.
    Raises `NotFound` (`no_merge`) or `Conflict` (`other_branch`).
    """
    with locked(session):
        waiting = midst.need(session)
        if waiting.branch != session.branch():
            raise Conflict(
                f"this merge is into {printable(waiting.branch)}",
                code="other_branch",
                hint=f"go there with `brain switch {printable(waiting.branch)}`",
            )
        return _merge(session, waiting, _decided(session, waiting.rows), progress)


def abort(session: Session) -> list[MergeConflict]:
    """Give up the merge that waits; nothing it would have done was done. Raises `NotFound`."""
    with locked(session):
        left = midst.conflicts(session)
        midst.need(session)
        with transaction(session) as tx:
            midst.save(tx, None)
        midst.clear_marked(session)
    return left


def decide(session: Session, wanted: Sequence[str], choice: str) -> list[MergeConflict]:
    """Decide conflicts: "ours", "theirs", "both", or "content" for the file with markers.

    Raises `NotFound` (`no_merge`, `no_conflict`), `InvalidInput` (`markers_left`,
    `no_markers`), or what reading a file raises.
    """
    with locked(session), transaction(session) as tx:
        waiting = midst.need(session)
        rows = {row.path: row for row in waiting.rows}
        for path in wanted:
            if path not in rows:
                raise NotFound(
                    f"no conflict at {printable(path)}",
                    code="no_conflict",
                    hint="see `brain status`",
                )
            chosen = tx.put_blob(_edited(session, path)) if choice == CONTENT else b""
            rows[path] = rows[path]._replace(choice=choice, chosen=chosen)
        midst.save(tx, waiting._replace(rows=tuple(rows.values())))
        return midst.described(session, tuple(rows.values()))


def _edited(session: Session, path: str) -> bytes:
    content = midst.read_marked(session, path)
    if content is None:
        raise InvalidInput(
            f"{printable(path)} has no file with markers",
            code="no_markers",
            hint=f"choose with one of {', '.join('--' + name for name in CHOICES)}",
        )
    if contents.has_markers(content):
        raise InvalidInput(
            f"there are markers left in {printable(midst.marked_file(session, path))}",
            code="markers_left",
            hint="edit the file until it is as it should be",
        )
    return content


def _decided(session: Session, rows: tuple[Row, ...]) -> Choose:
    """Return the decisions of `rows`; one holds only for the sides it was made about."""
    known = {midst.sides_of(row): row for row in rows if row.choice}

    def choose(contest: Contest) -> str | bytes | None:
        row = known.get(midst.sides_of(midst.row_of(Clash(contest, "", None))))
        if row is None:
            return None
        return session.reader.read_blob(row.chosen) if row.choice == CONTENT else row.choice

    return choose


def _merge(session: Session, asked: Midst, choose: Choose, progress: Progress) -> Merged:
    with recording(session, "merge", f"merge {printable(asked.name, 80)}", progress) as mine:
        if session.load(asked.theirs).brain != session.load(mine.head).brain:
            _refuse_other_brain(session, mine.head, asked)
        work = _work(mine, asked.theirs, choose)
        ours = mine.head
        clashes = work.outcome.clashes
        fast_forward = not clashes and work.bases == [ours]
        if clashes:
            asked = asked._replace(rows=_rows(work.outcome, asked.rows))
        elif fast_forward and asked.theirs != ours:
            refuse_target(session, mine.bundle, session.bundle_of(asked.theirs))
            mine.advance(asked.theirs)
            mine.writes.update(work.outcome.edits)
        elif work.bases != [asked.theirs]:
            _record(mine, asked, work)
        midst.save(mine.tx, asked if clashes else None)
    if clashes:
        midst.write_marked(session, clashes, asked.branch, asked.name)
        return _outcome(mine, work, False, midst.conflicts(session))
    midst.clear_marked(session)
    return _outcome(mine, work, fast_forward and mine.head != ours, [])


def _refuse_other_brain(session: Session, head: bytes, asked: Midst) -> None:
    """A genesis names no brain, for it is its own."""
    brains = {session.load(side).brain or side for side in (head, asked.theirs)}
    if len(brains) > 1:
        raise Conflict(
            f"{printable(asked.name)} is a snapshot of another brain",
            code="other_brain",
            hint="a fork is a brain of its own",
        )


def _work(mine: Turn, theirs: bytes, choose: Choose) -> _Work:
    """Work a merge out, on top of what was changed by hand in the files it is about."""
    session = mine.session
    other = State(session.bundle_of(theirs), {})
    while True:
        merges = lineage_cache.merges(session)
        bases = ancestry.merge_bases(session.load, merges, mine.head, theirs)
        merger = Merger(session)
        base = merger.base(bases, merges)
        outcome = merger.merge(base, State(mine.bundle, {}), other, choose)
        if bases not in ([mine.head], [theirs]):
            kept.raise_versions(mine, theirs, outcome, merger)
        by_hand = folder.edits_at(session, mine.tx, mine.bundle, paths_of(outcome))
        if not by_hand:
            return _worked(mine, bases, outcome, merger)
        record_by_hand(mine, by_hand)


def _worked(mine: Turn, bases: list[bytes], outcome: Outcome, merger: Merger) -> _Work:
    """Leave out what is as our side has it already."""
    nodes = mine.session.nodes
    was = {path: bundles.get(nodes, mine.bundle, path) for path in outcome.edits}
    edits = {path: entry for path, entry in outcome.edits.items() if was[path] != entry}
    added = {path for path in edits if was[path] is None}
    return _Work(bases, outcome._replace(edits=edits), merger, added)


def _record(mine: Turn, asked: Midst, work: _Work) -> None:
    session, tx = mine.session, mine.tx
    for path, entry in work.outcome.edits.items():
        if entry is None:
            continue
        if (content := work.merger.made.get(entry.blob)) is not None:
            tx.put_blob(content)
            if derived.may_be_skill(path):
                row = derived.card_row(session, path, entry.blob, content)
                derived.keep_cards(session, [row])
        if (grown := work.merger.grown.get(entry.blob)) is not None:
            appended.keep(session, tx, grown)
    done = operation.merge(work.bases, work.outcome.skills)
    message = asked.message or f"Merge {asked.name}"
    mine.commit(work.outcome.edits, done, message, merged=(asked.theirs,))
    mine.writes.update(work.outcome.edits)


def _rows(outcome: Outcome, earlier: tuple[Row, ...]) -> tuple[Row, ...]:
    """Return what is to decide, and what was decided, so that it need not be asked again."""
    chosen = {midst.sides_of(row): row for row in earlier if row.choice}
    rows = list(map(midst.row_of, outcome.clashes))
    for contest, choice in outcome.decided:
        row = midst.row_of(Clash(contest, midst.reason_of(contest), None))
        if isinstance(choice, str):
            row = row._replace(choice=choice)
        rows.append(chosen.get(midst.sides_of(row), row))
    return tuple(sorted(rows))


def _outcome(
    mine: Turn,
    work: _Work,
    fast_forward: bool,
    conflicts: list[MergeConflict],
) -> Merged:
    session = mine.session
    edits = {} if conflicts else work.outcome.edits
    return Merged(
        mine.head.hex(),
        bundles.bundle_id(mine.bundle).hex(),
        [parent.hex() for parent in session.load(mine.head).parents],
        [base.hex() for base in work.bases],
        mine.head != mine.old_head,
        fast_forward,
        sum(path in work.added for path in edits),
        sum(entry is not None and path not in work.added for path, entry in edits.items()),
        sum(entry is None for entry in edits.values()),
        [MergedSkill(slug, *map(version.value, rest)) for slug, *rest in work.outcome.skills],
        conflicts,
        None,
    )
