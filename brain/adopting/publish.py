"""Publishing: skills, memory and prompts of a brain, written where a client reads them.

What lies there and is not of this brain, or was changed since, is never overwritten unless
asked for. Order: the record first names what is about to be there, then the files are
written, then it names what is there; so a publication that was cut short is known as ours.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import NamedTuple

from ..brain import Brain
from ..results import Notice, Published
from ..worktree.folders import Folders, opened
from ..worktree.materialise import remove_file, write_many
from .adopt import source_of
from .alone import alone, clear
from .compose import Form, compose, make
from .layouts import Layout
from .plan import Plan, plan, says
from .protocol import Found
from .published import NOTHING, Record, Written, load, save, state_by, state_of
from .reading import GONE, CannotTake, read
from .target import layout_for, refuse_own


class Wish(NamedTuple):
    """How to publish.

    `strict` keeps the specification of agentskills.io to the letter, else fields that the
    client reads stay. `overwrite` replaces what somebody else wrote. `allow` are ids of
    findings that are no secrets. With `dry_run` nothing is written.
    """

    rev: str = "@"
    strict: bool = False
    overwrite: bool = False
    allow: Collection[str] = ()
    dry_run: bool = False


AS_USUAL = Wish()


def publish(brain: Brain, client: str, folder: Path, wish: Wish = AS_USUAL) -> Published:
    """Write what a client has a place for into its folder, and remove what is gone.

    With conflicts nothing is written. Raises `InvalidInput` (`bad_client`, `own_folder`,
    `secrets_found`, `bad_record`), `Locked`, and what writing files raises.
    """
    folder = folder.absolute()
    layout = layout_for(client, folder)
    refuse_own(brain.root, folder, layout)
    with nullcontext() if wish.dry_run else alone(folder):
        job = _Job(brain, folder, layout, wish)
        if wish.overwrite:
            job.conflicts.clear()
        if not job.conflicts and not wish.dry_run:
            job.carry_out()
        return job.told()


class _Job:
    """One publication: what is to lie there, what does, and what follows from it."""

    def __init__(self, brain: Brain, folder: Path, layout: Layout, wish: Wish) -> None:
        self.conflicts: list[Notice] = []
        self._brain, self._folder, self._layout = brain, folder, layout
        self._snapshot = brain.show(wish.rev).info.snapshot
        self._form = Form(layout.kind, frozenset() if wish.strict else layout.keeps)
        self._records = load(folder) if folder.is_dir() else []
        mine = [record for record in self._records if self._is_mine(record)]
        self._known = mine[0].files if mine else {}
        self._plan = plan(brain, self._snapshot, layout)
        allow = {*wish.allow, *says(brain, self._snapshot).accepted}
        self._wanted = compose(brain, self._snapshot, self._plan, self._form, self._known, allow)
        self._adopted = _adopted(brain, folder, self._plan, layout)
        self._write: dict[str, str] = {}
        self._remove: list[str] = []
        self._compare()

    def _compare(self) -> None:
        """Find what is to be written and removed, and what stands in the way."""
        gone = [
            path
            for path in self._known
            if path not in self._plan.files and self._layout.place(path) is not None
        ]
        with _reader(self._folder) as now:
            for path in sorted((*self._wanted, *gone)):
                there = now(path)
                row = self._wanted.get(path)
                want = row.written.state if row else ""
                if there == want:
                    continue
                why = self._not_ours(path, there)
                if why:
                    self.conflicts.append(Notice("not_ours", path, why))
                if row:
                    self._write[path] = there
                else:
                    self._remove.append(path)

    def _not_ours(self, path: str, there: str) -> str:
        """Say why what is at `path` is not ours to change, "" if it is."""
        mine = [record.files for record in self._records if record.brain == self._brain.id]
        rows = [files[path] for files in mine if path in files]
        if not rows:
            return "is there already" if there and there != self._adopted.get(path) else ""
        if any((there or NOTHING) in (row.state, row.was) for row in rows):
            return ""
        return "was changed since it was published" if there else "was removed since"

    def _is_mine(self, record: Record) -> bool:
        return (record.brain, record.kind) == (self._brain.id, self._layout.kind)

    def carry_out(self) -> None:
        """Write the files, between two records of them."""
        cut_short = any(row.was for row in self._known.values())
        clear(self._folder, self._brain.root, {*self._known, *self._wanted} if cut_short else ())
        kept = {path: row for path, row in self._known.items() if path in self._plan.files}
        final = {**kept, **{path: row.written for path, row in self._wanted.items()}}
        meanwhile = {
            path: row._replace(was=(self._write[path] or NOTHING) if path in self._write else "")
            for path, row in final.items()
        }
        self._save({**{path: self._known[path] for path in self._remove}, **meanwhile})
        write_many(self._folder, self._items())
        for path in self._remove:
            remove_file(self._folder, path)
        self._save(final)

    def _items(self) -> Iterator[tuple[str, int, bytes]]:
        for path in sorted(self._write):
            file = self._wanted[path].file
            if file is None:
                file = make(self._brain, self._snapshot, self._plan.files[path], self._form)
            yield path, file.kind, file.content

    def _save(self, files: Mapping[str, Written]) -> None:
        others = [record for record in self._records if not self._is_mine(record)]
        mine = Record(self._brain.id, self._layout.kind, self._snapshot, files)
        save(self._folder, [*others, mine])

    def told(self) -> Published:
        """Return the outcome."""
        stopped = bool(self.conflicts)
        return Published(
            self._brain.id,
            self._snapshot,
            str(self._folder),
            self._layout.kind,
            [] if stopped else sorted(self._write),
            [] if stopped else sorted(self._remove),
            len(self._wanted) - len(self._write),
            self.conflicts,
            self._plan.left,
        )


def _adopted(brain: Brain, folder: Path, made: Plan, layout: Layout) -> dict[str, str]:
    """Return the states of the files that were there when the folder was last adopted."""
    branch = source_of(Found(layout.kind, folder, "", 0, None)).branch
    if branch not in {row.name for row in brain.branches().branches}:
        return {}
    then = {info.path: info for info in brain.files(branch)}
    return {
        path: state_by(then[planned.info.path])
        for path, planned in made.files.items()
        if planned.info.path in then
    }


@contextmanager
def _reader(folder: Path) -> Iterator[Callable[[str], str]]:
    """Give a function that tells the state of what is at a path, "" for nothing."""
    if not folder.is_dir():
        yield lambda path: ""
        return
    with opened(folder) as fd, closing(Folders(fd)) as folders:
        yield partial(_state, folders)


def _state(folders: Folders, path: str) -> str:
    try:
        return state_of(read(folders, path))
    except CannotTake as error:
        return "" if error.code == GONE else error.code
