"""Reading a git repository that nobody vouches for, through git's own plumbing.

Only `rev-parse`, `rev-list`, `diff-tree`, `ls-tree` and `cat-file` are run, which read objects
alone; `gitprocess.py` says how.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import IO, NamedTuple

from ..errors import InvalidInput, printable
from . import gitprocess
from .gitprocess import BUFFER, Git, Process

MAX_COMMITS = 1_000_000
"""Commits that are taken from one history."""
MAX_CHANGES = 20_000_000
"""Changed paths in one history, those of all its commits together."""

_TOGETHER = 256
"""Objects asked for at a time: the questions fit into a pipe, so that nobody waits for ever."""


class Listed(NamedTuple):
    """A commit and its parents, as hex ids."""

    id: str
    parents: tuple[str, ...]


class Changed(NamedTuple):
    """A path that differs between two trees; `mode` is that of a tree's entry, 0 for gone."""

    path: bytes
    mode: int
    blob: str


class Object(NamedTuple):
    """An object, or what is known of it: `size` is -1 where it is not there."""

    id: str
    size: int
    content: bytes | None


def folder_of(path: Path) -> Path | None:
    """Return the folder of git of a work tree or a bare repository at `path`, if it is one."""
    if os.path.lexists(path / ".git"):
        return path / ".git"
    bare = (path / "HEAD").is_file() and (path / "objects").is_dir() and (path / "refs").is_dir()
    return path if bare else None


class Repository(AbstractContextManager["Repository"]):
    """A repository, read by processes of git that end with it.

    Everything raises `InvalidInput` where git fails (`bad_repository`) or says nothing
    (`git_hangs`).
    """

    def __init__(self, folder: Path) -> None:
        self._git = Git(folder)
        self._open = ExitStack()
        self._sizes: Process | None = None
        self._contents: Process | None = None

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def commits(self, start: str, paths: Sequence[str]) -> Iterator[Listed]:
        """Yield the commits back from `start`, parents first.

        With `paths`, git's pathspecs, those that say nothing about them are left out, and
        parents are the nearest that are not. Raises `InvalidInput` (`too_many`).
        """
        limits = ("--simplify-merges", start, "--", *paths) if paths else (start, "--")
        with self._run("rev-list", "--topo-order", "--reverse", "--parents", *limits) as out:
            for number, line in enumerate(out):
                if number == MAX_COMMITS:
                    raise _too_many()
                commit, *parents = line.decode("ascii").split()
                yield Listed(commit, tuple(dict.fromkeys(parents)))

    def head(self) -> str:
        """Return the id of the commit that HEAD is at. Raises `InvalidInput` (`no_commit`)."""
        what = ("--verify", "--end-of-options", "HEAD^{commit}")
        try:
            with self._run("rev-parse", *what, patience=gitprocess.ANSWER) as out:
                return out.read(128).decode("ascii").strip()
        except InvalidInput as error:
            if error.code != gitprocess.UNREADABLE:
                raise
            raise InvalidInput(
                f"HEAD of {printable(self._git.folder)} leads to no commit",
                code="no_commit",
                hint="commit something first; if there are commits, see what `git fsck` says",
            ) from error

    def tree(self, commit: str) -> str:
        """Return the id of the tree of a commit."""
        what = ("--verify", "--end-of-options", f"{commit}^{{tree}}")
        with self._run("rev-parse", *what, patience=gitprocess.ANSWER) as out:
            return out.read(128).decode("ascii").strip()

    def names(self, commit: str) -> Iterator[bytes]:
        """Yield the paths of all files of a commit."""
        with self._run("ls-tree", "-r", "-z", "--name-only", "--full-tree", commit) as out:
            yield from _until_nul(out)

    def changes(
        self, pairs: Iterable[tuple[str, str]], paths: Sequence[str]
    ) -> Iterator[list[Changed]]:
        """Yield, for each pair of trees, what the second changed, below `paths` alone."""
        with tempfile.TemporaryFile() as asked:
            count = 0
            for before, after in pairs:
                asked.write(f"{before} {after}\n".encode("ascii"))
                count += 1
            asked.seek(0)
            options = ("--stdin", "-r", "-z", "--raw", "--no-abbrev", "--no-renames")
            with self._run("diff-tree", *options, "--", *paths, stdin=asked) as out:
                yield from _records(out, count)

    def objects(self, ids: Iterable[str], most: int) -> Iterator[Object]:
        """Yield objects in the order asked for; of those past `most` bytes only the size."""
        group: list[str] = []
        for name in ids:
            group.append(name)
            if len(group) == _TOGETHER:
                yield from self._group(group, most)
                group = []
        if group:
            yield from self._group(group, most)

    def _group(self, names: list[str], most: int) -> Iterator[Object]:
        self._sizes = self._sizes or self._talking("--batch-check=%(objectname) %(objectsize)")
        self._contents = self._contents or self._talking("--batch=%(objectname) %(objectsize)")
        sizes = [_size(line) for line in self._answers(self._sizes, names)]
        wanted = [name for name, size in zip(names, sizes, strict=True) if 0 <= size <= most]
        answers = self._answers(self._contents, wanted)
        for name, size in zip(names, sizes, strict=True):
            content = None
            if 0 <= size <= most:
                if _size(next(answers)) != size:
                    raise self._git.failed()
                content = self._contents.out.read(size + 1)[:-1]
                if len(content) != size:
                    raise self._git.failed()
            yield Object(name, size, content)

    def _answers(self, process: Process, names: Sequence[str]) -> Iterator[bytes]:
        """Ask for objects; yield the line that heads each answer."""
        if names:
            process.ask("".join(f"{name}\n" for name in names).encode("ascii"))
        for _ in names:
            line = process.out.readline(256)
            if not line.endswith(b"\n"):
                raise self._git.failed()
            yield line

    def _talking(self, how: str) -> Process:
        process = self._git.talk("cat-file", how)
        self._open.callback(process.end)
        return process

    @contextmanager
    def _run(
        self, *arguments: str, patience: float | None = None, stdin: IO[bytes] | None = None
    ) -> Iterator[IO[bytes]]:
        process = self._git.run(*arguments, patience=patience or gitprocess.WALK, stdin=stdin)
        try:
            yield process.out
            process.finished()
        finally:
            process.end()


def _too_many() -> InvalidInput:
    return InvalidInput(
        f"more than {MAX_COMMITS} commits to take",
        code="too_many",
        hint="adopt a clone of the newest, as `git clone --depth` makes it",
    )


def _size(line: bytes) -> int:
    size = line.rsplit(b" ", 1)[-1].strip()
    return int(size) if size.isdigit() else -1


def _until_nul(source: IO[bytes]) -> Iterator[bytes]:
    rest = b""
    while piece := source.read(BUFFER):
        *whole, rest = (rest + piece).split(b"\0")
        yield from whole


def _records(source: IO[bytes], count: int) -> Iterator[list[Changed]]:
    """Yield the changes of `count` pairs: each is headed by its trees, with no NUL after them.

    Raises `InvalidInput` (`too_many`) for more than `MAX_CHANGES`.
    """
    left = MAX_CHANGES
    fields = _until_nul(source)
    field = next(fields, b"")
    for _ in range(count):
        changed: list[Changed] = []
        field = field.partition(b"\n")[2]
        while field.startswith(b":"):
            left -= 1
            if left < 0:
                raise InvalidInput(
                    f"more than {MAX_CHANGES} changes to take",
                    code="too_many",
                    hint="adopt a clone of the newest, as `git clone --depth` makes it",
                )
            _, mode, _, blob, status = field[1:].split(b" ")
            gone = status[:1] == b"D"
            changed.append(Changed(next(fields), 0 if gone else int(mode, 8), blob.decode()))
            field = next(fields, b"")
        yield changed
