"""Record the folder or some of its paths, and compare it with the head (status)."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing

from .. import limits
from ..errors import BrainError, NotFound, error_from_os, printable_text
from ..folder import handles
from ..folder.ignore import IgnoreRules
from ..folder.read import read_bounded_file
from ..folder.scan import Scan, scan_named_paths
from ..objects import bundle as bundles
from ..objects import operation, paths
from ..objects.bundle import Bundle, Edits
from ..objects.operation import SnapshotOperation
from ..objects.tree_node import LINK, TreeEntry
from ..repo import derive, lineage_cache, working_copy
from ..repo.log_entry import load_merge_state
from ..repo.manifest import MANIFEST_PATH, find_manifest_problems
from ..repo.session import Session
from ..repo.transaction import (
    WriteTransaction,
    lock_for_writing,
    write_transaction,
)
from ..results import LeftOutSkills, Notice, Recorded, SkillSurvey, Status, Uncovered, Verified
from ..skills import SKILLS_SECTION, skill_layout
from ..skills.skill_layout import SKILL_FILES
from ..skills.skill_lint import check_skill
from ..skills.skill_metadata import SkillMetadata, read_skill_metadata
from ..skills.skill_version import compare_versions
from ..util.progress import Progress, no_progress
from .record_edits import compare_folder, name_recorded_first

SNAPSHOT_OPERATION = operation.snapshot_operation()
_MAX_NAMED_UNCOVERED = 100
UNWRITTEN_CODE = "unwritten"
"""The code of the notice about a file that is recorded but not yet written."""

MessageBuilder = Callable[[Session, Bundle, Edits], str]
"""Builds the message of a snapshot from the bundle before it and the edits."""


def read_status(session: Session, strict: bool = False, progress: Progress = no_progress) -> Status:
    """Compare the folder with the head; write nothing.

    With `strict`, raises `InvalidInput` for what is skipped else.
    """
    from . import merge_state

    head = session.head()
    target = session.bundle_of(head)
    folder_scan, edits, pending = compare_folder(session, target, progress)
    if strict:
        working_copy.refuse_skipped(folder_scan.scan.skipped)
    is_recorded = {path: bundles.has_entry(session.nodes, target, path) for path in edits}
    changed = sorted(path for path in edits if path not in pending)
    pending_merge = load_merge_state(session)
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
            *_unwritten_notices(session, pending),
            *_content_notices(session, target, {path: edits[path] for path in changed}),
        ],
        merging=pending_merge.revision if pending_merge else None,
        conflicts=merge_state.describe_conflicts(session, pending_merge.rows)
        if pending_merge
        else [],
        left_out_skills=folder_scan.scan.left_out_skills,
    )


def add_uncovered(
    session: Session, verified: Verified, progress: Progress = no_progress
) -> Verified:
    """Add to a verification which files of the folder differ from the head; write nothing."""
    if not session.has_folder or not verified.head:
        return verified
    try:
        found, edits, pending = compare_folder(session, session.bundle_of(session.head()), progress)
    except (BrainError, OSError) as error:  # the lineage is verified all the same
        failed = error_from_os(error) if isinstance(error, OSError) else error
        return verified._replace(uncovered=Uncovered(0, [], failed.message))
    left_out = {one.path for one in found.scan.notices if one.code != "hard_link"}
    left_out.update(map(printable_text, working_copy.list_skipped(found.scan.skipped)))
    paths = sorted(left_out.union(path for path in edits if path not in pending))
    return verified._replace(uncovered=Uncovered(len(paths), paths[:_MAX_NAMED_UNCOVERED], ""))


def _unwritten_notices(session: Session, pending: Edits) -> list[Notice]:
    message = "recorded, but not yet written; the next writing command writes it"
    return [
        Notice(UNWRITTEN_CODE, path, message)
        for path, entry in sorted(pending.items())
        if entry or handles.lstat_or_none(session.root / path)
    ]


def _content_notices(session: Session, before: Bundle, edits: Edits) -> list[Notice]:
    if not edits:
        return []

    return check_folder(session, before, edits)


def snapshot_folder(
    session: Session,
    message: str = "",
    strict: bool = False,
    progress: Progress = no_progress,
    recorded_operation: SnapshotOperation = SNAPSHOT_OPERATION,
) -> Recorded:
    """Record the folder; without changes, no snapshot is made.

    With `strict`, raises `InvalidInput` for what is skipped else.
    """
    description = message or recorded_operation[0]
    return snapshot_folder_auto_message(
        session, lambda *_: message, description, strict, progress, recorded_operation
    )


def snapshot_folder_auto_message(
    session: Session,
    build_message: MessageBuilder,
    description: str,
    strict: bool = False,
    progress: Progress = no_progress,
    recorded_operation: SnapshotOperation = SNAPSHOT_OPERATION,
) -> Recorded:
    """As `snapshot_folder`, with a message built from the edits."""
    with lock_for_writing(session):
        folder_scan = working_copy.scan_folder(session, progress)
        size = sum(candidate.size for candidate in folder_scan.scan.changed)
        with write_transaction(
            session, recorded_operation[0], description, expected_bytes=size
        ) as txn:
            before = txn.bundle
            with closing(
                working_copy.store_files(
                    session,
                    txn.store_tx,
                    before,
                    folder_scan.scan.changed,
                    folder_scan.read_fingerprints,
                    progress,
                    folder_scan.scan.skipped,
                )
            ) as entries:
                edits = working_copy.diff_folder(session, folder_scan, before, entries)
            if strict:
                working_copy.refuse_skipped(folder_scan.scan.skipped)
            text = build_message(session, before, edits)
            named = name_recorded_first(session) if text and not edits else ""
            if edits or named:
                txn.record_snapshot(edits, recorded_operation, text + named)
            outcome = build_snapshot_result(txn, before, edits, folder_scan.notices)
            outcome = outcome._replace(changed=bool(edits or named))
            left_out_skills = [*folder_scan.scan.left_out_skills, *outcome.left_out_skills]
            outcome = outcome._replace(left_out_skills=left_out_skills)
            del edits  # frees memory before the cache is written
        if (
            folder_scan.scan.changed
            or folder_scan.scan.removed
            or folder_scan.base_bundle is not txn.bundle
        ):
            working_copy.save_stat_cache(session, folder_scan, txn.bundle)
    return outcome


def build_snapshot_result(
    txn: WriteTransaction, before: Bundle, edits: Edits, notices: list[Notice]
) -> Recorded:
    """Return the result of a snapshot that applied `edits` to `before`."""
    session = txn.session
    existed = [bundles.has_entry(session.nodes, before, path) for path in edits]
    pairs = list(zip(edits.values(), existed, strict=True))
    return Recorded(
        snapshot=txn.head.hex(),
        bundle=bundles.bundle_id(txn.bundle).hex(),
        parents=[parent.hex() for parent in session.load_snapshot(txn.head).parents],
        changed=bool(edits),
        added=sum(not existed for _, existed in pairs),
        modified=sum(existed and entry is not None for entry, existed in pairs),
        removed=sum(entry is None for entry, _ in pairs),
        notices=[*notices, *_edit_notices(txn, before, edits)],
        commitment=None,
        left_out_skills=_find_other_texts(txn, edits),
    )


def _find_other_texts(txn: WriteTransaction, edits: Edits) -> list[LeftOutSkills]:
    if not any(path.endswith(SKILL_FILES) for path in edits):
        return []

    return find_other_texts(txn.session, txn.bundle, edits)


def _edit_notices(txn: WriteTransaction, before: Bundle, edits: Edits) -> list[Notice]:
    if not edits:
        return []

    return [
        *_secret_notices(txn, edits),
        *_name_notices(txn, before, edits),
        *check_recorded(txn.session, before, edits),
    ]


def _name_notices(txn: WriteTransaction, before: Bundle, edits: Edits) -> list[Notice]:
    if not any(map(derive.may_be_skill, edits)):
        return []
    from ..repo import lookalikes

    return lookalikes.check_edited_names(txn.session, before, txn.bundle, edits)


def _secret_notices(txn: WriteTransaction, edits: Edits) -> list[Notice]:
    if not edits:
        return []
    from ..repo import secrets

    notices = secrets.scan_edits(txn.session, txn.head, edits) if any(edits.values()) else []
    return [*secrets.masked_message_notices(txn.message_was_masked), *notices]


def snapshot_paths(
    session: Session,
    message: str,
    wanted: Sequence[str],
    strict: bool = True,
    progress: Progress = no_progress,
) -> Recorded:
    """Record the files of the folder at or below the paths `wanted`.

    A path that the folder lacks, or that is ignored now, is removed. Raises `NotFound`
    (`no_path`) for a path that neither the folder nor the head has, and `InvalidInput` for
    files that a brain cannot hold; if not `strict`, only for those of `wanted`.
    """
    wanted = [paths.check_path(path.rstrip("/")) for path in wanted]
    with lock_for_writing(session):
        scan = _scan_paths(session, wanted, progress)
        needed = None if strict else wanted
        working_copy.refuse_skipped(scan.skipped, needed)
        _refuse_missing_paths(session, wanted, scan)
        return _record_paths(
            session, wanted, scan, lambda *_: message, message or "snapshot", progress, needed
        )


def snapshot_paths_auto_message(
    session: Session, build_message: MessageBuilder, description: str, wanted: Sequence[str]
) -> Recorded:
    """As `snapshot_paths`, with a message built from the edits; missing paths are no error."""
    with lock_for_writing(session):
        scan = _scan_paths(session, wanted, no_progress)
        return _record_paths(session, wanted, scan, build_message, description, no_progress, ())


def _scan_paths(session: Session, wanted: Sequence[str], progress: Progress) -> Scan:
    rules = IgnoreRules.load(session.root)
    return scan_named_paths(session.root, rules, wanted, progress)


def _record_paths(
    session: Session,
    wanted: Sequence[str],
    scan: Scan,
    build_message: MessageBuilder,
    description: str,
    progress: Progress,
    needed: Sequence[str] | None,
) -> Recorded:
    """Record what was scanned; only the files `needed` have to be readable, None for all."""
    size = sum(file.size for file in scan.changed)
    with write_transaction(session, "snapshot", description, expected_bytes=size) as txn:
        before = txn.bundle
        stored = working_copy.store_files(
            *(session, txn.store_tx, before, scan.changed),
            progress=progress,
            skipped=None if needed is None else scan.skipped,
        )
        with closing(stored) as entries:
            current = {entry.path: entry for entry in entries}
        working_copy.refuse_skipped(scan.skipped, needed)
        edits = _compute_edits(session, before, wanted, current)
        for path in [path for path in edits if working_copy.is_below(path, scan.skipped)]:
            del edits[path]
        if edits:
            txn.record_snapshot(
                edits, operation.snapshot_operation(), build_message(session, before, edits)
            )
    notices = [*scan.notices, *working_copy.skipped_notices(scan.skipped)]
    return build_snapshot_result(txn, before, edits, notices)


def _refuse_missing_paths(session: Session, wanted: Sequence[str], scan: Scan) -> None:
    head = session.bundle_of(session.head())
    for path in wanted:
        is_found = any(f.path == path or f.path.startswith(path + "/") for f in scan.changed)
        if not is_found and not any(bundles.walk_below(session.nodes, head, path)):
            raise NotFound(
                f"nothing to record at {path}",
                code="no_path",
                hint="it is missing or ignored; give paths relative to the brain",
            )


def _compute_edits(
    session: Session, before: Bundle, wanted: Sequence[str], current: Mapping[str, TreeEntry]
) -> Edits:
    edits: Edits = {}
    for path in wanted:
        edits.update(dict.fromkeys(e.path for e in bundles.walk_below(session.nodes, before, path)))
    for path in current:
        for folder in paths.folders_above(path):
            if bundles.has_entry(session.nodes, before, folder):
                edits[folder] = None  # it was a file
    edits.update(current)
    return working_copy.drop_unchanged_edits(session, before, edits)


VERSION_CODE = "version_not_raised"
"""The code of the notice on a skill that was edited without a higher version."""
_REFUSED_BY_YAML = frozenset(
    (
        *("bad_yaml", "duplicate_key", "unclosed_frontmatter", "bad_char"),
        *("too_many_nodes", "too_deep", "too_large"),
    )
)
MAX_NOTICES = 20
"""Notices of one code; more files are counted in one notice."""
MAX_READ_FILES = 200
"""Files of the folder that are read to judge them before they are recorded."""

CardsByPath = Mapping[str, SkillMetadata]
ReadContent = Callable[[str], bytes | None]
"""Returns the content of a path, None if it cannot be had."""


def check_recorded(session: Session, before: Bundle, edits: Edits) -> list[Notice]:
    """Return the notices on edits whose content is stored."""
    entries = _possible_files(edits)
    skills = [path for path in entries if path != MANIFEST_PATH]
    cards = lineage_cache.load_cards(session, [entries[path].blob for path in skills])

    def read(path: str) -> bytes:
        return session.reader.read_blob(entries[path].blob, entries[path].size)

    known = {path: cards[entries[path].blob] for path in skills}
    return _check(session, before, known, read, MANIFEST_PATH in entries)


def check_folder(session: Session, before: Bundle, edits: Edits) -> list[Notice]:
    """Return the notices on edits whose content is in the folder only, of the first files."""
    entries = dict(list(_possible_files(edits).items())[:MAX_READ_FILES])

    def read(path: str) -> bytes | None:
        try:
            return read_bounded_file(session.root, path, limits.MAX_SKILL_BYTES)
        except BrainError:
            return None  # gone or unreadable; the scan of the folder reports it

    contents = {path: read(path) for path in entries if path != MANIFEST_PATH}
    known = {
        path: read_skill_metadata(content, derive.slug_from_full_path(path))
        for path, content in contents.items()
        if content is not None
    }
    return _check(session, before, known, read, MANIFEST_PATH in entries)


def _possible_files(edits: Edits) -> dict[str, TreeEntry]:
    return {
        path: entry
        for path, entry in edits.items()
        if entry is not None
        and entry.kind != LINK
        and (path == MANIFEST_PATH or derive.may_be_skill(path))
        and entry.size <= limits.MAX_SKILL_BYTES
    }


def _check(
    session: Session, before: Bundle, cards: CardsByPath, read: ReadContent, has_manifest: bool
) -> list[Notice]:
    manifest = read(MANIFEST_PATH) if has_manifest else None
    out = [] if manifest is None else list(check_manifest(manifest))
    out += _limit_notices(_check_syntax(cards, read), "skills have front matter that YAML refuses")
    stale = _check_versions(session, before, cards)
    return out + _limit_notices(stale, "edited skills keep their versions")


def check_manifest(content: bytes) -> Iterator[Notice]:
    """Yield a notice for each problem of a manifest."""
    for problem in find_manifest_problems(content):
        yield Notice("bad_manifest", MANIFEST_PATH, problem)


def _check_syntax(cards: CardsByPath, read: ReadContent) -> Iterator[Notice]:
    for path, card in cards.items():
        if _REFUSED_BY_YAML.isdisjoint(card.flags.split()):
            continue
        content = read(path)
        problems = check_skill(path, content, None, False) if content is not None else []
        for problem in problems:
            if problem.code in _REFUSED_BY_YAML:
                yield Notice("bad_yaml", path, f"line {problem.line}: {problem.message}")
                break


def _check_versions(session: Session, before: Bundle, cards: CardsByPath) -> Iterator[Notice]:
    old = {
        path: entry
        for path in cards
        if (entry := bundles.get_entry(session.nodes, before, path)) and entry.kind != LINK
    }
    known = lineage_cache.load_cards(session, [entry.blob for entry in old.values()])
    for path, entry in old.items():
        was, now = known[entry.blob], cards[path]
        if "redacted" in was.flags or not derive.is_skill(session, before, path):
            continue
        if compare_versions(now.version, was.version) <= 0:
            stays = "is still" if now.version == was.version else f"went from {was.version} to"
            slug = derive.slug_from_full_path(path)
            message = (
                f"its version {stays} {now.version}; `brain skill upsert {slug}` raises it"
                " if others should notice the edit"
            )
            yield Notice(VERSION_CODE, path, message)


def _limit_notices(found: Iterable[Notice], what: str) -> list[Notice]:
    notices = list(found)
    if len(notices) <= MAX_NOTICES:
        return notices
    rest = Notice(notices[0].code, "", f"{len(notices) - MAX_NOTICES} more {what}")
    return [*notices[:MAX_NOTICES], rest]


TOP, EXCLUDED_FOLDER, DEAD_LINK, IN_SKILL = "top", "hidden_folder", "link", "in_skill"


def survey_folder(session: Session) -> SkillSurvey:
    """Return what skills the folder has, recorded or not; reads no content.

    Raises `InvalidInput` for what a brain cannot hold.
    """
    scan = working_copy.scan_folder(session).scan
    kinds = {file.path: file.kind for file in scan.changed}
    paths = skill_layout.find_skill_paths(kinds)
    skills = {path for path in paths if kinds[path] != LINK}
    skill_folder = SKILLS_SECTION
    if not any(path.startswith(f"{SKILLS_SECTION}/") for path in kinds):
        skill_folder = skill_layout.new_skill_folder(skills)
    left_out = _classify_other_texts(session, kinds.items(), skills)
    notices = working_copy.skipped_notices(scan.skipped)
    return SkillSurvey(len(skills), skill_folder, [*scan.left_out_skills, *left_out], notices)


def find_other_texts(session: Session, after: Bundle, edits: Edits) -> list[LeftOutSkills]:
    """Return the files called SKILL.md among the edits that are no skills."""
    texts = [(path, entry.kind) for path, entry in edits.items() if entry and _is_text(path)]
    links = [path for path, kind in texts if kind == LINK]
    others = {_link_target(session, path) for path in links} | {path for path, _ in texts}
    skills = {
        path
        for path in others
        if bundles.has_entry(session.nodes, after, path) and derive.is_skill(session, after, path)
    }
    return _classify_other_texts(session, texts, skills)


def _classify_other_texts(
    session: Session, entries: Iterable[tuple[str, int]], skills: set[str]
) -> list[LeftOutSkills]:
    """Return the files called SKILL.md that are no skills; links to one of `skills` are."""
    out = []
    for path, kind in sorted(entries):
        if not _is_text(path):
            continue
        if "/" not in path:
            out.append(LeftOutSkills(path, TOP))
        elif kind == LINK:
            if _link_target(session, path) not in skills:
                out.append(LeftOutSkills(path, DEAD_LINK))
        elif skill_layout.find_excluded_folder(path):
            out.append(LeftOutSkills(path, EXCLUDED_FOLDER))
        elif path not in skills:
            out.append(LeftOutSkills(path, IN_SKILL))
    return out


def _is_text(path: str) -> bool:
    return path.endswith(skill_layout.SKILL_FILES) and (
        path in skill_layout.SKILL_FILES or path.endswith(skill_layout.FOLDER_SUFFIXES)
    )


def _link_target(session: Session, path: str) -> str:
    """Return the full path that a link inside the brain leads to, "" if it is gone."""
    try:
        target = os.readlink(session.root / path)
    except OSError:
        return ""
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
