"""Adopt the home of another program, in place or as a copy.

In place, the brain is created in the home itself, and program and brain share the files.
As a copy, the files are imported on a branch of the source, each at its path in a brain,
and that branch is merged: adopting again brings in the changes since, and keeps what the
brain learned meanwhile.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from functools import partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from ..errors import InvalidInput, StoreError, printable_text
from ..ops.import_states import BRAIN_OWNED_FILES, ImportSource
from ..repo.session import CONTROL_FOLDER, is_brain
from ..results import Adopted, AdoptedFile, MergeConflict, Notice
from ..skills.skill_layout import SKILL_FILES
from ..util.progress import Progress, no_progress
from .archive import archive_name, unpack_archive
from .brain_protocol import AdoptionBrain
from .clone import bare_repository_url, clone_repository, parse_repository_url
from .create_brain import (
    OWN_FILES,
    BrainOpener,
    IgnoreFileChange,
    list_brain_files,
    plan_ignore_file,
    prepend_manifest,
    refuse_foreign_folder,
    restore_ignore_file,
    rollback_on_failure,
    write_in_place_files,
)
from .home_origins import find_sources, own_path, usual_path
from .layouts import LAYOUT_BY_KIND
from .readopt import (
    SAME_BRAIN_KIND,
    find_common_snapshot,
    find_published_state,
    move_source_branch,
    read_copy,
    restore_published_files,
)
from .source_files import (
    IGNORED_CODE,
    IGNORED_REASON,
    DetectedSource,
    FilesRead,
    SourceState,
    filter_ignored,
    is_ignored,
)
from .sources import HomeReader, build_source, detect_source

_NOT_IN_PLACE_REASON = "not in a folder of skills that the program reads"


def adopt(
    source: str | Path,
    into: Path | None,
    kind: str | None,
    allow: Collection[str],
    opener: BrainOpener,
    progress: Progress = no_progress,
) -> Adopted:
    """Adopt a folder or file: in place, or into the brain at `into`, new or existing.

    A `source` that is the URL of a git repository is cloned, and adopted into a brain in the
    folder `into`, by default called as the repository; a `.skill` or `.zip` file is unpacked,
    into a brain called as the file.

    `kind` names the kind of source if detection is ambiguous. Files with secrets are
    skipped, except for findings whose ids are in `allow`. A failure leaves no new brain
    behind. Raises `InvalidInput` (`no_source`, `unknown_source`, `ambiguous_source`,
    `nothing_to_take`, `not_in_place`, `into_source`, `not_empty`, `bad_archive`), or what
    recording and merging raise.
    """
    unopened: list[Notice] = []
    with _open_copy(source, into, kind, allow, opener.open, unopened) as copy:
        if copy is not None:
            branch = build_source(copy.detected)
            move_source_branch(copy.brain, branch.branch, copy.common)
            return _import_and_merge(copy.brain, branch, copy.detected, copy.state)
    with _open_source(source, into, kind, allow, progress) as (detected, state, folder):
        if folder is None:
            adopted = _adopt_in_place(detected, state, opener)
        else:
            adopted = _adopt_copy(detected, state, folder, opener)
        return adopted._replace(notices=[*unopened, *adopted.notices])


def preview_adoption(
    source: str | Path,
    into: Path | None,
    kind: str | None,
    allow: Collection[str],
    open_brain: Callable[[Path], AdoptionBrain],
    progress: Progress = no_progress,
) -> Adopted:
    """Return what `adopt` would take and skip, without writing anything.

    Raises what `adopt` raises, except `nothing_to_take`.
    """
    unopened: list[Notice] = []
    with _open_copy(source, into, kind, allow, open_brain, unopened) as copy:
        if copy is not None:
            _read_all(copy.state)
            return _adopted_result(copy.detected, into, copy.state)
    with _open_source(source, into, kind, allow, progress) as (detected, found, folder):
        state = found if folder is None else filter_ignored(folder.absolute(), found)
        _read_all(state)
        if folder is None:
            home = detected.in_place_folder or detected.path
            rules = plan_ignore_file(home, detected.kind, state.skipped)
            state = _map_in_place(state, rules, list_brain_files(home, rules))
        return _adopted_result(detected, folder, state, notices=unopened)


class _Copy(NamedTuple):
    """A copy or a fork of `brain`, and the last state that both have."""

    detected: DetectedSource
    brain: AdoptionBrain
    state: SourceState
    common: str


@contextmanager
def _open_copy(
    source: str | Path,
    into: Path | None,
    kind: str | None,
    allow: Collection[str],
    open_brain: Callable[[Path], AdoptionBrain],
    unopened: list[Notice],
) -> Iterator[_Copy | None]:
    """Yield the source with the brain at `into`, of which it is a copy; None for another source.

    A damaged brain is another source, with a notice in `unopened`. Raises `StoreError`
    (`unsupported_version`).
    """
    path = Path(source).absolute()
    if (
        into is None
        or kind is not None
        or not (is_brain(path) and is_brain(into.absolute()))
        or into.resolve().is_relative_to(path.resolve())
    ):
        yield None
        return
    try:
        opened = open_brain(path)
    except StoreError as error:
        if error.code == "unsupported_version":
            raise
        message = f"cannot be opened as a brain, so only its files count: {error.message}"
        unopened.append(Notice("damaged_brain", str(path), message))
        yield None
        return
    with closing(opened) as copy, closing(open_brain(into.absolute())) as brain:
        common = find_common_snapshot(brain, copy)
        if common is None:
            yield None
            return
        detected = DetectedSource(SAME_BRAIN_KIND, path, CONTROL_FOLDER, 0, None)
        state = read_copy(brain, copy, detected, allow)
        yield _Copy(detected, brain, filter_ignored(brain.root, state), common)


@contextmanager
def _open_source(
    source: str | Path,
    into: Path | None,
    kind: str | None,
    allow: Collection[str],
    progress: Progress,
) -> Iterator[tuple[DetectedSource, SourceState, Path | None]]:
    """Yield the source, cloned if it is a URL, its state, and the folder of the brain.

    An archive is unpacked.
    """
    opened: AbstractContextManager[Path] = nullcontext(Path(source))
    origin = ""
    if url := parse_repository_url(str(source)) or bare_repository_url(Path(source)):
        into = Path(url.name) if into is None else into
        opened, origin = clone_repository(url), url.public
    elif name := archive_name(Path(source)):
        into = Path(name) if into is None else into
        opened, origin = unpack_archive(Path(source), name), str(Path(source).resolve())
    if into is not None and origin:
        refuse_foreign_folder(into.absolute())
    with opened as path:
        try:
            reader, detected = _detect_source(path, into, kind)
        except InvalidInput as error:
            if origin:
                error.message = error.message.replace(str(path), printable_text(origin))
            raise
        detected = detected._replace(origin=origin)
        state = reader.read(detected, allow)
        yield detected, state._replace(files=_count_files(state.files, progress)), into


def _detect_source(
    path: Path, into: Path | None, kind: str | None
) -> tuple[HomeReader, DetectedSource]:
    path = path.absolute()
    reader, detected = detect_source(path, kind)
    if into is None and detected.in_place_folder is None:
        raise InvalidInput(
            f"a home of kind {detected.kind} cannot be adopted in place: {path}",
            code="not_in_place",
            hint="name a folder for the new brain as a second argument",
        )
    if into is not None and into.resolve().is_relative_to(path.resolve()):
        raise InvalidInput(
            f"{into} is inside the folder to adopt",
            code="into_source",
            hint="name a folder outside of it, or none to adopt it in place",
        )
    if into is not None:
        refuse_foreign_folder(into.absolute())
    return reader, detected


def _count_files(files: FilesRead, progress: Progress) -> FilesRead:
    for number, file in enumerate(files, 1):
        progress("files read", number, 0)
        yield file


def _read_all(state: SourceState) -> None:
    deque(state.files, maxlen=0)


def _nothing_to_take_error(detected: DetectedSource) -> InvalidInput:
    return InvalidInput(
        f"there is nothing to take from {detected.kind} at {detected.place}",
        code="nothing_to_take",
        hint="see with --dry-run what is left out, and why",
    )


def _adopt_copy(
    detected: DetectedSource, state: SourceState, into: Path, opener: BrainOpener
) -> Adopted:
    folder = into.absolute()
    state = filter_ignored(folder, state)
    if not is_brain(folder):  # a bad or empty source fails before a brain is made
        first = next(state.files, None)
        if first is None:
            raise _nothing_to_take_error(detected)
        state = state._replace(files=chain((first,), state.files))
    with rollback_on_failure(folder), closing(opener.open_or_create(folder)) as brain:
        source = build_source(detected)
        published = find_published_state(brain, detected)
        if published is not None:
            move_source_branch(brain, source.branch, published.snapshot)
        if detected.origin:
            state = _keep_earlier_files(brain, source.branch, state)
        is_new = next(brain.history.log(limit=1)).operation["kind"] == "genesis"
        state = _move_to_own_paths(brain, source, detected, state)
        if published is not None:
            state = restore_published_files(brain, detected.path, published, state)
        if is_new:
            state = prepend_manifest(brain, detected.kind, state)
        return _import_and_merge(brain, source, detected, state)


def _keep_earlier_files(brain: AdoptionBrain, branch: str, state: SourceState) -> SourceState:
    """Return the state of a repository or an archive without removals by its kind alone.

    A folder is of one kind for good, or the user says of which. What is fetched may be taken for
    another one as soon as it has more files: it goes on from what it brought before, of which
    nothing is removed.
    """
    place = branch.rpartition("-")[2]
    heads = {info.name: info.snapshot for info in brain.branches.list().branches}
    earlier = [
        snapshot
        for name, snapshot in heads.items()
        if name.startswith("adopted/") and name.endswith(f"-{place}") and name != branch
    ]
    if not earlier:
        return state
    if branch not in heads:
        brain.branches.create(branch, earlier[-1])
    kept = {info.path for snapshot in earlier for info in brain.files.list(snapshot)}
    return state._replace(keeps=lambda path: path in kept or state.keeps(path))


def _import_and_merge(
    brain: AdoptionBrain, source: ImportSource, detected: DetectedSource, state: SourceState
) -> Adopted:
    imported = brain.imports.record_state(
        source, state.files, state.message, revision=state.revision, keeps=state.keeps
    )
    state.skipped.notices.extend(imported.left)
    head = brain.head
    merged = brain.merge.start(imported.branch, message=f"Adopt {source.name}")
    recorded = {info.path for info in brain.files.list(imported.branch)}
    taken = {path: home for path, home in state.source_paths.items() if path in recorded}
    return _adopted_result(
        detected,
        brain.root,
        state._replace(source_paths=taken),
        brain=brain,
        branch=imported.branch,
        changed=brain.head != head,
        conflicts=merged.conflicts,
        notices=merged.notices,
    )


def _move_to_own_paths(
    brain: AdoptionBrain, source: ImportSource, detected: DetectedSource, state: SourceState
) -> SourceState:
    """Give each file whose path holds that of another source a path of its own.

    Skills and memory are shared: they are merged. A file that has an own path keeps it.
    """
    layout = LAYOUT_BY_KIND.get(detected.kind)
    private = [
        info.path
        for info in brain.files.list()
        if info.path not in BRAIN_OWNED_FILES and not info.path.startswith(("skills/", "memory/"))
    ]
    sources = find_sources(brain, "@", private, {source.branch})
    here = source.kind, source.branch
    known = {path for path in private if here in sources.get(path, ())}

    def move_files() -> FilesRead:
        for path, file in state.files:
            own = own_path(source.branch, layout, path) if layout else path
            if own == path or not (own in known or (path in sources and path not in known)):
                yield path, file
                continue
            if path in state.source_paths:
                state.source_paths[own] = state.source_paths.pop(path)
            yield own, file

    def keeps(path: str) -> bool:
        return state.keeps(usual_path(source.branch, path))

    return state._replace(files=move_files(), keeps=keeps)


def _adopt_in_place(detected: DetectedSource, state: SourceState, opener: BrainOpener) -> Adopted:
    home = detected.in_place_folder or detected.path
    _read_all(state)
    rules = plan_ignore_file(home, detected.kind, state.skipped)
    if not list_brain_files(home, rules) and not is_brain(home):
        raise _nothing_to_take_error(detected)
    with rollback_on_failure(home, partial(restore_ignore_file, home, rules)):
        write_in_place_files(home, detected.kind, rules, opener.name)
        with closing(opener.open_or_create(home)) as brain:
            message = f"Adopt {detected.kind} in place"
            imported = brain.imports.record_folder(build_source(detected), message)
            state = _map_in_place(state, rules, {info.path for info in brain.files.list()})
            return _adopted_result(detected, None, state, brain=brain, changed=bool(imported.steps))


def _map_in_place(state: SourceState, rules: IgnoreFileChange, recorded: set[str]) -> SourceState:
    """Return the state with the files that the brain records; the others are added as skipped."""
    ignored = {
        path
        for path in state.source_paths.values()
        if path not in recorded and is_ignored(rules.rules, path)
    }
    elsewhere = sorted(  # the folders of skills that only a copy can hold, because of their place
        home.rpartition("/")[0]
        for brain, home in state.source_paths.items()
        if home.rpartition("/")[2] in SKILL_FILES
        and home not in recorded
        and (brain != home or home not in ignored)
    )
    brain_files = recorded | OWN_FILES
    notices = state.skipped.notices
    notices[:] = [
        *(notice for notice in notices if notice.path not in brain_files),
        *(Notice("not_in_place", path, _NOT_IN_PLACE_REASON) for path in elsewhere),
        *(
            Notice(IGNORED_CODE, path, IGNORED_REASON)
            for path in sorted(ignored)
            if not any(path.startswith(f"{folder}/") for folder in elsewhere)
        ),
    ]
    return state._replace(source_paths={path: path for path in recorded - OWN_FILES})


def _adopted_result(
    detected: DetectedSource,
    into: Path | None,
    state: SourceState,
    *,
    brain: AdoptionBrain | None = None,
    branch: str | None = None,
    changed: bool = False,
    conflicts: Sequence[MergeConflict] = (),
    notices: Sequence[Notice] = (),
) -> Adopted:
    adopted = sorted(state.source_paths.items())
    name_notices: list[Notice] = []
    if brain and not conflicts:
        name_notices = brain.skills.check_names([path for path, _ in adopted])
    return Adopted(
        brain=brain.id if brain else None,
        snapshot=brain.head if brain else None,
        path=str(brain.root if brain else into or detected.path),
        kind=detected.kind,
        source=detected.place,
        in_place=into is None,
        branch=branch,
        changed=changed,
        taken=[AdoptedFile(path, source) for path, source in adopted],
        left_out=state.skipped.notices,
        conflicts=list(conflicts),
        notices=[*state.skipped.doubts, *notices, *name_notices],
    )
