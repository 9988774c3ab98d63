"""Read a skill from a folder outside of a brain: its text, and the files beside it."""

from __future__ import annotations

import os
from pathlib import Path

from ... import limits
from ...errors import InvalidInput, NotFound, printable_text
from ...folder import scan
from ...folder.ignore import IgnoreRules
from ...folder.read import CandidateFile, read_working_file
from ...objects.tree_node import EXECUTABLE, LINK
from ...skills import skill_layout
from .file_edits import ExecutableContent

_HINT = "put the file itself there"


def read_skill_folder(folder: Path) -> tuple[bytes, dict[str, bytes]]:
    """Return the text of a skill and its other files, by path in the folder.

    What a brain ignores is left out. Raises `NotFound` (`no_file`) without a SKILL.md,
    `InvalidInput` (`not_regular`, `link_outside`, `too_many`, `too_large`) or `OSError`.
    """
    scanned = scan.scan_files(folder, IgnoreRules.load(folder), None)
    for error in scanned.skipped.values():
        raise error
    for notice in scanned.notices:  # a scan leaves out what a reader of one folder must not miss
        if notice.code in ("link_outside", "not_regular"):
            problem = notice.message.removeprefix("left out: ")
            raise InvalidInput(problem, code=notice.code, hint=_HINT)
    found = scanned.changed
    text = next((file.path for file in found if file.path in skill_layout.SKILL_FILES), None)
    if text is None:
        raise NotFound(
            f"{printable_text(folder)} has no {skill_layout.SKILL_FILES[0]}",
            code="no_file",
            hint="name the folder of a skill, or the file with its text",
        )
    _refuse_unusable(folder, found)
    contents = {file.path: _read_content(folder, file) for file in found}
    return contents.pop(text), contents


def _read_content(folder: Path, file: CandidateFile) -> bytes:
    content = read_working_file(folder, file.path)
    return ExecutableContent(content) if file.kind == EXECUTABLE else content


def _refuse_unusable(folder: Path, found: list[CandidateFile]) -> None:
    shown = printable_text(folder)
    if linked := [file.path for file in found if file.kind == LINK]:
        raise InvalidInput(
            f"{printable_text(os.path.join(folder, linked[0]))} is a link",
            code="not_regular",
            hint=_HINT,
        )
    if len(found) > limits.MAX_WRITTEN_FILES:
        raise InvalidInput(
            f"{shown} has {len(found)} files, more than {limits.MAX_WRITTEN_FILES}",
            code="too_many",
            hint="copy it below skills/, and record it with `brain snapshot`",
        )
    if (size := sum(file.size for file in found)) > limits.MAX_EDIT_BYTES:
        raise InvalidInput(
            f"{shown} has {size} bytes, more than {limits.MAX_EDIT_BYTES}",
            code="too_large",
            hint="copy it below skills/, and record it with `brain snapshot`",
        )
