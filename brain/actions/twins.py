"""Names that one folder cannot hold on macOS or Windows, kept out state by state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..objects import bundle as bundles
from ..objects import paths
from ..objects.bundle import Bundle
from ..objects.entry import Entry
from ..session import Session

Edits = dict[str, Entry | None]


class Twins:
    """Follows a bundle, and tells which new paths stand beside another spelling.

    Going from one bundle to the next costs as much as they differ by.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._bundle: Bundle = bundles.EMPTY
        self._names: dict[str, dict[str, int]] = {}

    def without(self, before: Bundle, edits: Mapping[str, Entry | None]) -> tuple[Edits, list[str]]:
        """Return the edits of `before` that one folder can hold, and the paths of the others.

        A file where a folder is, or the other way round, cannot be held either.
        """
        self._follow(before)
        nodes = self._session.nodes
        there = {path: bundles.has(nodes, before, path) for path in edits}
        kept: Edits = {path: None for path in edits if edits[path] is None and there[path]}
        for path in kept:
            self._count(path, -1)
        twins: list[str] = []
        for path, entry in edits.items():
            if entry is None:
                continue
            if not there[path]:
                if self._clashes(path):
                    twins.append(path)
                    continue
                self._count(path, 1)
            kept[path] = entry
        return kept, twins

    def now(self, bundle: Bundle) -> None:
        """Note the bundle that came of the last edits."""
        self._bundle = bundle

    def _follow(self, bundle: Bundle) -> None:
        if bundle != self._bundle:
            for path, was, now in bundles.compare(self._session.nodes, self._bundle, bundle):
                if (was is None) != (now is None):
                    self._count(path, 1 if now else -1)
            self._bundle = bundle

    def _count(self, path: str, by: int) -> None:
        for folded, name in _steps(path):
            names = self._names.setdefault(folded, {})
            names[name] = names.get(name, 0) + by
            if not names[name]:
                del names[name]
            if not names:
                del self._names[folded]

    def _clashes(self, path: str) -> bool:
        return any(
            other != name for folded, name in _steps(path) for other in self._names.get(folded, ())
        )


def _steps(path: str) -> Iterator[tuple[str, str]]:
    """Yield a path and the folders above it, folded and as they are; folders end in a slash."""
    folded = paths.fold(path)
    yield folded, path
    if len(folded) == len(path):
        at = path.find("/")
        while at >= 0:
            yield folded[:at], path[: at + 1]
            at = path.find("/", at + 1)
        return
    parts = path.split("/")
    for depth in range(1, len(parts)):
        above = "/".join(parts[:depth])
        yield paths.fold(above), above + "/"
