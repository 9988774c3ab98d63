"""Check that the versions of skills are those that operations claim, and rise."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple, Self

from ..errors import BrainError
from ..objects import paths
from ..objects.tree import Difference
from ..objects.tree_node import LINK, NodeEntry, TreeEntry
from ..repo import derive
from ..repo.session import Session
from ..results import Finding
from ..skills.skill_metadata import SkillMetadata, recorded_version
from ..skills.skill_version import compare_versions
from .findings import finding_from_error
from .operation_check import Edge, OperationDiff, can_have_slug, skill_name_of_text
from .tree_check import SectionDiff

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
                yield from _check_deletion(version_change, cards)
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


def _check_deletion(
    version_change: VersionChange, cards: dict[bytes, SkillMetadata]
) -> Iterator[Finding]:
    _, slug, version = version_change.edge.snapshot.operation
    gone = [cards[d.before.blob] for d in version_change.differences if d.before and not d.after]
    if any(card.flags == "redacted" or recorded_version(card) == version for card in gone):
        return
    message = f"claims that {slug} was removed at {version}, but its text had another version"
    yield Finding("version_mismatch", "error", version_change.edge.name, "", message)
