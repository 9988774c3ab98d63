"""Adopt the home of another program, in place or as a copy.

In place, the brain is created in the home itself, and program and brain share the files.
As a copy, the files are imported on a branch of the source, each at its path in a brain,
and that branch is merged: adopting again brings in the changes since, and keeps what the
brain learned meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from ..errors import InvalidInput, StoreError
from ..ops.import_states import BRAIN_OWNED_FILES, ImportSource
from ..repo.session import CONTROL_FOLDER, is_brain
from ..results import Adopted, AdoptedFile, MergeConflict
from ..skills.skill_layout import SKILL_FILES
from ..util.progress import Progress, no_progress
from . import ignore_filter, in_place, same_brain
from .brain_protocol import AdoptionBrain
from .clone import bare_repository_url, clone_repository, parse_repository_url
from .counting_reader import CountingReader
from .create_brain import (
    BrainOpener,
    open_or_create,
    prepend_manifest,
    refuse_foreign_folder,
    rollback_on_failure,
)
from .home_origins import find_sources, own_path, usual_path
from .ignore_filter import StepFiles, filter_ignored, is_ignored
from .layouts import LAYOUT_BY_KIND
from .readopt import find_published_state, move_source_branch, restore_published_form
from .source_protocol import (
    DetectedSource,
    ImportStep,
    Notice,
    SourceFile,
    SourceReader,
    SourceStates,
)
from .sources import build_source, detect_source

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
    folder `into`, by default called as the repository.

    `kind` names the kind of source if detection is ambiguous. Files with secrets are
    skipped, except for findings whose ids are in `allow`. A failure leaves no new brain
    behind. Raises `InvalidInput` (`no_source`, `unknown_source`, `ambiguous_source`,
    `nothing_to_take`, `not_in_place`, `into_source`, `not_empty`), or what recording and
    merging raise.
    """
    unopened: list[Notice] = []
    with _open_copy(source, into, kind, opener.open, unopened) as copy:
        if copy is not None:
            return _adopt_same_brain(copy, allow)
    with (
        _open_source(source, into, kind) as (reader, detected, into),
        closing(CountingReader(reader, progress)) as counting,
    ):
        adopted = _adopt_detected(counting, detected, into, allow, opener)
        return adopted._replace(notices=[*unopened, *adopted.notices])


class _Copy(NamedTuple):
    """A copy or a fork of a brain, both open, and the last state that both have."""

    detected: DetectedSource
    brain: AdoptionBrain
    copy: AdoptionBrain
    common: str

    def read_states(self, allow: Collection[str]) -> tuple[SourceStates, Iterator[ImportStep]]:
        """Return the state of the copy, and its step without what the brain ignores."""
        states = same_brain.read_copy(self.brain, self.copy, self.detected, allow)
        return states, filter_ignored(self.brain.root, states)


@contextmanager
def _open_copy(
    source: str | Path,
    into: Path | None,
    kind: str | None,
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
        common = same_brain.find_common_snapshot(brain, copy)
        detected = DetectedSource(same_brain.SAME_BRAIN_KIND, path, CONTROL_FOLDER, 0, None)
        yield None if common is None else _Copy(detected, brain, copy, common)


def _adopt_same_brain(copy: _Copy, allow: Collection[str]) -> Adopted:
    source = build_source(copy.detected)
    move_source_branch(copy.brain, source.branch, copy.common)
    states, steps = copy.read_states(allow)
    return _import_and_merge(copy.brain, source, copy.detected, steps, states)


def _adopt_detected(
    reader: SourceReader,
    detected: DetectedSource,
    into: Path | None,
    allow: Collection[str],
    opener: BrainOpener,
) -> Adopted:
    if into is None:
        return _adopt_in_place(reader, detected, allow, opener)
    folder = into.absolute()
    if is_brain(folder):
        with closing(open_or_create(folder, opener)) as brain:
            since = brain.imports.find_last_state(build_source(detected).branch)
            return _adopt_copy(
                brain, detected, _read_source(reader, detected, since, allow, folder)
            )
    states = _read_to_first_file(detected, _read_source(reader, detected, None, allow, folder))
    with rollback_on_failure(folder), closing(open_or_create(folder, opener)) as brain:
        return _adopt_copy(brain, detected, states)


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
    with _open_copy(source, into, kind, open_brain, unopened) as copy:
        if copy is not None:
            states, filtered = copy.read_states(allow)
            steps = _consume_steps(filtered)
            return _adopted_result(copy.detected, into, states, steps)
    with (
        _open_source(source, into, kind) as (opened, detected, into),
        closing(CountingReader(opened, progress)) as reader,
    ):
        if into is None:
            states = reader.read_states(detected, None, allow)
            steps = _consume_steps(states.steps)
            _, states = _plan_in_place(detected, states)
        else:
            states = _read_source(reader, detected, None, allow, into.absolute())
            steps = _consume_steps(states.steps)
        return _adopted_result(detected, into, states, steps, notices=unopened)


@contextmanager
def _open_source(
    source: str | Path, into: Path | None, kind: str | None
) -> Iterator[tuple[SourceReader, DetectedSource, Path | None]]:
    """Yield the source with its reader, cloned if it is a URL, and the folder of the brain."""
    url = parse_repository_url(str(source)) or bare_repository_url(Path(source))
    if url is None:
        yield *_detect_source(Path(source), into, kind), into
        return
    into = Path(url.name) if into is None else into
    refuse_foreign_folder(into.absolute())
    with clone_repository(url) as clone:
        reader, detected = _detect_source(clone, into, kind)
        yield reader, detected._replace(origin=url.public), into


def _detect_source(
    path: Path, into: Path | None, kind: str | None
) -> tuple[SourceReader, DetectedSource]:
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


def _read_source(
    reader: SourceReader,
    detected: DetectedSource,
    since: str | None,
    allow: Collection[str],
    into: Path,
) -> SourceStates:
    """Read a source for the brain at `into`, which need not exist yet."""
    states = reader.read_states(detected, since, allow)
    return states._replace(steps=filter_ignored(into, states))


def _read_to_first_file(detected: DetectedSource, states: SourceStates) -> SourceStates:
    """Read up to the first file, so that a bad or empty source fails before a brain is made."""
    earlier_steps: list[ImportStep] = []
    for step in states.steps:
        files = iter(step.files)
        read_files: list[tuple[str, SourceFile | None]] = []
        for path, file in files:
            read_files.append((path, file))
            if file is not None:
                first = step._replace(files=chain(read_files, files))
                return states._replace(steps=chain(earlier_steps, (first,), states.steps))
        earlier_steps.append(step._replace(files=read_files))
    raise _nothing_to_take_error(detected)


def _nothing_to_take_error(detected: DetectedSource) -> InvalidInput:
    return InvalidInput(
        f"there is nothing to take from {detected.kind} at {detected.place}",
        code="nothing_to_take",
        hint="see with --dry-run what is left out, and why",
    )


def _consume_steps(steps: Iterator[ImportStep]) -> int:
    """Read all states; return their number."""
    count = 0
    for step in steps:
        count += 1
        for _ in step.files:
            pass
    return count


def _adopt_copy(brain: AdoptionBrain, detected: DetectedSource, states: SourceStates) -> Adopted:
    source = build_source(detected)
    published = find_published_state(brain, detected)
    if published is not None:
        move_source_branch(brain, source.branch, published.snapshot)
    is_new = next(brain.history.log(limit=1)).operation["kind"] == "genesis"
    steps = _move_to_own_paths(brain, source, detected, states)
    if published is not None:
        steps = restore_published_form(brain, detected.path, published, steps, states)
    if is_new:
        steps = prepend_manifest(brain, detected.kind, steps)
    return _import_and_merge(brain, source, detected, steps, states)


def _import_and_merge(
    brain: AdoptionBrain,
    source: ImportSource,
    detected: DetectedSource,
    steps: Iterator[ImportStep],
    states: SourceStates,
) -> Adopted:
    imported = brain.imports.record_states(source, steps)
    states.skipped.extend(imported.left)
    head = brain.head
    merged = brain.merge.start(imported.branch, message=f"Adopt {source.name}")
    recorded_paths = {info.path for info in brain.files.list(imported.branch)}
    recorded = {path: home for path, home in states.source_paths.items() if path in recorded_paths}
    return _adopted_result(
        detected,
        brain.root,
        states._replace(source_paths=recorded),
        imported.steps,
        brain=brain,
        branch=imported.branch,
        changed=brain.head != head,
        conflicts=merged.conflicts,
        notices=merged.notices,
    )


def _move_to_own_paths(
    brain: AdoptionBrain, source: ImportSource, detected: DetectedSource, states: SourceStates
) -> Iterator[ImportStep]:
    """Yield the steps with an own path for each file whose path holds that of another source.

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

    def move(path: str) -> str:
        own = own_path(source.branch, layout, path) if layout else path
        return own if own in known or (path in sources and path not in known) else path

    def move_files(step: ImportStep) -> StepFiles:
        for path, file in step.files:
            moved = move(path)
            if moved != path and path in states.source_paths:
                states.source_paths[moved] = states.source_paths.pop(path)
            yield moved, file

    def keeps(step: ImportStep, path: str) -> bool:
        return step.keeps_path(usual_path(source.branch, path))

    for step in states.steps:
        yield step._replace(files=move_files(step), keeps_path=partial(keeps, step))


def _adopt_in_place(
    reader: SourceReader, detected: DetectedSource, allow: Collection[str], opener: BrainOpener
) -> Adopted:
    home = detected.in_place_folder or detected.path
    states = reader.read_states(detected, None, allow)
    _consume_steps(states.steps)
    rules, expected = _plan_in_place(detected, states)
    if not expected.source_paths and not is_brain(home):
        raise _nothing_to_take_error(detected)
    with rollback_on_failure(home, partial(in_place.restore_ignore_file, home, rules)):
        in_place.write_in_place_files(home, detected.kind, rules, opener.name)
        with closing(open_or_create(home, opener)) as brain:
            imported = brain.imports.record_folder(
                build_source(detected), f"Adopt {detected.kind} in place"
            )
            states = _map_in_place(states, rules, {info.path for info in brain.files.list()})
            return _adopted_result(
                detected, None, states, imported.steps, brain=brain, changed=bool(imported.steps)
            )


def _plan_in_place(
    detected: DetectedSource, states: SourceStates
) -> tuple[in_place.IgnoreFileChange, SourceStates]:
    """Return the ignore rules for a brain in a home, and the files that they leave in it."""
    home = detected.in_place_folder or detected.path
    rules = in_place.plan_ignore_file(home, detected.kind, states)
    return rules, _map_in_place(states, rules, in_place.list_brain_files(home, rules))


def _map_in_place(
    states: SourceStates, rules: in_place.IgnoreFileChange, recorded_paths: set[str]
) -> SourceStates:
    """Return the states with the files that the brain records, and the others as skipped."""
    homes = states.source_paths.values()
    ignored = [
        path for path in homes if path not in recorded_paths and is_ignored(rules.rules, path)
    ]
    elsewhere = _skills_elsewhere(states, recorded_paths, ignored)
    brain_files = recorded_paths | in_place.OWN_FILES
    skipped = [notice for notice in states.skipped if notice.path not in brain_files]
    skipped += [Notice("not_in_place", path, _NOT_IN_PLACE_REASON) for path in elsewhere]
    skipped += [
        Notice(ignore_filter.IGNORED_CODE, path, ignore_filter.IGNORED_REASON)
        for path in sorted(ignored)
        if not any(path.startswith(f"{folder}/") for folder in elsewhere)
    ]
    recorded = {path: path for path in recorded_paths - in_place.OWN_FILES}
    return states._replace(skipped=skipped, source_paths=recorded)


def _skills_elsewhere(
    states: SourceStates, recorded_paths: set[str], ignored: list[str]
) -> list[str]:
    """Return the folders of skills that only a copy can hold, because of where they lie."""
    there = set(ignored)
    return sorted(
        home.rpartition("/")[0]
        for brain, home in states.source_paths.items()
        if home.rpartition("/")[2] in SKILL_FILES
        and home not in recorded_paths
        and (brain != home or home not in there)
    )


def _adopted_result(
    detected: DetectedSource,
    into: Path | None,
    states: SourceStates,
    steps: int,
    *,
    brain: AdoptionBrain | None = None,
    branch: str | None = None,
    changed: bool = False,
    conflicts: list[MergeConflict] | None = None,
    notices: Sequence[Notice] = (),
) -> Adopted:
    adopted = sorted(states.source_paths.items())
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
        steps=steps,
        changed=changed,
        taken=[AdoptedFile(path, source) for path, source in adopted],
        left_out=states.skipped,
        conflicts=conflicts or [],
        notices=[*states.doubts, *notices, *name_notices],
    )
