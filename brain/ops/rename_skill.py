"""Rename a skill: move its folder, and let its versions and its history go on."""

from __future__ import annotations

import os
from pathlib import Path

from ..errors import Conflict, InvalidInput, printable_text
from ..folder.ignore import IgnoreRules
from ..folder.scan import scan_named_paths
from ..objects import bundle as bundles
from ..objects import operation
from ..objects.tree_node import TreeEntry
from ..repo import find_skill, working_copy
from ..repo.find_skill import FoundSkill
from ..repo.session import Session
from ..repo.transaction import WriteTransaction, locked_write_transaction
from ..results import Upserted
from ..skills import skill_document, skill_version
from ..skills.skill_document import UpdatedSkill
from ..skills.slug import fold_to_slug, slugify
from .files import record_edits_at
from .write_skill import find_last_version, list_skill_files, record_skill


def rename_skill(session: Session, text: str, new_name: str, message: str = "") -> Upserted:
    """Move a skill with all its files to the slug of `new_name`, as its next version.

    The name in its front matter follows if it named the old slug. Raises `NotFound`
    (`no_skill`), `InvalidInput` (`bad_name`), or `Conflict` (`skill_exists`) if something
    has the new name.
    """
    if "/" in new_name:
        raise InvalidInput(
            f"'{printable_text(new_name, 80)}' is not the name of a skill",
            code="bad_name",
            hint="a renamed skill stays in its folder; give the new name alone",
        )
    slug = slugify(new_name)
    description = f"rename {printable_text(text, 80)} to {slug}"
    with locked_write_transaction(session, "rename", description) as txn:
        skill = find_skill.find_skill(session, txn.bundle, text)
        path = _new_path(skill, slug)
        _refuse_taken_name(txn, skill, slug, path)
        record_edits_at(txn, [*list_skill_files(txn, skill), *_list_folder_files(session, skill)])
        skill = find_skill.load_skill(session, txn.bundle, skill.path)
        new = _build_text(txn, skill, slug)
        edits: dict[str, TreeEntry | None] = {}
        for old_path in list_skill_files(txn, skill):
            entry = bundles.get_entry(session.nodes, txn.bundle, old_path)
            moved = _moved_path(skill, path, old_path)
            edits[old_path] = None
            edits[moved] = entry and entry._replace(path=moved)
        # A skill that did not exist and absorbs another one is that skill under a new name.
        kind = operation.absorb_operation(slug, "", new.version, skill.slug, skill.card.version)
        message = message or f"Rename {skill.slug} to {slug}"
        return record_skill(txn, slug, path, new, kind, message, edits)


def _new_path(skill: FoundSkill, slug: str) -> str:
    if skill.folder is None:
        return f"{skill.path.rpartition('/')[0]}/{slug}.md"
    above = skill.folder.rstrip("/").rpartition("/")[0]
    return f"{above}/{slug}/{skill.path.rpartition('/')[2]}"


def _moved_path(skill: FoundSkill, new_path: str, path: str) -> str:
    if path == skill.path or skill.folder is None:
        return new_path
    return f"{new_path.rpartition('/')[0]}/{path[len(skill.folder) :]}"


def _refuse_taken_name(txn: WriteTransaction, skill: FoundSkill, slug: str, path: str) -> None:
    """Refuse a name that a skill has, or whose place in the folder holds something."""
    session = txn.session
    other = find_skill.find_skill_path(session, txn.bundle, slug)
    if other is not None or slug == skill.slug:
        raise Conflict(
            f"there is already a skill {slug}, at {other or skill.path}",
            code="skill_exists",
            hint=f"choose another name, or merge them with `brain skill merge {slug} {skill.slug}`",
        )
    place = path if skill.folder is None else path.rpartition("/")[0]
    is_recorded = any(True for _ in bundles.walk_below(session.nodes, txn.bundle, place))
    is_there = os.path.lexists if skill.folder is None else _holds_something
    if is_recorded or (session.has_folder and is_there(session.root / place)):
        raise Conflict(
            f"{place} exists already",
            code="skill_exists",
            hint="choose another name, or move it away first",
        )


def _holds_something(place: Path) -> bool:
    """Tell whether a place is taken; empty folders take none: a removed file leaves one."""
    if place.is_symlink() or not place.is_dir():
        return os.path.lexists(place)
    return any(path.is_symlink() or not path.is_dir() for path in place.rglob("*"))


def _list_folder_files(session: Session, skill: FoundSkill) -> list[str]:
    """Return the files that the folder of a skill has by now, so that none is left behind."""
    if skill.folder is None or not session.has_folder:
        return []
    rules = IgnoreRules.load(session.root)
    scan = scan_named_paths(session.root, rules, [skill.folder.rstrip("/")])
    working_copy.refuse_skipped(scan.skipped)
    return [file.path for file in scan.changed]


def _build_text(txn: WriteTransaction, skill: FoundSkill, slug: str) -> UpdatedSkill:
    content = txn.session.reader.read_blob(skill.blob)
    if fold_to_slug(skill.card.name) == skill.slug:
        content = skill_document.set_name(content, slug)
    known = [find_last_version(txn, name) for name in (skill.slug, slug)]
    previous = skill_version.greatest_version(
        [skill.card.version, *(version for version in known if version)]
    )
    new = skill_document.bump_document(content, previous, slug)
    return new._replace(previous_version=skill.card.version)
