"""Merge one skill into another: text and files, and remove the other, in one snapshot."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from contextlib import suppress

from ..errors import InvalidInput, printable_text
from ..merging.skill_merge import unite_skills
from ..objects import paths
from ..objects.bundle import Edits
from ..objects.tree_node import LINK, TreeEntry
from ..repo import lineage_cache
from ..repo.find_skill import FoundSkill, Skills
from ..repo.lineage_cache import AncestorSet
from ..repo.part import encode_body
from ..repo.session import BrainState, Session
from ..repo.transaction import WriteTransaction, locked_write_transaction
from ..results import SkillMergeResult
from ..skills import document_parts, skill_layout, skill_version
from ..skills.skill_document import upsert_document
from . import snapshot
from .write_skill import (
    flat_skill_folder,
    list_skill_files,
    raise_version,
    record_skill,
)

_MAX_COMPARED_VERSIONS = 64
"""Latest versions of each skill that are compared to find a body that both once had."""


def merge(
    session: Session,
    slug: str,
    other: str,
    *,
    description: str | None = None,
    body: str | bytes | None = None,
    message: str = "",
) -> SkillMergeResult:
    """Merge the skill `other` into `slug`, and remove it in the same snapshot.

    The text and the files that only `other` has are added; or `body` is the new text. Both
    histories stay. Manual edits of either are recorded first. Raises `NotFound` (`no_skill`),
    `InvalidInput` (`same_skill`, `taken`) or as `upsert` does.
    """
    both = _find_both(session.at(), slug, other)
    places = [(skill.folder or skill.path).rstrip("/") for skill in both]
    snapshot.snapshot(session, "", places, strict=True)
    title = f"merge {printable_text(other, 80)} into {printable_text(slug, 80)}"
    with locked_write_transaction(session, "absorb", title) as txn:
        ours, theirs = _find_both(txn.state, slug, other)
        txn.record_edits_at([*list_skill_files(txn, ours), *list_skill_files(txn, theirs)])
        ours, theirs = _find_both(txn.state, slug, other)
        slug = ours.slug
        # 1. The files of the other skill, at their new paths; those of its folder leave.
        leaving = _entries_without(txn, theirs, ours)
        moved, renamed = _plan_moved_files(txn, ours, theirs, leaving)
        edits: Edits = dict.fromkeys(entry.path for entry in leaving)
        path = ours.path
        if moved and ours.folder is None:
            _refuse_occupied_folder(txn, ours, edits)
            path = flat_skill_folder(ours.path) + skill_layout.SKILL_FILES[0]
            edits[ours.path] = None
        edits.update(moved)
        # 2. The text, at the next version.
        content = session.reader.read_blob(ours.blob)
        if body is None:
            content = _merge_texts(txn, ours, theirs, content, renamed)
        new = upsert_document(
            content, None, ours.card.name or slug, slug, description, encode_body(body)
        )
        new = raise_version(txn, slug, ours.path, new)
        # 3. One snapshot.
        version = theirs.card.version
        kind = ("absorb", slug, new.previous_version or "", new.version, theirs.slug, version)
        message = message or f"Absorb {theirs.slug}, version {version}"
        upserted = record_skill(txn, slug, path, new, message, edits, kind)
    return SkillMergeResult(
        slug=slug,
        name=upserted.name,
        version=upserted.version,
        previous_version=skill_version.version_value(
            new.previous_version or skill_version.FIRST_VERSION
        ),
        path=path,
        snapshot=upserted.snapshot,
        bundle=upserted.bundle,
        changed=True,
        commitment=None,
        absorbed=theirs.slug,
        absorbed_version=skill_version.version_value(version),
        files=sorted(moved),
    )


def _find_both(state: BrainState, slug: str, other: str) -> tuple[FoundSkill, FoundSkill]:
    ours, theirs = (Skills(state).find(text) for text in (slug, other))
    if ours.path == theirs.path:
        raise InvalidInput(
            f"{slug} and {other} are the same skill",
            code="same_skill",
            hint="name two skills; the first one stays",
        )
    return ours, theirs


def _plan_moved_files(
    txn: WriteTransaction, ours: FoundSkill, theirs: FoundSkill, leaving: list[TreeEntry]
) -> tuple[dict[str, TreeEntry], dict[str, str]]:
    """Return the absorbed skill's files at their new paths, and the renames among them.

    A file whose name is taken by other content gets the absorbed skill's slug in its name.
    """
    target = ours.folder or flat_skill_folder(ours.path)
    moved: dict[str, TreeEntry] = {}
    renamed: dict[str, str] = {}
    leaving_paths = {entry.path for entry in leaving}
    # The names that are taken in the folder, as macOS and Windows compare them.
    files = {
        paths.fold_name(entry.path[len(target) :])
        for entry in txn.state.walk_below(target.rstrip("/"))
        if entry.path not in leaving_paths
    }
    folders = {folder for file in files for folder in paths.folders_above(file)}
    for entry in leaving:
        if theirs.folder is None or entry.path == theirs.path:
            continue
        inner = entry.path[len(theirs.folder) :]
        present = txn.state.get(target + inner)
        if present is not None and (present.blob, present.kind) == (entry.blob, entry.kind):
            continue
        stem, ending = posixpath.splitext(inner)
        name, number = inner, 1
        while paths.fold_name(name) in files or paths.fold_name(name) in folders:
            name = f"{stem}-{theirs.slug}{'' if number == 1 else f'-{number}'}{ending}"
            number += 1
        if any(folder in files for folder in paths.folders_above(paths.fold_name(name))):
            raise InvalidInput(
                f"{name} needs a folder where the other skill has a file",
                code="taken",
                hint="rename one of the two first",
            )
        files.add(paths.fold_name(name))
        folders.update(paths.folders_above(paths.fold_name(name)))
        if name != inner:
            if inner.rpartition("/")[2] in skill_layout.SKILL_FILES:
                raise InvalidInput(
                    f"{entry.path} is a separate skill, and its new path is taken by another",
                    code="taken",
                    hint="move it out of the folder of the other skill first",
                )
            renamed[inner] = name
        moved[target + name] = entry._replace(path=target + name)
    links = [entry.path for entry in leaving if entry.kind == LINK]
    if links and renamed:  # a link might then point to another file
        raise InvalidInput(
            f"{next(iter(renamed))} is in both skills, and"
            f" {links[0]} is a link that may point to it",
            code="taken",
            hint="rename one of the files first, and the link with it",
        )
    return moved, renamed


def _entries_without(
    txn: WriteTransaction, skill: FoundSkill, excluded: FoundSkill
) -> list[TreeEntry]:
    entries = Skills(txn.state).entries(skill)
    inner = excluded.folder
    if inner is None or skill.folder is None or not inner.startswith(skill.folder):
        return entries
    return [entry for entry in entries if not entry.path.startswith(inner)]


def _refuse_occupied_folder(txn: WriteTransaction, ours: FoundSkill, leaving: Edits) -> None:
    """Refuse to move a flat skill into a folder with other files, which would become its own."""
    folder = flat_skill_folder(ours.path).rstrip("/")
    for entry in txn.state.walk_below(folder):
        if entry.path not in leaving:
            raise InvalidInput(
                f"{folder} holds other files already: {entry.path}",
                code="taken",
                hint="merge them in the other order, or move these files first",
            )


def _merge_texts(
    txn: WriteTransaction,
    ours: FoundSkill,
    theirs: FoundSkill,
    content: bytes,
    renamed: dict[str, str],
) -> bytes:
    other = document_parts.split_document(txn.session.reader.read_blob(theirs.blob))
    other = other._replace(body=rewrite_file_names(other.body, renamed))
    known = set(_recent_bodies(txn, theirs))
    once_both = (body for body in _recent_bodies(txn, ours) if body.strip() and body in known)
    our_parts = document_parts.split_document(content)
    return unite_skills(our_parts, other, next(once_both, None), theirs.card.name).to_bytes()


def _recent_bodies(txn: WriteTransaction, skill: FoundSkill) -> Iterator[bytes]:
    session, ancestors = txn.session, AncestorSet(txn.session, txn.head)
    rows = [
        row
        for row in lineage_cache.read_skill_rows(session, skill.path)
        if row.snapshot in ancestors
    ]
    for row in rows[: -_MAX_COMPARED_VERSIONS - 1 : -1]:
        entry = session.state_of(row.snapshot).get(skill.path)
        if entry is not None and not session.reader.find_redactions([entry.blob]):
            with suppress(InvalidInput):
                yield document_parts.split_document(session.reader.read_blob(entry.blob)).body


def rewrite_file_names(body: bytes, renamed: dict[str, str]) -> bytes:
    """Return a text with renamed files, all in one pass: a new name may equal an old one.

    A name without a dot or a slash may be an ordinary word, and stays.
    """
    names = {old.encode(): new.encode() for old, new in renamed.items() if "." in old or "/" in old}
    if not names:
        return body
    name = rb"(?<![\w./-])((?:\./)?)(%b)(?![\w/-]|\.\w)" % b"|".join(map(re.escape, names))
    return re.sub(name, lambda match: match[1] + names[match[2]], body)
