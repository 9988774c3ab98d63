"""Read an untrusted git repository through git plumbing commands.

Only `rev-parse`, `rev-list`, `diff-tree`, `ls-tree` and `cat-file` run, which read nothing
but objects and refs; `hardened_process` starts them.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import IO, NamedTuple

from ...errors import InvalidInput
from . import hardened_process
from .hardened_process import BUFFER_BYTES, GitCommand, GitProcess

MAX_COMMITS = 1_000_000
"""Commits in one history."""
MAX_CHANGES = 20_000_000
"""Changed paths in one history, summed over its commits."""

_BATCH_OBJECTS = 256
"""Objects in one query, which must fit into a pipe, or git and this process would deadlock."""


_SHALLOW_CLONE_HINT = "adopt a shallow clone, as by `git clone --depth`"


class ListedCommit(NamedTuple):
    """A commit and its parents, as hex ids."""

    id: str
    parents: tuple[str, ...]


class ChangedPath(NamedTuple):
    """A path that differs between two trees; `mode` is that of the tree entry, 0 if removed."""

    path: bytes
    mode: int
    blob: str


class GitObject(NamedTuple):
    """An object; `size` is -1 if it is missing, `content` None if missing or too large."""

    id: str
    size: int
    content: bytes | None


def find_git_folder(path: Path) -> Path | None:
    """Return the git folder of a work tree or a bare repository at `path`, None if neither."""
    if os.path.lexists(path / ".git"):
        return path / ".git"
    bare = (path / "HEAD").is_file() and (path / "objects").is_dir() and (path / "refs").is_dir()
    return path if bare else None


class GitRepository(AbstractContextManager["GitRepository"]):
    """A repository, read by git processes that end with this context.

    Every method raises `InvalidInput` if git fails (`bad_repository`) or hangs (`git_hangs`).
    """

    def __init__(self, folder: Path) -> None:
        self._git = GitCommand(folder)
        self._open = ExitStack()
        self._sizes: GitProcess | None = None
        self._contents: GitProcess | None = None

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def list_commits(self, start: str, paths: Sequence[str]) -> Iterator[ListedCommit]:
        """Yield the ancestors of `start` and itself, parents first.

        With `paths`, git's pathspecs, commits that change none of them are left out, and
        parents are the nearest ones left. Raises `InvalidInput` (`too_many`).
        """
        limits = ("--simplify-merges", start, "--", *paths) if paths else (start, "--")
        with self._run_git("rev-list", "--topo-order", "--reverse", "--parents", *limits) as output:
            for number, line in enumerate(output):
                if number == MAX_COMMITS:
                    raise InvalidInput(
                        f"{self._git.folder} has more than {MAX_COMMITS} commits",
                        code="too_many",
                        hint=_SHALLOW_CLONE_HINT,
                    )
                commit, *parents = line.decode("ascii").split()
                yield ListedCommit(commit, tuple(dict.fromkeys(parents)))

    def head_commit(self) -> str:
        """Return the id of the commit at HEAD. Raises `InvalidInput` (`no_commit`)."""
        try:
            return self._parse_revision("HEAD^{commit}")
        except InvalidInput as error:
            if error.code != hardened_process.UNREADABLE_CODE:
                raise
            raise InvalidInput(
                f"HEAD of {self._git.folder} is not a commit",
                code="no_commit",
                hint="commit something first; if there are commits, run `git fsck`",
            ) from error

    def commit_tree(self, commit: str) -> str:
        """Return the id of the tree of a commit."""
        return self._parse_revision(f"{commit}^{{tree}}")

    def _parse_revision(self, revision: str) -> str:
        command = ("rev-parse", "--verify", "--end-of-options", revision)
        with self._run_git(*command, timeout=hardened_process.ANSWER_SECONDS) as output:
            return output.read(128).decode("ascii").strip()

    def list_paths(self, commit: str) -> Iterator[bytes]:
        """Yield the paths of all files of a commit."""
        with self._run_git("ls-tree", "-r", "-z", "--name-only", "--full-tree", commit) as output:
            yield from _read_nul_fields(output)

    def list_changes(
        self, pairs: Iterable[tuple[str, str]], paths: Sequence[str]
    ) -> Iterator[list[ChangedPath]]:
        """Yield, for each pair of trees, the changes from the first to the second in `paths`."""
        with tempfile.TemporaryFile() as pairs_file:
            count = 0
            for before, after in pairs:
                pairs_file.write(f"{before} {after}\n".encode("ascii"))
                count += 1
            pairs_file.seek(0)
            options = ("--stdin", "-r", "-z", "--raw", "--no-abbrev", "--no-renames")
            with self._run_git("diff-tree", *options, "--", *paths, stdin=pairs_file) as output:
                yield from _parse_changes(output, count)

    def read_objects(self, ids: Iterable[str], max_bytes: int) -> Iterator[GitObject]:
        """Yield the objects in the order of `ids`; those above `max_bytes` without content."""
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
        readable = [name for name, size in zip(names, sizes, strict=True) if 0 <= size <= max_bytes]
        answers = self._query(self._contents, readable)
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
        """Query objects; yield the header line of each answer."""
        if names:
            process.write_query("".join(f"{name}\n" for name in names).encode("ascii"))
        for _ in names:
            line = process.stdout.readline(256)
            if not line.endswith(b"\n"):
                raise self._git.unreadable_error()
            yield line

    def _start_cat_file(self, option: str) -> GitProcess:
        process = self._git.start(
            "cat-file", option, timeout=hardened_process.ANSWER_SECONDS, stdin=subprocess.PIPE
        )
        self._open.callback(process.kill)
        return process

    @contextmanager
    def _run_git(
        self,
        *arguments: str,
        timeout: float | None = None,
        stdin: IO[bytes] | int = subprocess.DEVNULL,
    ) -> Iterator[IO[bytes]]:
        process = self._git.start(
            *arguments, timeout=timeout or hardened_process.WALK_SECONDS, stdin=stdin
        )
        try:
            yield process.stdout
            process.check_finished()
        finally:
            process.kill()


def _parse_size(line: bytes) -> int:
    size = line.rsplit(b" ", 1)[-1].strip()
    return int(size) if size.isdigit() else -1


def _read_nul_fields(source: IO[bytes]) -> Iterator[bytes]:
    rest = b""
    while piece := source.read(BUFFER_BYTES):
        *fields, rest = (rest + piece).split(b"\0")
        yield from fields


def _parse_changes(source: IO[bytes], count: int) -> Iterator[list[ChangedPath]]:
    """Yield the changes of `count` pairs; the trees of a pair precede them without a NUL.

    Raises `InvalidInput` (`too_many`) for more than `MAX_CHANGES`.
    """
    remaining = MAX_CHANGES
    fields = _read_nul_fields(source)
    field = next(fields, b"")
    for _ in range(count):
        changed: list[ChangedPath] = []
        field = field.partition(b"\n")[2]
        while field.startswith(b":"):
            remaining -= 1
            if remaining < 0:
                raise InvalidInput(
                    f"the history has more than {MAX_CHANGES} changes of files",
                    code="too_many",
                    hint=_SHALLOW_CLONE_HINT,
                )
            _, mode, _, blob, status = field[1:].split(b" ")
            mode = b"0" if status[:1] == b"D" else mode
            changed.append(ChangedPath(next(fields), int(mode, 8), blob.decode()))
            field = next(fields, b"")
        yield changed
