"""A reader of a source that reports how many files it has read."""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Iterator
from pathlib import Path

from ..util.progress import Progress
from .source_protocol import DetectedSource, ImportStep, SourceFile, SourceReader, SourceStates


class CountingReader:
    """Reads as `reader`, and calls `progress` with each file."""

    def __init__(self, reader: SourceReader, progress: Progress) -> None:
        self.kind = reader.kind
        self._reader = reader
        self._progress = progress
        self._files = 0
        self._opened: list[Iterator[ImportStep]] = []

    def detect(self, path: Path) -> DetectedSource | None:
        """Detect as the reader does."""
        return self._reader.detect(path)

    def read_states(
        self, detected: DetectedSource, since: str | None, allow: Collection[str]
    ) -> SourceStates:
        """Read as the reader does, and count the files of each step."""
        states = self._reader.read_states(detected, since, allow)
        self._opened.append(states.steps)
        return states._replace(steps=map(self._count_step, states.steps))

    def close(self) -> None:
        """End what reading has started, such as git; an error keeps its frames alive."""
        for steps in self._opened:
            if isinstance(steps, Generator):
                steps.close()

    def _count_step(self, step: ImportStep) -> ImportStep:
        return step._replace(files=self._count_files(step.files))

    def _count_files(
        self, files: Iterable[tuple[str, SourceFile | None]]
    ) -> Iterator[tuple[str, SourceFile | None]]:
        for file in files:
            self._files += 1
            self._progress("files read", self._files, 0)
            yield file
