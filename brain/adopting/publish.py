"""Publish skills, memory and prompts of a brain into a client's folder.

Each file has the bytes that the brain has. Files that this brain did not write, or that were
changed since, are overwritten only on request. The record in the folder is written twice:
before the files, with the states that they are about to have, and after them; so the files of a
killed publication are known.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import nullcontext, suppress
from pathlib import Path

from ..errors import Conflict, InvalidInput, NotFound
from ..folder.write import remove_working_file, write_working_files
from ..objects.collisions import is_safe_link_target
from ..objects.tree_node import LINK
from ..results import Notice, Published
from ..secrets import find_secrets
from ..util.progress import Progress, no_progress
from .brain_protocol import AdoptionBrain
from .home_origins import adopted_layout, find_origins, find_sources
from .layouts import LAYOUT_BY_KIND, HomeLayout
from .publish_manifest import (
    ABSENT_STATE,
    PublishedFile,
    PublishRecord,
    form_name,
    info_state,
    load_records,
    save_records,
)
from .publish_plan import (
    PlannedFile,
    clear_leftovers,
    client_layout,
    content_refusal,
    find_other_names,
    hold_publish_lock,
    plan_publication,
    read_manifest_at,
    read_states,
    refuse_own_folder,
)
from .scan_home import LinkedSkills
from .source_files import SECRET_CODE, describe_secrets, find_new_secrets


def publish(
    brain: AdoptionBrain,
    client: str | None,
    folder: Path,
    rev: str = "@",
    *,
    overwrite: bool = False,
    include: Collection[str] = (),
    allow: Collection[str] = (),
    dry_run: bool = False,
    progress: Progress = no_progress,
) -> Published:
    """Write the files that a client has a place for, and remove those published before.

    Without a client the folder is written in the form in which it was adopted. A file that would
    change and has a secret is held back, unless `allow` has the ids of its findings. With
    conflicts nothing is written, unless `overwrite` replaces files that others wrote. `include`
    are files to write although they came from other homes. Raises `InvalidInput`
    (`bad_client`, `own_folder`, `bad_record`), `Locked`, `Conflict` (`merging`) while an adoption
    from there is unfinished, and what writing raises.
    """
    folder = folder.absolute()
    layout = client_layout(client, folder) if client else adopted_layout(brain, folder)
    refuse_own_folder(brain.root, folder, layout)
    with nullcontext() if dry_run else hold_publish_lock(folder):
        job = _Publication(brain, folder, layout, rev, include, allow, progress)
        if overwrite:
            job.conflicts.clear()
        if not job.conflicts and not dry_run:
            job.write_files(progress)
        return job.result()


class _Publication:
    """One publication: the files to write and to remove, and the conflicts."""

    def __init__(
        self,
        brain: AdoptionBrain,
        folder: Path,
        layout: HomeLayout,
        rev: str,
        include: Collection[str],
        allow: Collection[str],
        progress: Progress,
    ) -> None:
        self._brain, self._folder, self._layout = brain, folder, layout
        self._snapshot = brain.history.show(rev).info.snapshot
        self._records = load_records(folder) if folder.is_dir() else []
        self._own = next(filter(self._is_own_record, self._records), None)
        self._previous = self._own.files if self._own else {}
        origins = find_origins(
            brain, folder, layout, self._snapshot, self._previous, self._published_paths()
        )
        if origins.waiting and brain.merge.list_conflicts():
            branch = origins.waiting[0]
            raise Conflict(
                f"the adoption from there waits for conflicts to be resolved ({branch})",
                code="merging",
                hint="resolve them with `brain resolve`, then `brain merge --continue`, or give it "
                "up with `brain merge --abort`; then publish",
            )
        self._adopted, self._linked = origins.adopted, origins.linked
        self._linked_folders, self._home_paths = origins.linked_folders, origins.home_paths
        self._plan = plan_publication(brain, self._snapshot, layout, origins.home_paths, folder)
        self._outside: dict[str, Path | None] = {}
        self._allow = {*allow, *read_manifest_at(brain, self._snapshot).accepted}
        self._rows = self._find_rows()
        self._linked_skills = LinkedSkills(folder, layout)
        self._behind_link = self._leave_out_linked()
        self._behind_link |= self._leave_out_foreign(origins.sources, include)
        self._notices = find_other_names(map(self._plan.files.__getitem__, self._rows), layout)
        self._held_back: list[Notice] = []
        self._write: dict[str, str] = {}
        self._remove: list[str] = []
        self.conflicts: list[Notice] = []
        self._find_changes(progress)

    def _find_rows(self) -> dict[str, PublishedFile]:
        """Return the row of each file to publish; skip what was adopted and cannot be written."""
        rows: dict[str, PublishedFile] = {}
        broken: set[str] = set()
        for home, planned in self._plan.files.items():
            path, blob, state = planned.info.path, planned.info.blob, info_state(planned.info)
            rows[home] = row = PublishedFile(
                path, blob, form_name(self._layout.kind, path in self._home_paths), state
            )
            origin, before = self._adopted.get(home), self._previous.get(home)
            if (origin and origin.state == state) or (before and before[:4] == row[:4]):
                continue
            if notice := self._refusal(planned):
                self._plan.skipped.append(notice)
                broken |= {planned.skill_path} if planned.is_skill_text else set()
                del rows[home]
        is_broken = {home for home in rows if self._plan.files[home].skill_path in broken}
        return {home: row for home, row in rows.items() if home not in is_broken}

    def _refusal(self, planned: PlannedFile) -> Notice | None:
        """Return why a file cannot be written, None if it can."""
        if reason := content_refusal(planned):
            return Notice("not_published", planned.info.path, reason)
        place = planned.inner or planned.client_path
        if planned.kind == LINK and not is_safe_link_target(place, self._read(planned)):
            return Notice("link_outside", planned.info.path, "the link points outside of its skill")
        return None

    def _read(self, planned: PlannedFile) -> bytes:
        files = self._brain.files
        read = files.read_stored if planned.kind == LINK else files.read
        return read(planned.info.path, self._snapshot)

    def _locate(self, path: str) -> tuple[Path, str] | None:
        """Return the folder to write to, and the path of a file there; None behind a link.

        A link that leads outside is followed to where adoption reads skills.
        """
        above, _, name = path.rpartition("/")
        if above not in self._outside:
            real = Path(os.path.realpath(self._folder / above))
            is_here = real.is_relative_to(os.path.realpath(self._folder))
            self._outside[above] = None if is_here else real
        real_folder = self._outside[above]
        if real_folder is None:
            return self._folder, path
        planned = self._plan.files.get(path)
        main = self._home_paths.get(planned.skill_path, "") if planned else ""
        came_from_there = path in self._adopted or main in self._adopted
        linked = self._linked_folders if came_from_there else ()
        for root in (*self._linked_skills.allowed, *linked):
            if real_folder.is_relative_to(root):
                return root, (real_folder / name).relative_to(root).as_posix()
        return None

    def _leave_out_linked(self) -> set[str]:
        """Leave out the files behind links that lead elsewhere; return their paths."""
        left_out = {path for path in self._linked if path not in self._plan.files}
        for path, planned in self._plan.files.items():
            if path not in self._linked and self._locate(path) is not None:
                continue
            left_out.add(path)
            reason = f"{path} leads through a link; publish into the folder it leads to"
            self._leave_out(path, Notice("behind_link", planned.info.path, reason))
        return left_out

    def _leave_out(self, path: str, notice: Notice) -> None:
        """Leave out a file, with a notice unless it is as it was published or adopted last."""
        row, known = self._rows.pop(path, None), self._known_row(path)
        if row and (known is None or known.state != row.state):
            self._plan.skipped.append(notice)

    def _published_paths(self) -> set[str]:
        """Return the paths of the snapshot that was published there last; it may be gone."""
        with suppress(NotFound, InvalidInput):
            if self._own is not None:
                return {info.path for info in self._brain.files.list(self._own.snapshot)}
        return set()

    def _leave_out_foreign(
        self, sources: Collection[tuple[str, str]], include: Collection[str]
    ) -> set[str]:
        """Leave out what came from other homes, unless it is to be included; return the paths.

        Skills are for all. Other files, as private instructions, go back to where they came
        from: not to a folder from which others came, nor from the home of a user to a project.
        """
        places = {
            planned.info.path: home
            for home, planned in self._plan.files.items()
            if not planned.info.path.startswith("skills/") and planned.info.path not in include
        }
        left_out = set()
        found = find_sources(self._brain, self._snapshot, places, {branch for _, branch in sources})
        for path, origins in found.items():
            others = origins - set(sources)
            layouts = (LAYOUT_BY_KIND.get(kind) for kind, _ in others)
            is_from_user = any(layout and layout.home_name for layout in layouts)
            is_leak = self._layout.skills_anywhere and is_from_user
            if not sources and not is_leak:
                continue
            if others and places[path] in self._rows:
                left_out.add(places[path])
                names = ", ".join(sorted(branch for _, branch in others))
                reason = f"it came from another home ({names}); --include writes it here too"
                self._leave_out(places[path], Notice("of_another_home", path, reason))
        return left_out

    def _find_changes(self, progress: Progress) -> None:
        """Find the files to write and to remove, and the conflicts."""
        recorded = {info.path for info in self._brain.files.list(self._snapshot)}
        obsolete = {
            *(path for path in self._previous if self._layout.brain_path(path) is not None),
            *(path for path in self._previous if path in self._adopted),
            *(path for path, origin in self._adopted.items() if origin.info.path not in recorded),
        }
        obsolete -= self._behind_link | self._plan.files.keys()
        for path in sorted(obsolete):
            if self._locate(path) != (self._folder, path):  # others may read it, too
                obsolete.remove(path)
                self._behind_link.add(path)
                reason = "it was removed in the brain, and lies behind a link that leads outside"
                if os.path.lexists(self._folder / path):
                    self._plan.skipped.append(Notice("behind_link", path, reason))
        states: dict[str, str] = {}
        for root, places in self._by_root({*self._rows, *obsolete}).items():
            found = read_states(root, places)
            states |= {path: found[place] for place, path in places.items()}
        for path, state in states.items():
            row = self._rows.get(path)
            if row is None and state:
                self._remove.append(path)
            elif row and row.state != state:
                self._write[path] = state
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
            planned = self._plan.files[path]
            if planned.kind == LINK:
                continue
            secrets = find_new_secrets(self._read(planned), self._allow)
            if secrets:
                known = {finding.id for finding in find_secrets(self._read_adopted(path))}
                secrets = [one for one in secrets if one.id not in known]
            if secrets:
                held_back.add(path)
                skills |= {planned.skill_path} if planned.is_skill_text else set()
                self._held_back.append(
                    Notice(SECRET_CODE, planned.info.path, describe_secrets(secrets))
                )
        for path in list(self._write):
            if path in held_back or self._plan.files[path].skill_path in skills:
                del self._write[path], self._rows[path]

    def _read_adopted(self, path: str) -> bytes:
        """Return the content with which a file was adopted, b"" if the brain has none."""
        origin = self._adopted.get(path)
        if origin is None:
            return b""
        try:
            return self._brain.files.read_stored(origin.info.path, origin.snapshot)
        except NotFound:  # it was redacted
            return b""

    def _conflict_reason(self, path: str, state: str) -> str:
        """Return why the file at `path`, now in `state`, must not be changed, "" if it may."""
        own_records = [record.files for record in self._records if record.brain == self._brain.id]
        entries = [files[path] for files in own_records if path in files]
        if any((state or ABSENT_STATE) in (entry.state, entry.was) for entry in entries):
            return ""
        origin = self._adopted.get(path)
        if state and origin and state == origin.state:
            return ""
        since = "published" if entries else "adopted" if origin else ""
        if since:
            return f"was {'changed' if state else 'removed'} since it was {since}"
        return "exists already" if state else ""

    def _is_own_record(self, record: PublishRecord) -> bool:
        return (record.brain, record.kind) == (self._brain.id, self._layout.kind)

    def write_files(self, progress: Progress) -> None:
        """Write the files, with the record before and after."""
        was_killed = any(entry.was for entry in self._previous.values())
        clear_leftovers(
            self._folder, self._brain.root, {*self._previous, *self._rows} if was_killed else ()
        )
        paths = {*self._plan.files, *self._behind_link}
        kept = {path: row for path in paths if (row := self._known_row(path))}
        final = {**kept, **self._rows}
        meanwhile = {
            path: entry._replace(
                was=(self._write[path] or ABSENT_STATE) if path in self._write else ""
            )
            for path, entry in final.items()
        }
        removed = {path: row for path in self._remove if (row := self._known_row(path))}
        self._save_record({**removed, **meanwhile})
        for root, places in self._by_root(self._write).items():
            write_working_files(root, self._changed_files(places, progress))
        for root, places in self._by_root(self._remove).items():
            for place in places:
                remove_working_file(root, place)
        self._save_record(final)

    def _known_row(self, path: str) -> PublishedFile | None:
        """Return the row of a file as it was published or adopted last, None if it was not."""
        origin = self._adopted.get(path)
        if path in self._previous or origin is None:
            return self._previous.get(path)
        form = form_name(self._layout.kind, is_adopted=True)
        return PublishedFile(origin.info.path, origin.info.blob, form, origin.state)

    def _by_root(self, paths: Iterable[str]) -> dict[Path, dict[str, str]]:
        """Return some paths by the place of each, by the folder that this is in."""
        found: dict[Path, dict[str, str]] = {}
        for path in sorted(paths):
            root, place = self._locate(path) or (self._folder, path)
            found.setdefault(root, {})[place] = path
        return found

    def _changed_files(
        self, places: Mapping[str, str], progress: Progress
    ) -> Iterator[tuple[str, int, bytes]]:
        for done, (place, path) in enumerate(places.items()):
            progress("files written", done, len(places))
            planned = self._plan.files[path]
            yield place, planned.kind, self._read(planned)

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
            unchanged=len(self._rows) - len(self._write),
            conflicts=self.conflicts,
            left_out=self._plan.skipped,
            held_back=self._held_back,
            notices=self._notices,
        )
