"""Find the paths that skills had before they were renamed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice

from ...errors import InvalidInput
from ...merging import lines as diff3
from ...merging.lines import UNMATCHED, match_lines
from ...objects import bundle as bundles
from ...objects import operation
from ...objects.tree_entry import LINK, TreeEntry
from .. import derive
from ..open.session import Session

_MIN_SIMILARITY = 0.5
"""The least part of equal lines at which a skill counts as renamed."""
_MAX_CANDIDATES = 64
_MAX_DIFFERENCES = 4096
"""The most differences of one snapshot that are read; a first import has more."""
_MAX_COMPARED_PAIRS = 1024
"""The most pairs of a removed and an added skill that are compared line by line."""
MAX_COMPARED_BYTES = 1 << 20
"""The largest text of a skill that is compared line by line."""

ContentReader = Callable[[TreeEntry], bytes | None]
"""Returns the content of an entry; None if it cannot be read or is too large to compare."""


def find_rename_source(
    session: Session, before: bytes, after: bytes, path: str
) -> TreeEntry | None:
    """Return the skill of snapshot `before` that `after` has at `path`, None for a new one.

    Of the removed skills it is the one that the operation names, else one with the same content,
    else the only one with the same slug, which moved to another folder, else the one whose body
    is the most similar. Redacted content is similar to none.
    """
    was, now = session.bundle_of(before), session.bundle_of(after)
    entry = bundles.get_entry(session.nodes, now, path)
    if entry is None or entry.kind == LINK:
        return None
    differences = islice(bundles.diff_bundles(session.nodes, was, now), _MAX_DIFFERENCES)
    removed = [
        old
        for name, old, new in differences
        if old and not new and old.kind != LINK and derive.may_be_skill(name)
    ]
    slug = operation.renamed_skill(session.load_snapshot(after).operation)
    named = [old for old in removed if slug and derive.slug_from_full_path(old.path) == slug]
    equal = [old for old in removed if old.blob == entry.blob]
    own_slug = derive.slug_from_full_path(path)
    moved = [old for old in removed if derive.slug_from_full_path(old.path) == own_slug]
    known = named or equal or (moved if len(moved) == 1 else [])
    if known or len(removed) > _MAX_CANDIDATES:
        return next(iter(known), None)
    redacted = session.reader.find_redactions([entry.blob, *(old.blob for old in removed)])
    if entry.blob in redacted:
        return None
    lines = _body_lines(session.reader.read_blob(entry.blob, entry.size))
    scored = [
        (_common_part(lines, _body_lines(session.reader.read_blob(old.blob, old.size))), old.path)
        for old in removed
        if old.blob not in redacted
    ]
    score, best = max(scored, default=(0.0, ""))
    return next(old for old in removed if old.path == best) if score >= _MIN_SIMILARITY else None


def match_renamed_skills(
    removed: Sequence[TreeEntry], added: Sequence[TreeEntry], read: ContentReader
) -> dict[str, str]:
    """Return, by its new path, the old path of each skill that was renamed.

    Equal texts are matched first, then those whose bodies have the most lines in common. The
    front matter does not count: those of two short skills are much alike.
    """
    by_blob: dict[bytes, list[str]] = {}
    for old in removed:
        by_blob.setdefault(old.blob, []).append(old.path)
    sources: dict[str, str] = {}
    for new in added:
        if paths := by_blob.get(new.blob):
            sources[new.path] = paths.pop()
    taken = set(sources.values())
    old_skills = [old for old in removed if old.path not in taken]
    new_skills = [new for new in added if new.path not in sources]
    if old_skills and len(old_skills) * len(new_skills) <= _MAX_COMPARED_PAIRS:
        sources.update(_match_similar_bodies(old_skills, new_skills, read))
    return sources


def _match_similar_bodies(
    old_skills: list[TreeEntry], new_skills: list[TreeEntry], read: ContentReader
) -> dict[str, str]:
    old_bodies = {old.path: _body_lines(read(old)) for old in old_skills}
    scored = []
    for new in new_skills:
        lines = _body_lines(read(new))
        for path, old_lines in old_bodies.items():
            score = _common_part(lines, old_lines)
            if score >= _MIN_SIMILARITY:
                scored.append((-score, path, new.path))
    sources: dict[str, str] = {}
    for _, old_path, new_path in sorted(scored):
        if new_path not in sources and old_path not in sources.values():
            sources[new_path] = old_path
    return sources


def _body_lines(content: bytes | None) -> list[bytes]:
    if content is None:
        return []
    from ...skills import document_parts

    try:
        body = document_parts.split_document(content).body
    except InvalidInput:  # not readable as a skill: all of it is compared
        body = content
    return [line for line in diff3.split_lines(body) if line.strip()]


def _common_part(lines: list[bytes], old_lines: list[bytes]) -> float:
    common = sum(index != UNMATCHED for index in match_lines(lines, old_lines))
    return common / max(len(lines), len(old_lines), 1)
