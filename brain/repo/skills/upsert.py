"""Upsert a skill by its slug: write its text and raise its version in one snapshot.

One transaction: read the prior version from the head, raise it, record a
snapshot of just that path, write the file. What somebody changed in that file by
hand is recorded first. Cost O(log n) in the size of the brain.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from ...digest import NO_DIGEST
from ...errors import Conflict, InvalidInput, printable_text
from ...objects import bundle as bundles
from ...objects import operation, paths
from ...objects.tree_entry import FILE, TreeEntry
from ...results import Upserted
from ...skills import skill_document, skill_layout, skill_version
from ...skills.skill_metadata import read_skill_metadata
from ...skills.slug import fold_to_slug, is_same_skill, slugify
from ..core import working_copy
from ..core.manual_edits import record_manual_edits
from ..core.transaction import WriteTransaction, locked_write_transaction
from ..open.session import Session
from ..read import card_cache, skill_lookup, skill_rows
from .version_history import find_last_version, has_had_version

if TYPE_CHECKING:
    from ...receipts import Receipt


UpsertCheck = Callable[[bytes | None, bytes], object]
NO_BASE_VERSION = "0"
"""As `base`: that there was no such skill."""


class UpsertRequest(NamedTuple):
    """What shall be written. None for `description` or `body` keeps what is there.

    `base` is the version the writer had read, `NONE_YET` if there was none, "" if unknown.
    `category` is the folder below skills/ in which a new skill goes, "" for none. `of` is the
    slug or the path of the skill that is meant, "" where its name alone is known. `check` gets
    the text before, None for a new skill, and the one to be written; what it raises ends the
    turn with nothing recorded.
    """

    name: str
    description: str | None
    body: bytes | None
    receipt: bytes | Receipt | None
    message: str
    base: str = ""
    category: str = ""
    of: str = ""
    check: UpsertCheck | None = None


def upsert_skill(session: Session, request: UpsertRequest) -> Upserted:
    """Write a skill, always raising its version.

    Raises `InvalidInput` for a name, front matter or version that cannot be
    taken, and `Conflict` (`name_taken`) if another skill has that slug.
    """
    slug = slugify(request.name)
    with locked_write_transaction(session, "upsert", f"upsert {slug}") as txn:
        slug, path, prior_text = locate_prior_text(
            txn, request.name, slug, request.category, request.of
        )
        return _write_skill(txn, slug, path, prior_text, request)


def upsert_skill_if_changed(session: Session, request: UpsertRequest) -> Upserted:
    """As `upsert`, but an identical save records nothing."""
    slug = slugify(request.name)
    with locked_write_transaction(session, "upsert", f"upsert {slug}") as txn:
        slug, path, prior_text = locate_prior_text(
            txn, request.name, slug, request.category, request.of
        )
        if prior_text is None or not skill_document.is_noop(
            prior_text, request.description, request.body
        ):
            return _write_skill(txn, slug, path, prior_text, request)
        found = skill_lookup.load_skill(session, txn.bundle, path)
        current = skill_version.version_value(found.card.version)
        return _build_upsert_result(
            txn, found.slug, found.card.name or slug, current, current, path, False
        )


def locate_prior_text(
    txn: WriteTransaction, name: str, slug: str, category: str = "", of: str = ""
) -> tuple[str, str, bytes | None]:
    """Return the skill's slug, where it lies or will, and its text after changes by hand."""
    session = txn.session
    meant = of or name
    path = skill_lookup.find_skill_path(session, txn.bundle, meant)
    if path is None and "/" in of:
        raise skill_lookup.missing_skill_error(session, txn.bundle, of)
    prior_text = None if path is None else working_copy.read_if_unchanged(session, txn.bundle, path)
    if path is None or prior_text is None:
        candidate_paths = (
            skill_lookup.find_candidate_paths(session, slug) if path is None else [path]
        )
        if category and path is None:
            candidate_paths.append(_choose_path(txn, slug, category))
        record_manual_edits(
            txn, working_copy.store_edits_at(session, txn.store_tx, txn.bundle, candidate_paths)
        )
        found = skill_lookup.find_skill_or_none(session, txn.bundle, meant)
        if found is None:
            path = _choose_path(txn, slug, category)
            working_copy.refuse_unsafe_parents(session, path)
            return slug, path, None
        path, prior_text = found.path, session.reader.read_blob(found.blob)
    slug = skill_rows.slug_from_full_path(path)
    if not of:
        _refuse_name_collision(name, slug, prior_text)
    return slug, path, prior_text


def _refuse_name_collision(name: str, slug: str, prior_text: bytes) -> None:
    """Refuse a name that merely folds to the slug of another one ("C++" and "C#").

    A skill made from a name alone bears its slug as name and that name as title:
    then the title is the name it was given. One whose names lead to another slug is
    called by its place, too.
    """
    names = skill_document.read_declared_names(prior_text)
    declared = {name for name in names - {slug} if fold_to_slug(name) == slug} or names | {slug}
    if any(is_same_skill(name, other) for other in declared):
        return
    other = sorted(declared)[0]
    raise Conflict(
        f"{printable_text(name)!r} has the slug of another skill, {printable_text(other)!r}",
        code="name_taken",
        hint=f"write to that one by its own name, {printable_text(other)!r}, or choose another name",
    )


def _choose_path(txn: WriteTransaction, slug: str, category: str) -> str:
    from ..open.manifest import load_manifest

    session = txn.session
    path = skill_layout.new_skill_path(slug, load_manifest(session).layout)
    if not category:
        return paths.join_section("skills", path)
    above = f"skills/{slugify(category)}"
    if any(
        bundles.has_entry(session.nodes, txn.bundle, f"{above}/{n}")
        for n in skill_layout.SKILL_FILES
    ):
        raise Conflict(
            f"{printable_text(category)} is a skill itself, and no category",
            code="not_a_category",
            hint="choose another category, or none",
        )
    return f"{above}/{path}"


def _write_skill(
    txn: WriteTransaction, slug: str, path: str, prior_text: bytes | None, request: UpsertRequest
) -> Upserted:
    if prior_text is None and not request.body and not request.description:
        raise InvalidInput(
            f"a new skill, {slug}, needs a body or a description",
            code="no_content",
            hint="give the text with -f FILE, or at least a description with -d TEXT",
        )
    new = _build_text(txn, slug, path, prior_text, request)
    if request.check is not None:
        request.check(prior_text, new.content)
    upserted = record_skill(txn, slug, path, new, request.receipt, request.message)
    if (
        prior_text is not None
        and read_skill_metadata(prior_text, "").name == read_skill_metadata(new.content, "").name
    ):
        return upserted
    from ..read import lookalikes

    named = lookalikes.check_new_name(txn.session, txn.bundle, path, request.name)
    return upserted._replace(notices=[*upserted.notices, *named])


def _build_text(
    txn: WriteTransaction, slug: str, path: str, prior_text: bytes | None, request: UpsertRequest
) -> skill_document.UpdatedSkill:
    current = ""
    if request.base and (request.base, prior_text) != (NO_BASE_VERSION, None):
        if prior_text is None:
            raise Conflict(
                f"{slug} is not there any more at version {printable_text(request.base)}",
                code="stale_base",
                hint=f"see `brain skill history {slug}`; without a base it is made anew",
            )
        current = skill_lookup.load_skill(txn.session, txn.bundle, path).card.version
    if prior_text is not None and request.base != current:
        from .rebase import rebase_upsert

        return rebase_upsert(txn, slug, prior_text, current, request)
    last = find_last_version(txn, slug) if prior_text is None else None
    document_args = (request.name, slug, request.description, request.body)
    new = skill_document.upsert_document(prior_text, last, *document_args)
    if prior_text is not None and has_had_version(txn, path, new.version):
        # An older text was brought back: the versions go on from the last, not from its own.
        new = skill_document.upsert_document(
            prior_text, find_last_version(txn, slug), *document_args
        )
    return new


def record_skill(
    txn: WriteTransaction,
    slug: str,
    path: str,
    new: skill_document.UpdatedSkill,
    receipt: bytes | Receipt | None,
    message: str,
    others: Mapping[str, TreeEntry | None] | None = None,
) -> Upserted:
    """Record a new text of a skill, and what else of it changes, as one snapshot."""
    tx = txn.store_tx
    entry = _store_skill_text(txn, path, new.content)
    edits = {**(others or {}), path: entry}
    evidence = tx.put_blob(receipt) if isinstance(receipt, bytes) else receipt or NO_DIGEST
    what = operation.upsert_operation(slug, new.previous_version or "", new.version)
    txn.record_snapshot(edits, what, message, evidence)
    txn.writes.update(edits)
    previous = skill_version.version_value(new.previous_version) if new.previous_version else None
    upserted = _build_upsert_result(
        txn, slug, new.name, skill_version.version_value(new.version), previous, path, True
    )
    from ..core import secret_scan

    found = secret_scan.scan_skill(txn.session, txn.head, path, new.content)
    return upserted._replace(
        notices=[*secret_scan.masked_message_notices(txn.message_was_masked), *found]
    )


def _store_skill_text(txn: WriteTransaction, path: str, content: bytes) -> TreeEntry:
    """Store a SKILL.md with its card; return its entry."""
    blob = txn.store_tx.put_blob(content)
    txn.contents[blob] = content
    card_cache.stage_cards(
        txn.session, [card_cache.build_card_row(txn.session, path, blob, content)]
    )
    return TreeEntry(path, FILE, blob, len(content))


def _build_upsert_result(
    txn: WriteTransaction,
    slug: str,
    name: str,
    current: int | str,
    previous: int | str | None,
    path: str,
    changed: bool,
) -> Upserted:
    head, bundle = txn.head, txn.session.load_snapshot(txn.head).bundle
    return Upserted(slug, name, current, previous, path, head.hex(), bundle.hex(), changed, None)


def delete_skill(session: Session, text: str, message: str = "") -> Upserted:
    """Remove a skill with all its files. Its version goes on from here if it comes back.

    Raises `NotFound` (`no_skill`).
    """
    with locked_write_transaction(session, "delete", f"delete {printable_text(text, 80)}") as txn:
        found = skill_lookup.find_skill(session, txn.bundle, text)
        record_manual_edits(
            txn,
            working_copy.store_edits_at(
                session, txn.store_tx, txn.bundle, list_skill_files(txn, found)
            ),
        )
        found = skill_lookup.find_skill(session, txn.bundle, text)
        gone: dict[str, TreeEntry | None] = dict.fromkeys(list_skill_files(txn, found))
        txn.record_snapshot(
            gone, operation.delete_operation(found.slug, found.card.version), message
        )
        txn.writes.update(gone)
        current = skill_version.version_value(found.card.version)
        return _build_upsert_result(
            txn, found.slug, found.card.name, current, current, found.path, True
        )


def list_skill_files(txn: WriteTransaction, found: skill_lookup.FoundSkill) -> list[str]:
    """Return the full paths of all recorded files of a skill."""
    return [entry.path for entry in list_skill_entries(txn.session, txn.bundle, found)]


def list_skill_entries(
    session: Session, bundle: bundles.Bundle, found: skill_lookup.FoundSkill
) -> list[TreeEntry]:
    """Return the entries of all files of a skill."""
    if found.folder is None:
        entry = bundles.get_entry(session.nodes, bundle, found.path)
        return [entry] if entry else []
    out = []
    for entry in bundles.walk_section(session.nodes, bundle, "skills", found.folder):
        if not entry.path.startswith(found.folder):
            break
        out.append(entry)
    return out


def revert_skill(session: Session, text: str, to_version: str, message: str = "") -> Upserted:
    """Bring a skill, with all its files, back to what it was at a version, as a new version.

    If its folder has another name by now, that name stays.
    Raises `NotFound` (`no_skill`, `no_version`).
    """
    from ..history.log import find_skill_at_version

    with locked_write_transaction(
        session, "revert", f"revert {printable_text(text, 80)} to {to_version}"
    ) as txn:
        head = txn.head
        snapshot_id, old_skill = find_skill_at_version(session, head, text, to_version)
        found = skill_lookup.find_skill_or_none(session, txn.bundle, text)
        if found is not None:
            manual_edits = working_copy.store_edits_at(
                session, txn.store_tx, txn.bundle, list_skill_files(txn, found)
            )
            record_manual_edits(txn, manual_edits)
            found = skill_lookup.find_skill(session, txn.bundle, text)
        current = found.card.version if found else find_last_version(txn, old_skill.slug)
        content = session.reader.read_blob(old_skill.blob)
        previous = skill_version.greatest_version(
            [current or old_skill.card.version, old_skill.card.version]
        )
        number = skill_version.next_version(previous)
        raised_text = skill_document.set_version(content, number, old_skill.slug)
        raised = skill_document.UpdatedSkill(
            raised_text, number, previous, old_skill.card.name or old_skill.slug
        )
        others: dict[str, TreeEntry | None] = (
            dict.fromkeys(list_skill_files(txn, found)) if found else {}
        )
        old = list_skill_entries(session, session.bundle_of(snapshot_id), old_skill)
        places = _map_reverted_paths(old_skill, found)
        others.update(
            (path, entry._replace(path=path)) for entry in old for path in [places(entry.path)]
        )
        note = message or f"Revert {old_skill.slug} to version {to_version}"
        path = places(old_skill.path)
        return record_skill(
            txn, skill_rows.slug_from_full_path(path), path, raised, None, note, others
        )


def _map_reverted_paths(
    old_skill: skill_lookup.FoundSkill, found: skill_lookup.FoundSkill | None
) -> Callable[[str], str]:
    """Return where files of a skill of before go: to their places, or to those of a new name."""
    old, new = (paths.split_section(one.path)[1] for one in (old_skill, found or old_skill))
    if skill_layout.name_from_path(old) == skill_layout.name_from_path(new):
        return lambda path: path
    assert found is not None
    if old_skill.folder is None:
        return lambda path: found.path
    home = (
        found.folder
        or f"{found.path.rpartition('/')[0]}/{skill_rows.slug_from_full_path(found.path)}/"
    )
    return lambda path: home + path[len(old_skill.folder or "") :]
