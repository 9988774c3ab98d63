"""The log, one snapshot in detail, and the history of a skill."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from ...errors import NotFound, printable_text
from ...objects import bundle as bundles
from ...objects import lineage, operation
from ...objects.snapshot import Snapshot
from ...results import FileInfo, SectionInfo, SkillVersion, SnapshotDetails, SnapshotInfo
from ..open.session import Session
from ..read.ancestor_set import AncestorSet
from ..read.revisions import resolve_revision

if TYPE_CHECKING:  # a plain log needs nothing of skills, and starts the faster for it
    from ...cache.derived_cache import SkillHistoryRow
    from ..read.skill_lookup import FoundSkill


_KIND_NAMES = ("file", "executable", "link")
"""Kinds of entries in words."""


def snapshot_info(snapshot_id: bytes, snapshot: Snapshot) -> SnapshotInfo:
    """Return a snapshot as the log shows it."""
    return SnapshotInfo(
        snapshot_id.hex(),
        snapshot.bundle.hex(),
        [parent.hex() for parent in snapshot.parents],
        snapshot.generation,
        snapshot.author,
        snapshot.time,
        snapshot.message,
        operation.operation_to_json(snapshot.operation),
        snapshot.receipt.hex() or None,
    )


def read_log(
    session: Session, revision: str = "@", limit: int | None = None
) -> Iterator[SnapshotInfo]:
    """Yield `revision` and its ancestors, newest first."""
    found = lineage.walk_ancestors(session.load_snapshot, resolve_revision(session, revision))
    return (snapshot_info(*pair) for pair in islice(found, limit))


def list_skill_snapshots(
    session: Session, slug_or_path: str, revision: str = "@", limit: int | None = None
) -> Iterator[SnapshotInfo]:
    """Yield the snapshots, newest first, that changed a skill. Raises `NotFound`."""
    rows = reversed(find_skill_changes(session, resolve_revision(session, revision), slug_or_path))
    return (
        snapshot_info(row.snapshot, session.load_snapshot(row.snapshot))
        for row in islice(rows, limit)
    )


def list_revision_files(session: Session, revision: str = "@") -> list[FileInfo]:
    """Return all files at a revision."""
    bundle = session.bundle_of(resolve_revision(session, revision))
    return [
        FileInfo(entry.path, _KIND_NAMES[entry.kind], entry.blob.hex(), entry.size)
        for entry in bundles.walk_entries(session.nodes, bundle)
    ]


def show_snapshot(session: Session, revision: str = "@") -> SnapshotDetails:
    """Return one snapshot, its counts against its first parent, sections and signatures."""
    from ..signing.sign import read_valid_signatures

    snapshot_id = resolve_revision(session, revision)
    snapshot = session.load_snapshot(snapshot_id)
    after = session.load_bundle(snapshot.bundle)
    before = session.bundle_of(snapshot.parents[0]) if snapshot.parents else bundles.EMPTY_BUNDLE
    total = bundles.bundle_totals(after)
    counts = {"files": total.files, "bytes": total.bytes, "added": 0, "modified": 0, "removed": 0}
    for _, was, now in bundles.diff_bundles(session.nodes, before, after):
        counts["added" if was is None else "removed" if now is None else "modified"] += 1
    sections = {
        name: SectionInfo(root.node.hex(), root.files, root.bytes) for name, root in after.items()
    }
    signed = read_valid_signatures(session, snapshot_id)
    return SnapshotDetails(snapshot_info(snapshot_id, snapshot), counts, sections, signed)


def find_skill_changes(session: Session, head: bytes, slug_or_path: str) -> list[SkillHistoryRow]:
    """Return what changed a skill in the lineage of `head`, oldest first.

    It goes on where the skill was before it was moved. Raises `NotFound` (`no_skill`)
    if nothing ever did.
    """
    rows = [
        row
        for row, inside in _iter_skill_changes(session, head, slug_or_path)
        if row.snapshot in inside
    ]
    if not rows:
        raise NotFound(
            f"no skill {printable_text(slug_or_path)} in this lineage",
            code="no_skill",
            hint="see `brain skill list`",
        )
    return sorted(rows, key=partial(_generation, session))


def _iter_skill_changes(
    session: Session, head: bytes, slug_or_path: str, version: str | None = None
) -> Iterator[tuple[SkillHistoryRow, AncestorSet]]:
    """Yield what `lineage_cache.log_of` does, each row with the lineage it belongs to, or not.

    It goes on with the paths the skill had before it was moved. Whether a row belongs to
    its lineage is the costly question, so it is asked of those alone that matter.
    """
    from ..read import lineage_cache, skill_rows

    start = AncestorSet(session, head)
    waiting = [(path, start) for path in _find_skill_paths(session, start, slug_or_path)]
    visited_paths = {path for path, _ in waiting}
    while waiting:
        path, inside = waiting.pop()
        for row in lineage_cache.read_skill_rows(session, path, version):
            yield row, inside
            if row.change == skill_rows.ADDED and row.snapshot in inside:
                moved = _find_rename_source(session, row)
                if moved is not None and moved[0] not in visited_paths:
                    visited_paths.add(moved[0])
                    waiting.append(moved)


def _find_rename_source(session: Session, row: SkillHistoryRow) -> tuple[str, AncestorSet] | None:
    """Return where a skill was before it appeared at a path, and in which lineage."""
    snapshot = session.load_snapshot(row.snapshot)
    kind, *fields = snapshot.operation
    if kind == "genesis" or (kind == "upsert" and not fields[1]):  # new, from nowhere
        return None
    from . import renames

    parent = snapshot.parents[0]
    moved = renames.find_rename_source(session, parent, row.snapshot, row.path)
    return (moved.path, AncestorSet(session, parent)) if moved is not None else None


def _generation(session: Session, row: SkillHistoryRow) -> int:
    return session.load_snapshot(row.snapshot).generation


def _find_skill_paths(session: Session, inside: AncestorSet, slug_or_path: str) -> list[str]:
    if "/" in slug_or_path:
        return [
            f"skills/{slug_or_path}/SKILL.md",
            f"skills/{slug_or_path}.md",
            f"skills/{slug_or_path}",
        ]
    from ...skills.slug import slugify
    from ..read import skill_lookup

    current = skill_lookup.find_skill_or_none(
        session, session.bundle_of(session.head()), slug_or_path
    )
    found = skill_lookup.find_paths_in_lineage(
        session, inside, current.slug if current else slugify(slug_or_path)
    )
    if current is None:
        return found
    return [
        current.path,
        *(p for p in found if p != current.path and not _is_other_skill(session, p)),
    ]


def _is_other_skill(session: Session, path: str) -> bool:
    """Tell whether another skill, which shares the slug, lives at `path` today."""
    from ..read import skill_rows

    return skill_rows.is_skill(session, session.bundle_of(session.head()), path)


def read_skill_history(session: Session, slug_or_path: str) -> list[SkillVersion]:
    """Return what changed a skill, newest first. Raises `NotFound` (`no_skill`)."""
    from ...skills import skill_version
    from ..read import skill_rows

    out = []
    rows = find_skill_changes(session, session.head(), slug_or_path)
    for row in reversed(rows):
        snapshot = session.load_snapshot(row.snapshot)
        out.append(
            SkillVersion(
                skill_version.version_value(row.version),
                row.snapshot.hex(),
                snapshot.time,
                snapshot.author,
                _RENAMED
                if _is_renamed(session, row, rows)
                else skill_rows.SKILL_CHANGE_NAMES[row.change],
                row.path,
                snapshot.message,
            )
        )
    return out


_RENAMED = "renamed"


def _is_renamed(session: Session, row: SkillHistoryRow, rows: Sequence[SkillHistoryRow]) -> bool:
    """Tell whether a skill came to its path from another one that it had."""
    from ..read import skill_rows

    if row.change != skill_rows.ADDED or all(other.path == row.path for other in rows):
        return False
    moved = _find_rename_source(session, row)
    return moved is not None and any(other.path == moved[0] for other in rows)


def find_skill_at_version(
    session: Session, head: bytes, slug_or_path: str, wanted_version: str
) -> tuple[bytes, FoundSkill]:
    """Return the last snapshot that set a skill to a version, and the skill there.

    Raises `NotFound` (`no_skill`, `no_version`).
    """
    from ..read import skill_lookup, skill_rows

    found = [
        row
        for row, inside in _iter_skill_changes(session, head, slug_or_path, wanted_version)
        if row.version == wanted_version
        and row.change != skill_rows.REMOVED
        and row.snapshot in inside
    ]
    if found:
        row = max(found, key=partial(_generation, session))
        return row.snapshot, skill_lookup.load_skill(
            session, session.bundle_of(row.snapshot), row.path
        )
    known_versions = list(
        dict.fromkeys(row.version for row in find_skill_changes(session, head, slug_or_path))
    )
    raise NotFound(
        f"{printable_text(slug_or_path)} has no version {printable_text(wanted_version)}",
        code="no_version",
        hint=f"it has {', '.join(known_versions[-8:])}",
    )
