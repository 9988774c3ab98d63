"""Adopt from a folder into which this brain has published, and from a copy or fork of it.

Both have something in common with the brain, from which their branch goes on, so that a merge
knows which side changed what: of a copy it is the last snapshot that both have.

Unchanged files that were published are files of the brain. So the branch of the source
continues from the published snapshot, and changes in the folder are merged as changes of that
snapshot.

The record of a publication is in the folder, so it is untrusted. It is checked against the
brain: the snapshot must be an ancestor of the head, and an entry counts only if publishing that
snapshot writes that file. So the record cannot claim the brain's own files, nor any others.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from ..errors import InvalidInput, NotFound
from ..folder.handles import FolderHandles, open_root
from ..ops.import_states import BRAIN_OWNED_FILES, SourceFile
from ..results import FileInfo, SnapshotInfo
from .brain_protocol import AdoptionBrain
from .home_origins import find_origins
from .publish_manifest import (
    ABSENT_STATE,
    ENTRY_KINDS,
    RECORD_NAME,
    PublishedFile,
    PublishRecord,
    file_state,
    load_records,
)
from .publish_plan import PlannedFile, layout_by_kind, plan_publication
from .source_files import (
    DetectedSource,
    FilesRead,
    HomeFile,
    SkipFile,
    SkippedFiles,
    SourceState,
    filter_unsafe,
    read_home_file,
)


class PublishedState(NamedTuple):
    """A publication at a source: the snapshot, and the valid entries by path there.

    `removed` are the entries of files that a killed publication may have left to remove;
    `kinds` are those of all files of the snapshot.
    """

    snapshot: str
    rows: Mapping[str, PublishedFile]
    planned: Mapping[str, PlannedFile]
    removed: Mapping[str, PublishedFile]
    kinds: Mapping[str, str]


def find_published_state(brain: AdoptionBrain, detected: DetectedSource) -> PublishedState | None:
    """Return this brain's publication at a source, None without one of a known snapshot.

    Raises `InvalidInput` (`bad_record`; `not_of_head` for a snapshot of another branch).
    """
    if not (detected.path / RECORD_NAME).is_file():
        return None
    for record in load_records(detected.path):
        is_own = (record.brain, record.kind) == (brain.id, detected.kind)
        if is_own and _has_snapshot(brain, record):
            snapshot, rows = record.snapshot, record.files
            planned: Mapping[str, PlannedFile] = {}
            if layout := layout_by_kind(record.kind, detected.path):
                homes = find_origins(brain, detected.path, layout, snapshot, rows).home_paths
                planned = plan_publication(brain, snapshot, layout, homes, detected.path).files
            entries = {
                home: row
                for home, row in rows.items()
                if home in planned and planned[home].info.path == row.path
            }
            kinds = {info.path: info.kind for info in brain.files.list(snapshot)}
            removed = {home: row for home, row in rows.items() if row.path not in kinds}
            return PublishedState(snapshot, entries, planned, removed, kinds)
    return None


def _has_snapshot(brain: AdoptionBrain, record: PublishRecord) -> bool:
    """Tell whether the brain has the snapshot. Raises `InvalidInput` if the head lacks it."""
    try:
        if brain.history.show(record.snapshot).info.snapshot != record.snapshot:
            return False
    except (NotFound, InvalidInput):
        return False
    if brain.history.check_ancestry(record.snapshot).descends:
        return True
    raise InvalidInput(
        f"snapshot {record.snapshot} was published there, and is not an ancestor of this branch",
        code="not_of_head",
        hint=f"switch to the branch that was published, or remove {RECORD_NAME} there: its files "
        "then count as written by others",
    )


def move_source_branch(brain: AdoptionBrain, branch: str, snapshot: str) -> None:
    """Move the branch of a source to the published snapshot, unless it is further already."""
    heads = {info.name: info.snapshot for info in brain.branches.list().branches}
    tip = heads.get(branch)
    if tip is not None:
        if not brain.history.check_ancestry(tip, snapshot).descends or tip == snapshot:
            return
        brain.branches.delete(branch)
    brain.branches.create(branch, snapshot)


def restore_published_files(
    brain: AdoptionBrain, root: Path, published: PublishedState, state: SourceState
) -> SourceState:
    """Return the state with published files as the brain has them, and where.

    The source lacks the files that were not published; the brain keeps them.
    """

    def restore_files() -> FilesRead:
        for path, file in state.files:
            home = state.source_paths.get(path, "")
            entry = published.rows.get(home)
            if entry is None:
                left = published.removed.get(home)
                if left is None or file_state(file) not in (left.state, left.was):
                    yield path, file
                continue
            if entry.path != path:
                state.source_paths[entry.path] = state.source_paths.pop(path)
            if file_state(file) in (entry.state, entry.was):
                content = brain.files.read_stored(entry.path, published.snapshot)
                yield entry.path, SourceFile(ENTRY_KINDS[published.kinds[entry.path]], content)
            else:
                yield entry.path, file
        for home, entry in published.rows.items():
            existed = entry.was != ABSENT_STATE and entry.blob == published.planned[home].info.blob
            if existed and not os.path.lexists(root / home):
                yield entry.path, None

    return state._replace(files=restore_files(), keeps=lambda _: True)


SAME_BRAIN_KIND = "brain"


def find_common_snapshot(brain: AdoptionBrain, copy: AdoptionBrain) -> str | None:
    """Return the last snapshot of a brain with the state from which both went on; None for none.

    The copy has it too, or has adopted its files.
    """
    for info in copy.history.log():
        if _has(brain, info.snapshot):
            return info.snapshot
        if adopted := _adopted_snapshot(brain, copy, info):
            return adopted
    origin, own_origin = _fork_origin(copy), _fork_origin(brain)
    if origin and _has(brain, origin):
        return origin
    # The genesis of a fork has the files of its origin, which is a snapshot of the other brain.
    return brain.id if own_origin and copy.history.has(own_origin) else None


def _adopted_snapshot(brain: AdoptionBrain, copy: AdoptionBrain, info: SnapshotInfo) -> str | None:
    """Return the snapshot of the brain that the copy adopted with `info`; None for another one.

    Whoever wrote the copy says which one it was, so it counts only if no file differs: then
    what the copy has left out is not removed here, either.
    """
    operation = info.operation
    if operation["kind"] != "import" or operation["origin"] != SAME_BRAIN_KIND:
        return None
    revision = str(operation["revision"])
    if not _has(brain, revision) or _files(brain, revision) != _files(copy, info.snapshot):
        return None
    return revision


def _files(brain: AdoptionBrain, snapshot: str) -> list[FileInfo]:
    return [info for info in brain.files.list(snapshot) if info.path not in BRAIN_OWNED_FILES]


def _has(brain: AdoptionBrain, snapshot: str) -> bool:
    """Tell whether a brain has a snapshot in its history, and since it was forked."""
    ancestry = brain.history.check_ancestry
    return (
        brain.history.has(snapshot)
        and ancestry(snapshot).descends
        and ancestry(brain.id, snapshot).descends
    )


def _fork_origin(brain: AdoptionBrain) -> str:
    return str(brain.history.show(brain.id).info.operation.get("origin") or "")


def read_copy(
    brain: AdoptionBrain, copy: AdoptionBrain, source: DetectedSource, allow: Collection[str]
) -> SourceState:
    """Read all files of a copy as they are in its folder.

    Files with what the brain redacted are left out, and stay as they are there.
    """
    status = copy.status()
    recorded = {info.path for info in copy.files.list()}
    paths = (recorded | {*status.added}) - {*status.removed} - BRAIN_OWNED_FILES
    skipped = SkippedFiles()
    source_paths: dict[str, str] = {}

    def read_home_files(folders: FolderHandles) -> Iterator[HomeFile]:
        for path in sorted(paths):
            try:
                yield HomeFile(path, path, read_home_file(folders, path))
            except SkipFile as error:
                skipped.add(error.code, path, error.reason, path)

    def read_files() -> FilesRead:
        with open_root(source.path) as fd, closing(FolderHandles(fd)) as folders:
            for home, path, file in filter_unsafe(read_home_files(folders), skipped, allow):
                if brain.imports.is_redacted(file.content):
                    skipped.add("redacted", home, "the content was redacted in this brain", path)
                    continue
                source_paths[path] = home
                yield path, file
        skipped.finish()

    message = f"Adopt the brain {source.path.name}"
    revision = status.head if status.clean else ""
    return SourceState(read_files(), skipped, source_paths, message, skipped.is_unread, revision)
