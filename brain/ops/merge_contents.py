"""Three-way merge of states, path by path; the cost grows with the changes only.

A path that one side changed is taken from that side. If one side moved a file unchanged
and the other edited it, the edit moves along. A path that both sides changed differently
is a conflict.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import NamedTuple

from .. import limits
from ..digest import blob_id
from ..errors import InvalidInput
from ..merging import content_merge
from ..merging.content_merge import BOTH, MERGE_CHOICES, OURS, THEIRS, Decision, DraftMerge
from ..merging.lines import MARKER_CODE, MARKER_MESSAGE, ContentSides, find_conflict_marker
from ..objects import lineage, paths
from ..objects.bundle import Edits
from ..objects.tree import Difference
from ..objects.tree_node import LINK, TreeEntry
from ..repo import derive, lineage_cache
from ..repo.lineage_cache import AncestorSet
from ..repo.log_entry import ConflictRow
from ..repo.session import BrainState, Session
from ..results import Notice
from ..skills import skill_version
from ..skills.skill_document import set_version
from ..skills.skill_layout import FOLDER_SUFFIXES, SKILL_FILES
from ..skills.skill_metadata import read_skill_metadata
from ..trust import POLICY_PATH
from ..trust.trust_file import is_policy
from . import diff

PathChanges = Mapping[str, Difference]
"""What a side of a merge changed, by path."""

BASE = "base"
CONTENT_CHOICE = "content"
MAX_MERGE_BASES = 8
"""Bases that one merge combines; criss-cross histories have two."""
MAX_BASE_DEPTH = 8
"""Nested merges of bases; below that, the first base alone is used."""


class PathConflict(NamedTuple):
    """A path with its entries in the base, on our side and on theirs; None for an absent one.

    `draft` is the merged text around it, if it is text; `choice` is None while it is open.
    """

    path: str
    base: TreeEntry | None
    ours: TreeEntry | None
    theirs: TreeEntry | None
    reason: str = ""
    draft: DraftMerge | None = None
    choice: Decision | None = None

    def to_row(self) -> ConflictRow:
        """Return the conflict as it is stored."""
        path, choice = self.path, self.choice
        base, ours, theirs = (
            side.blob if side else b"" for side in (self.base, self.ours, self.theirs)
        )
        our_path = self.ours.path if self.ours else path
        return ConflictRow(
            path=path,
            reason=self.reason,
            base=base,
            ours=ours,
            theirs=theirs,
            choice=CONTENT_CHOICE if isinstance(choice, bytes) else choice or "",
            chosen=blob_id(choice) if isinstance(choice, bytes) else b"",
            our_path="" if our_path == path else our_path,
        )


Chooser = Callable[[PathConflict], Decision | None]
"""Returns the decision about a conflict, or None to leave it open."""

MergedVersions = tuple[str, str, str, str]
"""A merged skill: its slug, and the versions of ours, of theirs and of the merge."""


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


def find_changes(base: BrainState, side: BrainState) -> PathChanges:
    """Return what a side of a merge changed."""
    return {change.path: change for change in base.diff(side)}


def merge_trees(ours: PathChanges, theirs: PathChanges) -> TreeMerge:
    """Merge the changes of their side into ours."""
    edits, settled = _follow_moves(ours, theirs)
    conflicts: list[PathConflict] = []
    for path, before, after in theirs.values():
        if path in settled:
            continue
        if path not in ours:
            edits[path] = after
        elif ours[path].after != after:
            conflicts.append(PathConflict(path, before, ours[path].after, after))
    our_additions, their_additions = (
        [path for path, before, _ in side.values() if before is None] for side in (ours, theirs)
    )
    return TreeMerge(
        edits,
        conflicts,
        _find_collisions(our_additions, their_additions),
        sorted({*our_additions} ^ {*their_additions}),
    )


def _follow_moves(ours: PathChanges, theirs: PathChanges) -> tuple[Edits, set[str]]:
    """Return the edits that carry changes along with moves, and the paths they settle."""
    edits: Edits = {}
    settled: set[str] = set()
    for moving, other in ((theirs, ours), (ours, theirs)):
        for path, target in _find_moves(moving).items():
            written = other[path].after if path in other else None
            if written is None or target in other:
                continue
            if moving is theirs:
                edits[path] = None
            edits[target] = written._replace(path=target)
            settled |= {path, target}
    return edits, settled


def _find_moves(changes: PathChanges) -> dict[str, str]:
    """Map old to new path of files that moved unchanged, if their content is unambiguous."""
    removed: dict[bytes, list[str]] = {}
    added: dict[bytes, list[str]] = {}
    for path, was, now in changes.values():
        if was and not now and was.kind != LINK and was.size:
            removed.setdefault(was.blob, []).append(path)
        elif now and not was and now.kind != LINK:
            added.setdefault(now.blob, []).append(path)
    return {
        old_paths[0]: added[blob][0]
        for blob, old_paths in removed.items()
        if len(old_paths) == 1 and len(added.get(blob, ())) == 1
    }


def _find_collisions(ours: Iterable[str], theirs: Iterable[str]) -> list[tuple[str, str]]:
    def names(path: str) -> list[tuple[str, bool]]:
        return [(path, False), *((folder, True) for folder in paths.folders_above(path))]

    claims = {paths.fold_name(name[0]): (name, path) for path in ours for name in names(path)}
    collisions = set()
    for path in theirs:
        for name in names(path):
            claimed, by = claims.get(paths.fold_name(name[0]), (name, ""))
            if claimed != name:
                collisions.add((by, path))
    return sorted(collisions)


class StateMerge:
    """A merge of two states of one brain, given as the base, ours and theirs.

    What one side did to a skill goes on under the name that the other side gave it. `choose`
    decides conflicts; without it, this is the base of another merge. `edits` lead from our side
    to the merged state; `skills` are the merged skills, sorted; `conflicts` are those with a
    decision and those without; `added` are the paths that exactly one side added; `notices` say
    what was brought together beyond a conflict: other line ends, other names; `new_blobs` are
    the contents that this makes, by blob id.
    """

    def __init__(
        self,
        session: Session,
        states: tuple[BrainState, BrainState, BrainState],
        choose: Chooser | None,
        new_blobs: dict[bytes, bytes],
    ) -> None:
        self.edits: Edits = {}
        self.skills: list[MergedVersions] = []
        self.conflicts: list[PathConflict] = []
        self.added: list[str] = []
        self.notices: list[Notice] = []
        self.new_blobs = new_blobs
        self._session = session
        self._choose = choose
        self._states = dict(zip((BASE, OURS, THEIRS), states, strict=True))
        # 1. Each skill under one name.
        self._changes = self._find_changes()
        self._follow_renames()
        # 2. The paths that one side changed, then those that both did.
        trees = merge_trees(self._changes[OURS], self._changes[THEIRS])
        self.edits |= trees.edits
        added_to_deleted = self._find_added_to_deleted()
        for path in added_to_deleted:
            self.edits.pop(path, None)
        conflicts = [item for item, _ in added_to_deleted.values()]
        for conflict in self._leave_out_redacted([*trees.conflicts, *conflicts]):
            self._merge_path(conflict)
        self._restore_skills_of(added_to_deleted)
        self.added = sorted({*self.added, *trees.added})
        # 3. Names that no folder can hold together.
        for our_path, their_path in trees.collisions:
            self._settle_collision(our_path, their_path)
        self.skills.sort()
        self.conflicts.sort(key=lambda item: item.path)

    @property
    def unresolved(self) -> list[PathConflict]:
        """The conflicts without a decision, by path."""
        return [item for item in self.conflicts if item.choice is None]

    def merged_state(self) -> BrainState:
        """Return the merged state; a path in conflict keeps what the base has."""
        older = {item.path: item.base for item in self.unresolved}
        return self._states[OURS].edit(self.edits | older)

    def _find_changes(self) -> dict[str, PathChanges]:
        base = self._states[BASE]
        return {side: find_changes(base, self._states[side]) for side in (OURS, THEIRS)}

    def _decide(self, conflict: PathConflict) -> Decision | None:
        return self._choose(conflict) if self._choose else None

    def _follow_renames(self) -> None:
        """Move each skill, in all states, to the folder that one side gave it."""
        renames = {
            OURS: self._find_renames(OURS, THEIRS),
            THEIRS: self._find_renames(THEIRS, OURS),
        }
        moves: dict[str, dict[str, str]] = {side: {} for side in self._states}
        for old in sorted({*renames[OURS], *renames[THEIRS]}):
            names = {BASE: old} | {side: found.get(old, old) for side, found in renames.items()}
            target = self._choose_name(names)
            for side, name in names.items():
                if target not in ("", name):
                    moves[side][name] = target
        if not any(moves.values()):
            return
        for side, folders in moves.items():
            gone: Edits = {}
            new: Edits = {}
            for old, target in folders.items():
                for entry in self._states[side].walk_below(old):
                    path = target + entry.path[len(old) :]
                    gone[entry.path], new[path] = None, entry._replace(path=path)
            self._states[side] = self._states[side].edit(gone | new)
            if side == OURS:
                self.edits = gone | new
                self.added = [path for path in new if derive.may_be_skill(path)]
        self._changes = self._find_changes()

    def _find_renames(self, side: str, other: str) -> dict[str, str]:
        """Return the new folder of each skill that a side renamed, by the old one.

        Only of skills of which the other side changed something, and left something to move.
        """
        changes = self._changes[side]
        removed = {
            path.rpartition("/")[0]
            for path, was, now in changes.values()
            if was and not now and derive.may_be_skill(path)
        }
        touched = {
            folder
            for path in (self._changes[other] if removed else ())
            for folder in paths.folders_above(path)
            if folder in removed
        }
        if not touched:
            return {}
        compared = diff.Comparison(
            self._states[BASE],
            self._states[side],
            list(changes.values()),
            unstored=self.new_blobs,
        )
        return {
            old_folder: new.rpartition("/")[0]
            for new, old in compared.skill_sources.items()
            if (old_folder := old.rpartition("/")[0]) in touched
            and not self._has_any(side, old_folder)
        }

    def _has_any(self, side: str, folder: str) -> bool:
        return any(self._states[side].walk_below(folder))

    def _find_skill_in(self, side: str, folder: str) -> TreeEntry | None:
        entries = self._states[side].walk_below(folder)
        return next((entry for entry in entries if derive.may_be_skill(entry.path)), None)

    def _choose_name(self, names: Mapping[str, str]) -> str:
        """Return the folder for a skill that a side renamed; "" if each side keeps its own."""
        old, ours, theirs = names.values()
        if ours == theirs:
            return ours
        if old not in (ours, theirs):
            if self._choose is None:
                return old  # what is in conflict keeps its older state
            if self._has_any(OURS, theirs) or self._has_any(THEIRS, ours):
                return ""
            was, a, b = (self._find_skill_in(side, name) for side, name in names.items())
            assert b
            conflict = PathConflict(b.path, was, a, b, "renamed")
            choice = self._choose(conflict)
            if choice not in MERGE_CHOICES:
                choice = None
            self.conflicts.append(conflict._replace(choice=choice))
            return names.get(str(choice), "")
        side, other = (OURS, THEIRS) if theirs == old else (THEIRS, OURS)
        target = names[side]
        if not self._find_skill_in(other, old) or self._has_any(other, target):
            return ""
        message = f"{old} was renamed by {side}, and what {other} changed there is kept"
        self.notices.append(Notice("renamed", target, message))
        return target

    def _find_added_to_deleted(self) -> dict[str, tuple[PathConflict, str]]:
        """Return what one side added to a skill that the other deleted, each with its folder.

        Left there without its skill, a Markdown file would be a skill of its own.
        """
        found = {}
        for deleting, adding in ((OURS, THEIRS), (THEIRS, OURS)):
            deleted = {
                folder
                for path, was, now in self._changes[deleting].values()
                if was and not now and path.endswith(FOLDER_SUFFIXES) and derive.may_be_skill(path)
                if not self._is_skill_folder(deleting, folder := path.rpartition("/")[0])
            }
            for path, was, now in self._changes[adding].values() if deleted else ():
                above = list(paths.folders_above(path))
                if was or path in self._changes[deleting] or deleted.isdisjoint(above):
                    continue
                # A skill in there is one of its own.
                owners = (one for one in above if self._is_skill_folder(adding, one))
                if (owner := next(owners, "")) in deleted:
                    sides = (None, now) if deleting == OURS else (now, None)
                    found[path] = PathConflict(path, None, *sides), owner
        return found

    def _is_skill_folder(self, side: str, folder: str) -> bool:
        return any(self._states[side].has(f"{folder}/{name}") for name in SKILL_FILES)

    def _restore_skills_of(self, added: Mapping[str, tuple[PathConflict, str]]) -> None:
        """Keep each deleted skill to which a decision keeps what was added."""
        wanted = {
            (OURS if item.ours is None else THEIRS, folder)
            for path, (item, folder) in added.items()
            if self.edits.get(path, item.ours) is not None
            if any(item.path == path and item.choice is not None for item in self.conflicts)
        }
        for side, folder in sorted(wanted):
            other = self._changes[THEIRS if side == OURS else OURS]
            gone = [
                was
                for path, was, now in self._changes[side].values()
                if was and not now and path.startswith(f"{folder}/") and path not in other
            ]
            redacted = self._session.reader.find_redactions([entry.blob for entry in gone])
            for entry in gone:
                if side == THEIRS:
                    self.edits.pop(entry.path, None)
                elif entry.blob not in redacted:
                    self.edits[entry.path] = entry
                self.added.append(entry.path)
            message = f"{folder} was deleted by {side}, and is kept with what was added to it"
            self.notices.append(Notice("kept", folder, message))

    def _leave_out_redacted(self, conflicts: list[PathConflict]) -> list[PathConflict]:
        """Drop the edits whose content was redacted; return the conflicts between what is left.

        In a conflict, the other side is taken; ours if the content of both is gone.
        """
        sides = [entry for item in conflicts for entry in (item.ours, item.theirs)]
        held = [entry.blob for entry in (*self.edits.values(), *sides) if entry]
        gone = self._session.reader.find_redactions(held)
        left_out = [path for path, entry in self.edits.items() if entry and entry.blob in gone]
        for path in left_out:
            del self.edits[path]
        open_conflicts = []
        for item in conflicts:
            if item.theirs and item.theirs.blob in gone:
                left_out.append(item.path)
            elif item.ours and item.ours.blob in gone:
                self.edits[item.path] = item.theirs
            else:
                open_conflicts.append(item)
        message = "left out: its content was redacted"
        self.notices += [Notice("redacted", path, message) for path in sorted(left_out)]
        return open_conflicts

    def _merge_path(self, conflict: PathConflict) -> None:
        """Merge a path that both sides changed."""
        path, base, a, b, *_ = conflict
        choice = self._decide(conflict)
        conflict = conflict._replace(choice=choice)
        if a is None or b is None:
            if choice == THEIRS or (choice == BOTH and a is None):
                self.edits[path] = b
            reason = "deleted_by_theirs" if b is None else "deleted_by_ours"
            return self._note(conflict, reason, choice in MERGE_CHOICES)
        kind = _merge_kind(base, a, b)
        if kind is None or LINK in (a.kind, b.kind):
            return self._choose_whole_file(conflict, a, b, "kind")
        if a.blob == b.blob:
            self.edits[path] = a._replace(kind=kind)
            return None
        if max(entry.size for entry in (base or a, a, b)) > limits.MAX_LINE_MERGE_BYTES:
            return self._choose_whole_file(conflict, a, b, "too_large")
        return self._merge_text(conflict, a, b, kind)

    def _merge_text(self, conflict: PathConflict, a: TreeEntry, b: TreeEntry, kind: int) -> None:
        path, base, choice = conflict.path, conflict.base, conflict.choice
        if base is not None and self._session.reader.find_redactions([base.blob]):
            base = None
        old = self._read_content(base.blob) if base else None
        sides = ContentSides(old, self._read_content(a.blob), self._read_content(b.blob))
        is_skill = derive.is_skill(self._states[OURS], path)
        slug = derive.slug_from_full_path(path) if is_skill else ""
        draft = content_merge.draft_merge(path, sides, slug)
        if draft is None:
            return self._choose_whole_file(conflict, a, b, "unreadable_skill" if slug else "binary")
        content = content_merge.finish_merge(draft, choice, slug)
        if content is None:
            return self._note(conflict._replace(draft=draft), "content", False)
        if path == POLICY_PATH and not is_policy(content):
            return self._choose_whole_file(conflict, a, b, "broken_trust")
        self.edits[path] = self._make_entry(path, kind, content)
        if draft.skill:
            self.skills.append((slug, draft.skill.ours, draft.skill.theirs, draft.skill.version))
        if draft.line_ends and content:
            message = f"its line ends are {draft.line_ends}, as on the side that changed them"
            self.notices.append(Notice("line_ends", path, message))
        if line := find_conflict_marker(content):
            self.notices.append(Notice(MARKER_CODE, path, MARKER_MESSAGE.format(line)))
        if choice is not None:
            self._note(conflict, "content", True)
        return None

    def _choose_whole_file(
        self, conflict: PathConflict, ours: TreeEntry, theirs: TreeEntry, reason: str
    ) -> None:
        """Take one side of a file whose content cannot be merged, or both under two names."""
        path, choice = conflict.path, conflict.choice
        if choice == THEIRS:
            self.edits[path] = theirs
        elif choice == BOTH:
            self._add_as_sibling(theirs)
        elif isinstance(choice, bytes):
            self.edits[path] = self._make_entry(path, ours.kind, choice)
        self._note(conflict, reason, choice is not None)

    def _settle_collision(self, our_path: str, their_path: str) -> None:
        """Decide between two paths that no folder can hold together: a conflict about theirs."""
        ours = self._states[OURS].get(our_path)
        theirs = self.edits.get(their_path)
        if ours is None or theirs is None or self.edits.get(our_path, ours) is None:
            return
        conflict = PathConflict(their_path, None, ours, theirs)
        choice = self._decide(conflict)
        if choice == THEIRS:
            self.edits[our_path] = None
        elif choice in MERGE_CHOICES:
            del self.edits[their_path]
            if choice == BOTH:
                self._add_as_sibling(theirs)
        self._note(conflict._replace(choice=choice), "collides", choice in MERGE_CHOICES)

    def _note(self, conflict: PathConflict, reason: str, is_decided: bool) -> None:
        choice = conflict.choice if is_decided else None
        self.conflicts.append(conflict._replace(reason=reason, choice=choice))

    def _add_as_sibling(self, entry: TreeEntry) -> None:
        path = build_sibling_path(entry.path, entry.blob)
        self.edits[path] = entry._replace(path=path)

    def _read_content(self, blob: bytes) -> bytes:
        new_content = self.new_blobs.get(blob)
        return self._session.reader.read_blob(blob) if new_content is None else new_content

    def _make_entry(self, path: str, kind: int, content: bytes) -> TreeEntry:
        blob = blob_id(content)
        self.new_blobs[blob] = content
        return TreeEntry(path, kind, blob, len(content))

    def raise_versions(self, ours: bytes, theirs: bytes) -> None:
        """Raise the version of a skill that one side has alone above all that the other ever had.

        `ours` and `theirs` are the merged snapshots, neither of which descends from the other.
        """
        our_lineage, their_lineage = (AncestorSet(self._session, one) for one in (ours, theirs))

        @cache
        def find_sides(snapshot: bytes) -> tuple[bool, bool]:
            return snapshot in our_lineage, snapshot in their_lineage

        is_ours = {path: path not in self.edits for path in self.added} | {
            item.path: item.ours is not None
            for item in self.conflicts
            if item.choice is not None and (item.ours is None or item.theirs is None)
        }
        for path, is_in_ours in is_ours.items():
            entry = self.edits[path] if path in self.edits else self._states[OURS].get(path)
            if entry is None or entry.kind == LINK or not derive.may_be_skill(path):
                continue
            rows = [
                (row, find_sides(row.snapshot))
                for row in lineage_cache.read_skill_rows(self._session, path)
            ]
            holder, other = (0, 1) if is_in_ours else (1, 0)
            foreign = [row for row, sides in rows if sides[other] and not sides[holder]]
            if not foreign:
                continue
            made = self.new_blobs.get(entry.blob)
            if made is None:
                stated = lineage_cache.load_cards(self._session, [entry.blob])[entry.blob].version
            else:
                stated = read_skill_metadata(made, "").version
            if not any(
                (order := skill_version.compare_versions(row.version, stated)) > 0
                or (order == 0 and row.change != derive.REMOVED)  # another text of that version
                for row in foreign
            ):
                continue
            greatest = skill_version.greatest_version(
                [stated, *(row.version for row, sides in rows if any(sides))]
            )
            new_version = skill_version.next_version(greatest)
            slug = derive.slug_from_full_path(path)
            with suppress(InvalidInput):  # a skill that cannot be read keeps its content
                content = set_version(self._read_content(entry.blob), new_version, slug)
                self.edits[path] = self._make_entry(path, entry.kind, content)
                versions = (stated, "") if is_in_ours else ("", stated)
                self.skills.append((slug, *versions, new_version))
        self.skills.sort()


def build_base(
    session: Session,
    bases: Sequence[bytes],
    merges: Sequence[tuple[bytes, int]],
    new_blobs: dict[bytes, bytes],
    depth: int = 0,
) -> BrainState:
    """Return the base of a merge: the merge of all best common ancestors.

    They are merged in the order of their ids, so that both sides get the same base. What is in
    conflict keeps its older state. The nodes of a merged base are unstored ones.
    """
    first, *others = sorted(bases)[:MAX_MERGE_BASES] or [b""]
    combined = session.state_of(first) if first else BrainState(session)
    for other in others if depth < MAX_BASE_DEPTH else ():
        lower_bases = lineage.find_merge_bases(session.load_snapshot, merges, first, other)
        base = build_base(session, lower_bases, merges, new_blobs, depth + 1)
        states = base, combined, session.state_of(other)
        combined = StateMerge(session, states, None, new_blobs).merged_state()
    return combined


def build_sibling_path(path: str, blob: bytes) -> str:
    """Return the path of a second file next to `path`: `notes~1a2b3c4d.md`."""
    stem, suffix = posixpath.splitext(path)
    return f"{stem}~{blob.hex()[:8]}{suffix}"


def _merge_kind(base: TreeEntry | None, a: TreeEntry, b: TreeEntry) -> int | None:
    if a.kind == b.kind:
        return a.kind
    if base is None:
        return None
    return b.kind if a.kind == base.kind else a.kind
