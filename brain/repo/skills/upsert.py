"""Upsert a skill by its slug: write its text and files and raise its version in one snapshot.

One transaction: read the prior version from the head, raise it, record a snapshot of
these paths alone, write the files. Manual edits of these are recorded first.
Cost O(log n) in the size of the brain.
"""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from ...digest import blob_id
from ...errors import Conflict, InvalidInput, printable_text
from ...objects import bundle as bundles
from ...objects.operation import SnapshotOperation, upsert_operation
from ...results import Notice, Upserted
from ...skills import SKILLS_SECTION, skill_document, skill_layout
from ...skills.skill_document import UpdatedSkill
from ...skills.skill_metadata import read_skill_metadata
from ...skills.slug import fold_to_slug, is_same_skill, slugify
from .. import derive, find_skill
from ..core import working_copy
from ..core.transaction import WriteTransaction, locked_write_transaction
from ..find_skill import FoundSkill
from ..open.session import Session
from .next_version import build_new_version, find_last_version
from .skill_files import record_edits_at, record_upsert, upsert_result

if TYPE_CHECKING:
    from ...objects.bundle import Bundle, Edits
    from ...receipts import Receipt
    from .file_edits import SkillFiles

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
    before = txn.bundle
    upserted = record_upsert(txn, planned.slug, path, new, receipt, message, edits, kind)
    _refuse_collisions(txn, before, path, edits)
    return _add_name_notices(txn, path, prior_text, new, name or planned.slug, upserted)


def _plan_files(txn: WriteTransaction, path: str, request: UpsertRequest) -> tuple[str, Edits]:
    if not request.files:
        return path, {}
    from .file_edits import plan_skill_files

    return plan_skill_files(txn, path, request.files)


def _refuse_collisions(txn: WriteTransaction, before: Bundle, path: str, edits: Edits) -> None:
    if edits:
        from ..changes.snapshot_paths import refuse_new_collisions

        written = [file for file, entry in edits.items() if entry is not None]
        refuse_new_collisions(txn, before, [path, *written])


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
        f"{printable_text(name)!r} has the slug of another skill, {printable_text(other)!r}",
        code="name_taken",
        hint=f"write to it by its own name, {printable_text(other)!r}, or choose another name",
    )


def _choose_path(txn: WriteTransaction, slug: str, category: str) -> str:
    from .. import derive
    from ..open.manifest import load_manifest

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
            f"{printable_text(category)} is a skill itself, and no category",
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
    from .. import lookalikes

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
                f"{slug} was removed after version {printable_text(request.base)}",
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
    from ...merging import content_merge, skill_merge
    from ...ops.log import find_skill_at_version

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
            f"{printable_text(changed[0])} of {slug} was changed by version {version}",
            code="stale_base",
            hint=f"read it again with `brain skill view {slug}`, and write to its new content",
        )
