"""Adopting from a folder into which the brain itself has published.

What still lies there as it was written is what the brain has, in the form of a client. So
the branch of the source goes on from the snapshot that was published, and what was changed
there is merged as a change of that.

The record lies in the folder, so whoever wrote the folder may have written it. It is held
against the brain: the snapshot is one that the head came from, and a row counts only where
publishing that snapshot there puts that very file. So it can speak of nothing else, above
all not of what belongs to the brain itself.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from ..brain import Brain
from ..digest import blob_id
from ..errors import InvalidInput, NotFound, printable
from ..merging import contents
from ..skills.layout import SKILL_FILES
from ..skills.strict import conforming
from .compose import KEPT
from .ignoring import Files
from .layouts import BY_KIND
from .plan import Planned, plan
from .protocol import File, Found, Step, Taking
from .published import KINDS, NAME, NOTHING, Record, Written, load, state_of
from .target import layout_of


class Returning(NamedTuple):
    """What a brain published at a source: the snapshot, and the rows that hold, by path there."""

    snapshot: str
    rows: Mapping[str, Written]
    planned: Mapping[str, Planned]


def returning(brain: Brain, found: Found) -> Returning | None:
    """Return what this brain has published at a source, None if nothing that it still knows.

    Raises `InvalidInput` (`bad_record`; `not_of_head` for a snapshot of another branch).
    """
    if not (found.path / NAME).is_file():
        return None
    for record in load(found.path):
        if (record.brain, record.kind) == (brain.id, found.kind) and _knows(brain, record):
            layout = layout_of(record.kind, found.path)
            planned = plan(brain, record.snapshot, layout).files if layout else {}
            rows = {
                home: row
                for home, row in record.files.items()
                if home in planned and planned[home].info.path == row.path
            }
            return Returning(record.snapshot, rows, planned)
    return None


def _knows(brain: Brain, record: Record) -> bool:
    """Tell whether the brain has the snapshot; it is refused where the head has it not."""
    try:
        if brain.show(record.snapshot).info.snapshot != record.snapshot:
            return False
    except (NotFound, InvalidInput):
        return False
    if brain.ancestry(record.snapshot).descends:
        return True
    raise InvalidInput(
        f"what was published there is snapshot {printable(record.snapshot)}, "
        "which this branch does not have",
        code="not_of_head",
        hint=f"switch to the branch that was published, or remove {NAME} there: the files "
        "then count as somebody else's",
    )


def go_on_from(brain: Brain, branch: str, snapshot: str) -> None:
    """Let the branch of a source stand at the snapshot that was published, or beyond it."""
    heads = {row.name: row.snapshot for row in brain.branches().branches}
    tip = heads.get(branch)
    if tip is not None:
        if not brain.ancestry(tip, snapshot).descends or tip == snapshot:
            return
        brain.delete_branch(branch)
    brain.create_branch(branch, snapshot)


def as_recorded(
    brain: Brain, root: Path, known: Returning, steps: Iterator[Step], taking: Taking
) -> Iterator[Step]:
    """Yield the steps with what was published put back to where and what it is in the brain."""
    for step in steps:
        if step.whole:
            files = _returned(brain, root, known, step, taking)
            yield step._replace(files=files, whole=False)
        else:
            yield step


def _returned(brain: Brain, root: Path, known: Returning, step: Step, taking: Taking) -> Files:
    for path, file in step.files:
        home = taking.placed.get(path, "")
        row = known.rows.get(home)
        if row is None:
            yield path, file
            continue
        if row.path != path:
            taking.placed[row.path] = taking.placed.pop(path)
        content = brain.read_file(row.path, known.snapshot)
        if state_of(file) in (row.state, row.was):
            yield row.path, File(KINDS[known.planned[home].info.kind], content)
        else:
            yield row.path, _carried_over(content, file, home, row)
    for home, row in known.rows.items():
        was_there = row.was != NOTHING and row.blob == known.planned[home].info.blob
        if was_there and not os.path.lexists(root / home):
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
