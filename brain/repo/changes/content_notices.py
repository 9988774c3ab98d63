"""Notices on changed files: skills that YAML refuses or whose version stayed, and the manifest.

A manual edit need not raise a version; the notice says so once, when it is seen or recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from ... import limits
from ...errors import BrainError
from ...folder.read import read_bounded_file
from ...objects import bundle as bundles
from ...objects.bundle import Bundle, Edits
from ...objects.tree_node import LINK, TreeEntry
from ...results import Notice
from ...skills.skill_lint import check_skill
from ...skills.skill_metadata import SkillMetadata, read_skill_metadata
from ...skills.skill_version import compare_versions
from .. import derive, lineage_cache
from ..open.manifest import MANIFEST_PATH, find_manifest_problems
from ..open.session import Session

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
