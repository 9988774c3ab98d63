"""The record of a publication, kept in the client's folder.

    {"format": 1, "published": [{"brain": "…", "kind": "claude", "snapshot": "…",
      "files": {"skills/a/SKILL.md": {"path": "skills/a/SKILL.md", "blob": "…",
                                      "form": "…", "state": "…", "was": "…"}}}]}

`form` says whether the file went where it was adopted from. `state` is the published state, and
`was` the state before if the publication may not have finished; both stand for content and kind.
The record is untrusted input: it can claim a file for this brain, but never a path outside of
the layout.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from ..digest import blob_id
from ..errors import InvalidInput
from ..folder.handles import FolderHandles, open_root
from ..folder.write import write_working_files
from ..limits import MAX_FILES
from ..objects import paths
from ..objects.tree_node import EXECUTABLE, FILE, LINK
from ..ops.import_states import SourceFile
from ..results import FileInfo
from ..util import strict_json
from .source_files import SkipFile, read_home_file

RECORD_NAME = ".brain-published.json"
_FORMAT = 1
MAX_PUBLISH_RECORD_BYTES = 512 << 20
"""Size of a record: enough for the largest brain, with paths of some 90 bytes."""
_MAX_VALUES = 16 * MAX_FILES
_MAX_DEPTH = 5
ADOPTED_FORM, _RENAMED_FORM = "adopted", "renamed"
"""Last parts of the `form` of files that went where they were adopted from. Earlier versions
could rename skills there, and rendered others, as "kept" or "strict"."""
ABSENT_STATE = "-"
"""As `was`: no file existed."""
ENTRY_KINDS = {"file": FILE, "executable": EXECUTABLE, "link": LINK}
"""Entry kinds, by the kinds of `FileInfo`."""
_KIND_MARKS = {FILE: "", EXECUTABLE: "x", LINK: "l"}


class PublishedFile(NamedTuple):
    """A published file: its source path and blob in the brain, the form, and the states."""

    path: str
    blob: str
    form: str
    state: str
    was: str = ""


class PublishRecord(NamedTuple):
    """One brain's publication: the kind of layout, the snapshot, and the files by client path."""

    brain: str
    kind: str
    snapshot: str
    files: Mapping[str, PublishedFile]


def form_name(kind: str, is_adopted: bool) -> str:
    """Return the `form` of a file that is published at a kind of home."""
    return f"2:{kind}:{ADOPTED_FORM if is_adopted else 'copied'}"


def has_own_place(row: PublishedFile) -> bool:
    """Tell whether a file was published where it had been adopted from."""
    return row.form.rpartition(":")[2] in (ADOPTED_FORM, _RENAMED_FORM)


def file_state(file: SourceFile | None) -> str:
    """Return the state of a file: a mark of its kind and its blob id; "" for none."""
    return "" if file is None else _KIND_MARKS[file.kind] + blob_id(file.content).hex()


def info_state(info: FileInfo) -> str:
    """Return the state of a file of a brain."""
    return _KIND_MARKS[ENTRY_KINDS[info.kind]] + info.blob


def load_records(folder: Path) -> list[PublishRecord]:
    """Return the records of all brains that published into a folder.

    Raises `InvalidInput` (`bad_record`).
    """
    try:
        with open_root(folder) as fd:
            content = read_home_file(
                FolderHandles(fd), RECORD_NAME, MAX_PUBLISH_RECORD_BYTES
            ).content
    except (SkipFile, InvalidInput) as error:
        if (folder / RECORD_NAME).exists():
            raise _bad_record(folder, str(error)) from error
        return []
    try:
        document = strict_json.parse_json(
            content, _MAX_DEPTH, _MAX_VALUES, lambda why, _: _bad_record(folder, why)
        )
        if document["format"] != _FORMAT:
            raise _bad_record(folder, "it has a later format")
        return [_parse_record(fields) for fields in document["published"]]
    except (ValueError, KeyError, TypeError) as error:
        raise _bad_record(folder, "it was not written by `brain publish`") from error


def published_kinds(folder: Path) -> frozenset[str]:
    """Return the kinds of homes published into a folder; none if the record is bad."""
    with suppress(InvalidInput):
        if folder.is_dir():
            return frozenset(record.kind for record in load_records(folder))
    return frozenset()


def save_records(folder: Path, records: list[PublishRecord]) -> None:
    """Write the records into a folder, with a line for each file.

    Raises `InvalidInput` (`bad_record`) if they are too large to be read again.
    """
    each = map(_format_record, sorted(records, key=lambda record: record[:3]))
    text = f'{{"format": {_FORMAT}, "published": [\n' + ",\n".join(each) + "\n]}\n"
    if len(text) > MAX_PUBLISH_RECORD_BYTES:
        raise _bad_record(folder, f"{len(text)} bytes; at most {MAX_PUBLISH_RECORD_BYTES} are read")
    write_working_files(folder, [(RECORD_NAME, FILE, text.encode())])


def _format_record(record: PublishRecord) -> str:
    brain, kind, snapshot = map(json.dumps, record[:3])
    file_lines = (
        f"{json.dumps(path)}: {json.dumps(file._asdict())}"
        for path, file in sorted(record.files.items())
    )
    head = f'{{"brain": {brain}, "kind": {kind}, "snapshot": {snapshot}, "files": {{\n'
    return head + ",\n".join(file_lines) + "\n}}"


def _parse_record(fields: Any) -> PublishRecord:
    files_by_path = fields["files"]
    if not isinstance(files_by_path, dict):
        raise TypeError
    files = {_check_path(path): _parse_file(file) for path, file in files_by_path.items()}
    record = PublishRecord(fields["brain"], fields["kind"], fields["snapshot"], files)
    if not all(isinstance(text, str) for text in record[:3]):
        raise TypeError
    return record


def _parse_file(fields: Any) -> PublishedFile:
    file = PublishedFile(**fields)
    if not all(isinstance(text, str) for text in file) or file.form.count(":") != 2:
        raise TypeError
    _check_path(file.path)
    return file


def _check_path(path: str) -> str:
    try:
        return paths.check_path(path)
    except InvalidInput as error:
        raise ValueError(error.message) from error


def _bad_record(folder: Path, reason: str) -> InvalidInput:
    return InvalidInput(
        f"{folder / RECORD_NAME} cannot be used: {reason}",
        code="bad_record",
        hint="remove it; its files then count as written by others",
    )
