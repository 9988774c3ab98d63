"""Read an untrusted git repository through git plumbing commands.

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

from ...errors import InvalidInput, printable_text
from . import hardened_process
from .hardened_process import BUFFER_BYTES, GitCommand, GitProcess

MAX_COMMITS = 1_000_000
"""Commits that are taken from one history."""
MAX_CHANGES = 20_000_000
"""Changed paths in one history, those of all its commits together."""

_BATCH_OBJECTS = 256
"""Objects asked for at a time: the questions fit into a pipe, so that nobody waits for ever."""


class ListedCommit(NamedTuple):
    """A commit and its parents, as hex ids."""

    id: str
    parents: tuple[str, ...]


class ChangedPath(NamedTuple):
    """A path that differs between two trees; `mode` is that of a tree's entry, 0 for gone."""

    path: bytes
    mode: int
    blob: str


class GitObject(NamedTuple):
    """An object, or what is known of it: `size` is -1 where it is not there."""

    id: str
    size: int
    content: bytes | None


def find_git_folder(path: Path) -> Path | None:
    """Return the folder of git of a work tree or a bare repository at `path`, if it is one."""
    if os.path.lexists(path / ".git"):
        return path / ".git"
    bare = (path / "HEAD").is_file() and (path / "objects").is_dir() and (path / "refs").is_dir()
    return path if bare else None


class GitRepository(AbstractContextManager["GitRepository"]):
    """A repository, read by processes of git that end with it.

    Everything raises `InvalidInput` where git fails (`bad_repository`) or says nothing
    (`git_hangs`).
    """

    def __init__(self, folder: Path) -> None:
        self._git = GitCommand(folder)
        self._open = ExitStack()
        self._sizes: GitProcess | None = None
        self._contents: GitProcess | None = None

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def list_commits(self, start: str, paths: Sequence[str]) -> Iterator[ListedCommit]:
        """Yield the commits back from `start`, parents first.

        With `paths`, git's pathspecs, those that say nothing about them are left out, and
        parents are the nearest that are not. Raises `InvalidInput` (`too_many`).
        """
        limits = ("--simplify-merges", start, "--", *paths) if paths else (start, "--")
        with self._run_git("rev-list", "--topo-order", "--reverse", "--parents", *limits) as out:
            for number, line in enumerate(out):
                if number == MAX_COMMITS:
                    raise _too_many_commits()
                commit, *parents = line.decode("ascii").split()
                yield ListedCommit(commit, tuple(dict.fromkeys(parents)))

    def head_commit(self) -> str:
        """Return the id of the commit that HEAD is at. Raises `InvalidInput` (`no_commit`)."""
        what = ("--verify", "--end-of-options", "HEAD^{commit}")
        try:
            with self._run_git("rev-parse", *what, patience=hardened_process.ANSWER_SECONDS) as out:
                return out.read(128).decode("ascii").strip()
        except InvalidInput as error:
            if error.code != hardened_process.UNREADABLE_CODE:
                raise
            raise InvalidInput(
                f"HEAD of {printable_text(self._git.folder)} leads to no commit",
                code="no_commit",
                hint="commit something first; if there are commits, see what `git fsck` says",
            ) from error

    def commit_tree(self, commit: str) -> str:
        """Return the id of the tree of a commit."""
        what = ("--verify", "--end-of-options", f"{commit}^{{tree}}")
        with self._run_git("rev-parse", *what, patience=hardened_process.ANSWER_SECONDS) as out:
            return out.read(128).decode("ascii").strip()

    def list_paths(self, commit: str) -> Iterator[bytes]:
        """Yield the paths of all files of a commit."""
        with self._run_git("ls-tree", "-r", "-z", "--name-only", "--full-tree", commit) as out:
            yield from _read_nul_fields(out)

    def list_changes(
        self, pairs: Iterable[tuple[str, str]], paths: Sequence[str]
    ) -> Iterator[list[ChangedPath]]:
        """Yield, for each pair of trees, what the second changed, below `paths` alone."""
        with tempfile.TemporaryFile() as pairs_file:
            count = 0
            for before, after in pairs:
                pairs_file.write(f"{before} {after}\n".encode("ascii"))
                count += 1
            pairs_file.seek(0)
            options = ("--stdin", "-r", "-z", "--raw", "--no-abbrev", "--no-renames")
            with self._run_git("diff-tree", *options, "--", *paths, stdin=pairs_file) as out:
                yield from _parse_changes(out, count)

    def read_objects(self, ids: Iterable[str], max_bytes: int) -> Iterator[GitObject]:
        """Yield objects in the order asked for; of those past `most` bytes only the size."""
        group: list[str] = []
        for name in ids:
            group.append(name)
            if len(group) == _BATCH_OBJECTS:
                yield from self._read_batch(group, max_bytes)
                group = []
        if group:
            yield from self._read_batch(group, max_bytes)

    def _read_batch(self, names: list[str], max_bytes: int) -> Iterator[GitObject]:
        self._sizes = self._sizes or self._start_cat_file(
            "--batch-check=%(objectname) %(objectsize)"
        )
        self._contents = self._contents or self._start_cat_file(
            "--batch=%(objectname) %(objectsize)"
        )
        sizes = [_parse_size(line) for line in self._query(self._sizes, names)]
        wanted = [name for name, size in zip(names, sizes, strict=True) if 0 <= size <= max_bytes]
        answers = self._query(self._contents, wanted)
        for name, size in zip(names, sizes, strict=True):
            content = None
            if 0 <= size <= max_bytes:
                if _parse_size(next(answers)) != size:
                    raise self._git.unreadable_error()
                content = self._contents.stdout.read(size + 1)[:-1]
                if len(content) != size:
                    raise self._git.unreadable_error()
            yield GitObject(name, size, content)

    def _query(self, process: GitProcess, names: Sequence[str]) -> Iterator[bytes]:
        """Ask for objects; yield the line that heads each answer."""
        if names:
            process.write_query("".join(f"{name}\n" for name in names).encode("ascii"))
        for _ in names:
            line = process.stdout.readline(256)
            if not line.endswith(b"\n"):
                raise self._git.unreadable_error()
            yield line

    def _start_cat_file(self, how: str) -> GitProcess:
        process = self._git.start_interactive("cat-file", how)
        self._open.callback(process.kill)
        return process

    @contextmanager
    def _run_git(
        self, *arguments: str, patience: float | None = None, stdin: IO[bytes] | None = None
    ) -> Iterator[IO[bytes]]:
        process = self._git.start(
            *arguments, patience=patience or hardened_process.WALK_SECONDS, stdin=stdin
        )
        try:
            yield process.stdout
            process.check_finished()
        finally:
            process.kill()


def _too_many_commits() -> InvalidInput:
    return InvalidInput(
        f"more than {MAX_COMMITS} commits to take",
        code="too_many",
        hint="adopt a clone of the newest, as `git clone --depth` makes it",
    )


def _parse_size(line: bytes) -> int:
    size = line.rsplit(b" ", 1)[-1].strip()
    return int(size) if size.isdigit() else -1


def _read_nul_fields(source: IO[bytes]) -> Iterator[bytes]:
    rest = b""
    while piece := source.read(BUFFER_BYTES):
        *whole, rest = (rest + piece).split(b"\0")
        yield from whole


def _parse_changes(source: IO[bytes], count: int) -> Iterator[list[ChangedPath]]:
    """Yield the changes of `count` pairs: each is headed by its trees, with no NUL after them.

    Raises `InvalidInput` (`too_many`) for more than `MAX_CHANGES`.
    """
    left = MAX_CHANGES
    fields = _read_nul_fields(source)
    field = next(fields, b"")
    for _ in range(count):
        changed: list[ChangedPath] = []
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
            changed.append(ChangedPath(next(fields), 0 if gone else int(mode, 8), blob.decode()))
            field = next(fields, b"")
        yield changed
