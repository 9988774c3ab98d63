"""brain and git at the same work, each on a folder of its own.

git runs without automatic gc, which would start in the background and disturb whoever runs
next; tuned git writes loose objects uncompressed, an index of version 4 and an untracked
cache. git does not sync loose objects to the disk, brain does sync what it stores.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from tests.bench.timing import Failed, Runner, Sample

COMMAND = Path(sys.executable).parent / "brain"

_GIT_DEFAULT = {"gc.auto": "0"}
_GIT_TUNED = _GIT_DEFAULT | {
    "core.looseCompression": "0",
    "core.untrackedCache": "true",
    "feature.manyFiles": "true",
}


def allocated(folder: Path) -> int:
    """Return the bytes that the files below `folder` take on the disk. Raises `Failed`."""
    if not folder.exists():
        raise Failed(f"there is no {folder.name}")
    os.sync()
    return sum(file.lstat().st_blocks * 512 for file in folder.rglob("*") if file.is_file())


def _from_nothing(runner: Runner, control: Path, *commands: list[str]) -> Sample:
    """Time the commands without `control`; leave none behind that holds half of the work."""
    shutil.rmtree(control, ignore_errors=True)
    os.sync()
    try:
        return runner.timed(*commands)
    except Failed:
        shutil.rmtree(control, ignore_errors=True)
        raise


class BrainCli:
    """The command `brain`, one process a call."""

    def __init__(self, runner: Runner, folder: Path) -> None:
        self.runner = runner
        self.folder = folder
        self.control = folder / ".brain"

    def command(self, *arguments: str | Path) -> list[str]:
        """Return the command line that does something in the folder."""
        return [str(part) for part in (COMMAND, "-C", self.folder, *arguments)]

    def run(self, *arguments: str | Path) -> Sample:
        """Time one command on the folder."""
        return self.runner.timed(self.command(*arguments))

    def first(self) -> Sample:
        """Time init and the snapshot of everything, on a folder that is no brain yet."""
        return _from_nothing(
            self.runner, self.control, self.command("init"), self.command("snapshot", "-m", "first")
        )

    def stored(self) -> int:
        """Return the bytes of the store once its write-ahead log is folded in."""
        import apsw

        if not (self.control / "store.db").exists():
            raise Failed("there is no store")
        store = apsw.Connection(str(self.control / "store.db"))
        store.execute("SELECT 1 FROM sqlite_schema").fetchall()  # or it knows of no log
        store.pragma("wal_checkpoint(TRUNCATE)")
        store.close()
        return allocated(self.control)


class Git:
    """git with its defaults, or tuned."""

    def __init__(self, runner: Runner, folder: Path, settings: dict[str, str]) -> None:
        self.runner = runner
        self.folder = folder
        self.control = folder / ".git"
        self._settings = [
            part for name, value in settings.items() for part in ("-c", f"{name}={value}")
        ]

    @classmethod
    def default(cls, runner: Runner, folder: Path) -> Git:
        """Return git as it comes."""
        return cls(runner, folder, _GIT_DEFAULT)

    @classmethod
    def tuned(cls, runner: Runner, folder: Path) -> Git:
        """Return git set for many files."""
        return cls(runner, folder, _GIT_TUNED)

    def command(self, *arguments: str | Path) -> list[str]:
        """Return the command line that does something in the folder."""
        return ["git", *self._settings, "-C", *(str(part) for part in (self.folder, *arguments))]

    def run(self, *arguments: str | Path) -> Sample:
        """Time one command on the folder."""
        return self.runner.timed(self.command(*arguments))

    def commit(self, *paths: str) -> Sample:
        """Time adding the paths (options of `git add` too) and committing."""
        return self.runner.timed(
            self.command("add", *paths), self.command("commit", "--quiet", "-m", "change")
        )

    def first(self) -> Sample:
        """Time init, add and commit of everything, on a folder that is no repository yet."""
        return _from_nothing(
            self.runner,
            self.control,
            self.command("init", "--quiet", "--initial-branch", "main"),
            self.command("add", "--all"),
            self.command("commit", "--quiet", "-m", "first"),
        )

    def stored(self) -> int:
        """Return the bytes of the repository."""
        return allocated(self.control)
