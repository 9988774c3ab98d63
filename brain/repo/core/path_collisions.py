"""Refuse or filter out states that no folder can hold, such as case collisions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...objects import bundle as bundles
from ...objects import collisions as portability
from ...objects import paths
from ...objects.bundle import Bundle, Edits
from ...objects.collisions import read_link_target
from ...objects.tree_node import TreeEntry
from ..open.session import Session


def refuse_invalid_edits(
    session: Session, before: Bundle, after: Bundle, edits: Mapping[str, TreeEntry | None]
) -> None:
    """Refuse edits from `before` to `after` that no folder can hold.

    Raises `InvalidInput`: `case_collision`, `path_conflict`, `link_outside`, `too_many`,
    `too_large`, or as `paths.check_path`.
    """
    portability.require_portable(
        session.nodes, before, after, edits, lambda blob: read_link_target(session.reader, blob)
    )


def refuse_invalid_bundle(session: Session, before: Bundle, after: Bundle) -> None:
    """Refuse a recorded bundle that no folder can hold; raises as `refuse_invalid_edits`."""
    found = bundles.diff_bundles(session.nodes, before, after)
    refuse_invalid_edits(session, before, after, {path: now for path, _, now in found})


class CollisionFilter:
    """Filters out new paths that collide with another spelling in a bundle.

    Moving from one bundle to the next costs as much as their difference.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._bundle: Bundle = bundles.EMPTY_BUNDLE
        self._spellings: dict[str, dict[str, int]] = {}

    def split_edits(
        self, before: Bundle, edits: Mapping[str, TreeEntry | None]
    ) -> tuple[Edits, list[str]]:
        """Return the edits of `before` that one folder can hold, and the paths of the others.

        A file where a folder is, or the other way round, cannot be held either.
        """
        self._advance_to(before)
        nodes = self._session.nodes
        exists = {path: bundles.has_entry(nodes, before, path) for path in edits}
        accepted: Edits = {path: None for path in edits if edits[path] is None and exists[path]}
        for path in accepted:
            self._count_path(path, -1)
        collisions: list[str] = []
        for path, entry in edits.items():
            if entry is None:
                continue
            if not exists[path]:
                if self._has_collision(path):
                    collisions.append(path)
                    continue
                self._count_path(path, 1)
            accepted[path] = entry
        return accepted, collisions

    def set_bundle(self, bundle: Bundle) -> None:
        """Set the bundle that the last edits resulted in."""
        self._bundle = bundle

    def _advance_to(self, bundle: Bundle) -> None:
        if bundle != self._bundle:
            for path, was, now in bundles.diff_bundles(self._session.nodes, self._bundle, bundle):
                if (was is None) != (now is None):
                    self._count_path(path, 1 if now else -1)
            self._bundle = bundle

    def _count_path(self, path: str, by: int) -> None:
        for folded, name in _folded_prefixes(path):
            names = self._spellings.setdefault(folded, {})
            names[name] = names.get(name, 0) + by
            if not names[name]:
                del names[name]
            if not names:
                del self._spellings[folded]

    def _has_collision(self, path: str) -> bool:
        return any(
            other != name
            for folded, name in _folded_prefixes(path)
            for other in self._spellings.get(folded, ())
        )


def _folded_prefixes(path: str) -> Iterator[tuple[str, str]]:
    """Yield a path and the folders above it, folded and as they are; folders end in a slash."""
    folded = paths.fold_name(path)
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
        yield paths.fold_name(above), above + "/"
