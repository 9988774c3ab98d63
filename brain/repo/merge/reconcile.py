"""Merge two trees with their content at hand, and report the conflicts that remain.

What merging makes is kept in memory until a merge is recorded, so that the merge
of bases, which criss-cross histories need, leaves nothing behind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from ... import limits
from ...digest import blob_id
from ...errors import InvalidInput
from ...merging import content_merge, tree_merge
from ...merging.content_merge import BOTH, MERGE_CHOICES, OURS, THEIRS, ContentSides, DraftMerge
from ...merging.tree_merge import EditedBundle, PathConflict, PathEdits
from ...objects import ancestry
from ...objects import bundle as bundles
from ...objects.tree_entry import LINK, TreeEntry
from ...skills.skill_document import set_version
from ...trust.policy import POLICY_PATH as TRUST
from ...trust.policy import is_policy
from ..open.session import Session
from ..read import skill_rows
from . import append_merge
from .append_merge import AppendedBlob

MAX_MERGE_BASES = 8
"""Bases of one merge that are put together; criss-cross histories have two."""
MAX_BASE_DEPTH = 8
"""Merges of bases of bases; what lies deeper counts as one base."""


class UnresolvedConflict(NamedTuple):
    """A contest that nobody decided; `draft` is the text as far as it goes."""

    contest: PathConflict
    reason: str
    draft: DraftMerge | None


class MergeOutcome(NamedTuple):
    """What a merge does to our side.

    `skills` are (slug, version of ours, of theirs, merged version) by slug; `decided`
    are the contests that a choice settled; `added` are the paths that one side alone added.
    """

    edits: PathEdits
    skills: list[tuple[str, str, str, str]]
    unresolved: list[UnresolvedConflict]
    decided: list[tuple[PathConflict, str | bytes]]
    added: list[str]


Chooser = Callable[[PathConflict], "str | bytes | None"]
"""Says OURS, THEIRS or BOTH, gives the content itself, or leaves a contest open."""


def leave_undecided(contest: PathConflict) -> None:
    """Leave a contest open."""


class Merger:
    """Merges states of one brain.

    `made` and `grown` are the blobs it made, by id: whole, and as what follows another.
    """

    def __init__(self, session: Session) -> None:
        self.new_blobs: dict[bytes, bytes] = {}
        self.appended_blobs: dict[bytes, AppendedBlob] = {}
        self._session = session

    def merge(
        self, base: EditedBundle, ours: EditedBundle, theirs: EditedBundle, choose: Chooser
    ) -> MergeOutcome:
        """Merge `theirs` into `ours`."""
        found = tree_merge.merge_trees(self._session.nodes, base, ours, theirs)
        edits = found.edits
        skills: list[tuple[str, str, str, str]] = []
        unresolved: list[UnresolvedConflict] = []
        decided: list[tuple[PathConflict, str | bytes]] = []
        for contest in found.conflicts:
            choice = choose(contest)
            conflict = self._merge_path(contest, ours, choice, edits, skills)
            if conflict is not None:
                unresolved.append(conflict)
            elif choice is not None:
                decided.append((contest, choice))
        for pair in found.collisions:
            collision = self._build_collision(*pair, ours, edits)
            if collision is None:
                continue
            choice = choose(collision)
            if choice not in MERGE_CHOICES:
                unresolved.append(UnresolvedConflict(collision, "collides", None))
            else:
                _resolve_collision(pair[0], collision, choice, edits)
                decided.append((collision, choice))
        unresolved.sort(key=lambda conflict: conflict.contest.path)
        return MergeOutcome(edits, sorted(skills), unresolved, decided, found.added)

    def build_base(
        self, bases: Sequence[bytes], merges: Sequence[tuple[bytes, int]], depth: int = 0
    ) -> EditedBundle:
        """Return what a merge starts from: the merge of all best common ancestors.

        Sorted by id, so that both sides see the same; what cannot be merged is as it
        was before.
        """
        session = self._session
        if not bases:
            return EditedBundle(bundles.EMPTY_BUNDLE, {})
        first, *rest = sorted(bases)[:MAX_MERGE_BASES]
        out = EditedBundle(session.bundle_of(first), {})
        if depth == MAX_BASE_DEPTH:
            return out
        for other in rest:
            below = ancestry.find_merge_bases(session.load_snapshot, merges, first, other)
            base = self.build_base(below, merges, depth + 1)
            merged = self.merge(
                base, out, EditedBundle(session.bundle_of(other), {}), leave_undecided
            )
            older = {conflict.contest.path: conflict.contest.base for conflict in merged.unresolved}
            out = EditedBundle(out.bundle, {**out.edits, **merged.edits, **older})
        return out

    def _merge_path(
        self,
        contest: PathConflict,
        ours: EditedBundle,
        choice: str | bytes | None,
        edits: PathEdits,
        skills: list[tuple[str, str, str, str]],
    ) -> UnresolvedConflict | None:
        path, base, a, b = contest
        if a is None or b is None:
            return _merge_deletion(contest, choice, edits)
        kind = _merge_kind(base, a, b)
        if kind is None or LINK in (a.kind, b.kind):
            return self._choose_whole_file(contest, "kind", choice, edits)
        if a.blob == b.blob:
            edits[path] = a._replace(kind=kind)
            return None
        appended_blob = (
            append_merge.merge_appended(self._session, contest) if choice is None else None
        )
        if appended_blob is not None:
            self.appended_blobs[appended_blob.blob] = appended_blob
            edits[path] = TreeEntry(path, kind, appended_blob.blob, appended_blob.size)
            return None
        if max(e.size for e in (base or a, a, b)) > limits.MAX_LINE_MERGE_BYTES:
            return self._choose_whole_file(contest, "too_large", choice, edits)
        slug = self._skill_slug(path, ours)
        draft = content_merge.draft_merge(path, self._read_sides(contest), slug)
        if draft is None:
            return self._choose_whole_file(
                contest, "unreadable_skill" if slug else "binary", choice, edits
            )
        if isinstance(choice, bytes):
            content: bytes | None = _set_merged_version(choice, draft, slug)
        else:
            content = content_merge.finish_merge(draft, choice)
        if content is None:
            return UnresolvedConflict(contest, "content", draft)
        if path == TRUST and not is_policy(content):
            return self._choose_whole_file(contest, "broken_trust", choice, edits)
        edits[path] = self.make_entry(path, kind, content)
        if draft.skill:
            skills.append((slug, draft.skill.ours, draft.skill.theirs, draft.skill.version))
        return None

    def _choose_whole_file(
        self, contest: PathConflict, reason: str, choice: str | bytes | None, edits: PathEdits
    ) -> UnresolvedConflict | None:
        """Decide what is not merged: one side, or both under two names."""
        path, _, a, b = contest
        assert a is not None and b is not None
        if choice == OURS:
            edits.pop(path, None)
        elif choice == THEIRS:
            edits[path] = b
        elif choice == BOTH:
            edits[build_sibling_path(path, b.blob)] = b._replace(
                path=build_sibling_path(path, b.blob)
            )
        elif isinstance(choice, bytes):
            edits[path] = self.make_entry(path, a.kind, choice)
        else:
            return UnresolvedConflict(contest, reason, None)
        return None

    def _build_collision(
        self, our_path: str, other: str, ours: EditedBundle, edits: PathEdits
    ) -> PathConflict | None:
        """Return two paths that no folder holds together as a contest about theirs."""
        here = ours.edits.get(our_path) or bundles.get_entry(
            self._session.nodes, ours.bundle, our_path
        )
        there = edits.get(other)
        is_removed = our_path in edits and edits[our_path] is None
        return PathConflict(other, None, here, there) if here and there and not is_removed else None

    def _read_sides(self, contest: PathConflict) -> ContentSides:
        known = contest.base and not self._session.reader.find_redactions([contest.base.blob])
        base = self.read_content(contest.base.blob) if contest.base and known else None
        assert contest.ours and contest.theirs
        return ContentSides(
            base, self.read_content(contest.ours.blob), self.read_content(contest.theirs.blob)
        )

    def read_content(self, blob: bytes) -> bytes:
        """Return the content of a blob, made here or stored."""
        made = self.new_blobs.get(blob)
        return self._session.reader.read_blob(blob) if made is None else made

    def make_entry(self, path: str, kind: int, content: bytes) -> TreeEntry:
        """Return the entry of a content that is kept here until the merge is recorded."""
        blob = blob_id(content)
        self.new_blobs[blob] = content
        return TreeEntry(path, kind, blob, len(content))

    def _skill_slug(self, path: str, ours: EditedBundle) -> str:
        if skill_rows.is_skill(self._session, ours.bundle, path):
            return skill_rows.slug_from_full_path(path)
        return ""


def _resolve_collision(
    our_path: str, collision: PathConflict, choice: str | bytes, edits: PathEdits
) -> None:
    """Take one of two paths, or both, theirs under another name."""
    other, _, _, there = collision
    assert there is not None
    if choice == THEIRS:
        edits[our_path] = None
        return
    del edits[other]
    if choice == BOTH:
        name = build_sibling_path(other, there.blob)
        edits[name] = there._replace(path=name)


def build_sibling_path(path: str, blob: bytes) -> str:
    """Return the name a second file gets beside `path`."""
    folder, slash, name = path.rpartition("/")
    stem, dot, suffix = name.rpartition(".")
    mark = "~" + blob.hex()[:8]
    return folder + slash + (f"{stem}{mark}{dot}{suffix}" if stem else name + mark)


def list_merge_paths(outcome: MergeOutcome) -> Iterable[str]:
    """Return every path that a merge would write or asks about."""
    return sorted({*outcome.edits, *(conflict.contest.path for conflict in outcome.unresolved)})


def _merge_kind(base: TreeEntry | None, a: TreeEntry, b: TreeEntry) -> int | None:
    if a.kind == b.kind:
        return a.kind
    if base is None:
        return None
    return b.kind if a.kind == base.kind else a.kind


def _merge_deletion(
    contest: PathConflict, choice: str | bytes | None, edits: PathEdits
) -> UnresolvedConflict | None:
    path, _, a, b = contest
    remaining = a or b
    if choice == THEIRS:
        edits[path] = b
    elif choice == BOTH and a is None:
        edits[path] = remaining
    elif choice not in (OURS, BOTH):
        return UnresolvedConflict(
            contest, "deleted_by_theirs" if b is None else "deleted_by_ours", None
        )
    return None


def _set_merged_version(content: bytes, draft: DraftMerge, slug: str) -> bytes | None:
    """Return a text that somebody gave, at the version of the merge where it is a skill."""
    if draft.skill is None:
        return content
    try:
        return set_version(content, draft.skill.version, slug)
    except InvalidInput:
        return None
