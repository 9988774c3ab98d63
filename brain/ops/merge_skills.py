"""Merge one skill into another: text and files, and remove the other, in one snapshot."""

from __future__ import annotations

import re
from typing import NamedTuple

from ..errors import InvalidInput, printable_text
from ..merging.skill_merge import unite_skills
from ..objects import bundle as bundles
from ..objects import operation, paths
from ..objects.bundle import Bundle
from ..objects.tree_node import LINK, TreeEntry
from ..repo import derive, find_skill, lineage_cache
from ..repo.find_skill import FoundSkill, list_skill_entries
from ..repo.lineage_cache import AncestorSet
from ..repo.session import Session
from ..repo.transaction import WriteTransaction, locked_write_transaction
from ..results import SkillMergeResult
from ..skills import document_parts, skill_layout, skill_version
from ..skills.skill_document import UpdatedSkill, upsert_document
from . import snapshot
from .files import record_edits_at
from .write_skill import (
    build_new_version,
    flat_skill_folder,
    list_skill_files,
    record_skill,
)

_MAX_COMPARED_VERSIONS = 64
"""Latest versions of each skill that are compared to find a body that both once had."""


class MergeSkillsRequest(NamedTuple):
    """The skill that stays and the one it absorbs; `body`, if given, replaces both texts."""

    slug: str
    absorbed_skill: str
    description: str | None
    body: bytes | None
    message: str


def merge_skills(session: Session, request: MergeSkillsRequest) -> SkillMergeResult:
    """Let one skill absorb another, which is removed.

    Manual edits of either are recorded first. Raises `NotFound` (`no_skill`),
    `InvalidInput` (`same_skill`, `taken`) or as `upsert_skill` does.
    """
    slug, absorbed = printable_text(request.slug, 80), printable_text(request.absorbed_skill, 80)
    both = _find_both(session, session.bundle_of(session.head()), request)
    snapshot.snapshot_paths(
        session, "", [(skill.folder or skill.path).rstrip("/") for skill in both]
    )
    with locked_write_transaction(session, "absorb", f"merge {absorbed} into {slug}") as txn:
        ours, theirs = _find_both(session, txn.bundle, request)
        record_edits_at(txn, [*list_skill_files(txn, ours), *list_skill_files(txn, theirs)])
        ours, theirs = _find_both(session, txn.bundle, request)
        return _merge_and_record(txn, ours, theirs, request)


def _find_both(
    session: Session, bundle: Bundle, request: MergeSkillsRequest
) -> tuple[FoundSkill, FoundSkill]:
    ours, theirs = (
        find_skill.find_skill(session, bundle, text)
        for text in (request.slug, request.absorbed_skill)
    )
    if ours.path == theirs.path:
        raise InvalidInput(
            f"{request.slug} and {request.absorbed_skill} are the same skill",
            code="same_skill",
            hint="name two skills; the first one stays",
        )
    return ours, theirs


def _merge_and_record(
    txn: WriteTransaction, ours: FoundSkill, theirs: FoundSkill, request: MergeSkillsRequest
) -> SkillMergeResult:
    slug = derive.slug_from_full_path(ours.path)
    moved, renamed = _plan_moved_files(txn, ours, theirs)
    path = ours.path
    if moved and ours.folder is None:
        _refuse_occupied_folder(txn, ours, theirs)
        path = flat_skill_folder(ours.path) + skill_layout.SKILL_FILES[0]
    content = txn.session.reader.read_blob(ours.blob)
    if request.body is None:
        content = _merge_texts(txn, ours, theirs, content, renamed)

    def build(prior_version: str | None) -> UpdatedSkill:
        name = ours.card.name or slug
        return upsert_document(
            content, prior_version, name, slug, request.description, request.body
        )

    new = build_new_version(txn, slug, ours.path, build)
    edits: dict[str, TreeEntry | None] = {
        entry.path: None for entry in _entries_without(txn, theirs, ours)
    }
    if path != ours.path:
        edits[ours.path] = None
    edits.update(moved)
    kind = operation.absorb_operation(
        slug, new.previous_version or "", new.version, theirs.slug, theirs.card.version
    )
    message = request.message or f"Absorb {theirs.slug}, version {theirs.card.version}"
    upserted = record_skill(txn, slug, path, new, kind, message, edits)
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
        absorbed_version=skill_version.version_value(theirs.card.version),
        files=sorted(moved),
    )


def _plan_moved_files(
    txn: WriteTransaction, ours: FoundSkill, theirs: FoundSkill
) -> tuple[dict[str, TreeEntry | None], dict[str, str]]:
    """Return the absorbed skill's files at their new paths, and the renames among them.

    A file whose name is taken by other content gets the absorbed skill's slug in its name.
    """
    session = txn.session
    target = ours.folder or flat_skill_folder(ours.path)
    moved: dict[str, TreeEntry | None] = {}
    renamed: dict[str, str] = {}
    own = _entries_without(txn, theirs, ours)
    leaving_paths = {entry.path for entry in own}
    names = FolderNames()
    for entry in bundles.walk_below(session.nodes, txn.bundle, target.rstrip("/")):
        if entry.path not in leaving_paths:
            names.add_file(entry.path[len(target) :])
    for entry in own:
        if theirs.folder is None or entry.path == theirs.path:
            continue
        inner = entry.path[len(theirs.folder) :]
        present = bundles.get_entry(session.nodes, txn.bundle, target + inner)
        if present is not None and (present.blob, present.kind) == (entry.blob, entry.kind):
            continue
        name = names.reserve_name(inner, theirs.slug)
        if name != inner:
            _refuse_nested_skill(entry.path)
            renamed[inner] = name
        moved[target + name] = entry._replace(path=target + name)
    _refuse_ambiguous_links(own, renamed)
    return moved, renamed


def _entries_without(
    txn: WriteTransaction, skill: FoundSkill, excluded: FoundSkill
) -> list[TreeEntry]:
    entries = list_skill_entries(txn.session, txn.bundle, skill)
    inner = excluded.folder
    if inner is None or skill.folder is None or not inner.startswith(skill.folder):
        return entries
    return [entry for entry in entries if not entry.path.startswith(inner)]


def _refuse_occupied_folder(txn: WriteTransaction, ours: FoundSkill, theirs: FoundSkill) -> None:
    """Refuse to move a flat skill into a folder with other files, which would become its own."""
    folder = flat_skill_folder(ours.path).rstrip("/")
    own = {entry.path for entry in _entries_without(txn, theirs, ours)}
    for entry in bundles.walk_below(txn.session.nodes, txn.bundle, folder):
        if entry.path not in own:
            raise InvalidInput(
                f"{folder} holds other files already: {entry.path}",
                code="taken",
                hint="merge them in the other order, or move these files first",
            )


def _refuse_nested_skill(path: str) -> None:
    if path.rpartition("/")[2] in skill_layout.SKILL_FILES:
        raise InvalidInput(
            f"{path} is a separate skill, and its new path is taken by another",
            code="taken",
            hint="move it out of the folder of the other skill first",
        )


def _refuse_ambiguous_links(own: list[TreeEntry], renamed: dict[str, str]) -> None:
    """Refuse a rename if a symbolic link might then point to another file."""
    links = [entry.path for entry in own if entry.kind == LINK]
    if links and renamed:
        raise InvalidInput(
            f"{next(iter(renamed))} is in both skills, and"
            f" {links[0]} is a link that may point to it",
            code="taken",
            hint="rename one of the files first, and the link with it",
        )


def _merge_texts(
    txn: WriteTransaction,
    ours: FoundSkill,
    theirs: FoundSkill,
    content: bytes,
    renamed: dict[str, str],
) -> bytes:
    session = txn.session
    our_parts, other = (
        document_parts.split_document(text)
        for text in (content, session.reader.read_blob(theirs.blob))
    )
    base = _find_common_body(txn, ours, theirs)
    body = rewrite_file_names(other.body, renamed)
    return unite_skills(our_parts, other._replace(body=body), base, theirs.card.name).to_bytes()


def _find_common_body(txn: WriteTransaction, ours: FoundSkill, theirs: FoundSkill) -> bytes | None:
    known = set(_recent_bodies(txn, theirs))
    return next(
        (body for body in _recent_bodies(txn, ours) if body.strip() and body in known), None
    )


def _recent_bodies(txn: WriteTransaction, skill: FoundSkill) -> list[bytes]:
    session, ancestors = txn.session, AncestorSet(txn.session, txn.head)
    rows = [
        row
        for row in lineage_cache.read_skill_rows(session, skill.path)
        if row.snapshot in ancestors
    ]
    blobs = []
    for row in reversed(rows[-_MAX_COMPARED_VERSIONS:]):
        entry = bundles.get_entry(session.nodes, session.bundle_of(row.snapshot), skill.path)
        if entry is not None:
            blobs.append(entry.blob)
    redacted = session.reader.find_redactions(blobs)
    contents = dict(
        derive.read_skill_contents(session, [blob for blob in blobs if blob not in redacted])
    )
    return [body for blob in blobs if (body := _parse_body(contents.get(blob))) is not None]


def _parse_body(content: bytes | None) -> bytes | None:
    try:
        return None if content is None else document_parts.split_document(content).body
    except InvalidInput:
        return None


class FolderNames:
    """The paths that are taken in a folder, as macOS and Windows compare them."""

    def __init__(self) -> None:
        self._is_file: dict[str, bool] = {}

    def add_file(self, inner: str) -> None:
        """Add a file and the folders above it."""
        folded = paths.fold_name(inner)
        self._is_file[folded] = True
        self._is_file.update((folded[:at], False) for at, char in enumerate(folded) if char == "/")

    def reserve_name(self, inner: str, slug: str) -> str:
        """Return `inner`, or a free variant with `slug` in it, and mark it as taken.

        Raises `InvalidInput` (`taken`).
        """
        name, number = inner, 1
        while paths.fold_name(name) in self._is_file:
            name = _insert_slug(inner, slug if number == 1 else f"{slug}-{number}")
            number += 1
        above = (name[:at] for at, char in enumerate(name) if char == "/")
        if any(self._is_file.get(paths.fold_name(path)) for path in above):
            raise InvalidInput(
                f"{name} needs a folder where the other skill has a file",
                code="taken",
                hint="rename one of the two first",
            )
        self.add_file(name)
        return name


def rewrite_file_names(body: bytes, renamed: dict[str, str]) -> bytes:
    """Return a text with renamed files, all in one pass: a new name may equal an old one.

    A name without a dot or a slash may be an ordinary word, and stays.
    """
    names = {old.encode(): new.encode() for old, new in renamed.items() if "." in old or "/" in old}
    if not names:
        return body
    name = rb"(?<![\w./-])((?:\./)?)(%b)(?![\w/-]|\.\w)" % b"|".join(map(re.escape, names))
    return re.sub(name, lambda match: match[1] + names[match[2]], body)


def _insert_slug(inner: str, slug: str) -> str:
    above, slash, name = inner.rpartition("/")
    stem, dot, ending = name.rpartition(".")
    return f"{above}{slash}" + (f"{stem}-{slug}.{ending}" if dot and stem else f"{name}-{slug}")
