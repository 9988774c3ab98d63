"""Looking back: the log, one snapshot, the history of a skill."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from ..errors import NotFound, printable
from ..objects import bundle as bundles
from ..objects import lineage, operation
from ..objects.snapshot import Snapshot
from ..results import FileInfo, SectionInfo, Shown, SkillVersion, SnapshotInfo
from ..session import Session
from .revisions import resolve
from .within import Within

if TYPE_CHECKING:  # a plain log needs nothing of skills, and starts the faster for it
    from ..cache.cache import SkillRow
    from .find import Found


_KINDS = ("file", "executable", "link")
"""Kinds of entries in words."""


def info(snapshot_id: bytes, snapshot: Snapshot) -> SnapshotInfo:
    """Return a snapshot as the log shows it."""
    return SnapshotInfo(
        snapshot_id.hex(),
        snapshot.bundle.hex(),
        [parent.hex() for parent in snapshot.parents],
        snapshot.generation,
        snapshot.author,
        snapshot.time,
        snapshot.message,
        operation.describe(snapshot.operation),
        snapshot.receipt.hex() or None,
    )


def log(session: Session, revision: str = "@", limit: int | None = None) -> Iterator[SnapshotInfo]:
    """Yield `revision` and its ancestors, newest first."""
    found = lineage.history(session.load, resolve(session, revision))
    return (info(*pair) for pair in islice(found, limit))


def log_of_skill(
    session: Session, text: str, revision: str = "@", limit: int | None = None
) -> Iterator[SnapshotInfo]:
    """Yield the snapshots, newest first, that changed a skill. Raises `NotFound`."""
    rows = reversed(skill_rows(session, resolve(session, revision), text))
    return (info(row.snapshot, session.load(row.snapshot)) for row in islice(rows, limit))


def files(session: Session, revision: str = "@") -> list[FileInfo]:
    """Return all files at a revision."""
    bundle = session.bundle_of(resolve(session, revision))
    return [
        FileInfo(entry.path, _KINDS[entry.kind], entry.blob.hex(), entry.size)
        for entry in bundles.walk(session.nodes, bundle)
    ]


def show(session: Session, revision: str = "@") -> Shown:
    """Return one snapshot, its counts against its first parent, sections and signatures."""
    from .signing import fitting

    snapshot_id = resolve(session, revision)
    snapshot = session.load(snapshot_id)
    after = session.bundle(snapshot.bundle)
    before = session.bundle_of(snapshot.parents[0]) if snapshot.parents else bundles.EMPTY
    total = bundles.total(after)
    counts = {"files": total.files, "bytes": total.bytes, "added": 0, "modified": 0, "removed": 0}
    for _, was, now in bundles.compare(session.nodes, before, after):
        counts["added" if was is None else "removed" if now is None else "modified"] += 1
    sections = {
        name: SectionInfo(root.node.hex(), root.files, root.bytes) for name, root in after.items()
    }
    signed = fitting(session, snapshot_id)
    return Shown(info(snapshot_id, snapshot), counts, sections, signed)


def skill_rows(session: Session, head: bytes, text: str) -> list[SkillRow]:
    """Return what changed a skill in the lineage of `head`, oldest first.

    It goes on where the skill was before it was moved. Raises `NotFound` (`no_skill`)
    if nothing ever did.
    """
    rows = [row for row, inside in _logged(session, head, text) if row.snapshot in inside]
    if not rows:
        raise NotFound(
            f"no skill {printable(text)} in this lineage",
            code="no_skill",
            hint="see `brain skill list`",
        )
    return sorted(rows, key=partial(_generation, session))


def _logged(
    session: Session, head: bytes, text: str, version: str | None = None
) -> Iterator[tuple[SkillRow, Within]]:
    """Yield what `lineage_cache.log_of` does, each row with the lineage it belongs to, or not.

    It goes on with the paths the skill had before it was moved. Whether a row belongs to
    its lineage is the costly question, so it is asked of those alone that matter.
    """
    from . import derived, lineage_cache

    start = Within(session, head)
    waiting = [(path, start) for path in _paths_of(session, start, text)]
    seen = {path for path, _ in waiting}
    while waiting:
        path, inside = waiting.pop()
        for row in lineage_cache.log_of(session, path, version):
            yield row, inside
            if row.change == derived.ADDED and row.snapshot in inside:
                moved = _moved_from(session, row)
                if moved is not None and moved[0] not in seen:
                    seen.add(moved[0])
                    waiting.append(moved)


def _moved_from(session: Session, row: SkillRow) -> tuple[str, Within] | None:
    """Return where a skill was before it appeared at a path, and in which lineage."""
    snapshot = session.load(row.snapshot)
    kind, *fields = snapshot.operation
    if kind == "genesis" or (kind == "upsert" and not fields[1]):  # new, from nowhere
        return None
    from . import renames

    parent = snapshot.parents[0]
    moved = renames.source(session, parent, row.snapshot, row.path)
    return (moved.path, Within(session, parent)) if moved is not None else None


def _generation(session: Session, row: SkillRow) -> int:
    return session.load(row.snapshot).generation


def _paths_of(session: Session, inside: Within, text: str) -> list[str]:
    if "/" in text:
        return [f"skills/{text}/SKILL.md", f"skills/{text}.md", f"skills/{text}"]
    from ..skills.slug import slugify
    from . import find

    current = find.maybe(session, session.bundle_of(session.head()), text)
    found = find.paths_within(session, inside, current.slug if current else slugify(text))
    if current is None:
        return found
    return [current.path, *(p for p in found if p != current.path and not _elsewhere(session, p))]


def _elsewhere(session: Session, path: str) -> bool:
    """Tell whether another skill, which shares the slug, lives at `path` today."""
    from . import derived

    return derived.is_skill(session, session.bundle_of(session.head()), path)


def skill_history(session: Session, text: str) -> list[SkillVersion]:
    """Return what changed a skill, newest first. Raises `NotFound` (`no_skill`)."""
    from ..skills import version
    from . import derived

    out = []
    rows = skill_rows(session, session.head(), text)
    for row in reversed(rows):
        snapshot = session.load(row.snapshot)
        out.append(
            SkillVersion(
                version.value(row.version),
                row.snapshot.hex(),
                snapshot.time,
                snapshot.author,
                _RENAMED if _is_renamed(session, row, rows) else derived.CHANGES[row.change],
                row.path,
                snapshot.message,
            )
        )
    return out


_RENAMED = "renamed"


def _is_renamed(session: Session, row: SkillRow, rows: Sequence[SkillRow]) -> bool:
    """Tell whether a skill came to its path from another one that it had."""
    from . import derived

    if row.change != derived.ADDED or all(other.path == row.path for other in rows):
        return False
    moved = _moved_from(session, row)
    return moved is not None and any(other.path == moved[0] for other in rows)


def at_version(session: Session, head: bytes, text: str, wanted: str) -> tuple[bytes, Found]:
    """Return the last snapshot that set a skill to a version, and the skill there.

    Raises `NotFound` (`no_skill`, `no_version`).
    """
    from . import derived, find

    found = [
        row
        for row, inside in _logged(session, head, text, wanted)
        if row.version == wanted and row.change != derived.REMOVED and row.snapshot in inside
    ]
    if found:
        row = max(found, key=partial(_generation, session))
        return row.snapshot, find.at(session, session.bundle_of(row.snapshot), row.path)
    known = list(dict.fromkeys(row.version for row in skill_rows(session, head, text)))
    raise NotFound(
        f"{printable(text)} has no version {printable(wanted)}",
        code="no_version",
        hint=f"it has {', '.join(known[-8:])}",
    )
