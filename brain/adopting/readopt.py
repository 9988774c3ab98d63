"""Adopt from a folder into which this brain has published.

Unchanged files there are files of the brain, rendered for a client. So the branch of the
source continues from the published snapshot, and changes in the folder are merged as
changes of that snapshot.

The record is in the folder, so it is untrusted. It is checked against the brain: the
snapshot must be an ancestor of the head, and an entry counts only if publishing that
snapshot writes that file. So the record cannot claim the brain's own files, nor any others.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

from ..digest import blob_id
from ..errors import InvalidInput, NotFound
from ..merging import content_merge, lines
from .brain_protocol import AdoptionBrain
from .home_origins import find_origins
from .layouts import LAYOUT_BY_KIND, HomeLayout
from .publish_manifest import (
    ABSENT_STATE,
    ENTRY_KINDS,
    RECORD_NAME,
    PublishedFile,
    PublishRecord,
    file_state,
    load_records,
)
from .publish_plan import PlannedFile, plan_publication
from .publish_render import RenderForm, render_skill_text
from .publish_target import layout_by_kind
from .source_files import DetectedSource, FilesRead, SourceFile, SourceState, real_place


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
        if (record.brain, record.kind) == (brain.id, detected.kind) and _has_snapshot(
            brain, record
        ):
            layout = layout_by_kind(record.kind, detected.path)
            planned = _plan_again(brain, detected.path, record, layout) if layout else {}
            entries = {
                home: entry
                for home, entry in record.files.items()
                if home in planned and planned[home].info.path == entry.path
            }
            kinds = {info.path: info.kind for info in brain.files.list(record.snapshot)}
            removed = {
                home: entry for home, entry in record.files.items() if entry.path not in kinds
            }
            return PublishedState(record.snapshot, entries, planned, removed, kinds)
    return None


def _plan_again(
    brain: AdoptionBrain, folder: Path, record: PublishRecord, layout: HomeLayout
) -> Mapping[str, PlannedFile]:
    """Return what publishing the snapshot of a record writes, by path at the client."""
    origins = find_origins(brain, folder, layout, record.snapshot, record.files)
    place = partial(real_place, folder)
    return plan_publication(brain, record.snapshot, layout, origins.home_paths, place).files


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


def restore_published_form(
    brain: AdoptionBrain, root: Path, published: PublishedState, state: SourceState
) -> SourceState:
    """Return the state with published files restored to their path and form in the brain.

    What was not published is not at the source, and stays.
    """
    files = _restore_files(brain, root, published, state)
    return state._replace(files=files, keeps=lambda _: True)


def _restore_files(
    brain: AdoptionBrain, root: Path, published: PublishedState, state: SourceState
) -> FilesRead:
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
        content = brain.files.read_stored(entry.path, published.snapshot)
        if file_state(file) in (entry.state, entry.was):
            yield entry.path, SourceFile(ENTRY_KINDS[published.kinds[entry.path]], content)
        else:
            yield entry.path, _apply_client_edit(content, file, published.planned[home], entry)
    for home, entry in published.rows.items():
        existed = entry.was != ABSENT_STATE and entry.blob == published.planned[home].info.blob
        if existed and not os.path.lexists(root / home):
            yield entry.path, None


def _apply_client_edit(
    content: bytes, file: SourceFile | None, planned: PlannedFile, entry: PublishedFile
) -> SourceFile | None:
    """Return the skill with the changes made to its published form.

    If they cannot be separated, the file is returned as it is.
    """
    layout = LAYOUT_BY_KIND.get(entry.form.split(":")[1])
    if file is None or not planned.is_skill_text or layout is None:
        return file
    form = RenderForm(layout.kind, layout.extra_fields)
    try:
        written = render_skill_text(content, planned, form, entry.form).content
    except InvalidInput:
        return file
    if written == content or blob_id(written).hex() != entry.state:
        return file
    draft = content_merge.draft_merge(
        entry.path, lines.ContentSides(written, content, file.content), ""
    )
    merged = content_merge.finish_merge(draft, None) if draft else None
    return file if merged is None else file._replace(content=merged)
