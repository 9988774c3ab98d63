"""Adopt a copy or a fork of this brain: it is merged by what both have in common.

The files of the copy are imported on a branch that starts at the last snapshot which both have,
so the merge knows which side changed what.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import closing

from ..folder.handles import FolderHandles, open_root
from ..ops.import_states import BRAIN_OWNED_FILES
from ..results import FileInfo, SnapshotInfo
from .brain_protocol import AdoptionBrain
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
