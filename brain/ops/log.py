"""The log, the details of a snapshot, the history of a skill, and the decisions about it."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from itertools import islice
from math import inf
from operator import attrgetter
from typing import TYPE_CHECKING

from .. import results
from ..errors import NotFound
from ..objects import lineage, operation
from ..objects.operation import DECISION_KINDS
from ..objects.paths import is_at_or_below
from ..objects.snapshot import Snapshot
from ..objects.tree_node import ENTRY_KIND_NAMES
from ..repo import derive, find_skill, lineage_cache
from ..repo.derived_db import skill_key
from ..repo.find_skill import FoundSkill, Skills
from ..repo.lineage_cache import AncestorSet
from ..repo.session import BrainState, Session, list_rejected_refs
from ..results import FileInfo, SkillDecision, SnapshotInfo
from ..results.text_format import DECISION_WORDS
from ..skills import skill_layout, skill_version
from ..skills.slug import slugify
from ..util.utc_time import utc_time

if TYPE_CHECKING:
    from ..repo.derived_db import SkillHistoryRow


_EDIT = re.compile(r"[1-9][0-9]{0,8}")
"""The number of an edit that kept the version, in SKILL@VERSION+NUMBER."""


def snapshot_info(
    session: Session, snapshot_id: bytes, snapshot: Snapshot, signers: list[str]
) -> SnapshotInfo:
    """Return a snapshot as an entry of the log; `signers` are from `signer_finder`."""
    action = operation.operation_to_json(snapshot.operation)
    if action["kind"] in operation.DECISION_KINDS:
        action["summary"] = read_decision(session, snapshot_id, snapshot).summary
    return SnapshotInfo(
        snapshot=snapshot_id.hex(),
        bundle=snapshot.bundle.hex(),
        parents=[parent.hex() for parent in snapshot.parents],
        generation=snapshot.generation,
        author=snapshot.author,
        time=utc_time(snapshot.time),
        message=snapshot.message,
        operation=action,
        receipt=snapshot.receipt.hex() or None,
        signers=signers,
    )


def signer_finder(session: Session) -> Callable[[bytes], list[str]]:
    """Return a function that finds the keys with a valid signature of a snapshot."""
    if next(session.reader.stream_signatures(), None) is None:  # which spares asking for each
        return lambda _: []
    from ..repo.signing.sign import read_valid_signatures

    return lambda snapshot_id: [row.key for row in read_valid_signatures(session, snapshot_id)]


def log(
    session: Session,
    rev: str = "@",
    limit: int | None = None,
    skill: str | None = None,
    *,
    paths: Sequence[str] = (),
) -> Iterator[SnapshotInfo]:
    """Yield a revision and its ancestors, newest first.

    `rev` may be a range `A..B`, each `@` by default: then only B and its ancestors without those
    of A. With `skill`, only snapshots that changed it; with `paths`, only those that changed
    something at or below them. Raises `NotFound` (`no_skill`).
    """
    load = session.load_snapshot
    old, dots, new = rev.partition("..")
    left_out = session.resolve(old or "@") if dots else None
    start = session.resolve((new or "@") if dots else rev)
    pairs: Iterator[tuple[bytes, Snapshot]]
    if skill is not None:
        rows = reversed(find_skill_changes(session, start, skill))
        known = AncestorSet(session, left_out) if left_out is not None else ()
        pairs = ((row.snapshot, load(row.snapshot)) for row in rows if row.snapshot not in known)
    elif left_out is None:
        pairs = lineage.walk_ancestors(load, start)
    else:
        pairs = ((here, load(here)) for here in lineage.walk_range(load, start, left_out))
    if paths:
        pairs = (pair for pair in pairs if _changes_paths(session, pair[1], paths))
    find_signers = signer_finder(session)
    return (snapshot_info(session, *pair, find_signers(pair[0])) for pair in islice(pairs, limit))


def resolve(session: Session, rev: str) -> str:
    """Return the id of the snapshot that `rev` names. Raises `InvalidInput` or `NotFound`."""
    return session.resolve(rev).hex()


def _changes_paths(session: Session, snapshot: Snapshot, wanted_paths: Sequence[str]) -> bool:
    """Tell whether a snapshot differs at these paths from every parent, as in git's log."""
    after = session.load_state(snapshot.bundle)
    parents = [session.state_of(parent) for parent in snapshot.parents] or [BrainState(session)]
    return all(
        any(is_at_or_below(item.path, wanted_paths) for item in before.diff(after))
        for before in parents
    )


def list_revision_files(session: Session, rev: str = "@") -> list[FileInfo]:
    """Return all files at a revision, by section and path, without their content."""
    return [
        FileInfo(entry.path, ENTRY_KIND_NAMES[entry.kind], entry.blob.hex(), entry.size)
        for entry in session.at(rev).walk()
    ]


def show(session: Session, rev: str = "@") -> results.SnapshotDetails:
    """Return one snapshot with its changes since its first parent, counts, sections, signatures."""
    from ..repo.signing.sign import read_valid_signatures
    from . import diff

    snapshot_id = session.resolve(rev)
    snapshot = session.load_snapshot(snapshot_id)
    after = session.load_state(snapshot.bundle)
    before = session.parent_state(snapshot)
    total = after.totals
    counts = {"files": total.files, "bytes": total.bytes, "added": 0, "modified": 0, "removed": 0}
    for _, was, now in before.diff(after):
        counts["added" if was is None else "removed" if now is None else "modified"] += 1
    sections = {
        name: results.SectionInfo(root.node.hex(), root.files, root.bytes)
        for name, root in after.sections.items()
    }
    changed = diff.diff_states(("", before), (snapshot_id.hex(), after))
    signatures = read_valid_signatures(session, snapshot_id)
    return results.SnapshotDetails(
        info=snapshot_info(session, snapshot_id, snapshot, [row.key for row in signatures]),
        counts=counts,
        sections=sections,
        signatures=signatures,
        changes=changed.changes,
        skills=changed.skills,
        verdict=read_decision(session, snapshot_id, snapshot).verdict
        if snapshot.operation[0] in DECISION_KINDS
        else None,
    )


def find_skill_changes(session: Session, head: bytes, slug_or_path: str) -> list[SkillHistoryRow]:
    """Return the changes of a skill in the lineage of `head`, oldest first; renames are followed.

    Raises `NotFound` (`no_skill`) if there are none.
    """
    found = _iter_skill_changes(session, head, slug_or_path)
    rows = list(dict.fromkeys(row for row, inside in found if row.snapshot in inside))
    # A skill that only moved is removed by the snapshot that adds it.
    added = {row.snapshot for row in rows if row.change == derive.ADDED}
    rows = [row for row in rows if row.change != derive.REMOVED or row.snapshot not in added]
    if not rows:
        raise NotFound(
            f"the skill {slug_or_path} is not in this lineage",
            code="no_skill",
            hint="`brain skill list` lists the skills; an earlier name counts, too",
        )
    return sorted(rows, key=attrgetter("generation"))


def _iter_skill_changes(
    session: Session, head: bytes, slug_or_path: str, version: str | None = None
) -> Iterator[tuple[SkillHistoryRow, AncestorSet]]:
    """Yield the logged changes of a skill, each with the lineage it must be in to count.

    Renames are followed. The membership test is costly, so the caller makes it, for the rows
    that matter only.
    """
    start = AncestorSet(session, head)
    queue = [(path, start) for path in _find_skill_paths(session, start, slug_or_path)]
    own_paths = {path for path, _ in queue}
    followed: set[tuple[str, bytes]] = set()
    while queue:
        path, inside = queue.pop()
        for row in lineage_cache.read_skill_rows(session, path, version):
            yield row, inside
            if row.change == derive.ADDED and row.snapshot in inside:
                source = _find_rename_source(session, row)
                if source is not None and source[0] not in own_paths and source not in followed:
                    followed.add(source)  # a merge may join two lineages that renamed it
                    queue.append((source[0], AncestorSet(session, source[1])))


def _find_rename_source(session: Session, row: SkillHistoryRow) -> tuple[str, bytes] | None:
    """Return the path that an added skill had before, and the snapshot that has it there."""
    snapshot = session.load_snapshot(row.snapshot)
    kind, *fields = snapshot.operation
    if kind == "genesis" or (kind == "upsert" and not fields[1]):  # a new skill
        return None
    from . import diff

    parent, *others = snapshot.parents
    if any(session.state_of(p).has(row.path) for p in others):
        return None  # it came from the other side of a merge, where its history goes on
    moved = diff.find_rename_source(session, parent, row.snapshot, row.path)
    return (moved.path, parent) if moved is not None else None


def _find_skill_paths(session: Session, inside: AncestorSet, slug_or_path: str) -> list[str]:
    head = session.at()
    current = Skills(head).find_or_none(slug_or_path)
    if "/" in slug_or_path:
        return [current.path] if current else skill_layout.path_candidates(slug_or_path)
    slug = current.slug if current else slugify(slug_or_path)
    known_paths = find_skill.find_paths_in_lineage(session, inside, slug)
    if current is None:
        return known_paths
    # What is a skill at the head under another path has a history of its own.
    others = (path for path in known_paths if path != current.path)
    return [current.path, *(path for path in others if not derive.is_skill(head, path))]


def read_skill_history(session: Session, slug: str) -> list[results.SkillVersion]:
    """Return the snapshots in which a skill changed, newest first. Raises `NotFound` (`no_skill`).

    A skill that was deleted is named by its slug, too.
    """
    rows = find_skill_changes(session, session.head(), slug)
    paths = {row.path for row in rows}
    names = _name_changes(session, session.head(), rows)
    versions = []
    for row in reversed(rows):
        snapshot = session.load_snapshot(row.snapshot)
        change = derive.SKILL_CHANGE_NAMES[row.change]
        if row.change == derive.ADDED and len(paths) > 1:
            source = _find_rename_source(session, row)
            if source is not None and source[0] in paths:
                change = "renamed"
        versions.append(
            results.SkillVersion(
                version=skill_version.version_value(row.version),
                snapshot=row.snapshot.hex(),
                time=utc_time(snapshot.time),
                author=snapshot.author,
                change=change,
                path=row.path,
                message=snapshot.message,
                name=names.get(row, ""),
            )
        )
    return versions


def _name_changes(
    session: Session, head: bytes, rows: Sequence[SkillHistoryRow]
) -> dict[SkillHistoryRow, str]:
    """Return the name of the text that each change made: its version, or one such as 1+1."""
    by_version: dict[str, list[SkillHistoryRow]] = {}
    for row in rows:
        if row.change != derive.REMOVED:
            by_version.setdefault(row.version, []).append(row)
    return {
        row: f"{version}+{number}" if number else version
        for version, some in by_version.items()
        for row, number in _number_texts(session, head, some)
    }


def _number_texts(
    session: Session, head: bytes, rows: list[SkillHistoryRow]
) -> Iterator[tuple[SkillHistoryRow, int]]:
    """Yield the changes that made texts of one version, with the number of the text, from 0."""
    if len(rows) == 1:
        yield rows[0], 0
        return
    numbers: dict[bytes, int] = {}
    for row in _sort_as_they_came(session, head, rows):
        entry = session.state_of(row.snapshot).get(row.path)
        # A merge brings a text that is there already.
        yield row, numbers.setdefault(entry.blob if entry else b"", len(numbers))


def _sort_as_they_came(
    session: Session, head: bytes, rows: list[SkillHistoryRow]
) -> list[SkillHistoryRow]:
    """Sort changes by when they came to the line of first parents of `head`.

    What a merge brought is in the order of its side, before the merge itself. So on a line the
    order of the changes that are there never changes.
    """
    load = session.load_snapshot
    rows = sorted(rows, key=attrgetter("generation", "snapshot"))

    def is_on_line(tip: bytes, snapshot_id: bytes) -> bool:
        return lineage.find_ancestor_at(load, tip, load(snapshot_id).jump.depth) == snapshot_id

    if all(is_on_line(head, row.snapshot) for row in rows):
        return rows
    merges = lineage_cache.list_merges(session)
    list_above = cache(lambda tip: [one for one, _ in merges if is_on_line(tip, one)])
    ancestors_of = cache(partial(AncestorSet, session))

    @cache
    def find_places(snapshot_id: bytes) -> list[tuple[int, float]]:
        tip, places = head, list[tuple[int, float]]()
        while not is_on_line(tip, snapshot_id):
            on_line = list_above(tip)
            found = bisect_left(on_line, True, key=lambda one: snapshot_id in ancestors_of(one))
            merge = load(on_line[found])
            sides = enumerate(merge.parents[1:])
            side, tip = next(pair for pair in sides if snapshot_id in ancestors_of(pair[1]))
            places.append((merge.jump.depth, side))
        return [*places, (load(snapshot_id).jump.depth, inf)]

    return sorted(rows, key=lambda row: find_places(row.snapshot))


def find_skill_at_version(
    session: Session, head: bytes, slug_or_path: str, wanted_version: str
) -> tuple[bytes, FoundSkill]:
    """Return the snapshot that made a version of a skill, and the skill there.

    The first text of version 1 is 1. Texts that kept that number, as edits of the file do, are
    1+1, 1+2 and so on, in the order in which they came to the branch: what a merge brings is
    behind what was there. Raises `NotFound` (`no_skill`, `no_version`).
    """
    version, _, edit = wanted_version.rpartition("+")
    if not version or not _EDIT.fullmatch(edit):
        version, edit = wanted_version, "0"
    for wanted, number in ((wanted_version, 0), (version, int(edit))):  # 1.0+1 may be a version
        rows = [
            row
            for row, inside in _iter_skill_changes(session, head, slug_or_path, wanted)
            if row.version == wanted and row.change != derive.REMOVED and row.snapshot in inside
        ]
        for row, found in _number_texts(session, head, rows):
            if found == number:
                return row.snapshot, Skills(session.state_of(row.snapshot)).load(row.path)
    names = _name_changes(session, head, find_skill_changes(session, head, slug_or_path))
    every = list(dict.fromkeys(names.values()))
    raise NotFound(
        f"{slug_or_path} has no version {wanted_version}",
        code="no_version",
        hint=f"{'the newest are' if len(every) > 8 else 'it has'} {', '.join(every[-8:])}",
    )


_UNREAD_VERDICTS = {
    "redacted": "its verdict was redacted",
    "missing": "its verdict is missing from the store",
    "foreign": "its verdict cannot be read",
}


def find_decisions(session: Session, slug: str) -> list[SkillDecision]:
    """Return the decisions about a skill in the lineage of the head, newest first."""
    inside = AncestorSet(session, session.head())
    rows = lineage_cache.read_decisions(session, skill_key(slug))
    return [
        read_decision(session, row.snapshot, session.load_snapshot(row.snapshot))
        for row in reversed(rows)
        if row.snapshot in inside
    ]


def find_rejections(session: Session, slug: str) -> list[SkillDecision]:
    """Return the rejected attempts at a skill that are kept, newest first."""
    found = [(here, session.load_snapshot(here)) for _, here in list_rejected_refs(session, slug)]
    return [
        read_decision(session, here, snapshot)
        for here, snapshot in found
        if snapshot.operation[0] in DECISION_KINDS and snapshot.operation[1] == slug
    ]


def read_decision(session: Session, snapshot_id: bytes, snapshot: Snapshot) -> SkillDecision:
    """Return the decision of a snapshot, which is one."""
    from ..verdicts.verdict import read_verdict_state, verdict_to_json
    from ..verdicts.verdict_summary import summarize_verdict

    kind, slug, from_version, to_version, blob = snapshot.operation
    state, verdict = read_verdict_state(session.reader, blob)
    if verdict is None:
        summary = f"{DECISION_WORDS[kind]}; {_UNREAD_VERDICTS[state]}"
    elif (verdict.decision, verdict.skill) != (kind, slug):
        summary = f"{DECISION_WORDS[kind]}; its verdict is about another decision"
    else:
        summary = summarize_verdict(verdict, to_version)
    return SkillDecision(
        decision=kind,
        from_version=from_version,
        to_version=to_version,
        snapshot=snapshot_id.hex(),
        time=utc_time(snapshot.time),
        author=snapshot.author,
        blob=blob.hex(),
        state=state,
        summary=summary,
        verdict=None if verdict is None else verdict_to_json(verdict),
    )
