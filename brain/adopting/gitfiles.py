"""The files of commits: which of them a brain takes, and where they go."""

from __future__ import annotations

import stat
from collections.abc import Collection, Iterator, Sequence
from functools import cache
from typing import NamedTuple

from ..errors import InvalidInput
from ..objects import paths
from ..objects.entry import EXECUTABLE, FILE, LINK
from ..worktree import links
from .gitrepo import Changed, Object, Repository
from .layout import Layout, usual_reason
from .left import Left, why_not
from .protocol import File, Notice
from .reading import MAX_BYTES, CannotTake
from .sift import leads_right
from .unsafe import refusal

MAX_TOTAL_BYTES = 8 << 30
"""Bytes that are taken from one history."""

_SUBMODULE = 0o160000
_KINDS = {0o100644: FILE, 0o100664: FILE, 0o100755: EXECUTABLE, 0o120000: LINK}


class Wanted(NamedTuple):
    """A file of a commit: where it goes, and its kind and blob; None and "" for one that went."""

    path: str
    target: str
    kind: int | None
    blob: str


class Files:
    """Sorts out what commits changed; what is left out is said once for each path.

    Whether a file is taken is decided by its path and its content alone, so that the same
    commit is the same state whenever it is read.
    """

    def __init__(
        self,
        repository: Repository,
        layout: Layout,
        rows: list[Notice],
        placed: dict[str, str],
        allow: Collection[str],
    ) -> None:
        self._repository = repository
        self._layout = layout
        self._left = Left(rows)
        self._placed = placed
        self._allow = allow
        self._bytes = 0
        self._told: set[tuple[str, str]] = set()
        self._target = cache(self._place)
        self._why = cache(self._reason)

    def close(self) -> None:
        """Say what was left out in crowds."""
        self._left.close()

    def wanted(self, changed: Sequence[Changed]) -> list[Wanted]:
        """Return what of the changes of a commit is about files of a brain."""
        rows: list[Wanted] = []
        for raw, mode, blob in changed:
            path = raw.decode("utf-8", "surrogateescape")
            target = self._target(path)
            if target is None:
                continue
            kind = _KINDS.get(mode)
            if kind is None and mode:
                self._leave(*_unusual(mode), path)
            rows.append(Wanted(path, target, kind, blob if kind is not None else ""))
        return rows

    def of(
        self, rows: Sequence[Wanted], found: Iterator[Object]
    ) -> Iterator[tuple[str, File | None]]:
        """Yield what became of the files of a brain: a file, or None for what is not there.

        `found` has the objects of the rows that want one, in their order.
        """
        for path, target, kind, _ in rows:
            file = None
            if kind is not None:
                file = self._taken(path, target, kind, next(found))
                if file is not None:
                    self._placed[target] = path
            yield target, file

    def _taken(self, path: str, target: str, kind: int, there: Object) -> File | None:
        try:
            return self._file(path, target, kind, there)
        except CannotTake as error:
            self._leave(error.code, error.why, path)
        return None

    def _file(self, path: str, target: str, kind: int, there: Object) -> File:
        content = there.content
        if content is None:
            raise _absent(there)
        self._bytes += len(content)
        if self._bytes > MAX_TOTAL_BYTES:
            raise InvalidInput(f"more than {MAX_TOTAL_BYTES} bytes to take", code="too_many")
        if kind == LINK:
            return self._link(path, target, content)
        why = refusal(content, self._allow)
        if why:
            raise CannotTake(*why)
        return File(kind, content)

    def _link(self, path: str, target: str, content: bytes) -> File:
        text = content.decode("utf-8", "surrogateescape")
        try:
            file = File(LINK, links.encode_target(target, text))
        except InvalidInput as error:
            raise CannotTake(error.code, why_not(error)) from error
        if target != path and not leads_right(self._layout, path, target, text):
            raise CannotTake("link_outside", "the link leads to what is not taken")
        return file

    def _leave(self, code: str, why: str, path: str) -> None:
        if (code, path) not in self._told:
            self._told.add((code, path))
            self._left.add(code, path, why)

    def _place(self, path: str) -> str | None:
        """Return where a path goes in the brain, None if it is left out; say so then."""
        if not self._layout.covers(path):
            return None
        parts = path.split("/")
        above = ["/".join(parts[:depth]) for depth in range(1, len(parts))]
        for here, is_folder in [*((folder, True) for folder in above), (path, False)]:
            why = self._why(here, is_folder)
            if why:
                self._leave("left_out", why, here)
            if why is not None:
                return None
        target = self._layout.place(path)
        try:
            return None if target is None else paths.check(target)
        except InvalidInput as error:
            self._leave(error.code, why_not(error), path)
            return None

    def _reason(self, path: str, is_folder: bool) -> str | None:
        """Return why a file or folder is left out, "" for what is not worth a word, or None."""
        name = path.rpartition("/")[2]
        if paths.is_own(name):
            return ""
        return self._layout.reason(path) or usual_reason(name, is_folder) or None


def _absent(there: Object) -> CannotTake:
    if there.size < 0:
        return CannotTake("missing", "the repository does not hold its content")
    return CannotTake("too_large", f"{there.size} bytes; at most {MAX_BYTES} are taken")


def _unusual(mode: int) -> tuple[str, str]:
    if mode == _SUBMODULE:
        return "submodule", "a repository of its own, which is not in this one"
    return "not_regular", f"neither a file nor a link ({stat.filemode(mode)})"
