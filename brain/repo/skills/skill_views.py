"""List skills, and view one with its text or its files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from ...errors import NotFound, printable_text
from ...gating.case_paths import is_case_path, is_hidden_case
from ...objects import bundle as bundles
from ...objects.bundle import Bundle
from ...objects.collisions import find_file, follow_link, resolve_links
from ...objects.tree_node import LINK, TreeEntry
from ...results import Skill, SkillFile, SkillView
from ...skills import frontmatter
from ...skills.skill_address import address_group, split_version
from .. import find_skill
from ..find_skill import FoundSkill, list_skill_entries
from ..open.session import Session
from ..revisions import resolve_revision

_MAX_NAMED_FILES = 20
_MAX_LINKED_FILES = 200


def list_skills(session: Session, revision: str = "@") -> list[Skill]:
    """Return all skills at a revision, by slug, without reading bodies."""
    bundle = session.bundle_of(resolve_revision(session, revision))
    every = find_skill.find_all_skills(session, bundle)
    addresses = find_skill.address_all(found.path for found in every)
    lines = [Skill(*found.summary, addresses[found.path]) for found in every]
    return sorted(lines, key=lambda line: (line.slug, line.path))


def list_addresses(session: Session, slug: str, revision: str = "@") -> list[str]:
    """Return the addresses of the skills that share a slug at a revision, sorted."""
    bundle = session.bundle_of(resolve_revision(session, revision))
    group = find_skill.find_paths_with_slug(session, bundle, slug)
    return sorted(address_group(slug, group).values())


def _find_skill_version(session: Session, text: str, revision: str) -> tuple[bytes, FoundSkill]:
    skill, wanted = split_version(text)
    start = resolve_revision(session, revision)
    if wanted:
        from ...ops.log import find_skill_at_version

        return find_skill_at_version(session, start, skill, wanted)
    return start, find_skill.find_skill(session, session.bundle_of(start), text)


def view_skill(session: Session, text: str, revision: str = "@") -> SkillView:
    """Return one skill with its text; `text` may be SLUG@VERSION.

    Raises `NotFound` (`no_skill`, `no_version`).
    """
    snapshot_id, found = _find_skill_version(session, text, revision)
    files = list_skill_entries(session, session.bundle_of(snapshot_id), found)
    main = next(entry for entry in files if entry.path == found.path)
    content = session.reader.read_blob(main.blob, main.size)
    fields, body = frontmatter.load_leniently(content)
    return SkillView(
        *found.summary, snapshot_id.hex(), fields, body, [entry.path for entry in files]
    )


def read_skill_file(session: Session, text: str, inner: str = "", revision: str = "@") -> SkillFile:
    """Return a file of a skill, by default its own text; `text` may be SLUG@VERSION.

    A link is followed within the brain, but to no held-out case. Raises `NotFound` (`no_skill`,
    `no_version`, `no_file`, `dead_link`) or `InvalidInput` (`too_large`).
    """
    from . import file_edits

    snapshot_id, found = _find_skill_version(session, text, revision)
    bundle = session.bundle_of(snapshot_id)
    entries = list_skill_entries(session, bundle, found)
    home = found.folder or ""
    main = next(entry for entry in entries if entry.path == found.path)
    others = {e.path.removeprefix(home): e for e in entries if e.path != found.path}
    files = list(_list_files(session, bundle, others))
    nodes, reader, path = session.nodes, session.reader, f"{home}{inner}" if inner else found.path
    if inner and inner not in others:
        entry = find_file(nodes, bundle, reader, path)  # in a folder that is a link
    else:
        entry = follow_link(nodes, bundle, reader, others[inner]) if inner else main
    content = b"" if entry is None else file_edits.read_editable_content(session, entry)
    if entry is None or (entry.path != path and is_hidden_case(entry.path, content)):
        raise missing_file_error(found.slug, inner, files)
    return SkillFile(*found.summary, snapshot_id.hex(), inner, content, files)


def _list_files(session: Session, bundle: Bundle, others: Mapping[str, TreeEntry]) -> Iterator[str]:
    """Yield the files of a skill; in the place of a link to a folder, those in it but cases."""
    for inner, entry in others.items():
        folder = ""
        if entry.kind == LINK:
            folder = resolve_links(session.nodes, bundle, session.reader, entry.path)
        below = bundles.walk_below(session.nodes, bundle, folder) if folder else iter(())
        linked = [one.path for one in islice(below, _MAX_LINKED_FILES)]
        shown = (path.removeprefix(folder) for path in linked if not is_case_path(path))
        yield from (f"{inner}{rest}" for rest in shown) if linked else [inner]


def find_hidden_files(session: Session, text: str, revision: str = "@") -> set[str]:
    """Return the files of a skill that agents never see: its held-out cases.

    They are by path in the folder of the skill. Raises as `view_skill`.
    """
    snapshot_id, found = _find_skill_version(session, text, revision)
    home = found.folder or ""
    return {
        entry.path.removeprefix(home)
        for entry in list_skill_entries(session, session.bundle_of(snapshot_id), found)
        if is_case_path(entry.path)
        and is_hidden_case(entry.path, session.reader.read_blob(entry.blob, entry.size))
    }


def missing_file_error(slug: str, inner: str, files: list[str]) -> NotFound:
    """Return the error for a missing file of a skill, with names of its files."""
    from ...util.suggestions import suggest_names

    near = suggest_names(inner, files) or files[:_MAX_NAMED_FILES]
    names = ", ".join(map(printable_text, near))
    return NotFound(
        f"{slug} has no file {printable_text(inner)}",
        code="no_file",
        hint=f"it has {names}" if near else "it has no files",
    )
