"""Adopting from a folder into which the brain itself has published.

What still lies there as it was written is what the brain has, in the form of a client. So
the branch of the source goes on from the snapshot that was published, and what was changed
there is merged as a change of that.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from ..brain import Brain
from ..digest import blob_id
from ..errors import InvalidInput, NotFound
from ..merging import contents
from ..skills.layout import SKILL_FILES
from ..skills.strict import conforming
from .compose import KEPT
from .ignoring import Files
from .layouts import BY_KIND
from .protocol import File, Found, Step, Taking
from .published import KINDS, NAME, NOTHING, Record, Written, load, state_of


def record_of(brain: Brain, found: Found) -> Record | None:
    """Return what this brain has published at a source, None if nothing that it still knows."""
    if not (found.path / NAME).is_file():
        return None
    for record in load(found.path):
        if (record.brain, record.kind) == (brain.id, found.kind):
            try:
                brain.show(record.snapshot)
            except (NotFound, InvalidInput):
                return None
            return record
    return None


def go_on_from(brain: Brain, branch: str, record: Record) -> None:
    """Let the branch of a source stand at the snapshot that was published, or beyond it."""
    heads = {row.name: row.snapshot for row in brain.branches().branches}
    tip = heads.get(branch)
    if tip is not None:
        if not brain.ancestry(tip, record.snapshot).descends or tip == record.snapshot:
            return
        brain.delete_branch(branch)
    brain.create_branch(branch, record.snapshot)


def as_recorded(
    brain: Brain, root: Path, record: Record, steps: Iterator[Step], taking: Taking
) -> Iterator[Step]:
    """Yield the steps with what was published put back to where and what it is in the brain."""
    for step in steps:
        if step.whole:
            files = _returned(brain, root, record, step, taking)
            yield step._replace(files=files, whole=False)
        else:
            yield step


def _returned(brain: Brain, root: Path, record: Record, step: Step, taking: Taking) -> Files:
    kinds = {info.path: KINDS[info.kind] for info in brain.files(record.snapshot)}
    for path, file in step.files:
        home = taking.placed.get(path, "")
        row = record.files.get(home)
        if row is None or row.path not in kinds:
            yield path, file
            continue
        if row.path != path:
            taking.placed[row.path] = taking.placed.pop(path)
        content = brain.read_file(row.path, record.snapshot)
        if state_of(file) in (row.state, row.was):
            yield row.path, File(kinds[row.path], content)
        else:
            yield row.path, _carried_over(content, file, home, row)
    for home, row in record.files.items():
        if row.path in kinds and row.was != NOTHING and not os.path.lexists(root / home):
            yield row.path, None


def _carried_over(content: bytes, file: File | None, home: str, row: Written) -> File | None:
    """Return what was changed in a published skill as a change of the skill itself.

    Where the two cannot be told apart, it is what lies there.
    """
    folder, _, name = home.rpartition("/")
    layout = BY_KIND.get(row.form.split(":")[1])
    if file is None or name != SKILL_FILES[0] or layout is None:
        return file
    keeps = layout.keeps if row.form.endswith(KEPT) else ()
    try:
        written = conforming(content, folder.rpartition("/")[2], keeps)
    except InvalidInput:
        return file
    if blob_id(written).hex() != row.state:
        return file
    draft = contents.draft(row.path, contents.Sides(written, content, file.content), "")
    merged = contents.finished(draft, None) if draft else None
    return file if merged is None else file._replace(content=merged)
