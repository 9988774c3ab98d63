"""Find transcripts of other programs as they end, and queue their hard runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ...errors import BrainError
from ...limits import MAX_TRANSCRIPT_BYTES
from ...receipts.transcripts import read_transcripts
from ..budget import now_ms
from .hard_runs import queue_run

if TYPE_CHECKING:
    from ...api.brain import Brain

QUIET_MS = 120_000
"""A session whose file was not written for so long has ended, or rests."""
MAX_WATCHED_FILES = 50_000
"""Files that are looked at; further ones are left out."""
_ENDINGS = (".jsonl", ".json")
_NOTE = "transcripts"


class ImportedTranscript(NamedTuple):
    """A transcript that ended: its file, and the runs that were queued."""

    file: str
    queued: list[str]


class TranscriptFolders:
    """Queues hard runs of transcripts in folders, at any depth, whenever it is polled.

    Only files that are written after this was first used on a brain are read: earlier sessions
    would cost without having been asked for.
    """

    def __init__(
        self,
        brain: Brain,
        folders: Sequence[Path],
        now: Callable[[], int] = now_ms,
    ) -> None:
        self._brain = brain
        self._folders = folders
        self._store = brain.gaps.open_store()
        self._now = now
        self._seen: dict[str, tuple[int, int]] = {}

    def poll(self) -> Iterator[ImportedTranscript]:
        """Read the transcripts that ended since the last call. Raises `StoreError`."""
        now = self._now()
        since: int = self._store.change(_NOTE, lambda old: old or {"since": now})["since"]
        pending = now
        for path, stat in self._iter_files():
            changed = stat.st_mtime_ns // 1_000_000
            key = (stat.st_size, stat.st_mtime_ns)
            if changed < since or self._seen.get(path) == key:
                continue
            if changed > now - QUIET_MS:
                pending = min(pending, changed)
                continue
            self._seen[path] = key
            queued = self._import_file(path, stat.st_size)
            if queued:
                yield ImportedTranscript(path, queued)
        mark = max(since, min(pending, now - QUIET_MS))
        self._store.change(_NOTE, lambda _: {"since": mark})

    def _import_file(self, path: str, size: int) -> list[str]:
        """Queue the hard runs of a file; a file that is no transcript has none."""
        if size > MAX_TRANSCRIPT_BYTES:
            return []
        try:
            receipts = read_transcripts(Path(path).read_bytes(), "")
        except (BrainError, OSError):
            return []
        return [receipt.run for receipt in receipts if queue_run(self._brain, receipt)]

    def _iter_files(self) -> Iterator[tuple[str, os.stat_result]]:
        left = MAX_WATCHED_FILES
        for folder in self._folders:
            for parent, _, names in os.walk(folder):
                for name in names:
                    if not name.endswith(_ENDINGS):
                        continue
                    left -= 1
                    if left < 0:
                        return
                    path = os.path.join(parent, name)
                    try:
                        yield path, os.stat(path, follow_symlinks=False)
                    except OSError:  # it was removed meanwhile
                        continue
