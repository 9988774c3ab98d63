"""Record the folder or some of its paths, and compare it with the head (status)."""

from __future__ import annotations

import os
import posixpath
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from itertools import islice

from .. import limits
from ..errors import BrainError, InvalidInput, NotFound, error_from_os, printable_text
from ..folder.handles import lstat_or_none
from ..folder.read import read_bounded_file
from ..objects.bundle import Edits
from ..objects.operation import SnapshotOperation
from ..objects.paths import check_path
from ..objects.tree_node import LINK, TreeEntry
from ..repo import derive, lineage_cache, working_copy
from ..repo.derived_db import PROVISIONAL_KEY, CacheUnusable
from ..repo.log_entry import load_merge_state
from ..repo.manifest import MANIFEST_PATH, find_manifest_problems
from ..repo.session import BrainState, Session, head_ref
from ..repo.transaction import WriteTransaction, lock_for_writing, write_transaction
from ..results import (
    LeftOutSkills,
    MergeConflict,
    Notice,
    Recorded,
    SkillSurvey,
    Status,
    Uncovered,
    Verified,
    Waiting,
)
from ..skills import SKILLS_SECTION, skill_layout
from ..skills.skill_layout import FOLDER_SUFFIXES
from ..skills.skill_metadata import REFUSED_BY_YAML, SkillMetadata, read_skill_metadata
from ..skills.skill_version import compare_versions
from ..trust import POLICY_PATH
from ..util.progress import Progress, no_progress
from .manual_edits import AUTOMATIC, compare_folder, drop_redacted, name_recorded_first

_SNAPSHOT = ("snapshot",)
_PROPOSAL_REFS = head_ref("proposed/")
_MAX_NAMED_UNCOVERED = 100
UNWRITTEN_CODE = "unwritten"
"""The code of the notice about a file that is recorded but not yet written."""
VERSION_CODE = "version_not_raised"
"""The code of the notice on a skill that was edited without a higher version."""
MAX_NOTICES = 20
"""Notices of one code; more files are counted in one notice."""
_CARDS_PER_BATCH = 4096
_MAX_READ_FILES = 200
"""Files of the folder that are read to judge them before they are recorded."""
_MARKED_FOLDERS = ("memory/", "prompts/")
"""Where conflict markers are looked for first: every agent reads these files."""
_MAX_MARKED_BYTES = 1 << 20
"""The largest file in which they are looked for."""

MessageBuilder = Callable[[BrainState, Edits], str]
"""Builds the message of a snapshot from the state before it and the edits."""


def status(session: Session, progress: Progress | None = None, *, strict: bool = False) -> Status:
    """Compare the folder with the head; write nothing.

    Files that a brain cannot hold, or that cannot be read, are left out with a notice; with
    `strict` they raise `InvalidInput`.
    """
    from . import merge_state

    head = session.head()
    target = session.state_of(head)
    folder_scan, edits, pending = compare_folder(target, progress or no_progress)
    if strict:
        working_copy.refuse_skipped(folder_scan.scan.skipped)
    is_recorded = {path: target.has(path) for path in edits}
    changed = sorted(path for path in edits if path not in pending)
    unwritten = "recorded, but not yet written; the next writing command writes it"
    merging = load_merge_state(session)
    conflicts = merge_state.describe_conflicts(session, merging.rows) if merging else []
    return Status(
        brain=session.brain_id().hex(),
        head=head.hex(),
        branch=session.current_branch(),
        clean=not changed,
        added=[path for path in changed if not is_recorded[path]],
        modified=[path for path in changed if is_recorded[path] and edits[path] is not None],
        removed=[path for path in changed if edits[path] is None],
        notices=[
            *folder_scan.notices,
            *(
                Notice(UNWRITTEN_CODE, path, unwritten)
                for path, entry in sorted(pending.items())
                if entry or lstat_or_none(session.root / path)
            ),
            *_check_unrecorded(target, {path: edits[path] for path in changed}),
        ],
        merging=merging.revision if merging else None,
        conflicts=conflicts,
        left_out_skills=folder_scan.scan.left_out_skills,
        waiting=[
            *([_describe_merge(conflicts)] if merging else []),
            *(one for one in _count_waiting(session, head, target) if one.count),
        ],
    )


def _describe_merge(conflicts: list[MergeConflict]) -> Waiting:
    unresolved = sum(row.choice is None for row in conflicts)
    return Waiting("merge", unresolved, "brain resolve" if unresolved else "brain merge --continue")


def _count_waiting(session: Session, head: bytes, target: BrainState) -> Iterator[Waiting]:
    """Yield how much waits beside a merge; what a brain has none of loads nothing."""
    if any(ref.startswith(_PROPOSAL_REFS) for ref in session.reader.list_refs()):
        from .proposals import list_reviewable_tips

        yield Waiting("proposals", len(list_reviewable_tips(session)), "brain proposal")
    with suppress(CacheUnusable):
        cache = session.cache
        if cache.has_snapshot(head) and cache.read_facts(PROVISIONAL_KEY):
            from ..repo.provisional import list_provisional

            found = list_provisional(session, head)
            yield Waiting("provisional", len(found), "brain evolve status")
    if target.get(POLICY_PATH):
        from ..repo.signing.rights import has_enough_signatures

        with suppress(NotFound, InvalidInput):  # a trust file that cannot be read: `verify` says it
            is_signed = has_enough_signatures(session, head)
            yield Waiting("unsigned", int(not is_signed), "brain sign")


def add_uncovered(
    session: Session, verified: Verified, progress: Progress = no_progress
) -> Verified:
    """Add to a verification which files of the folder differ from the head; write nothing."""
    if not session.has_folder or not verified.head:
        return verified
    try:
        found, edits, pending = compare_folder(session.at(), progress)
    except (BrainError, OSError) as error:  # the lineage is verified all the same
        failed = error_from_os(error) if isinstance(error, OSError) else error
        return verified._replace(uncovered=Uncovered(0, [], failed.message))
    left_out = {one.path for one in found.scan.notices if one.code != "hard_link"}
    left_out.update(map(printable_text, working_copy.list_skipped(found.scan.skipped)))
    paths = sorted(left_out.union(path for path in edits if path not in pending))
    return verified._replace(uncovered=Uncovered(len(paths), paths[:_MAX_NAMED_UNCOVERED], ""))


def snapshot(
    session: Session,
    message: str = "",
    paths: Sequence[str] = (),
    progress: Progress | None = None,
    *,
    strict: bool = False,
) -> Recorded:
    """Record the folder; without changes there is no new snapshot.

    But a message for edits that `record_edits` or a watcher has recorded meanwhile is that of
    a snapshot of its own, which names them.

    Files that a brain cannot hold, or that cannot be read, are left out with a notice, and
    stay as they were recorded; with `strict` they raise `InvalidInput`.
    With `paths`, only the files at and below them are read and recorded; what the folder lacks
    there, or ignores now, is removed. Raises `NotFound` (`no_path`) for a path that neither
    the folder nor the head has.
    """
    wanted = [check_path(path.rstrip("/")) for path in paths] if paths else None
    return record_folder(
        session,
        lambda *_: message,
        message or "snapshot",
        progress,
        wanted,
        strict=strict,
        needed=wanted or (),
    )


def record_changes(
    session: Session, description: str, paths: Sequence[str] | None = None
) -> Recorded:
    """Record the folder, or the files at and below `paths`, with a message that lists the changes.

    `description` is that of the operation log. A path that does not exist is no error.
    """
    from .diff import describe_edits

    return record_folder(session, describe_edits, description, None, paths)


def record_folder(
    session: Session,
    build_message: MessageBuilder,
    description: str,
    progress: Progress | None = None,
    paths: Sequence[str] | None = None,
    *,
    strict: bool = False,
    needed: Sequence[str] = (),
    action: SnapshotOperation = _SNAPSHOT,
) -> Recorded:
    """Record the folder, or what is at and below `paths`, as `action`; as for `snapshot`.

    `needed` are those of `paths` that must exist and be readable; with `strict`, all files must
    be readable. With `paths`, only these files are read, so that the cost does not grow with the
    brain; the stat cache is not updated, and the next scan reads them once more.
    """
    must_be_read = None if strict else needed
    with lock_for_writing(session):
        folder_scan = working_copy.scan_folder(session, progress or no_progress, paths)
        scan = folder_scan.scan
        working_copy.refuse_skipped(scan.skipped, must_be_read)
        _refuse_missing_paths(session, needed, [file.path for file in scan.changed])
        size = sum(candidate.size for candidate in scan.changed)
        with write_transaction(session, action[0], description, expected_bytes=size) as txn:
            before = txn.state
            stored = folder_scan.read(txn.store_tx, before, progress or no_progress)
            with closing(stored) as entries:
                edits = folder_scan.diff(before, entries)
            if description in AUTOMATIC:
                edits = drop_redacted(before, edits)
            working_copy.refuse_skipped(scan.skipped, must_be_read)
            text = build_message(before, edits)
            named = name_recorded_first(session) if text and not edits and paths is None else ""
            fits = len((text + named).encode(errors="surrogatepass")) <= limits.MAX_MESSAGE_BYTES
            if edits or named:
                txn.record_snapshot(edits, action, text + named if fits else text)
            recorded = build_snapshot_result(txn, before, edits, folder_scan.notices)
            del edits  # frees memory before the cache is written
        if paths is not None:
            return recorded
        if scan.changed or scan.removed or folder_scan.base_state is not txn.state:
            folder_scan.save(txn.state)
    left_out = [*scan.left_out_skills, *recorded.left_out_skills]
    return recorded._replace(changed=recorded.changed or bool(named), left_out_skills=left_out)


def _refuse_missing_paths(session: Session, wanted: Sequence[str], found: Sequence[str]) -> None:
    head = session.at()
    for path in wanted:
        is_found = any(file == path or file.startswith(path + "/") for file in found)
        if not is_found and not any(head.walk_below(path)):
            raise NotFound(
                f"nothing to record at {path}",
                code="no_path",
                hint="it is missing or ignored; give paths relative to the brain",
            )


def build_snapshot_result(
    txn: WriteTransaction, before: BrainState, edits: Edits, notices: list[Notice]
) -> Recorded:
    """Return the result of a snapshot that applied `edits` to `before`."""
    session = txn.session
    kinds = Counter((before.has(path), entry is not None) for path, entry in edits.items())
    return Recorded(
        snapshot=txn.head.hex(),
        bundle=txn.state.id.hex(),
        parents=[parent.hex() for parent in session.load_snapshot(txn.head).parents],
        changed=bool(edits),
        added=kinds[False, True],
        modified=kinds[True, True],
        removed=kinds[True, False],
        notices=[*notices, *_check_recorded(txn, before, edits)],
        commitment=None,
        left_out_skills=_find_other_texts(txn.state, edits),
    )


# Notices on what changed


def _check_recorded(txn: WriteTransaction, before: BrainState, edits: Edits) -> Iterator[Notice]:
    """Yield notices on secrets, on names that are alike, and on skills and the manifest."""
    if not edits:
        return
    from ..repo import secrets

    session = txn.session
    if txn.message_was_masked:
        yield Notice("secret", "", secrets.MASKED_MESSAGE)
    if any(edits.values()):
        yield from secrets.scan_edits(session, txn.head, edits, txn.contents)
    if any(map(derive.may_be_skill, edits)):
        from ..repo import lookalikes

        yield from lookalikes.check_edited_names(before, txn.state, edits)
    entries = _find_judged_files(edits)
    skills = [path for path in entries if path != MANIFEST_PATH]

    def read(entry: TreeEntry) -> bytes | None:
        try:
            return session.reader.read_blob(entry.blob, entry.size)
        except NotFound:  # redacted
            return None

    known: dict[str, SkillMetadata] = {}
    for start in range(0, len(skills), _CARDS_PER_BATCH):  # few of very many cards are kept
        some = skills[start : start + _CARDS_PER_BATCH]
        cards = lineage_cache.load_cards(session, [entries[path].blob for path in some])
        for path in some:
            card = cards[entries[path].blob]
            if card.flags or before.has(path):
                known[path] = card
    yield from _check_content(before, edits, known, entries, read)


def _check_unrecorded(before: BrainState, edits: Edits) -> Iterator[Notice]:
    """Yield notices on edits whose content is in the folder alone, for the first files of them."""
    entries = dict(islice(_find_judged_files(edits).items(), _MAX_READ_FILES))

    def read(entry: TreeEntry) -> bytes | None:
        try:
            return read_bounded_file(before.session.root, entry.path, limits.MAX_SKILL_BYTES)
        except BrainError:
            return None  # gone or unreadable; the scan of the folder reports it

    known = {
        path: read_skill_metadata(content, derive.slug_from_full_path(path))
        for path, entry in entries.items()
        if path != MANIFEST_PATH and (content := read(entry)) is not None
    }
    yield from _check_content(before, edits, known, entries, read)


def _find_judged_files(edits: Edits) -> dict[str, TreeEntry]:
    return {
        path: entry
        for path, entry in edits.items()
        if entry is not None
        and entry.kind != LINK
        and (path == MANIFEST_PATH or derive.may_be_skill(path))
        and entry.size <= limits.MAX_SKILL_BYTES
    }


def _check_content(
    before: BrainState,
    edits: Edits,
    cards: Mapping[str, SkillMetadata],
    entries: Mapping[str, TreeEntry],
    read: Callable[[TreeEntry], bytes | None],
) -> Iterator[Notice]:
    """Yield notices on the manifest, on skills, whose `cards` are given, and on markers."""
    if MANIFEST_PATH in entries and (manifest := read(entries[MANIFEST_PATH])) is not None:
        for problem in find_manifest_problems(manifest):
            yield Notice("bad_manifest", MANIFEST_PATH, problem)
    for path, entry in edits.items():
        if entry and entry.size > limits.MAX_SKILL_BYTES and path.endswith(FOLDER_SUFFIXES):
            message = (
                f"agents get nothing of it: of a skill, {limits.MAX_SKILL_BYTES} bytes are read"
            )
            yield Notice("too_large", path, f"has {entry.size} bytes; {message}")
    refused = {
        path: content
        for path, card in cards.items()
        if not REFUSED_BY_YAML.isdisjoint(card.flags.split())
        and (content := read(entries[path])) is not None
    }
    yield from _limit_notices(_check_syntax(refused), "skills have front matter that YAML refuses")
    stale = _check_versions(before, cards)
    yield from _limit_notices(stale, "edited skills keep their versions")
    yield from _limit_notices(_check_markers(edits, read), "files have a conflict marker")


def _check_syntax(texts: Mapping[str, bytes]) -> Iterator[Notice]:
    for path, content in texts.items():
        from ..skills.skill_lint import find_refusal

        if problem := find_refusal(path, content):
            message = problem.message.removeprefix(f"line {problem.line}: ")
            yield Notice("bad_yaml", path, f"line {problem.line}: {message}")


def _check_versions(before: BrainState, cards: Mapping[str, SkillMetadata]) -> Iterator[Notice]:
    old = {path: entry for path in cards if (entry := before.get(path)) and entry.kind != LINK}
    known = lineage_cache.load_cards(before.session, [entry.blob for entry in old.values()])
    for path, entry in old.items():
        was, now = known[entry.blob], cards[path]
        if "redacted" in was.flags or not derive.is_skill(before, path):
            continue
        if compare_versions(now.version, was.version) <= 0:
            stays = "is still" if now.version == was.version else f"went from {was.version} to"
            slug = derive.slug_from_full_path(path)
            message = (
                f"its version {stays} {now.version}; `brain skill upsert {slug}` raises it"
                " if others should notice the edit"
            )
            yield Notice(VERSION_CODE, path, message)


def _check_markers(edits: Edits, read: Callable[[TreeEntry], bytes | None]) -> Iterator[Notice]:
    """Yield notices on conflict markers, for the first files, those that agents read in front."""
    entries = [
        entry
        for entry in edits.values()
        if entry and entry.kind != LINK and entry.size <= _MAX_MARKED_BYTES
    ]
    if not entries:
        return
    from ..merging.lines import MARKER_CODE, MARKER_MESSAGE, find_conflict_marker

    entries.sort(key=lambda entry: not entry.path.startswith(_MARKED_FOLDERS))
    for entry in entries[:_MAX_READ_FILES]:
        if line := find_conflict_marker(read(entry) or b""):
            yield Notice(MARKER_CODE, entry.path, MARKER_MESSAGE.format(line))


def _limit_notices(found: Iterable[Notice], what: str) -> list[Notice]:
    notices = list(found)
    if len(notices) <= MAX_NOTICES:
        return notices
    rest = Notice(notices[0].code, "", f"{len(notices) - MAX_NOTICES} more {what}")
    return [*notices[:MAX_NOTICES], rest]


# Files called SKILL.md that are no skills


def survey(session: Session) -> SkillSurvey:
    """Return what skills the folder has, recorded or not, and which are left out and why.

    Reads no content. Raises `InvalidInput` for what a brain cannot hold.
    """
    scan = working_copy.scan_folder(session).scan
    kinds = {file.path: file.kind for file in scan.changed}
    skills = {path for path in skill_layout.find_skill_paths(kinds) if kinds[path] != LINK}
    skill_folder = SKILLS_SECTION
    if not any(path.startswith(f"{SKILLS_SECTION}/") for path in kinds):
        skill_folder = skill_layout.new_skill_folder(skills)
    left_out = _classify_other_texts(session, kinds.items(), skills)
    notices = working_copy.skipped_notices(scan.skipped)
    return SkillSurvey(len(skills), skill_folder, [*scan.left_out_skills, *left_out], notices)


def _find_other_texts(after: BrainState, edits: Edits) -> list[LeftOutSkills]:
    """Return the files called SKILL.md among the edits that are no skills."""
    texts = {path for path, entry in edits.items() if entry and _is_text(path)}
    links = {path for path in texts if (entry := edits[path]) and entry.kind == LINK}
    targets = {_read_link(after.session, path) for path in links}
    others = texts - links
    others |= targets
    if len(others) < derive.MIN_BULK_PATHS:
        skills: Iterable[str] = [
            path for path in others if after.has(path) and derive.is_skill(after, path)
        ]
    else:
        every = derive.iter_skill_batches(after)
        skills = (path for some in every for path, _, _ in some)
    others.difference_update(skills)
    kinds = [(path, entry.kind) for path in texts & (links | others) if (entry := edits[path])]
    return _classify_other_texts(after.session, kinds, targets - others)


def _classify_other_texts(
    session: Session, entries: Iterable[tuple[str, int]], skills: set[str]
) -> list[LeftOutSkills]:
    """Return the files called SKILL.md that are no skills; links to one of `skills` are."""
    out = []
    for path, kind in sorted(entry for entry in entries if _is_text(entry[0])):
        if "/" not in path:
            out.append(LeftOutSkills(path, "top"))
        elif kind == LINK:
            if _read_link(session, path) not in skills:
                out.append(LeftOutSkills(path, "link"))
        elif skill_layout.find_excluded_folder(path):
            out.append(LeftOutSkills(path, "hidden_folder"))
        elif path not in skills:
            out.append(LeftOutSkills(path, "in_skill"))
    return out


def _is_text(path: str) -> bool:
    return path in skill_layout.SKILL_FILES or path.endswith(skill_layout.FOLDER_SUFFIXES)


def _read_link(session: Session, path: str) -> str:
    """Return the full path that a link inside the brain leads to, "" if it is gone."""
    try:
        target = os.readlink(session.root / path)
    except OSError:
        return ""
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
