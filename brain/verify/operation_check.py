"""Check that a snapshot changed only what its operation may change, and the versions it claims.

The rules are those of FORMAT.md, "What an operation may change". The cost is that of the
changes, except for redactions: no file may hold the blob afterwards, so the whole tree is
read, once for all redactions of a batch. The versions of skills are those that operations claim,
and rise.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple, Self

from ..digest import NO_DIGEST
from ..errors import BrainError
from ..gating.case_paths import may_change
from ..objects import operation as operations
from ..objects import paths
from ..objects.snapshot import Snapshot
from ..objects.tree import Difference
from ..objects.tree_node import LEAF, LINK, NodeEntry, TreeEntry
from ..repo import derive
from ..repo.session import BrainState, Session
from ..results import Finding
from ..skills import skill_layout
from ..skills.skill_metadata import SkillMetadata, recorded_version
from ..skills.skill_version import compare_versions
from ..trust import POLICY_PATH as TRUST
from ..verdicts.verdict import read_verdict
from .graph_check import finding_from_error
from .tree_check import SectionDiff

FALSE_OPERATION = "false_operation"
_SKILLS = "skills"
_KINDS_WITHOUT_CHANGES = ("task", *operations.BINDING_KINDS)
_SINGLE_SKILL_KINDS = ("upsert", "delete", "absorb", *operations.DECISION_KINDS)
LIMITED_KINDS = frozenset((*_KINDS_WITHOUT_CHANGES, *_SINGLE_SKILL_KINDS, "restore", "redact"))
"""Kinds that limit what they may change."""


class Edge(NamedTuple):
    """A snapshot compared with its first parent; `name` is its id as text."""

    name: str
    snapshot: Snapshot
    before: BrainState
    after: BrainState
    changes: list[SectionDiff]

    def diff_by_path(self) -> OperationDiff:
        """Return the changes by full path; removed sections are read."""
        gone: dict[str, TreeEntry] = {}
        fresh: dict[str, TreeEntry] = {}
        for section, was, now in self.changes:
            for entries, lines in ((gone, was), (fresh, now)):
                for line in lines:
                    path = paths.join_section(section, line[0])
                    entries[path] = TreeEntry(path, *line[1:])
        for section in self.before.sections.keys() - self.after.sections.keys():
            removed = self.before.walk_section(section)
            gone.update((entry.path, entry) for entry in removed)
        return OperationDiff(self.name, self.snapshot.operation, self.after, gone, fresh)


class OperationDiff(NamedTuple):
    """The changes, by path, of a snapshot whose operation limits them."""

    name: str
    operation: operations.SnapshotOperation
    after: BrainState
    old_entries: dict[str, TreeEntry]
    new_entries: dict[str, TreeEntry]

    @property
    def changed_paths(self) -> list[str]:
        """All paths that were added, removed or changed."""
        return [
            *self.old_entries,
            *(path for path in self.new_entries if path not in self.old_entries),
        ]

    def report_paths(self, wrong_paths: list[str], problem: str) -> Iterator[Finding]:
        """Yield one finding about the paths if there are any."""
        if wrong_paths:
            more = f", and {len(wrong_paths) - 1} more" if len(wrong_paths) > 1 else ""
            message = f"says {self.operation[0]}, but {problem}{more}"
            yield Finding(FALSE_OPERATION, "error", self.name, wrong_paths[0], message)


def check_operation_diff(session: Session, diff: OperationDiff) -> Iterator[Finding]:
    """Yield changes that the operation does not allow. Raises `BrainError`."""
    kind = diff.operation[0]
    if kind in _KINDS_WITHOUT_CHANGES:
        yield from diff.report_paths(diff.changed_paths, "the files are not those of its parent")
    elif kind == "restore":
        yield from _check_restore(session, diff)
    elif kind == "redact":
        yield from _check_redaction(diff)
    elif kind in _SINGLE_SKILL_KINDS:
        yield from _check_single_skill(session, diff)


def _check_restore(session: Session, diff: OperationDiff) -> Iterator[Finding]:
    source = diff.operation[1]
    if not session.reader.has_object(source):
        return
    bundle_id = session.load_snapshot(source).bundle
    if not session.reader.has_object(bundle_id):
        return
    then = session.load_state(bundle_id)
    other = [p for p in diff.changed_paths if then.get(p) != diff.new_entries.get(p)]
    yield from diff.report_paths(other, f"this differs from {source.hex()[:12]}")


def _check_redaction(diff: OperationDiff) -> Iterator[Finding]:
    blob = diff.operation[2]
    yield from diff.report_paths(list(diff.new_entries), "this is new or changed")
    others = [path for path, was in diff.old_entries.items() if was.blob != blob]
    yield from diff.report_paths(others, "this did not hold the blob")
    if TRUST in diff.old_entries:
        yield from diff.report_paths([TRUST], "it removed the trust file")


def find_undestroyed_blobs(session: Session, edges: Iterable[OperationDiff]) -> Iterator[Finding]:
    """Yield the files that still hold blobs which redactions among `edges` destroyed."""
    redactions = [diff for diff in edges if diff.operation[0] == "redact"]
    holding = _find_held_blobs(session, redactions)
    for diff in redactions:
        blob = diff.operation[2]
        if blob in holding:
            found = [e.path for e in diff.after.walk() if e.blob == blob]
            yield from diff.report_paths(found, "this still holds the blob")


def _find_held_blobs(session: Session, redactions: list[OperationDiff]) -> set[bytes]:
    wanted = {diff.operation[2] for diff in redactions}
    queue = [root.node for diff in redactions for root in diff.after.sections.values()]
    seen: set[bytes] = set()
    held: set[bytes] = set()
    while queue:
        node_id = queue.pop()
        if node_id in seen:
            continue
        seen.add(node_id)
        node = session.nodes.get(node_id)
        if node.kind == LEAF:
            held.update(wanted.intersection(line[2] for line in node.entries))
        else:
            queue.extend(line[1] for line in node.entries)
    return held


def _check_single_skill(session: Session, diff: OperationDiff) -> Iterator[Finding]:
    kind, slug = diff.operation[:2]
    owners = _SkillOwners(diff)
    listed = _find_listed(session, diff) if kind in ("admit", "reject") else set()
    changed = [path for path in diff.changed_paths if path not in listed]
    first = next(iter(diff.new_entries), "") if kind == "absorb" else changed[0] if changed else ""
    unexplained = []
    for own in owners.find_owned_paths(slug, changed, first):
        others = [path for path in changed if path not in own]
        if kind == "absorb" and others:
            taken = owners.find_owned_paths(diff.operation[4], others, others[0])
            gone = [path - diff.new_entries.keys() for path in taken]
            others = min(([path for path in others if path not in g] for g in gone), key=len)
        unexplained.append(others)
    yield from diff.report_paths(min(unexplained, key=len), f"this file does not belong to {slug}")
    if kind == "absorb" and not diff.new_entries:
        yield from diff.report_paths([f"{_SKILLS}/{slug}"], "nothing of it was written")
    if kind == "absorb" and not _find_removed_texts(diff, diff.operation[4]):
        yield from diff.report_paths(
            [f"{_SKILLS}/{diff.operation[4]}"], "that skill was not removed with it"
        )
    if kind == "delete":
        yield from _check_deletion(diff)


def _find_listed(session: Session, diff: OperationDiff) -> set[str]:
    """Return the paths that a verdict lists, with what they were and are, as changed too."""
    blob = operations.evidence_blob(diff.operation)
    if session.reader.find_missing([blob]):
        return set()
    try:
        changes = read_verdict(session.reader, blob).changes
    except BrainError:  # `decision_check` reports it
        return set()
    return {
        change.path
        for change in changes
        if may_change(change.path)
        and (change.before, change.after)
        == tuple(
            entries[change.path].blob if change.path in entries else NO_DIGEST
            for entries in (diff.old_entries, diff.new_entries)
        )
    }


def _find_removed_texts(diff: OperationDiff, slug: str) -> list[str]:
    gone = (path for path in diff.old_entries if path not in diff.new_entries)
    return sorted((path for path in gone if can_have_slug(skill_name_of_text(path), slug)), key=len)


def _check_deletion(diff: OperationDiff) -> Iterator[Finding]:
    yield from diff.report_paths(list(diff.new_entries), "this is new or changed")
    texts = _find_removed_texts(diff, diff.operation[1])
    folder = _skill_folder(texts[0]) if texts else ""
    if not texts:
        yield from diff.report_paths(
            [f"{_SKILLS}/{diff.operation[1]}"], "that skill was not removed"
        )
        return
    outside = [
        p for p in diff.old_entries if p != texts[0] and not (folder and p.startswith(folder))
    ]
    yield from diff.report_paths(outside, "this belongs to another skill")
    if folder:
        there = diff.after.walk_below(folder.rstrip("/"))
        yield from diff.report_paths([entry.path for entry in there], "this file of it is left")


def skill_name_of_text(path: str) -> str:
    """Return the name of the skill whose SKILL.md a full path would be, "" if none."""
    folder, _, file = path.rpartition("/")
    if file in skill_layout.SKILL_FILES and folder not in ("", _SKILLS):
        return folder.rpartition("/")[2]
    is_flat = path.startswith(f"{_SKILLS}/") and folder.count("/") < 2
    return file[:-3] if is_flat and file[-3:].lower() == ".md" else ""


def can_have_slug(name: str, slug: str) -> bool:
    """Tell whether a skill of this name may have that slug.

    A name with other than ASCII characters may have any, since slugs of these depend on a
    version of Unicode.
    """
    if not name.isascii():
        return True
    return name != "" and skill_layout.slug_from_name(name) == slug


class _SkillOwners:
    def __init__(self, diff: OperationDiff) -> None:
        self._edge = diff
        self._skill_folders: dict[str, bool] = {}

    def find_owned_paths(self, slug: str, changed: Iterable[str], first: str) -> list[set[str]]:
        """Return the possible sets of paths that belong to the skill of that slug.

        If no ASCII name has that slug, any one non-ASCII name of `first` may have it.
        """
        names = {path: self._owner_names(path) for path in changed}
        sure = {
            path
            for path, own in names.items()
            if any(name.isascii() and can_have_slug(name, slug) for name in own)
        }
        if sure or not first:
            return [sure]
        unsure = (name for name in dict.fromkeys(names[first]) if not name.isascii())
        return [{path for path, own in names.items() if name in own} for name in unsure] or [set()]

    def _owner_names(self, path: str) -> list[str]:
        folders = path.split("/")[:-1]
        names = [
            name
            for depth, name in enumerate(folders, 1)
            if self._is_skill_folder("/".join(folders[:depth]))
        ]
        if name := skill_name_of_text(path):
            names.append(name)
        return names

    def _is_skill_folder(self, folder: str) -> bool:
        known = self._skill_folders.get(folder)
        if known is None:
            diff = self._edge
            names = [folder + ending for ending in skill_layout.FOLDER_SUFFIXES]
            known = folder != _SKILLS and any(
                name in diff.old_entries or name in diff.new_entries or diff.after.has(name)
                for name in names
            )
            self._skill_folders[folder] = known
        return known


def _skill_folder(path: str) -> str:
    folder, _, file = path.rpartition("/")
    return folder + "/" if file in skill_layout.SKILL_FILES and folder != _SKILLS else ""


_MANUAL_KINDS = ("snapshot", "merge")
"""Kinds that may change skills without raising versions; imports keep their own."""
_VERSIONED_KINDS = ("upsert", "absorb", "delete")
"""Kinds that claim the version of the skill they wrote or removed."""
_MAX_CACHED_CARDS = 4096


class VersionChange(NamedTuple):
    """An edge on which versions had to rise; `differences` are those of possible skills."""

    edge: Edge
    differences: list[Difference]

    @classmethod
    def from_edge(cls, edge: Edge, diff: OperationDiff | None) -> Self | None:
        """Return the versions to check on an edge, None if there are none.

        `diff` has the changes by path if the operation limits what may have changed.
        """
        kind = edge.snapshot.operation[0]
        if diff and kind in _VERSIONED_KINDS:
            slug = edge.snapshot.operation[1]
            texts = (
                path for path in diff.changed_paths if can_have_slug(skill_name_of_text(path), slug)
            )
            changed = [
                Difference(p, diff.old_entries.get(p), diff.new_entries.get(p)) for p in texts
            ]
        elif kind in _MANUAL_KINDS and edge.before.sections:
            changed = [
                difference
                for change in edge.changes
                if change.section in edge.before.sections
                for difference in _skill_differences(change)
                if difference.before and difference.after and difference.after.kind != LINK
            ]
        else:
            return None  # no version could rise
        return cls(edge, changed)

    @property
    def blobs(self) -> list[bytes]:
        """The blobs whose cards are needed."""
        return [entry.blob for _, *both in self.differences for entry in both if entry]


def _skill_differences(change: SectionDiff) -> Iterator[Difference]:
    fresh = [
        (path, line)
        for line in change.new_entries
        if derive.may_be_skill(path := paths.join_section(change.section, line[0]))
    ]
    was = {line[0]: line for line in change.old_entries} if fresh else {}
    for path, line in fresh:
        old: NodeEntry | None = was.get(line[0])
        yield Difference(path, old and TreeEntry(path, *old[1:]), TreeEntry(path, *line[1:]))


class VersionCheck:
    """Checks edges; cards that several of them need are read once."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._cards: dict[bytes, SkillMetadata] = {}

    def prefetch_cards(self, version_changes: Iterable[VersionChange]) -> None:
        """Read the cards that some edges need; a failure recurs when its edge is checked."""
        if len(self._cards) >= _MAX_CACHED_CARDS:
            self._cards.clear()
        with suppress(BrainError):
            self._read_cards(
                [blob for version_change in version_changes for blob in version_change.blobs]
            )

    def check_versions(self, version_change: VersionChange) -> Iterator[Finding]:
        """Yield the findings about the versions on an edge."""
        try:
            cards = self._read_cards(version_change.blobs)
            kind = version_change.edge.snapshot.operation[0]
            if kind == "delete":
                yield from _check_deleted_version(version_change, cards)
            elif kind in _VERSIONED_KINDS:
                yield from _check_upsert(version_change, cards)
            else:
                yield from self._check_manual_edit(version_change, cards)
        except BrainError as error:
            yield finding_from_error(error, version_change.edge.name)

    def _read_cards(self, blobs: Sequence[bytes]) -> dict[bytes, SkillMetadata]:
        """Return the cards in memory, after adding those of `blobs`."""
        unknown = [blob for blob in dict.fromkeys(blobs) if blob not in self._cards]
        if unknown:
            self._cards.update(derive.read_cards(self._session, unknown))
        return self._cards

    def _check_manual_edit(
        self, version_change: VersionChange, cards: dict[bytes, SkillMetadata]
    ) -> Iterator[Finding]:
        if not version_change.differences:
            return
        edge, differences = version_change
        was_skill, is_skill = (
            derive.build_skill_predicate(state, differences) for state in (edge.before, edge.after)
        )
        for path, was, now in differences:
            if not (was and now and was_skill(path) and is_skill(path)):
                continue
            old, new = cards[was.blob], cards[now.blob]
            if "redacted" in (old.flags, new.flags):
                continue
            if compare_versions(new.version, old.version) <= 0:
                both = f"{old.version} → {new.version}"
                message = f"edited without a higher version ({both})"
                yield Finding("version_not_raised", "note", version_change.edge.name, path, message)


def _check_upsert(
    version_change: VersionChange, cards: dict[bytes, SkillMetadata]
) -> Iterator[Finding]:
    slug, from_version, to_version = version_change.edge.snapshot.operation[1:4]
    if from_version and compare_versions(to_version, from_version) <= 0:
        message = f"{slug} does not rise: {from_version} → {to_version}"
        yield Finding("version_not_raised", "error", version_change.edge.name, "", message)
    if any(cards[blob].flags == "redacted" for blob in version_change.blobs):
        return  # its versions cannot be read any more
    if not any(
        d.after and recorded_version(cards[d.after.blob]) == to_version
        for d in version_change.differences
    ):
        message = f"claims that {slug} became {to_version}, but its text has another version"
        yield Finding("version_mismatch", "error", version_change.edge.name, "", message)
    for path, was, now in version_change.differences:
        if not (was and now):
            continue
        old, new = (recorded_version(cards[entry.blob]) for entry in (was, now))
        if compare_versions(new, old) <= 0:
            message = f"{old} → {new} does not rise"
            yield Finding("version_not_raised", "error", version_change.edge.name, path, message)


def _check_deleted_version(
    version_change: VersionChange, cards: dict[bytes, SkillMetadata]
) -> Iterator[Finding]:
    _, slug, version = version_change.edge.snapshot.operation
    gone = [cards[d.before.blob] for d in version_change.differences if d.before and not d.after]
    if any(card.flags == "redacted" or recorded_version(card) == version for card in gone):
        return
    message = f"claims that {slug} was removed at {version}, but its text had another version"
    yield Finding("version_mismatch", "error", version_change.edge.name, "", message)
