"""The skills that selectors choose among, and how they learn of changes."""

from __future__ import annotations

from collections.abc import Iterable

from .protocol import Document, Follower


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
