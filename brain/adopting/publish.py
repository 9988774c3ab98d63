"""Publish skills, memory and prompts of a brain into a client's folder.

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

from ..results import Notice, Published
from ..worktree.dirfd import FolderHandles, open_root
from ..worktree.file_checkout import remove_working_file, write_working_files
from .adopt import build_source
from .brain_protocol import AdoptionBrain
from .layouts import HomeLayout
from .publish_lock import clear_leftovers, hold_publish_lock
from .publish_manifest import (
    ABSENT_STATE,
    PublishedFile,
    PublishRecord,
    file_state,
    info_state,
    load_records,
    save_records,
)
from .publish_plan import PublishPlan, plan_publication, read_manifest_at
from .publish_render import RenderForm, render_file, render_files
from .publish_target import client_layout, refuse_own_folder
from .safe_read import GONE_CODE, SkipFile, read_home_file
from .source_protocol import DetectedSource


class PublishRequest(NamedTuple):
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


DEFAULT_REQUEST = PublishRequest()


def publish(
    brain: AdoptionBrain, client: str, folder: Path, request: PublishRequest = DEFAULT_REQUEST
) -> Published:
    """Write what a client has a place for into its folder, and remove what is gone.

    With conflicts nothing is written. Raises `InvalidInput` (`bad_client`, `own_folder`,
    `secrets_found`, `bad_record`), `Locked`, and what writing files raises.
    """
    folder = folder.absolute()
    layout = client_layout(client, folder)
    refuse_own_folder(brain.root, folder, layout)
    with nullcontext() if request.dry_run else hold_publish_lock(folder):
        job = _Publication(brain, folder, layout, request)
        if request.overwrite:
            job.conflicts.clear()
        if not job.conflicts and not request.dry_run:
            job.write_files()
        return job.result()


class _Publication:
    """One publication: what is to lie there, what does, and what follows from it."""

    def __init__(
        self, brain: AdoptionBrain, folder: Path, layout: HomeLayout, request: PublishRequest
    ) -> None:
        self.conflicts: list[Notice] = []
        self._brain, self._folder, self._layout = brain, folder, layout
        self._snapshot = brain.history.show(request.rev).info.snapshot
        self._form = RenderForm(layout.kind, frozenset() if request.strict else layout.kept_fields)
        self._records = load_records(folder) if folder.is_dir() else []
        own_records = [record for record in self._records if self._is_own_record(record)]
        self._previous = own_records[0].files if own_records else {}
        self._plan = plan_publication(brain, self._snapshot, layout)
        allow = {*request.allow, *read_manifest_at(brain, self._snapshot).accepted}
        self._rendered = render_files(
            brain, self._snapshot, self._plan, self._form, self._previous, allow
        )
        self._adopted = _adopted_states(brain, folder, self._plan, layout)
        self._write: dict[str, str] = {}
        self._remove: list[str] = []
        self._find_changes()

    def _find_changes(self) -> None:
        """Find what is to be written and removed, and what stands in the way."""
        gone = [
            path
            for path in self._previous
            if path not in self._plan.files and self._layout.brain_path(path) is not None
        ]
        with _state_reader(self._folder) as now:
            for path in sorted((*self._rendered, *gone)):
                there = now(path)
                row = self._rendered.get(path)
                want = row.entry.state if row else ""
                if there == want:
                    continue
                why = self._conflict_reason(path, there)
                if why:
                    self.conflicts.append(Notice("not_ours", path, why))
                if row:
                    self._write[path] = there
                else:
                    self._remove.append(path)

    def _conflict_reason(self, path: str, there: str) -> str:
        """Say why what is at `path` is not ours to change, "" if it is."""
        own_records = [record.files for record in self._records if record.brain == self._brain.id]
        rows = [files[path] for files in own_records if path in files]
        if not rows:
            return "is there already" if there and there != self._adopted.get(path) else ""
        if any((there or ABSENT_STATE) in (row.state, row.was) for row in rows):
            return ""
        return "was changed since it was published" if there else "was removed since"

    def _is_own_record(self, record: PublishRecord) -> bool:
        return (record.brain, record.kind) == (self._brain.id, self._layout.kind)

    def write_files(self) -> None:
        """Write the files, between two records of them."""
        cut_short = any(row.was for row in self._previous.values())
        clear_leftovers(
            self._folder, self._brain.root, {*self._previous, *self._rendered} if cut_short else ()
        )
        kept = {path: row for path, row in self._previous.items() if path in self._plan.files}
        final = {**kept, **{path: row.entry for path, row in self._rendered.items()}}
        meanwhile = {
            path: row._replace(
                was=(self._write[path] or ABSENT_STATE) if path in self._write else ""
            )
            for path, row in final.items()
        }
        self._save_record({**{path: self._previous[path] for path in self._remove}, **meanwhile})
        write_working_files(self._folder, self._render_changed())
        for path in self._remove:
            remove_working_file(self._folder, path)
        self._save_record(final)

    def _render_changed(self) -> Iterator[tuple[str, int, bytes]]:
        for path in sorted(self._write):
            file = self._rendered[path].file
            if file is None:
                file = render_file(self._brain, self._snapshot, self._plan.files[path], self._form)
            yield path, file.kind, file.content

    def _save_record(self, files: Mapping[str, PublishedFile]) -> None:
        others = [record for record in self._records if not self._is_own_record(record)]
        own_records = PublishRecord(self._brain.id, self._layout.kind, self._snapshot, files)
        save_records(self._folder, [*others, own_records])

    def result(self) -> Published:
        """Return the outcome."""
        stopped = bool(self.conflicts)
        return Published(
            self._brain.id,
            self._snapshot,
            str(self._folder),
            self._layout.kind,
            [] if stopped else sorted(self._write),
            [] if stopped else sorted(self._remove),
            len(self._rendered) - len(self._write),
            self.conflicts,
            self._plan.skipped,
        )


def _adopted_states(
    brain: AdoptionBrain, folder: Path, made: PublishPlan, layout: HomeLayout
) -> dict[str, str]:
    """Return the states of the files that were there when the folder was last adopted."""
    branch = build_source(DetectedSource(layout.kind, folder, "", 0, None)).branch
    if branch not in {row.name for row in brain.branches.list().branches}:
        return {}
    then = {info.path: info for info in brain.files.list(branch)}
    return {
        path: info_state(then[planned.info.path])
        for path, planned in made.files.items()
        if planned.info.path in then
    }


@contextmanager
def _state_reader(folder: Path) -> Iterator[Callable[[str], str]]:
    """Give a function that tells the state of what is at a path, "" for nothing."""
    if not folder.is_dir():
        yield lambda path: ""
        return
    with open_root(folder) as fd, closing(FolderHandles(fd)) as folders:
        yield partial(_read_state, folders)


def _read_state(folders: FolderHandles, path: str) -> str:
    try:
        return file_state(read_home_file(folders, path))
    except SkipFile as error:
        return "" if error.code == GONE_CODE else error.code
