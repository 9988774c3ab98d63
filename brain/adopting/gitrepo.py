"""Reading a git repository that nobody vouches for, through git's own plumbing.

Only `rev-list`, `diff-tree` and `cat-file` are run: they read objects, and no hook, filter,
file-system monitor, pager or alias that the repository configures takes part in that. Nothing
is fetched, and no configuration of the machine or the user is read.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import IO, NamedTuple

from ..errors import InvalidInput, printable

MAX_COMMITS = 1_000_000

_HARDENED = (
    *("-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}"),
    *("-c", "protocol.allow=never", "-c", "safe.directory=*"),
    *("-c", "core.quotePath=false", "-c", "core.commitGraph=false"),
)
_ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_LITERAL_PATHSPECS": "0",
    "LC_ALL": "C",
}
_TOGETHER = 256
"""Objects asked for at a time: the questions fit into a pipe, so that nobody waits for ever."""
_BUFFER = 1 << 20


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

    Everything raises `InvalidInput` (`bad_repository`) where git fails.
    """

    def __init__(self, folder: Path) -> None:
        program = shutil.which("git")
        if program is None:
            raise InvalidInput(
                "a history of git is read by git, which is not here",
                code="no_git",
                hint="install git, or adopt the files alone with --as agentskills",
            )
        self._folder = folder
        self._git = (program, *_HARDENED, f"--git-dir={folder}")
        self._open = ExitStack()
        self._sizes: subprocess.Popen[bytes] | None = None
        self._contents: subprocess.Popen[bytes] | None = None

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def commits(self, start: str, paths: Sequence[str]) -> Iterator[Listed]:
        """Yield the commits back from `start`, parents first.

        With `paths`, git's pathspecs, those that say nothing about them are left out, and
        parents are the nearest that are not.
        """
        limits = ("--simplify-merges", start, "--", *paths) if paths else (start, "--")
        with self._run("rev-list", "--topo-order", "--reverse", "--parents", *limits) as out:
            for line in out:
                commit, *parents = line.decode("ascii").split()
                yield Listed(commit, tuple(dict.fromkeys(parents)))

    def head(self) -> str:
        """Return the id of the commit that HEAD is at."""
        with self._run("rev-parse", "--verify", "--end-of-options", "HEAD^{commit}") as out:
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
                    raise self._failed()
                content = _exactly(self._contents.stdout, size + 1)[:-1]
            yield Object(name, size, content)

    def _answers(self, process: subprocess.Popen[bytes], names: Sequence[str]) -> Iterator[bytes]:
        """Ask for objects; yield the line that heads each answer."""
        assert process.stdin and process.stdout
        if names:
            try:
                process.stdin.write("".join(f"{name}\n" for name in names).encode("ascii"))
                process.stdin.flush()
            except BrokenPipeError as error:
                raise self._failed() from error
        for _ in names:
            line = process.stdout.readline(256)
            if not line.endswith(b"\n"):
                raise self._failed()
            yield line

    def _talking(self, how: str) -> subprocess.Popen[bytes]:
        process = self._started("cat-file", how, stdin=subprocess.PIPE)
        self._open.callback(_ended, process)
        return process

    @contextmanager
    def _run(self, *arguments: str, stdin: IO[bytes] | None = None) -> Iterator[IO[bytes]]:
        process = self._started(*arguments, stdin=stdin or subprocess.DEVNULL)
        try:
            assert process.stdout
            yield process.stdout
            if process.stdout.read(1) or process.wait():
                raise self._failed()
        finally:
            _ended(process)

    def _started(self, *arguments: str, stdin: IO[bytes] | int) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            (*self._git, *arguments),
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=_ENVIRONMENT,
            cwd="/",
            bufsize=_BUFFER,
        )

    def _failed(self) -> InvalidInput:
        return InvalidInput(
            f"git cannot read {printable(self._folder)}",
            code="bad_repository",
            hint="see what `git fsck` says of it; a partial clone has to be made whole first",
        )


def _ended(process: subprocess.Popen[bytes]) -> None:
    if process.stdin:
        process.stdin.close()
    process.kill()
    process.wait()
    if process.stdout:
        process.stdout.close()


def _size(line: bytes) -> int:
    size = line.rsplit(b" ", 1)[-1].strip()
    return int(size) if size.isdigit() else -1


def _exactly(source: IO[bytes] | None, size: int) -> bytes:
    content = source.read(size) if source else b""
    if len(content) != size:
        raise InvalidInput("git ended in the midst of an object", code="bad_repository")
    return content


def _until_nul(source: IO[bytes]) -> Iterator[bytes]:
    rest = b""
    while piece := source.read(_BUFFER):
        *whole, rest = (rest + piece).split(b"\0")
        yield from whole


def _records(source: IO[bytes], count: int) -> Iterator[list[Changed]]:
    """Yield the changes of `count` pairs: each is headed by its trees, with no NUL after them."""
    fields = _until_nul(source)
    field = next(fields, b"")
    for _ in range(count):
        changed: list[Changed] = []
        field = field.partition(b"\n")[2]
        while field.startswith(b":"):
            _, mode, _, blob, status = field[1:].split(b" ")
            gone = status[:1] == b"D"
            changed.append(Changed(next(fields), 0 if gone else int(mode, 8), blob.decode()))
            field = next(fields, b"")
        yield changed
