"""Git repositories made one object at a time, so that they may hold anything."""

import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

FILE_MODE, LINK_MODE, SUBMODULE_MODE = "100644", "120000", "160000"


class GitEntry(NamedTuple):
    """What is at a path of a commit: a mode, and content, or the id of a submodule."""

    content: bytes
    mode: str = FILE_MODE


GitFiles = Mapping[str | bytes, bytes | GitEntry]


class GitRepository:
    """A repository; `commit` makes one commit and returns its id, whatever it says."""

    def __init__(self, path: Path, *options: str) -> None:
        self.path = path
        subprocess.run(["git", "init", "--quiet", *options, str(path)], check=True)
        self._when = 1_700_000_000

    def run_git(self, *arguments: str, stdin: bytes = b"") -> bytes:
        """Run git in the repository; return what it prints."""
        return subprocess.run(
            ["git", "-C", str(self.path), *arguments], input=stdin, check=True, capture_output=True
        ).stdout

    def commit(
        self,
        files: GitFiles,
        *parents: str,
        message: bytes = b"A commit\n",
        author: bytes = b"Ada <ada@example.org>",
        when: bytes | None = None,
        more: bytes = b"",
        branch: str = "main",
    ) -> str:
        """Commit exactly these files on top of the parents; the branch is then there."""
        self._when += 60
        stamp = when if when is not None else b"%d +0100" % self._when
        person = author + b" " + stamp
        lines = [b"tree " + self._store_tree(files).encode()]
        lines += [b"parent " + parent.encode() for parent in parents]
        lines += [b"author " + person, b"committer " + person]
        data = b"\n".join(lines) + b"\n" + more + b"\n" + message
        made = self.run_git(
            "hash-object", "-t", "commit", "-w", "--stdin", "--literally", stdin=data
        )
        commit = made.decode().strip()
        self.run_git("update-ref", f"refs/heads/{branch}", commit)
        self.run_git("symbolic-ref", "HEAD", f"refs/heads/{branch}")
        return commit

    def check_out(self) -> None:
        """Make the work tree what HEAD holds."""
        self.run_git("reset", "--hard", "--quiet")
        self.run_git("clean", "-fdq")

    def _store_tree(self, files: GitFiles) -> str:
        """Write a tree without the index, which refuses what git ought not to hold."""
        here: dict[bytes, GitEntry] = {}
        below: dict[bytes, dict[str | bytes, bytes | GitEntry]] = {}
        for name, what in files.items():
            path = name.encode() if isinstance(name, str) else name
            folder, slash, rest = path.partition(b"/")
            if slash:
                below.setdefault(folder, {})[rest] = what
            else:
                here[path] = what if isinstance(what, GitEntry) else GitEntry(what)
        rows = [(name, put.mode, self._store_blob(put)) for name, put in here.items()]
        rows += [(name, "40000", self._store_tree(inner)) for name, inner in below.items()]
        return self._write_tree(rows)

    def _store_blob(self, put: GitEntry) -> str:
        if put.mode == SUBMODULE_MODE:
            return put.content.decode()
        return self.run_git("hash-object", "-w", "--stdin", stdin=put.content).decode().strip()

    def _write_tree(self, rows: Iterable[tuple[bytes, str, str]]) -> str:
        def order(row: tuple[bytes, str, str]) -> bytes:
            return row[0] + (b"/" if row[1] == "40000" else b"")

        data = b"".join(
            mode.encode() + b" " + name + b"\0" + bytes.fromhex(object_id)
            for name, mode, object_id in sorted(rows, key=order)
        )
        made = self.run_git("hash-object", "-t", "tree", "-w", "--stdin", "--literally", stdin=data)
        return made.decode().strip()
