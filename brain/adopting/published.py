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

from ..digest import blob_id
from ..errors import InvalidInput, printable
from ..objects import paths
from ..objects.entry import EXECUTABLE, FILE, LINK
from ..results import FileInfo
from ..worktree.folders import Folders, opened
from ..worktree.materialise import write_file
from .protocol import File
from .reading import CannotTake, read

NAME = ".brain-published.json"
_FORMAT = 1
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
            content = read(Folders(fd), NAME).content
    except (CannotTake, InvalidInput) as error:
        if (folder / NAME).exists():
            raise _bad(folder, str(error)) from error
        return []
    try:
        found = json.loads(content)
        if found["format"] != _FORMAT:
            raise _bad(folder, "of a later version")
        return [_record(fields) for fields in found["published"]]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise _bad(folder, "not what `brain publish` writes") from error


def kinds(folder: Path) -> frozenset[str]:
    """Return the kinds of homes that brains published in a folder, as far as can be told."""
    try:
        return frozenset(record.kind for record in load(folder)) if folder.is_dir() else frozenset()
    except InvalidInput:
        return frozenset()


def save(folder: Path, records: list[Record]) -> None:
    """Write the records into a folder."""
    rows = [
        {
            "brain": record.brain,
            "kind": record.kind,
            "snapshot": record.snapshot,
            "files": {path: row._asdict() for path, row in sorted(record.files.items())},
        }
        for record in sorted(records)
    ]
    text = json.dumps({"format": _FORMAT, "published": rows}, indent=1)
    write_file(folder, NAME, FILE, text.encode() + b"\n")


def _record(fields: Any) -> Record:
    files = {_path(path): _written(row) for path, row in fields["files"].items()}
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
