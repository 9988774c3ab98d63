"""A source, and its state as it is read: a reader never writes to it or reads outside of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from ..ops.import_states import SourceFile
from ..results import Notice
from .skipped import SkippedFiles

__all__ = ["DetectedSource", "FilesRead", "Notice", "SourceFile", "SourceState"]

FilesRead = Iterator[tuple[str, SourceFile | None]]
"""Paths of the brain with the file there, None for a removed one."""


class DetectedSource(NamedTuple):
    """A source: its kind, its folder or file, and the evidence for the kind.

    `in_place_folder` is the folder that can be adopted in place, None if only a copy can be
    made. Of several kinds detected at one path, that of the greatest `confidence` counts.
    From 30 on a program is certain; if two are, the user must choose. `origin` is the URL of
    which `path` is a clone, "" if it is none.
    """

    kind: str
    path: Path
    evidence: str
    confidence: int
    in_place_folder: Path | None
    origin: str = ""

    @property
    def place(self) -> str:
        """The folder, the file or the URL of the source."""
        return self.origin or str(self.path)


class HomeFile(NamedTuple):
    """A file to adopt: its path in the home, its path in the brain, and its content."""

    home_path: str
    brain_path: str
    file: SourceFile


class SourceState(NamedTuple):
    """The files of a source.

    `files` can be iterated once; `skipped` and `source_paths`, which maps paths of the brain
    to paths of the source, are complete after that, and `keeps` may be asked: it tells
    whether a path of the brain without a file in `files` stays as it is.
    """

    files: FilesRead
    skipped: SkippedFiles
    source_paths: dict[str, str]
    message: str
    keeps: Callable[[str], bool]
    revision: str = ""
