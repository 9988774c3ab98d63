"""Upsert a skill by its slug: write its text and files and raise its version in one snapshot.

One transaction: read the prior version from the head, raise it, record a snapshot of
these paths alone, write the files. Manual edits of these are recorded first.
Cost O(log n) in the size of the brain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from ..digest import NO_DIGEST, blob_id
from ..errors import Conflict, InvalidInput, printable_text
from ..gating.case_paths import slug_of_case
from ..objects import bundle as bundles
from ..objects import operation
from ..objects.bundle import Bundle, Edits
from ..objects.operation import SnapshotOperation, upsert_operation
from ..objects.tree_node import FILE, LINK, TreeEntry
from ..repo import derive, find_skill, lineage_cache, working_copy
from ..repo.find_skill import FoundSkill, list_skill_entries
from ..repo.lineage_cache import AncestorSet
from ..repo.session import Session
from ..repo.transaction import WriteTransaction, locked_write_transaction
from ..repo.working_copy import is_below
from ..results import Notice, Upserted
from ..skills import SKILLS_SECTION, skill_document, skill_layout, skill_version
from ..skills.skill_document import UpdatedSkill
from ..skills.skill_metadata import read_skill_metadata
from ..skills.slug import fold_to_slug, is_same_skill, slugify
from .files import (
    ContentChange,
    SkillFiles,
    apply_change,
    plan_skill_files,
    plan_skill_folder,
    record_edits_at,
    refuse_skill_name,
    refuse_unwritable_path,
)

if TYPE_CHECKING:
    from ..receipts import Receipt

UpsertCheck = Callable[[bytes | None, bytes], object]
NO_FILES: SkillFiles = MappingProxyType({})
NO_BASE_VERSION = "0"
"""The `base` of a skill that did not exist."""


class UpsertRequest(NamedTuple):
    """The skill to write; build it by keyword. `name` may be the path of an existing skill.

    None for `description` or `body` keeps the present one.

    `base` is the version the writer had read, `NO_BASE_VERSION` if there was none, "" if
    unknown. `category` is the folder below skills/ for a new skill, "" for none. `of` is the
    slug or the path of the skill, "" if its name alone is known. `check` gets the text
    before, None for a new skill, and the new one; if it raises, nothing is recorded. With
    `if_changed` an identical save records nothing. `files` are written with the text; a flat
    skill moves into a folder with its first file. `operation` makes the operation of the
    snapshot from the slug and both versions.
    """

    name: str
    description: str | None = None
    body: bytes | None = None
    receipt: bytes | Receipt | None = None
    message: str = ""
    base: str = ""
    category: str = ""
    of: str = ""
    check: UpsertCheck | None = None
    if_changed: bool = False
    files: SkillFiles = NO_FILES
    operation: Callable[[str, str, str], SnapshotOperation] = upsert_operation


def upsert_skill(session: Session, request: UpsertRequest) -> Upserted:
    """Write a skill and raise its version.

    Raises `InvalidInput` for an invalid name, front matter, version or file, and `Conflict`
    (`name_taken`, `stale_base`, `not_a_category`, `path_conflict`).
    """
    label = printable_text(request.name, 80) if "/" in request.name else slugify(request.name)
    with locked_write_transaction(session, "upsert", f"upsert {label}") as txn:
        return write_skill(txn, request)


class PlannedText(NamedTuple):
    """A skill as an upsert would write it: its new text, and the edits of its other files.

    `path` is where the text will be, `prior_text` the one before, None for a new skill; `new` is
    None if nothing would change.
    """

    slug: str
    path: str
    prior_text: bytes | None
    new: UpdatedSkill | None
    edits: Edits


def write_skill(txn: WriteTransaction, request: UpsertRequest) -> Upserted:
    """Write a skill within a transaction. Raises as `upsert_skill`."""
    planned = plan_skill(txn, request)
    if planned.new is None:
        skill = find_skill.load_skill(txn.session, txn.bundle, planned.path)
        name, version = skill.card.name or planned.slug, skill.card.version
        return upsert_result(txn, skill.slug, name, version, version, planned.path, changed=False)
    if request.check is not None:
        request.check(planned.prior_text, planned.new.content)
    new = planned.new
    kind = request.operation(planned.slug, new.previous_version or "", new.version)
    name = "" if "/" in request.name else request.name
    return write_planned(txn, planned, kind, request.message, request.receipt, name)


def plan_skill(txn: WriteTransaction, request: UpsertRequest) -> PlannedText:
    """Return what an upsert would write; manual edits of these files are recorded first.

    `request.if_changed` alone makes a plan that changes nothing. Raises as `upsert_skill`.
    """
    target = request.of or (request.name if "/" in request.name else "")
    slug = "" if "/" in request.name else slugify(request.name)
    slug, path, prior_text = locate_prior_text(txn, request.name, slug, request.category, target)
    if "/" in request.name:  # a path of an existing skill: a name has no slash
        request = request._replace(name=slug)
    if prior_text is None and request.body is None and not (request.description or "").strip():
        raise InvalidInput(
            f"a new skill, {slug}, needs a body or a description",
            code="no_content",
            hint="give the text with -f FILE, or at least a description with -d TEXT",
        )
    main, edits = _plan_files(txn, path, request)
    if (
        request.if_changed
        and prior_text is not None
        and not edits
        and skill_document.is_noop(prior_text, request.description, request.body)
    ):
        return PlannedText(slug, path, prior_text, None, {})
    new = _build_text(txn, slug, path, prior_text, request)
    return PlannedText(slug, main, prior_text, new, edits)


def write_planned(
    txn: WriteTransaction,
    planned: PlannedText,
    kind: SnapshotOperation,
    message: str,
    receipt: bytes | Receipt | None,
    name: str = "",
) -> Upserted:
    """Record a planned text with its files, as one snapshot of the operation `kind`.

    `name` is the one that the writer gave.
    """
    _, path, prior_text, new, edits = planned
    if new is None:
        raise AssertionError("a plan that changes nothing is not written")
    upserted = record_upsert(txn, planned.slug, path, new, receipt, message, edits, kind)
    return _add_name_notices(txn, path, prior_text, new, name or planned.slug, upserted)


def _plan_files(txn: WriteTransaction, path: str, request: UpsertRequest) -> tuple[str, Edits]:
    if not request.files:
        return path, {}
    return plan_skill_files(txn, path, request.files)


def locate_prior_text(
    txn: WriteTransaction, name: str, slug: str, category: str = "", of: str = ""
) -> tuple[str, str, bytes | None]:
    """Return a skill's slug, its present or future path, and its text with manual edits."""
    session = txn.session
    identifier = of or name
    path = find_skill.find_skill_path(session, txn.bundle, identifier)
    if path is None and "/" in of:
        raise find_skill.missing_skill_error(session, txn.bundle, of)
    prior_text = None if path is None else working_copy.read_if_unchanged(session, txn.bundle, path)
    if path is None or prior_text is None:
        candidate_paths = find_skill.find_candidate_paths(session, slug) if path is None else [path]
        if category and path is None:
            candidate_paths.append(_choose_path(txn, slug, category))
        record_edits_at(txn, candidate_paths)
        skill = find_skill.find_skill_or_none(session, txn.bundle, identifier)
        if skill is None:
            path = _choose_path(txn, slug, category)
            working_copy.refuse_unsafe_parents(session, path)
            return slug, path, None
        path, prior_text = skill.path, session.reader.read_blob(skill.blob)
    slug = derive.slug_from_full_path(path)
    if not of:
        _refuse_name_collision(name, slug, prior_text)
    return slug, path, prior_text


def _refuse_name_collision(name: str, slug: str, prior_text: bytes) -> None:
    """Refuse a name with the same slug as another name ("C++" and "C#").

    A skill made from a name alone has its slug as name and that name as title: then the
    title is its name. A skill whose names lead to another slug is found by its path, too.
    """
    names = skill_document.read_declared_names(prior_text)
    declared = {name for name in names - {slug} if fold_to_slug(name) == slug} or names | {slug}
    if any(is_same_skill(name, other) for other in declared):
        return
    other = sorted(declared)[0]
    raise Conflict(
        f"'{name}' has the slug of another skill, '{other}'",
        code="name_taken",
        hint=f"write to it by its own name, '{printable_text(other)}', or choose another name",
    )


def _choose_path(txn: WriteTransaction, slug: str, category: str) -> str:
    from ..repo import derive
    from ..repo.manifest import load_manifest

    session = txn.session
    folder = derive.find_new_skill_folder(session, txn.bundle)
    layout = load_manifest(session).layout if folder == SKILLS_SECTION else "directory"
    above = f"{folder}/{slugify(category)}" if category else folder
    path = f"{above}/{skill_layout.new_skill_path(slug, layout)}"
    home = path.rpartition("/")[0]
    if home != above and any(
        derive.is_skill(session, txn.bundle, entry.path)
        for entry in bundles.walk_below(session.nodes, txn.bundle, home)
    ):  # a folder of skills, which would belong to the new one
        path = f"{home}/{path[len(above) + 1 :]}"
    if category and any(
        bundles.has_entry(session.nodes, txn.bundle, f"{above}/{name}")
        for name in skill_layout.SKILL_FILES
    ):
        raise Conflict(
            f"{category} is a skill itself, and no category",
            code="not_a_category",
            hint="choose another category, or none",
        )
    return path


def _add_name_notices(
    txn: WriteTransaction,
    path: str,
    prior_text: bytes | None,
    new: UpdatedSkill,
    name: str,
    upserted: Upserted,
) -> Upserted:
    if (
        prior_text is not None
        and read_skill_metadata(prior_text, "").name == read_skill_metadata(new.content, "").name
    ):
        return upserted
    from ..repo import lookalikes

    notices = lookalikes.check_new_name(txn.session, txn.bundle, path, name)
    if prior_text is None and not path.startswith(f"{SKILLS_SECTION}/"):
        folder = skill_layout.new_skill_folder([path])
        message = f"is in {printable_text(folder)}, as all other skills of this brain are"
        notices = [*notices, Notice("skill_folder", path, message)]
    return upserted._replace(notices=[*upserted.notices, *notices])


def _build_text(
    txn: WriteTransaction, slug: str, path: str, prior_text: bytes | None, request: UpsertRequest
) -> UpdatedSkill:
    def build(prior_version: str | None) -> UpdatedSkill:
        try:
            return skill_document.upsert_document(
                prior_text, prior_version, request.name, slug, request.description, request.body
            )
        except InvalidInput as error:
            if not request.body and error.message.startswith("line "):  # of the recorded text
                error.message = f"{printable_text(path)}, {error.message}"
            raise

    if prior_text is None:
        if request.base not in ("", NO_BASE_VERSION):
            raise Conflict(
                f"{slug} was removed after version {request.base}",
                code="stale_base",
                hint=f"see `brain skill history {slug}`; without a base it is created again",
            )
        return build(find_last_version(txn, slug))
    if request.base:
        version = find_skill.load_skill(txn.session, txn.bundle, path).card.version
        if request.base != version:
            return _rebase_text(txn, slug, prior_text, version, request)
    return build_new_version(txn, slug, path, build)


def _rebase_text(
    txn: WriteTransaction, slug: str, prior_text: bytes, version: str, request: UpsertRequest
) -> UpdatedSkill:
    """Merge a text written for `request.base` into the skill at `version`, as branches are.

    Raises `NotFound` (`no_version`), or `Conflict` (`stale_base`) if a person must decide.
    """
    if request.base == NO_BASE_VERSION:
        raise Conflict(
            f"{slug} exists by now, at version {version}",
            code="stale_base",
            hint=f"read it with `brain skill view {slug}`, and write to its text",
        )
    from ..merging import content_merge, skill_merge
    from .log import find_skill_at_version

    session = txn.session
    base_snapshot, base_skill = find_skill_at_version(session, txn.head, slug, request.base)
    _refuse_files_changed_since(txn, slug, base_snapshot, base_skill, version, request)
    base_text = session.reader.read_blob(base_skill.blob)
    theirs = skill_document.upsert_document(
        base_text, None, request.name, slug, request.description, request.body
    )
    merged = skill_merge.merge_skill(base_text, prior_text, theirs.content, slug)
    draft = content_merge.DraftMerge(merged.pieces, merged)
    content = content_merge.finish_merge(draft, None)
    if content is None:
        raise Conflict(
            f"{slug} is at version {version}, which changed the same lines as this text for"
            f" version {request.base}",
            code="stale_base",
            hint=f"read it again with `brain skill view {slug}`, and write to its new text",
        )
    return UpdatedSkill(content, merged.version, version, theirs.name)


def _refuse_files_changed_since(
    txn: WriteTransaction,
    slug: str,
    base_snapshot: bytes,
    base_skill: FoundSkill,
    version: str,
    request: UpsertRequest,
) -> None:
    """Refuse files that somebody else changed since the base; files are not merged."""
    if not request.files:
        return
    session = txn.session
    skill = find_skill.find_skill(session, txn.bundle, request.of or slug)
    sides = (session.bundle_of(base_snapshot), base_skill), (txn.bundle, skill)
    then, now = (
        {
            entry.path.removeprefix(owner.folder or ""): entry.blob
            for entry in find_skill.list_skill_entries(session, bundle, owner)
        }
        for bundle, owner in sides
    )
    changed = [
        file
        for file, content in request.files.items()
        if then.get(file) != now.get(file)
        and now.get(file) != (None if content is None else blob_id(content))
    ]
    if changed:
        raise Conflict(
            f"{changed[0]} of {slug} was changed by version {version}",
            code="stale_base",
            hint=f"read it again with `brain skill view {slug}`, and write to its new content",
        )


def edit_skill(
    session: Session, text: str, inner: str, change: ContentChange, message: str = ""
) -> Upserted:
    """Change a file of a skill, or with `inner` "" its own text, and raise its version.

    `inner` is relative to the folder of the skill; a flat skill that gets its first file
    moves into a folder of its own. Raises as `edit_file` does, and `NotFound` (`no_skill`).
    """
    with locked_write_transaction(session, "upsert", f"edit {printable_text(text, 80)}") as txn:
        slug = "" if "/" in text else slugify(text)
        slug, path, prior_text = locate_prior_text(txn, text, slug, of=text)
        if prior_text is None:
            raise find_skill.missing_skill_error(session, txn.bundle, text)
        if not inner:
            content = change(prior_text) or b""
            build = partial(skill_document.replace_document, prior_text, slug, content)
            new = build_new_version(txn, slug, path, build)
            return record_upsert(txn, slug, path, new, None, message)
        home, edits = plan_skill_folder(txn, path)
        file = f"{home}/{inner}"
        refuse_unwritable_path(session, file)
        refuse_skill_name(inner)
        edits.update(apply_change(txn, file, change))
        build = partial(skill_document.replace_document, prior_text, slug, prior_text)
        new = build_new_version(txn, slug, path, build)
        main = f"{home}/{skill_layout.SKILL_FILES[0]}" if path in edits else path
        return record_upsert(txn, slug, main, new, None, message, edits)


def list_skill_files(txn: WriteTransaction, skill: FoundSkill) -> list[str]:
    """Return the full paths of all recorded files of a skill."""
    return [entry.path for entry in list_skill_entries(txn.session, txn.bundle, skill)]


def flat_skill_folder(path: str) -> str:
    """Return the folder, with a `/`, that a flat skill at `path` would move to."""
    return f"{path.rpartition('/')[0]}/{derive.slug_from_full_path(path)}/"


def record_upsert(
    txn: WriteTransaction,
    slug: str,
    path: str,
    new: UpdatedSkill,
    receipt: bytes | Receipt | None,
    message: str,
    others: Mapping[str, TreeEntry | None] | None = None,
    kind: SnapshotOperation | None = None,
) -> Upserted:
    """Record a new text of a skill, and `others` of its files, as one snapshot.

    `kind` is its operation, by default an upsert.
    """
    from ..repo import secrets

    if isinstance(receipt, bytes):
        receipt = txn.store_tx.put_blob(receipt)
    evidence = receipt or NO_DIGEST
    kind = kind or operation.upsert_operation(slug, new.previous_version or "", new.version)
    upserted = record_skill(txn, slug, path, new, kind, message, others, evidence)
    notices = secrets.masked_message_notices(txn.message_was_masked)
    notices += secrets.scan_skill(txn.session, txn.head, path, new.content)
    if others:
        notices += secrets.scan_edits(txn.session, txn.head, others)
    if new.version == new.previous_version:
        kept = f"keeps its version '{printable_text(new.version, 80)}', which has no next one"
        notices = [Notice("version_kept", path, kept), *notices]
    return upserted._replace(notices=notices)


def record_skill(
    txn: WriteTransaction,
    slug: str,
    path: str,
    new: UpdatedSkill,
    kind: SnapshotOperation,
    message: str,
    others: Mapping[str, TreeEntry | None] | None = None,
    evidence: bytes | Receipt = NO_DIGEST,
) -> Upserted:
    """Record a new text of a skill under the operation `kind`, with `others` of its files.

    An operation of format 1 states versions of numbers that rise. One that cannot becomes that of
    a snapshot, which claims nothing of versions. For a decision, raises `InvalidInput`
    (`bad_version`).
    """
    if not _states_rising_numbers(kind, new):
        if kind[0] in operation.DECISION_KINDS:
            raise InvalidInput(
                f"{printable_text(new.version, 80)} is no version of a skill that runs",
                code="bad_version",
                hint="write a version of numbers into its front matter, such as 1.0.0",
            )
        old = f"{printable_text(new.previous_version, 80)} → " if new.previous_version else ""
        message = message or f"Upsert {slug}: {old}{printable_text(new.version, 80)}"
        kind = operation.snapshot_operation()
    blob = txn.store_tx.put_blob(new.content)
    txn.contents[blob] = new.content
    card = lineage_cache.build_card_row(txn.session, path, blob, new.content)
    lineage_cache.stage_cards(txn.session, [card])
    was = (others or {}).get(path) or bundles.get_entry(txn.session.nodes, txn.bundle, path)
    file_kind = was.kind if was and was.kind != LINK else FILE
    edits = {**(others or {}), path: TreeEntry(path, file_kind, blob, len(new.content))}
    txn.record_snapshot(edits, kind, message, evidence)
    txn.writes.update(edits)
    return upsert_result(txn, slug, new.name, new.version, new.previous_version, path)


def _states_rising_numbers(kind: SnapshotOperation, new: UpdatedSkill) -> bool:
    versions = [new.version, new.previous_version or new.version]
    if kind[0] == "absorb":
        versions.append(kind[5])
    return all(map(operation.is_version, versions)) and new.version != new.previous_version


def upsert_result(
    txn: WriteTransaction,
    slug: str,
    name: str,
    version: str,
    previous_version: str | None,
    path: str,
    *,
    changed: bool = True,
) -> Upserted:
    """Return the result of a write to a skill, at the head of the transaction."""
    return Upserted(
        slug=slug,
        name=name,
        version=skill_version.version_value(version),
        previous_version=skill_version.version_value(previous_version)
        if previous_version
        else None,
        path=path,
        snapshot=txn.head.hex(),
        bundle=txn.session.load_snapshot(txn.head).bundle.hex(),
        changed=changed,
        commitment=None,
    )


def build_new_version(
    txn: WriteTransaction, slug: str, path: str, build: Callable[[str | None], UpdatedSkill]
) -> UpdatedSkill:
    """Return the text of a skill from `build`, with a version that the skill never had.

    `build` gets the version that the new one must exceed, None for that of the old text. The
    user may have restored an older text, whose version is not the last.
    """
    updated = build(None)
    if has_had_version(txn, path, updated.version):
        return build(find_last_version(txn, slug))
    return updated


def find_last_version(txn: WriteTransaction, slug: str) -> str | None:
    """Return the greatest version that a skill of that slug ever had in the lineage.

    The latest is not enough: a merge may have kept a removal and left greater versions behind.
    """
    ancestors = AncestorSet(txn.session, txn.head)
    versions = [
        row.version
        for path in find_skill.find_paths_in_lineage(txn.session, ancestors, slug)
        for row in lineage_cache.read_skill_rows(txn.session, path)
        if row.snapshot in ancestors
    ]
    return skill_version.greatest_version(versions) if versions else None


def has_had_version(txn: WriteTransaction, path: str, number: str) -> bool:
    """Tell whether the skill at a path ever had a version in the lineage."""
    ancestors = AncestorSet(txn.session, txn.head)
    rows = lineage_cache.read_skill_rows(txn.session, path, number)
    return any(row.version == number and row.snapshot in ancestors for row in rows)


_MAX_NAMED_SKILLS = 20


def delete_skill(session: Session, text: str, message: str = "") -> Upserted:
    """Remove a skill with all its files; a new one of its slug continues its versions.

    Raises `NotFound` (`no_skill`), or `Conflict` (`holds_skills`) if other skills are in
    folders below its own.
    """
    with locked_write_transaction(session, "delete", f"delete {printable_text(text, 80)}") as txn:
        skill = find_skill.find_skill(session, txn.bundle, text)
        record_edits_at(txn, list_skill_files(txn, skill))
        skill = find_skill.find_skill(session, txn.bundle, text)
        removed: dict[str, TreeEntry | None] = dict.fromkeys(list_skill_files(txn, skill))
        refuse_nested_skills(txn, skill, removed)
        version = skill.card.version
        txn.record_snapshot(
            removed,
            operation.delete_operation(skill.slug, skill_version.recorded_version(version)),
            message,
        )
        txn.writes.update(removed)
        return upsert_result(txn, skill.slug, skill.card.name, version, version, skill.path)


def refuse_nested_skills(txn: WriteTransaction, skill: FoundSkill, files: Iterable[str]) -> None:
    """Refuse to remove other skills with a skill, which may be of other authors."""
    session, bundle = txn.session, txn.bundle
    nested = [
        path for path in files if path != skill.path and derive.is_skill(session, bundle, path)
    ]
    if nested:
        addresses = find_skill.find_addresses(session, bundle, nested)
        names = ", ".join(printable_text(addresses[path]) for path in nested[:_MAX_NAMED_SKILLS])
        raise Conflict(
            f"the folder of {skill.slug} also holds {names}",
            code="holds_skills",
            hint="delete or move these skills first",
        )


def revert_skill(session: Session, text: str, to_version: str, message: str = "") -> Upserted:
    """Bring a skill, with all its files, back to what it was at a version, as a new version.

    If it has another place by now, it stays there.
    Raises `NotFound` (`no_skill`, `no_version`).
    """
    from .log import find_skill_at_version

    with locked_write_transaction(
        session, "revert", f"revert {printable_text(text, 80)} to {to_version}"
    ) as txn:
        snapshot_id, old_skill = find_skill_at_version(session, txn.head, text, to_version)
        skill = find_skill.find_skill_or_none(session, txn.bundle, text)
        if skill is not None:
            record_edits_at(txn, list_skill_files(txn, skill))
            skill = find_skill.find_skill(session, txn.bundle, text)
        last_version = skill.card.version if skill else find_last_version(txn, old_skill.slug)
        previous = skill_version.greatest_version(
            [last_version or old_skill.card.version, old_skill.card.version]
        )
        content = session.reader.read_blob(old_skill.blob)
        new = skill_document.bump_document(content, previous, old_skill.slug)
        new = new._replace(name=old_skill.card.name or old_skill.slug)
        path, edits = plan_reverted_files(txn, session.bundle_of(snapshot_id), old_skill, skill)
        slug = derive.slug_from_full_path(path)
        message = message or f"Revert {old_skill.slug} to version {to_version}"
        return record_upsert(txn, slug, path, new, None, message, edits)


def plan_reverted_files(
    txn: WriteTransaction, bundle: Bundle, old_skill: FoundSkill, skill: FoundSkill | None
) -> tuple[str, Edits]:
    """Return where an earlier skill of another bundle is written, and the edits of its files.

    It takes the place that the skill has now, if there is one. The cases that it has now stay,
    and the skills in its folder: they are no part of a version.
    """
    edits: Edits = {}
    entries = _list_own_entries(txn.session, bundle, old_skill)
    if skill is not None:
        files = [entry.path for entry in _list_own_entries(txn.session, txn.bundle, skill)]
        edits.update(dict.fromkeys(path for path in files if not slug_of_case(path)))
        entries = [entry for entry in entries if not slug_of_case(entry.path)]
    for entry in entries:
        path = _reverted_path(entry.path, old_skill, skill)
        edits[path] = entry._replace(path=path)
    return _reverted_path(old_skill.path, old_skill, skill), edits


def _list_own_entries(session: Session, bundle: Bundle, skill: FoundSkill) -> list[TreeEntry]:
    """Return the entries of the files of a skill, without those of skills in its folder."""
    entries = list_skill_entries(session, bundle, skill)
    others = {
        entry.path.rpartition("/")[0]
        for entry in entries
        if entry.path != skill.path and derive.is_skill(session, bundle, entry.path)
    }
    return [entry for entry in entries if not is_below(entry.path, others)]


def _reverted_path(path: str, old_skill: FoundSkill, skill: FoundSkill | None) -> str:
    """Return where a file of the earlier skill is written: at the skill's present place."""
    if skill is None or old_skill.path == skill.path:
        return path
    if old_skill.folder is None:
        return skill.path
    folder = skill.folder or flat_skill_folder(skill.path)
    return folder + path[len(old_skill.folder) :]
