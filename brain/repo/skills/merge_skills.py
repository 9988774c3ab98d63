"""Merge one skill into another: text and files, and remove the other, in one snapshot."""

from __future__ import annotations

import re
from typing import NamedTuple

from ...errors import InvalidInput, printable_text
from ...merging.skill_union import unite_skills as merged
from ...objects import bundle as bundles
from ...objects import operation, paths
from ...objects.bundle import Bundle
from ...objects.tree_entry import FILE, LINK, TreeEntry
from ...results import SkillMergeResult
from ...skills import document_parts, skill_document, skill_layout, skill_version
from ..changes import snapshot_paths
from ..core import working_copy
from ..core.manual_edits import record_manual_edits
from ..core.transaction import WriteTransaction, locked_write_transaction
from ..open.session import Session
from ..read import card_cache, lineage_cache, skill_lookup, skill_rows
from ..read.ancestor_set import AncestorSet
from ..read.skill_lookup import FoundSkill
from .upsert import list_skill_entries, list_skill_files
from .version_history import find_last_version, has_had_version

_MAX_COMPARED_VERSIONS = 64
"""So many of the last versions of each skill are looked at for a text that both once were."""


class MergeSkillsRequest(NamedTuple):
    """Which skill absorbs which; with `body`, that is the text of both."""

    slug: str
    absorbed_skill: str
    description: str | None
    body: bytes | None
    message: str


def merge_skills(session: Session, request: MergeSkillsRequest) -> SkillMergeResult:
    """Let one skill absorb another, which is removed; see `results.Absorbed`.

    What was changed or added by hand in either is recorded first. Raises `NotFound` (`no_skill`),
    `InvalidInput` (`same_skill`) or as `upsert` does.
    """
    one, other = printable_text(request.slug, 80), printable_text(request.absorbed_skill, 80)
    both = _find_both(session, session.bundle_of(session.head()), request)
    snapshot_paths.snapshot_paths(
        session, "", [(skill.folder or skill.path).rstrip("/") for skill in both]
    )
    with locked_write_transaction(session, "absorb", f"merge {other} into {one}") as txn:
        ours, theirs = _find_both(session, txn.bundle, request)
        manual_edits = [*list_skill_files(txn, ours), *list_skill_files(txn, theirs)]
        record_manual_edits(
            txn, working_copy.store_edits_at(session, txn.store_tx, txn.bundle, manual_edits)
        )
        ours, theirs = _find_both(session, txn.bundle, request)
        return _merge_and_record(txn, ours, theirs, request)


def _find_both(
    session: Session, bundle: Bundle, request: MergeSkillsRequest
) -> tuple[FoundSkill, FoundSkill]:
    ours, theirs = (
        skill_lookup.find_skill(session, bundle, text)
        for text in (request.slug, request.absorbed_skill)
    )
    if ours.path == theirs.path:
        raise InvalidInput(
            f"{printable_text(request.slug)} and {printable_text(request.absorbed_skill)} are the same skill",
            code="same_skill",
            hint="name two skills; the first one stays",
        )
    return ours, theirs


def _merge_and_record(
    txn: WriteTransaction, ours: FoundSkill, theirs: FoundSkill, request: MergeSkillsRequest
) -> SkillMergeResult:
    session, tx = txn.session, txn.store_tx
    slug = skill_rows.slug_from_full_path(ours.path)
    moved, renamed = _plan_moved_files(txn, ours, theirs)
    path = ours.path
    if moved and ours.folder is None:
        _refuse_occupied_folder(txn, ours, theirs)
        path = f"{ours.path.rpartition('/')[0]}/{slug}/{skill_layout.SKILL_FILES[0]}"
    content = session.reader.read_blob(ours.blob)
    if request.body is None:
        content = _merge_texts(txn, ours, theirs, content, renamed)
    new = _raise_version(txn, ours, slug, content, request)
    gone: dict[str, TreeEntry | None] = {
        entry.path: None for entry in _entries_without(txn, theirs, ours)
    }
    if path != ours.path:
        gone[ours.path] = None
    blob = tx.put_blob(new.content)
    txn.contents[blob] = new.content
    card_cache.stage_cards(session, [card_cache.build_card_row(session, path, blob, new.content)])
    edits = {**gone, **moved, path: TreeEntry(path, FILE, blob, len(new.content))}
    done = operation.absorb_operation(
        slug, new.previous_version or "", new.version, theirs.slug, theirs.card.version
    )
    note = f"Absorb {theirs.slug}, version {theirs.card.version}"
    txn.record_snapshot(edits, done, request.message or note)
    txn.writes.update(edits)
    return SkillMergeResult(
        slug,
        new.name,
        skill_version.version_value(new.version),
        skill_version.version_value(new.previous_version or skill_version.FIRST_VERSION),
        path,
        txn.head.hex(),
        session.load_snapshot(txn.head).bundle.hex(),
        True,
        None,
        theirs.slug,
        skill_version.version_value(theirs.card.version),
        sorted(moved),
    )


def _raise_version(
    txn: WriteTransaction, ours: FoundSkill, slug: str, content: bytes, request: MergeSkillsRequest
) -> skill_document.UpdatedSkill:
    """Return the text at the version after all that the skill ever had."""
    document_args = (ours.card.name or slug, slug, request.description, request.body)
    new = skill_document.upsert_document(content, None, *document_args)
    if has_had_version(txn, ours.path, new.version):
        new = skill_document.upsert_document(content, find_last_version(txn, slug), *document_args)
    return new


def _plan_moved_files(
    txn: WriteTransaction, ours: FoundSkill, theirs: FoundSkill
) -> tuple[dict[str, TreeEntry | None], dict[str, str]]:
    """Return the other's files at their new places, and new names of those that had to have one.

    A file of a name that is taken by another content gets the other's slug into its name.
    """
    session = txn.session
    target = (
        ours.folder
        or f"{ours.path.rpartition('/')[0]}/{skill_rows.slug_from_full_path(ours.path)}/"
    )
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
        there = bundles.get_entry(session.nodes, txn.bundle, target + inner)
        if there is not None and (there.blob, there.kind) == (entry.blob, entry.kind):
            continue
        name = names.reserve_name(inner, theirs.slug)
        if name != inner:
            _refuse_nested_skill(entry.path)
            renamed[inner] = name
        moved[target + name] = entry._replace(path=target + name)
    _refuse_ambiguous_links(own, renamed)
    return moved, renamed


def _entries_without(
    txn: WriteTransaction, found: FoundSkill, excluded: FoundSkill
) -> list[TreeEntry]:
    """Return the files of a skill without those of another, should that be in its folder."""
    entries = list_skill_entries(txn.session, txn.bundle, found)
    inner = excluded.folder
    if inner is None or found.folder is None or not inner.startswith(found.folder):
        return entries
    return [entry for entry in entries if not entry.path.startswith(inner)]


def _refuse_occupied_folder(txn: WriteTransaction, ours: FoundSkill, theirs: FoundSkill) -> None:
    """Refuse to make a folder of a flat skill where others lie: they would become its files."""
    folder = f"{ours.path.rpartition('/')[0]}/{skill_rows.slug_from_full_path(ours.path)}"
    own = {entry.path for entry in _entries_without(txn, theirs, ours)}
    for entry in bundles.walk_below(txn.session.nodes, txn.bundle, folder):
        if entry.path not in own:
            raise InvalidInput(
                f"{printable_text(folder)} holds other files already: {printable_text(entry.path)}",
                code="taken",
                hint="merge the other way round, or move them first",
            )


def _refuse_nested_skill(path: str) -> None:
    """Refuse to give the text of a skill another name, under which it would be none."""
    if path.rpartition("/")[2] in skill_layout.SKILL_FILES:
        raise InvalidInput(
            f"{printable_text(path)} is a skill of its own, and where it would go is another",
            code="taken",
            hint="move it out of the folder of the other skill first",
        )


def _refuse_ambiguous_links(own: list[TreeEntry], renamed: dict[str, str]) -> None:
    """Refuse where a link might lead to another file than before."""
    links = [entry.path for entry in own if entry.kind == LINK]
    if links and renamed:
        raise InvalidInput(
            f"{printable_text(next(iter(renamed)))} is in both skills, and {printable_text(links[0])}"
            " is a link that may lead to it",
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
    return merged(our_parts, other._replace(body=body), base, theirs.card.name).to_bytes()


def _find_common_body(txn: WriteTransaction, ours: FoundSkill, theirs: FoundSkill) -> bytes | None:
    """Return the last body that both skills had, None if there is none."""
    known = set(_recent_bodies(txn, theirs))
    return next(
        (body for body in _recent_bodies(txn, ours) if body.strip() and body in known), None
    )


def _recent_bodies(txn: WriteTransaction, found: FoundSkill) -> list[bytes]:
    """Return the last bodies of a skill in this lineage, the newest first."""
    session, ancestors = txn.session, AncestorSet(txn.session, txn.head)
    rows = [
        row
        for row in lineage_cache.read_skill_rows(session, found.path)
        if row.snapshot in ancestors
    ]
    blobs = []
    for row in reversed(rows[-_MAX_COMPARED_VERSIONS:]):
        entry = bundles.get_entry(session.nodes, session.bundle_of(row.snapshot), found.path)
        if entry is not None:
            blobs.append(entry.blob)
    gone = session.reader.find_redactions(blobs)
    contents = dict(
        skill_rows.read_skill_contents(session, [blob for blob in blobs if blob not in gone])
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
        """Note a file and the folders above it."""
        folded = paths.fold_name(inner)
        self._is_file[folded] = True
        self._is_file.update((folded[:at], False) for at, char in enumerate(folded) if char == "/")

    def reserve_name(self, inner: str, slug: str) -> str:
        """Take `inner`, or a name beside it with `slug` in it that nothing has; return it.

        Raises `InvalidInput` (`taken`).
        """
        name, number = inner, 1
        while paths.fold_name(name) in self._is_file:
            name = _insert_slug(inner, slug if number == 1 else f"{slug}-{number}")
            number += 1
        above = (name[:at] for at, char in enumerate(name) if char == "/")
        if any(self._is_file.get(paths.fold_name(path)) for path in above):
            raise InvalidInput(
                f"a file is where {printable_text(name)} needs a folder", code="taken"
            )
        self.add_file(name)
        return name


def rewrite_file_names(body: bytes, renamed: dict[str, str]) -> bytes:
    """Return a text with the new names of files, each put in once: one may be the old of another.

    A name without a dot or a slash may be a word like any other, and stays.
    """
    names = {old.encode(): new.encode() for old, new in renamed.items() if "." in old or "/" in old}
    if not names:
        return body
    name = rb"(?<![\w./-])((?:\./)?)(%b)(?![\w/-]|\.\w)" % b"|".join(map(re.escape, names))
    return re.sub(name, lambda found: found[1] + names[found[2]], body)


def _insert_slug(inner: str, slug: str) -> str:
    above, slash, name = inner.rpartition("/")
    stem, dot, ending = name.rpartition(".")
    return f"{above}{slash}" + (f"{stem}-{slug}.{ending}" if dot and stem else f"{name}-{slug}")
