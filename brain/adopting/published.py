"""What a brain has written into the folder of a client: a record that lies there.

    {"format": 1, "published": [{"brain": "…", "kind": "claude", "snapshot": "…",
      "files": {"skills/a/SKILL.md": {"path": "skills/a/SKILL.md", "blob": "…",
                                      "form": "…", "state": "…", "was": "…"}}}]}

`state` is what was written there and `was` what may still lie there, if a publication was
cut short; both tell content and kind. The record is read as what any stranger may have
written: it can make a file known as one of ours, never a path outside of the layout.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from .. import jsontext
from ..digest import blob_id
from ..errors import InvalidInput, printable
from ..limits import MAX_FILES
from ..objects import paths
from ..objects.entry import EXECUTABLE, FILE, LINK
from ..results import FileInfo
from ..worktree.folders import Folders, opened
from ..worktree.materialise import write_file
from .protocol import File
from .reading import CannotTake, read

NAME = ".brain-published.json"
_FORMAT = 1
MAX_BYTES = 512 << 20
"""Size of a record: what the files of the largest brain take, with paths of some 90 bytes."""
_MOST_VALUES = 16 * MAX_FILES
_DEEPEST = 5
NOTHING = "-"
"""As `was`: nothing lay there, and the file may not have been written yet."""
KINDS = {"file": FILE, "executable": EXECUTABLE, "link": LINK}
"""Kinds of entries, by the words of `FileInfo`."""
_MARKS = {FILE: "", EXECUTABLE: "x", LINK: "l"}


class Written(NamedTuple):
    """A file there: the path and blob in the brain it was made of, in which form, and states."""

    path: str
    blob: str
    form: str
    state: str
    was: str = ""


class Record(NamedTuple):
    """What one brain published: the kind of layout, the snapshot, the files by path there."""

    brain: str
    kind: str
    snapshot: str
    files: Mapping[str, Written]


def state_of(file: File | None) -> str:
    """Return what stands for the content and kind of a file, "" for none."""
    return "" if file is None else _MARKS[file.kind] + blob_id(file.content).hex()


def state_by(info: FileInfo) -> str:
    """Return the state of a file of a brain, as it is there."""
    return _MARKS[KINDS[info.kind]] + info.blob


def load(folder: Path) -> list[Record]:
    """Return the records in a folder, of each brain that published there.

    Raises `InvalidInput` (`bad_record`).
    """
    try:
        with opened(folder) as fd:
            content = read(Folders(fd), NAME, MAX_BYTES).content
    except (CannotTake, InvalidInput) as error:
        if (folder / NAME).exists():
            raise _bad(folder, str(error)) from error
        return []
    try:
        found = jsontext.parse(content, _DEEPEST, _MOST_VALUES, lambda why, _: _bad(folder, why))
        if found["format"] != _FORMAT:
            raise _bad(folder, "of a later version")
        return [_record(fields) for fields in found["published"]]
    except (ValueError, KeyError, TypeError) as error:
        raise _bad(folder, "not what `brain publish` writes") from error


def kinds(folder: Path) -> frozenset[str]:
    """Return the kinds of homes that brains published in a folder, as far as can be told."""
    try:
        return frozenset(record.kind for record in load(folder)) if folder.is_dir() else frozenset()
    except InvalidInput:
        return frozenset()


def save(folder: Path, records: list[Record]) -> None:
    """Write the records into a folder, a line for each file.

    Raises `InvalidInput` (`bad_record`) for more than can be read again.
    """
    each = map(_text_of, sorted(records, key=lambda record: record[:3]))
    text = f'{{"format": {_FORMAT}, "published": [\n' + ",\n".join(each) + "\n]}\n"
    if len(text) > MAX_BYTES:
        raise _bad(folder, f"{len(text)} bytes; at most {MAX_BYTES} are read")
    write_file(folder, NAME, FILE, text.encode())


def _text_of(record: Record) -> str:
    brain, kind, snapshot = map(json.dumps, record[:3])
    rows = (
        f"{json.dumps(path)}: {json.dumps(row._asdict())}"
        for path, row in sorted(record.files.items())
    )
    head = f'{{"brain": {brain}, "kind": {kind}, "snapshot": {snapshot}, "files": {{\n'
    return head + ",\n".join(rows) + "\n}}"


def _record(fields: Any) -> Record:
    rows = fields["files"]
    if not isinstance(rows, dict):
        raise TypeError
    files = {_path(path): _written(row) for path, row in rows.items()}
    made = Record(fields["brain"], fields["kind"], fields["snapshot"], files)
    if not all(isinstance(text, str) for text in made[:3]):
        raise TypeError
    return made


def _written(fields: Any) -> Written:
    row = Written(**fields)
    if not all(isinstance(text, str) for text in row) or row.form.count(":") != 2:
        raise TypeError
    _path(row.path)
    return row


def _path(path: str) -> str:
    try:
        return paths.check(path)
    except InvalidInput as error:
        raise ValueError(error.message) from error


def _bad(folder: Path, why: str) -> InvalidInput:
    return InvalidInput(
        f"{printable(folder / NAME)} cannot be used: {why}",
        code="bad_record",
        hint="remove it; files that lie there then count as somebody else's",
    )
