"""Three-way merge of bundles, path by path; the cost grows with the changes only.

A path that one side changed is taken from that side. If one side moved a file unchanged
and the other edited it, the edit moves along. A path that both sides changed differently
is a conflict.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from typing import NamedTuple

from .. import limits
from ..digest import blob_id
from ..errors import InvalidInput
from ..merging import content_merge, skill_merge
from ..merging.content_merge import BOTH, MERGE_CHOICES, OURS, THEIRS, DraftMerge
from ..merging.lines import (
    MARKER_CODE,
    MARKER_MESSAGE,
    UNMATCHED,
    ContentSides,
    find_conflict_marker,
    match_lines,
    split_lines,
)
from ..objects import bundle as bundles
from ..objects import lineage, paths
from ..objects.bundle import Bundle, Edits
from ..objects.node_cache import NodeCache
from ..objects.tree_diff import Difference
from ..objects.tree_node import LINK, TreeEntry
from ..repo import derive, lineage_cache
from ..repo.lineage_cache import AncestorSet
from ..repo.session import Session
from ..repo.transaction import WriteTransaction
from ..results import Notice
from ..skills import skill_version
from ..skills.skill_document import set_version
from ..skills.skill_metadata import read_skill_metadata
from ..trust import POLICY_PATH
from ..trust.policy import is_policy
from . import diff

PathChanges = Mapping[str, tuple[TreeEntry | None, TreeEntry | None]]
"""The entries of each changed path, before and after."""

_UNCHANGED = (None, None)


class PathConflict(NamedTuple):
    """A path with its entries in the base, on our side and on theirs; None for an absent one."""

    path: str
    base: TreeEntry | None
    ours: TreeEntry | None
    theirs: TreeEntry | None


class TreeMerge(NamedTuple):
    """The edits to our side, and the conflicts to settle first.

    `collisions` are pairs of paths, one from each side, that no folder can hold together:
    a file and a folder of one name, or names that differ only by case or Unicode form.
    `added` are the paths that exactly one side added.
    """

    edits: Edits
    conflicts: list[PathConflict]
    collisions: list[tuple[str, str]]
    added: list[str]


def find_changes(nodes: NodeCache, base: Bundle, side: Bundle) -> PathChanges:
    """Return what a side of a merge changed."""
    return {path: (was, now) for path, was, now in bundles.diff_bundles(nodes, base, side)}


def merge_trees(our_changes: PathChanges, their_changes: PathChanges) -> TreeMerge:
    """Merge the changes of their side into ours."""
    edits, settled = _follow_moves(our_changes, their_changes)
    conflicts: list[PathConflict] = []
    for path in sorted(their_changes.keys() - settled):
        before, after = their_changes[path]
        if path not in our_changes:
            edits[path] = after
        elif our_changes[path][1] != after:
            conflicts.append(PathConflict(path, before, our_changes[path][1], after))
    our_additions, their_additions = _added_paths(our_changes), _added_paths(their_changes)
    return TreeMerge(
        edits,
        conflicts,
        _find_collisions(our_additions, their_additions),
        sorted({*our_additions} ^ {*their_additions}),
    )


def _find_moves(changes: PathChanges) -> dict[str, str]:
    """Map old to new path of files that moved unchanged, if their content is unambiguous."""
    removed: dict[bytes, list[str]] = {}
    added: dict[bytes, list[str]] = {}
    for path, (was, now) in changes.items():
        if was and not now and was.kind != LINK and was.size:
            removed.setdefault(was.blob, []).append(path)
        elif now and not was and now.kind != LINK:
            added.setdefault(now.blob, []).append(path)
    return {
        old_paths[0]: added[blob][0]
        for blob, old_paths in removed.items()
        if len(old_paths) == 1 and len(added.get(blob, ())) == 1
    }


def _follow_moves(our_changes: PathChanges, their_changes: PathChanges) -> tuple[Edits, set[str]]:
    """Return the edits that carry changes along with moves, and the paths they settle."""
    edits: Edits = {}
    settled: set[str] = set()
    for path, target in _find_moves(their_changes).items():
        written = our_changes.get(path, _UNCHANGED)[1]
        if written is not None and target not in our_changes:
            edits[path], edits[target] = None, written._replace(path=target)
            settled |= {path, target}
    for path, target in _find_moves(our_changes).items():
        written = their_changes.get(path, _UNCHANGED)[1]
        if written is not None and target not in their_changes:
            edits[target] = written._replace(path=target)
            settled.add(path)
    return edits, settled


def _added_paths(changes: PathChanges) -> list[str]:
    return [path for path, (was, now) in changes.items() if now is not None and was is None]


def _find_collisions(ours: Iterable[str], theirs: Iterable[str]) -> list[tuple[str, str]]:
    files: dict[str, str] = {}
    folders: dict[str, tuple[str, str]] = {}
    for path in ours:
        files[paths.fold_name(path)] = path
        folders |= {paths.fold_name(folder): (folder, path) for folder in paths.folders_above(path)}
    collisions = set()
    for path in theirs:
        folded = paths.fold_name(path)
        if files.get(folded, path) != path:
            collisions.add((files[folded], path))
        if folded in folders:
            collisions.add((folders[folded][1], path))
        for folder in paths.folders_above(path):
            spelling, other = folders.get(paths.fold_name(folder), (folder, ""))
            if spelling != folder:
                collisions.add((other, path))
            if paths.fold_name(folder) in files:
                collisions.add((files[paths.fold_name(folder)], path))
    return sorted(collisions)


_MIN_SIMILARITY = 0.5
"""The least part of equal lines at which an edited skill counts as renamed."""
_MAX_COMPARED_PAIRS = 1024
MAX_MERGE_BASES = 8
"""Bases that one merge combines; criss-cross histories have two."""
MAX_BASE_DEPTH = 8
"""Nested merges of bases; below that, the first base alone is used."""

MergedVersions = tuple[str, str, str, str]
"""A merged skill: its slug, and the versions of ours, of theirs and of the merge."""

Decision = str | bytes
"""OURS, THEIRS or BOTH, or the content itself."""

Chooser = Callable[[PathConflict], Decision | None]
"""Returns the decision about a conflict, or None to leave it open."""


class UnresolvedConflict(NamedTuple):
    """A conflict without a decision; `draft` is the merged text around it, if it is text."""

    conflict: PathConflict
    reason: str
    draft: DraftMerge | None = None


class MergeOutcome(NamedTuple):
    """The edits that a merge makes to our side, and the conflicts.

    `skills` are the merged skills, sorted; `decided` are the conflicts with a decision;
    `added` are the paths that exactly one side added; `notices` say what was brought together
    beyond a conflict: other line ends, other names.
    """

    edits: Edits
    skills: list[MergedVersions]
    unresolved: list[UnresolvedConflict]
    decided: list[tuple[PathConflict, Decision]]
    added: list[str]
    notices: list[Notice]


class _PathMerge(NamedTuple):
    edits: Sequence[tuple[str, TreeEntry | None]] = ()
    skill: MergedVersions | None = None
    unresolved: UnresolvedConflict | None = None
    line_ends: str = ""


class _Followed(NamedTuple):
    """Our side and the changes of both with renamed skills at one place.

    `edits` lead from our side as it was to this one; `added` are skills that they add.
    """

    ours: Bundle
    changes: tuple[PathChanges, PathChanges]
    edits: Edits
    unresolved: list[UnresolvedConflict]
    decided: list[tuple[PathConflict, Decision]]
    added: list[str]
    notices: list[Notice]


def leave_undecided(conflict: PathConflict) -> None:
    """Leave every conflict open."""


class Merger:
    """Merges states of one brain; `new_blobs` are the contents that this makes, by blob id."""

    def __init__(self, session: Session) -> None:
        self.new_blobs: dict[bytes, bytes] = {}
        self._session = session

    def merge(self, base: Bundle, ours: Bundle, theirs: Bundle, choose: Chooser) -> MergeOutcome:
        """Merge `theirs` into `ours`; `choose` decides conflicts.

        What one side did to a skill goes on under the name that the other side gave it.
        """
        followed = self._follow_renames(base, ours, theirs, choose)
        ours = followed.ours
        trees = merge_trees(*followed.changes)
        edits = followed.edits | trees.edits
        skills: list[MergedVersions] = []
        unresolved, decided, notices = followed.unresolved, followed.decided, followed.notices
        conflicts, left_out = self._leave_out_redacted(edits, trees.conflicts)
        notices += left_out
        for conflict in conflicts:
            choice = choose(conflict)
            merged = self._merge_path(conflict, ours, choice)
            edits.update(merged.edits)
            if merged.skill is not None:
                skills.append(merged.skill)
            if merged.line_ends:
                message = f"its line ends are {merged.line_ends}, as on the side that changed them"
                notices.append(Notice("line_ends", conflict.path, message))
            for path, entry in merged.edits:
                if entry and (line := find_conflict_marker(self.new_blobs.get(entry.blob, b""))):
                    notices.append(Notice(MARKER_CODE, path, MARKER_MESSAGE.format(line)))
            if merged.unresolved is not None:
                unresolved.append(merged.unresolved)
            elif choice is not None:
                decided.append((conflict, choice))
        for our_path, their_path in trees.collisions:
            collision = self._build_collision(our_path, their_path, ours, edits)
            if collision is None:
                continue
            choice = choose(collision)
            if choice not in MERGE_CHOICES:
                unresolved.append(UnresolvedConflict(collision, "collides"))
            else:
                _resolve_collision(our_path, collision, choice, edits)
                decided.append((collision, choice))
        unresolved.sort(key=lambda item: item.conflict.path)
        added = sorted({*trees.added, *followed.added})
        return MergeOutcome(edits, sorted(skills), unresolved, decided, added, notices)

    def _leave_out_redacted(
        self, edits: Edits, conflicts: list[PathConflict]
    ) -> tuple[list[PathConflict], list[Notice]]:
        """Drop the edits whose content was redacted; return the conflicts between what is left.

        In a conflict, the other side is taken; ours if the content of both is gone.
        """
        sides = [entry for conflict in conflicts for entry in conflict[2:]]
        held = [entry.blob for entry in (*edits.values(), *sides) if entry]
        gone = self._session.reader.find_redactions(held)
        if not gone:
            return conflicts, []
        left_out = [path for path, entry in edits.items() if entry and entry.blob in gone]
        for path in left_out:
            del edits[path]
        open_conflicts = []
        for conflict in conflicts:
            path, _, ours, theirs = conflict
            if theirs and theirs.blob in gone:
                left_out.append(path)
            elif ours and ours.blob in gone:
                edits[path] = theirs
            else:
                open_conflicts.append(conflict)
        message = "left out: its content was redacted"
        return open_conflicts, [Notice("redacted", path, message) for path in sorted(left_out)]

    def _follow_renames(
        self, base: Bundle, ours: Bundle, theirs: Bundle, choose: Chooser
    ) -> _Followed:
        """Move each skill, on all sides, to the folder that one side gave it."""
        nodes = self._session.nodes
        states = {OURS: ours, THEIRS: theirs}
        changes = {name: find_changes(nodes, base, side) for name, side in states.items()}
        renames = {
            name: self._find_renames(base, states[name], changes[name], changes[other])
            for name, other in ((OURS, THEIRS), (THEIRS, OURS))
        }
        moves: dict[str, dict[str, str]] = {"base": {}, OURS: {}, THEIRS: {}}
        followed = _Followed(ours, (changes[OURS], changes[THEIRS]), {}, [], [], [], [])
        for old in sorted({*renames[OURS], *renames[THEIRS]}):
            names = {name: renames[name].get(old, "") for name in states}
            if "" not in names.values() and names[OURS] != names[THEIRS]:
                target = self._choose_name(old, names, (base, ours, theirs), choose, followed)
            else:
                target = names[OURS] or names[THEIRS]
                side, other = (OURS, THEIRS) if names[OURS] else (THEIRS, OURS)
                if not names[other] and not self._can_follow(states[other], old, target):
                    continue
                if not names[other]:
                    message = f"{old} was renamed by {side}, and what {other} changed there is kept"
                    followed.notices.append(Notice("renamed", target, message))
            if target:
                for name, moved_folders in moves.items():
                    own = names.get(name) or old
                    if own != target:
                        moved_folders[own] = target
        if not moves["base"]:
            return followed
        base, _ = self._move_folders(base, moves["base"])
        ours, edits = self._move_folders(ours, moves[OURS])
        theirs, _ = self._move_folders(theirs, moves[THEIRS])
        return followed._replace(
            ours=ours,
            changes=(find_changes(nodes, base, ours), find_changes(nodes, base, theirs)),
            edits=edits,
            added=[path for path, entry in edits.items() if entry and derive.may_be_skill(path)],
        )

    def _find_renames(
        self, base: Bundle, side: Bundle, changes: PathChanges, others: PathChanges
    ) -> dict[str, str]:
        """Return the new folder of each skill that a side renamed, by the old one.

        Only of skills of which the other side changed something, and left something to move.
        """
        skills = [row for path, row in changes.items() if derive.may_be_skill(path)]
        removed = {was.path.rpartition("/")[0]: was for was, now in skills if was and not now}
        touched = {
            folder
            for path in (others if removed else ())
            for folder in paths.folders_above(path)
            if folder in removed
        }
        if not touched:
            return {}
        differences = [Difference(path, *row) for path, row in changes.items()]
        sources = dict(diff.Comparison(self._session, base, side, differences).skill_sources)
        known = set(sources.values())
        old = [removed[name] for name in touched if removed[name].path not in known]
        new = [now for was, now in skills if now and not was]
        sources |= self._match_alike(old, [entry for entry in new if entry.path not in sources])
        return {
            old_folder: new.rpartition("/")[0]
            for new, old in sources.items()
            if (old_folder := old.rpartition("/")[0]) in touched
            and not any(bundles.walk_below(self._session.nodes, side, old_folder))
        }

    def _match_alike(self, removed: list[TreeEntry], added: list[TreeEntry]) -> dict[str, str]:
        """Return, by its new path, the old one of each skill that was edited when it was renamed.

        That is the one with the most lines in common. The front matter does not count: those of
        two short skills are much alike.
        """
        if len(removed) * len(added) > _MAX_COMPARED_PAIRS:
            return {}
        bodies = {
            entry.path: [line for line in split_lines(body) if line.strip()]
            for entry in (*removed, *added)
            if (body := diff.read_body(self._session, entry))
        }
        scored = []
        for old, new in product(removed, added):
            one, other = bodies.get(old.path, []), bodies.get(new.path, [])
            common = len(one) - match_lines(one, other).count(UNMATCHED)
            if common and common >= _MIN_SIMILARITY * max(len(one), len(other)):
                scored.append((-common / max(len(one), len(other)), old.path, new.path))
        sources: dict[str, str] = {}
        for _, old_path, new_path in sorted(scored):
            if new_path not in sources and old_path not in sources.values():
                sources[new_path] = old_path
        return sources

    def _can_follow(self, other: Bundle, old: str, new: str) -> bool:
        """Tell whether a side has a skill in the folder `old`, and nothing in `new`."""
        nodes = self._session.nodes
        return any(
            derive.may_be_skill(entry.path) for entry in bundles.walk_below(nodes, other, old)
        ) and not any(bundles.walk_below(nodes, other, new))

    def _choose_name(
        self,
        old: str,
        names: Mapping[str, str],
        sides: tuple[Bundle, Bundle, Bundle],
        choose: Chooser,
        followed: _Followed,
    ) -> str:
        """Return the folder of a skill that both sides renamed; "" if both keep theirs."""
        base, ours, theirs = (
            next(
                entry
                for entry in bundles.walk_below(self._session.nodes, side, folder)
                if derive.may_be_skill(entry.path)
            )
            for side, folder in zip(sides, (old, *names.values()), strict=True)
        )
        conflict = PathConflict(theirs.path, base, ours, theirs)
        choice = choose(conflict)
        if choice not in MERGE_CHOICES:
            followed.unresolved.append(UnresolvedConflict(conflict, "renamed"))
            return ""
        followed.decided.append((conflict, choice))
        return names.get(str(choice), "")

    def _move_folders(self, side: Bundle, moves: Mapping[str, str]) -> tuple[Bundle, Edits]:
        gone: Edits = {}
        new: Edits = {}
        for old, target in moves.items():
            for entry in bundles.walk_below(self._session.nodes, side, old):
                path = target + entry.path[len(old) :]
                gone[entry.path], new[path] = None, entry._replace(path=path)
        edits = gone | new
        return bundles.update_bundle(self._session.nodes, side, edits), edits

    def build_base(
        self, bases: Sequence[bytes], merges: Sequence[tuple[bytes, int]], depth: int = 0
    ) -> Bundle:
        """Return the base of a merge: the merge of all best common ancestors.

        They are merged in the order of their ids, so that both sides get the same base.
        A path in conflict keeps its older state. The nodes of a merged base are unstored ones.
        """
        session = self._session
        first, *others = sorted(bases)[:MAX_MERGE_BASES] or [b""]
        combined = session.bundle_of(first) if first else bundles.EMPTY_BUNDLE
        for other in others if depth < MAX_BASE_DEPTH else ():
            lower_bases = lineage.find_merge_bases(session.load_snapshot, merges, first, other)
            base = self.build_base(lower_bases, merges, depth + 1)
            merged = self.merge(base, combined, session.bundle_of(other), leave_undecided)
            older = {item.conflict.path: item.conflict.base for item in merged.unresolved}
            combined = bundles.update_bundle(session.nodes, combined, merged.edits | older)
        return combined

    def read_content(self, blob: bytes) -> bytes:
        """Return the content of a blob that this merge made or the store has."""
        new_content = self.new_blobs.get(blob)
        return self._session.reader.read_blob(blob) if new_content is None else new_content

    def make_entry(self, path: str, kind: int, content: bytes) -> TreeEntry:
        """Return the entry of a new content, and hold the content until it is recorded."""
        blob = blob_id(content)
        self.new_blobs[blob] = content
        return TreeEntry(path, kind, blob, len(content))

    def _merge_path(
        self, conflict: PathConflict, ours: Bundle, choice: Decision | None
    ) -> _PathMerge:
        path, base, a, b = conflict
        if a is None or b is None:
            return _merge_deletion(conflict, choice)
        kind = _merge_kind(base, a, b)
        if kind is None or LINK in (a.kind, b.kind):
            return self._choose_whole_file(conflict, "kind", choice)
        if a.blob == b.blob:
            return _PathMerge([(path, a._replace(kind=kind))])
        if max(entry.size for entry in (base or a, a, b)) > limits.MAX_LINE_MERGE_BYTES:
            return self._choose_whole_file(conflict, "too_large", choice)
        slug = self._skill_slug(path, ours)
        draft = content_merge.draft_merge(path, self._read_sides(conflict), slug)
        if draft is None:
            reason = "unreadable_skill" if slug else "binary"
            return self._choose_whole_file(conflict, reason, choice)
        if isinstance(choice, bytes):
            content = _set_merged_version(choice, draft, slug)
        else:
            content = content_merge.finish_merge(draft, choice)
        if content is None:
            return _PathMerge(unresolved=UnresolvedConflict(conflict, "content", draft))
        if path == POLICY_PATH and not is_policy(content):
            return self._choose_whole_file(conflict, "broken_trust", choice)
        skill = draft.skill and (slug, draft.skill.ours, draft.skill.theirs, draft.skill.version)
        edit = path, self.make_entry(path, kind, content)
        return _PathMerge([edit], skill, line_ends=draft.line_ends if content else "")

    def _choose_whole_file(
        self, conflict: PathConflict, reason: str, choice: Decision | None
    ) -> _PathMerge:
        """Take one side of a file whose content cannot be merged, or both under two names."""
        path, _, a, b = conflict
        assert a is not None and b is not None
        if choice == OURS:
            return _PathMerge()
        if choice == THEIRS:
            return _PathMerge([(path, b)])
        if choice == BOTH:
            return _PathMerge([_add_as_sibling(b)])
        if isinstance(choice, bytes):
            return _PathMerge([(path, self.make_entry(path, a.kind, choice))])
        return _PathMerge(unresolved=UnresolvedConflict(conflict, reason))

    def _build_collision(
        self, our_path: str, their_path: str, ours: Bundle, edits: Edits
    ) -> PathConflict | None:
        """Return two paths that no folder can hold together as a conflict about theirs."""
        if our_path in edits and edits[our_path] is None:
            return None
        our_entry = bundles.get_entry(self._session.nodes, ours, our_path)
        their_entry = edits.get(their_path)
        if our_entry is None or their_entry is None:
            return None
        return PathConflict(their_path, None, our_entry, their_entry)

    def _read_sides(self, conflict: PathConflict) -> ContentSides:
        base, ours, theirs = conflict.base, conflict.ours, conflict.theirs
        assert ours and theirs
        if base is not None and self._session.reader.find_redactions([base.blob]):
            base = None
        return ContentSides(
            self.read_content(base.blob) if base is not None else None,
            self.read_content(ours.blob),
            self.read_content(theirs.blob),
        )

    def _skill_slug(self, path: str, ours: Bundle) -> str:
        if derive.is_skill(self._session, ours, path):
            return derive.slug_from_full_path(path)
        return ""


def build_sibling_path(path: str, blob: bytes) -> str:
    """Return the path of a second file next to `path`: `notes~1a2b3c4d.md`."""
    folder, slash, name = path.rpartition("/")
    stem, dot, suffix = name.rpartition(".")
    mark = "~" + blob.hex()[:8]
    return folder + slash + (f"{stem}{mark}{dot}{suffix}" if stem else name + mark)


def list_merge_paths(outcome: MergeOutcome) -> Iterable[str]:
    """Return every path that a merge would write or has a conflict about."""
    return sorted({*outcome.edits, *(item.conflict.path for item in outcome.unresolved)})


def _add_as_sibling(entry: TreeEntry) -> tuple[str, TreeEntry]:
    path = build_sibling_path(entry.path, entry.blob)
    return path, entry._replace(path=path)


def _merge_kind(base: TreeEntry | None, a: TreeEntry, b: TreeEntry) -> int | None:
    if a.kind == b.kind:
        return a.kind
    if base is None:
        return None
    return b.kind if a.kind == base.kind else a.kind


def _merge_deletion(conflict: PathConflict, choice: Decision | None) -> _PathMerge:
    path, _, a, b = conflict
    if choice == THEIRS or (choice == BOTH and a is None):
        return _PathMerge([(path, b)])
    if choice in (OURS, BOTH):
        return _PathMerge()
    reason = "deleted_by_theirs" if b is None else "deleted_by_ours"
    return _PathMerge(unresolved=UnresolvedConflict(conflict, reason))


def _resolve_collision(
    our_path: str, collision: PathConflict, choice: Decision, edits: Edits
) -> None:
    assert collision.theirs is not None
    if choice == THEIRS:
        edits[our_path] = None
        return
    del edits[collision.path]
    if choice == BOTH:
        path, entry = _add_as_sibling(collision.theirs)
        edits[path] = entry


def _set_merged_version(content: bytes, draft: DraftMerge, slug: str) -> bytes | None:
    if draft.skill is None:
        return content
    try:
        merged = set_version(content, draft.skill.version, slug)
        skill_merge.check_merged_skill(merged, draft.skill)
    except InvalidInput:
        return None
    return merged


def raise_versions(
    txn: WriteTransaction, theirs: bytes, outcome: MergeOutcome, merger: Merger
) -> None:
    """Raise the versions of such skills in the edits of a merge that is no fast-forward."""
    lineages = AncestorSet(txn.session, txn.head), AncestorSet(txn.session, theirs)
    removed = {
        conflict.path: conflict.ours is not None
        for conflict, _ in outcome.decided
        if conflict.ours is None or conflict.theirs is None
    }
    added_paths = _find_added_twice(txn.session, outcome.added, lineages)
    added = {path: path not in outcome.edits for path in added_paths}
    for path, is_ours in (added | removed).items():
        entry = _find_merged_entry(txn, outcome, path)
        if entry is None or entry.kind == LINK or not derive.may_be_skill(path):
            continue
        having, lacking = lineages if is_ours else lineages[::-1]
        made = merger.new_blobs.get(entry.blob)  # a merge base that was merged is not stored
        stated_version = (
            lineage_cache.load_cards(txn.session, [entry.blob])[entry.blob]
            if made is None
            else read_skill_metadata(made, "")
        ).version
        new_version = _find_needed_version(txn.session, entry.path, stated_version, having, lacking)
        if new_version:
            sides = (stated_version, "") if is_ours else ("", stated_version)
            _raise_version(outcome, merger, entry, sides, new_version)


def _find_added_twice(
    session: Session, paths: list[str], lineages: tuple[AncestorSet, AncestorSet]
) -> list[str]:
    """Return the paths that the other side may have added too, and removed.

    The skill log tells how often a path was added, but not for snapshots that changed very
    many skills; with such a snapshot on one side, all paths are returned.
    """
    ours, theirs = lineages
    bulks = lineage_cache.list_bulk_changes(session)
    if any((row.snapshot in ours) != (row.snapshot in theirs) for row in bulks):
        return paths
    counts = lineage_cache.count_additions(session, paths)
    return [path for path, count in zip(paths, counts, strict=True) if count > 1]


def _find_merged_entry(txn: WriteTransaction, outcome: MergeOutcome, path: str) -> TreeEntry | None:
    if path in outcome.edits:
        return outcome.edits[path]
    return bundles.get_entry(txn.session.nodes, txn.bundle, path)


def _find_needed_version(
    session: Session, path: str, stated_version: str, having: AncestorSet, lacking: AncestorSet
) -> str:
    rows = list(lineage_cache.read_skill_rows(session, path))
    foreign = [
        row.version for row in rows if row.snapshot in lacking and row.snapshot not in having
    ]
    if all(skill_version.compare_versions(version, stated_version) <= 0 for version in foreign):
        return ""
    own = [row.version for row in rows if row.snapshot in having]
    greatest = skill_version.greatest_version([stated_version, *own, *foreign])
    return skill_version.next_version(greatest)


def _raise_version(
    outcome: MergeOutcome,
    merger: Merger,
    entry: TreeEntry,
    sides: tuple[str, str],
    new_version: str,
) -> None:
    slug = derive.slug_from_full_path(entry.path)
    try:
        content = set_version(merger.read_content(entry.blob), new_version, slug)
    except InvalidInput:  # a skill that cannot be read keeps its content
        return
    outcome.edits[entry.path] = merger.make_entry(entry.path, entry.kind, content)
    outcome.skills.append((slug, *sides, new_version))
    outcome.skills.sort()
