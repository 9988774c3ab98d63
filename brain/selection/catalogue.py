"""The skills that selectors choose among, and how they learn of changes."""

from __future__ import annotations

from collections.abc import Iterable

from .protocol import Document, Follower, Ranked


class Catalogue:
    """The skills of one state of a brain, by path."""

    def __init__(self) -> None:
        self.documents: dict[str, Document] = {}
        self._followers: list[Follower] = []

    def admit(self, follower: Follower) -> None:
        """Tell `follower` of all skills, and of every change from now on."""
        follower.follow((), self.documents.values())
        self._followers.append(follower)

    def change(self, gone: Iterable[str], came: Iterable[Document]) -> None:
        """Take skills out by their paths, and put others in; the same path may do both."""
        new = {document.path: document for document in came}
        paths = {*gone, *new}
        old = [self.documents.pop(path) for path in paths if path in self.documents]
        self.documents.update(new)
        for follower in self._followers:
            follower.follow(old, new.values())

    def filled(self, best: list[Ranked], limit: int) -> list[Ranked]:
        """Return the first `limit` of `best`; with none, all skills, those left out at the end."""
        if limit > 0:
            return best[:limit]
        known = {one.path for one in best}
        rest = (document for path, document in sorted(self.documents.items()) if path not in known)
        return best + [Ranked(document.slug, 0.0, document.path) for document in rest]
