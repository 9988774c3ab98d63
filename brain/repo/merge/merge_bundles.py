"""Merge two states of a brain with their contents, and report the unresolved conflicts.

Merged contents stay in memory until the merge is recorded, so that merging the bases of a
criss-cross history leaves nothing in the store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from ... import limits
from ...digest import blob_id
from ...errors import InvalidInput
from ...merging import content_merge, skill_merge, tree_merge
from ...merging.content_merge import BOTH, MERGE_CHOICES, OURS, THEIRS, ContentSides, DraftMerge
from ...merging.tree_merge import PathConflict
from ...objects import ancestry
from ...objects import bundle as bundles
from ...objects.bundle import Bundle, Edits
from ...objects.tree_entry import LINK, TreeEntry
from ...skills.skill_document import set_version
from ...trust import POLICY_PATH
from ...trust.policy import is_policy
from ..open.session import Session
from ..read import skill_rows

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
    `added` are the paths that exactly one side added.
    """

    edits: Edits
    skills: list[MergedVersions]
    unresolved: list[UnresolvedConflict]
    decided: list[tuple[PathConflict, Decision]]
    added: list[str]


class _PathMerge(NamedTuple):
    edits: Sequence[tuple[str, TreeEntry | None]] = ()
    skill: MergedVersions | None = None
    unresolved: UnresolvedConflict | None = None


def leave_undecided(conflict: PathConflict) -> None:
    """Leave every conflict open."""


class Merger:
    """Merges states of one brain; `new_blobs` are the contents that this makes, by blob id."""

    def __init__(self, session: Session) -> None:
        self.new_blobs: dict[bytes, bytes] = {}
        self._session = session

    def merge(self, base: Bundle, ours: Bundle, theirs: Bundle, choose: Chooser) -> MergeOutcome:
        """Merge `theirs` into `ours`; `choose` decides conflicts."""
        trees = tree_merge.merge_trees(self._session.nodes, base, ours, theirs)
        edits = trees.edits
        skills: list[MergedVersions] = []
        unresolved: list[UnresolvedConflict] = []
        decided: list[tuple[PathConflict, Decision]] = []
        for conflict in trees.conflicts:
            choice = choose(conflict)
            merged = self._merge_path(conflict, ours, choice)
            edits.update(merged.edits)
            if merged.skill is not None:
                skills.append(merged.skill)
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
        return MergeOutcome(edits, sorted(skills), unresolved, decided, trees.added)

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
            lower_bases = ancestry.find_merge_bases(session.load_snapshot, merges, first, other)
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
        return _PathMerge([(path, self.make_entry(path, kind, content))], skill)

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
        if skill_rows.is_skill(self._session, ours, path):
            return skill_rows.slug_from_full_path(path)
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
