"""Publish skills, memory and prompts of a brain into a client's folder.

Files that this brain did not write, or that were changed since, are overwritten only on
request. The record in the folder is written twice: before the files, with the states that
they are about to have, and after them; so the files of a killed publication are known.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import NamedTuple

from ..objects.tree_entry import LINK
from ..results import Notice, Published
from ..util.progress import Progress, no_progress
from ..worktree.dirfd import FolderHandles, open_root
from ..worktree.file_checkout import remove_working_file, write_working_files
from .adopt import build_source
from .brain_protocol import AdoptionBrain
from .content_checks import SECRET_CODE, describe_secret, find_worst_secret
from .layouts import HomeLayout
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
from .publish_target import (
    clear_leftovers,
    client_layout,
    hold_publish_lock,
    refuse_own_folder,
)
from .safe_read import GONE_CODE, SkipFile, read_home_file
from .source_protocol import DetectedSource


class PublishRequest(NamedTuple):
    """The options of a publication.

    `strict` drops all fields outside the agentskills.io specification, even those that the
    client reads. `overwrite` replaces files that others wrote. `allow` holds ids of findings
    that are not secrets. With `dry_run` nothing is written.
    """

    rev: str = "@"
    strict: bool = False
    overwrite: bool = False
    allow: Collection[str] = ()
    dry_run: bool = False


DEFAULT_REQUEST = PublishRequest()


def publish(
    brain: AdoptionBrain,
    client: str,
    folder: Path,
    request: PublishRequest = DEFAULT_REQUEST,
    progress: Progress = no_progress,
) -> Published:
    """Write the files that a client has a place for, and remove those published before.

    A file that would change and has a secret is held back. With conflicts nothing is
    written. Raises `InvalidInput` (`bad_client`, `own_folder`, `bad_record`), `Locked`, and
    what writing files raises.
    """
    folder = folder.absolute()
    layout = client_layout(client, folder)
    refuse_own_folder(brain.root, folder, layout)
    with nullcontext() if request.dry_run else hold_publish_lock(folder):
        job = _Publication(brain, folder, layout, request, progress)
        if request.overwrite:
            job.conflicts.clear()
        if not job.conflicts and not request.dry_run:
            job.write_files(progress)
        return job.result()


class _Publication:
    """One publication: the files to write and to remove, and the conflicts."""

    def __init__(
        self,
        brain: AdoptionBrain,
        folder: Path,
        layout: HomeLayout,
        request: PublishRequest,
        progress: Progress,
    ) -> None:
        self.conflicts: list[Notice] = []
        self._brain, self._folder, self._layout = brain, folder, layout
        self._snapshot = brain.history.show(request.rev).info.snapshot
        extra_fields = frozenset[str]() if request.strict else layout.extra_fields
        self._form = RenderForm(layout.kind, extra_fields)
        self._records = load_records(folder) if folder.is_dir() else []
        own_records = [record for record in self._records if self._is_own_record(record)]
        self._previous = own_records[0].files if own_records else {}
        self._plan = plan_publication(brain, self._snapshot, layout)
        self._allow = {*request.allow, *read_manifest_at(brain, self._snapshot).accepted}
        self._rendered = render_files(
            brain, self._snapshot, self._plan, self._form, self._previous, progress
        )
        self._held_back: list[Notice] = []
        self._adopted = _adopted_states(brain, folder, self._plan, layout)
        self._write: dict[str, str] = {}
        self._remove: list[str] = []
        self._find_changes(progress)

    def _find_changes(self, progress: Progress) -> None:
        """Find the files to write and to remove, and the conflicts."""
        obsolete = [
            path
            for path in self._previous
            if path not in self._plan.files and self._layout.brain_path(path) is not None
        ]
        with _state_reader(self._folder) as read_state:
            states = {path: read_state(path) for path in sorted((*self._rendered, *obsolete))}
        for path, state in states.items():
            rendered = self._rendered.get(path)
            if state != (rendered.entry.state if rendered else ""):
                if rendered:
                    self._write[path] = state
                else:
                    self._remove.append(path)
        self._hold_back_secrets(progress)
        for path in sorted((*self._write, *self._remove)):
            reason = self._conflict_reason(path, states[path])
            if reason:
                self.conflicts.append(Notice("not_ours", path, reason))

    def _hold_back_secrets(self, progress: Progress) -> None:
        """Leave out the files that have a secret, and all of a skill whose text has one."""
        held_back: set[str] = set()
        skills: set[str] = set()
        for done, path in enumerate(self._write):
            progress("secret scan", done, len(self._write))
            file, planned = self._rendered[path].file, self._plan.files[path]
            secret = file and file.kind != LINK and find_worst_secret(file.content, self._allow)
            if secret:
                held_back.add(path)
                skills |= {planned.slug} if planned.is_skill_text else set()
                self._held_back.append(
                    Notice(SECRET_CODE, planned.info.path, describe_secret(secret))
                )
        for path in list(self._write):
            if path in held_back or self._plan.files[path].slug in skills:
                del self._write[path], self._rendered[path]

    def _conflict_reason(self, path: str, state: str) -> str:
        """Return why the file at `path`, now in `state`, must not be changed, "" if it may."""
        own_records = [record.files for record in self._records if record.brain == self._brain.id]
        entries = [files[path] for files in own_records if path in files]
        if not entries:
            return "exists already" if state and state != self._adopted.get(path) else ""
        if any((state or ABSENT_STATE) in (entry.state, entry.was) for entry in entries):
            return ""
        return "was changed since it was published" if state else "was removed since"

    def _is_own_record(self, record: PublishRecord) -> bool:
        return (record.brain, record.kind) == (self._brain.id, self._layout.kind)

    def write_files(self, progress: Progress) -> None:
        """Write the files, with the record before and after."""
        was_killed = any(entry.was for entry in self._previous.values())
        clear_leftovers(
            self._folder, self._brain.root, {*self._previous, *self._rendered} if was_killed else ()
        )
        still_planned = {
            path: entry for path, entry in self._previous.items() if path in self._plan.files
        }
        final = {**still_planned, **{path: file.entry for path, file in self._rendered.items()}}
        meanwhile = {
            path: entry._replace(
                was=(self._write[path] or ABSENT_STATE) if path in self._write else ""
            )
            for path, entry in final.items()
        }
        self._save_record({**{path: self._previous[path] for path in self._remove}, **meanwhile})
        write_working_files(self._folder, self._render_changed(progress))
        for path in self._remove:
            remove_working_file(self._folder, path)
        self._save_record(final)

    def _render_changed(self, progress: Progress) -> Iterator[tuple[str, int, bytes]]:
        for done, path in enumerate(sorted(self._write)):
            progress("files written", done, len(self._write))
            file = self._rendered[path].file
            if file is None:
                file = render_file(self._brain, self._snapshot, self._plan.files[path], self._form)
            yield path, file.kind, file.content

    def _save_record(self, files: Mapping[str, PublishedFile]) -> None:
        others = [record for record in self._records if not self._is_own_record(record)]
        own_record = PublishRecord(self._brain.id, self._layout.kind, self._snapshot, files)
        save_records(self._folder, [*others, own_record])

    def result(self) -> Published:
        """Return the outcome."""
        return Published(
            brain=self._brain.id,
            snapshot=self._snapshot,
            path=str(self._folder),
            kind=self._layout.kind,
            written=[] if self.conflicts else sorted(self._write),
            removed=[] if self.conflicts else sorted(self._remove),
            unchanged=len(self._rendered) - len(self._write),
            conflicts=self.conflicts,
            left_out=self._plan.skipped,
            held_back=self._held_back,
        )


def _adopted_states(
    brain: AdoptionBrain, folder: Path, plan: PublishPlan, layout: HomeLayout
) -> dict[str, str]:
    """Return the states of the files when the folder was last adopted."""
    branch = build_source(DetectedSource(layout.kind, folder, "", 0, None)).branch
    if branch not in {info.name for info in brain.branches.list().branches}:
        return {}
    adopted_files = {info.path: info for info in brain.files.list(branch)}
    return {
        path: info_state(adopted_files[planned.info.path])
        for path, planned in plan.files.items()
        if planned.info.path in adopted_files
    }


@contextmanager
def _state_reader(folder: Path) -> Iterator[Callable[[str], str]]:
    """Yield a function that returns the state of the file at a path, "" if there is none."""
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
