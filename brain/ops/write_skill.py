"""Write skills: upsert, edit, delete, revert and rename, each in one snapshot.

One transaction: read the prior version from the head, raise it, record a snapshot of
these paths alone, write the files. Manual edits of these are recorded first.
Cost O(log n) in the size of the brain.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from ..digest import NO_DIGEST, blob_id
from ..errors import Conflict, InvalidInput, printable_text
from ..gating.case_paths import slug_of_case
from ..named_tuple import NamedTuple
from ..objects import operation
from ..objects.bundle import Edits
from ..objects.operation import SnapshotOperation
from ..objects.tree_node import FILE, LINK, TreeEntry
from ..repo import derive, find_skill, lineage_cache, working_copy
from ..repo.find_skill import FoundSkill, Skills
from ..repo.lineage_cache import AncestorSet
from ..repo.part import encode_body
from ..repo.session import BrainState, Session
from ..repo.transaction import WriteTransaction, locked_write_transaction
from ..repo.working_copy import is_below
from ..results import Notice, Upserted
from ..skills import SKILLS_SECTION, skill_document, skill_layout, skill_version
from ..skills.skill_document import UpdatedSkill
from ..skills.skill_metadata import TWO_HEADS, read_skill_metadata, recorded_version
from ..skills.slug import fold_to_slug, is_same_skill, slugify

if TYPE_CHECKING:
    from ..receipts import Receipt
    from .files import ContentChange, SkillFiles

UpsertCheck = Callable[[bytes | None, bytes], object]
NO_BASE_VERSION = "0"
"""The `base` of a skill that did not exist."""
_MAX_NAMED_SKILLS = 20


def upsert(
    session: Session,
    name: str,
    body: str | bytes | None = None,
    *,
    description: str | None = None,
    if_changed: bool = False,
    receipt: bytes | Receipt | None = None,
    message: str = "",
    base: str | int = "",
    category: str = "",
    target: str = "",
    check: UpsertCheck | None = None,
    files: SkillFiles | None = None,
) -> Upserted:
    """Write a skill under the slug of `name`, raise its version, and record a snapshot.

    `name` may also be the path of an existing skill, such as tools/search.
    `body` is Markdown, with or without front matter; None keeps the text of an existing
    skill, which must then differ from what its version began as. With `if_changed`, identical
    text records nothing. `receipt` documents the work behind the change: bytes are kept
    unchanged, and a `brain.receipts.Receipt` gets this write as its last step. `base` is the
    version that the new text was written for, 0 if the skill did not exist; if the skill has a
    later version, both are merged, or the write is refused. `files` are written in the same
    snapshot: contents by path in the folder of the skill, None to remove one; a flat skill
    moves into a folder. A new file that begins with #! can be executed, others keep what they
    were. `category` is the folder below skills/ for a new skill. `target` is the slug or the
    path below skills/ of the skill to write, where `name` alone is ambiguous: "c" may be the
    slug of "C++".
    `check` gets the old text (None for a new skill) and the new text, and may raise.
    Raises `InvalidInput`, or `Conflict` (`name_taken`, `stale_base`, `not_a_category`,
    `path_conflict`).
    """
    label = printable_text(name, 80) if "/" in name else slugify(name)
    with locked_write_transaction(session, "upsert", f"upsert {label}") as txn:
        if body is None and description is None and receipt is None and not (files or if_changed):
            _refuse_unchanged(txn, target or name)
        planned = plan_skill(
            txn,
            name,
            encode_body(body),
            description=description,
            if_changed=if_changed,
            base=str(base),
            category=category,
            target=target,
            files=files or {},
        )
        slug, path, prior_text, new, _ = planned
        if new is None:
            card = Skills(txn.state).load(path).card
            shown, version = card.name or slug, card.version
            return upsert_result(txn, slug, shown, version, version, path, changed=False)
        if check is not None:
            check(prior_text, new.content)
        shown = "" if "/" in name else name
        return write_planned(txn, planned, None, message, receipt, shown)


def _refuse_unchanged(txn: WriteTransaction, text: str) -> None:
    """Refuse to raise the version of a skill that is what it was when that version was made."""
    from .log import find_skill_at_version

    skill = Skills(txn.state).find_or_none(text)
    if skill is None:
        return
    txn.record_edits_below([skill.folder or skill.path])
    skill = Skills(txn.state).load(skill.path)
    made_in, made = find_skill_at_version(txn.session, txn.head, skill.path, skill.card.version)
    old = _list_own_entries(txn.session.state_of(made_in), made)
    if old == _list_own_entries(txn.state, skill):
        place = printable_text(str(txn.session.root / skill.path))
        raise InvalidInput(
            f"nothing changed in {skill.slug} since its version {skill.card.version}",
            code="no_content",
            hint="give the text with -f FILE (- is standard input), or a description with -d TEXT;"
            f" any program may edit {place}",
        )


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


def plan_skill(
    txn: WriteTransaction,
    name: str,
    body: bytes | None = None,
    *,
    description: str | None = None,
    if_changed: bool = False,
    base: str = "",
    category: str = "",
    target: str = "",
    files: SkillFiles | None = None,
) -> PlannedText:
    """Return what an upsert would write; manual edits of these files are recorded first.

    `if_changed` alone makes a plan that changes nothing. Raises as `upsert`.
    """
    target = target or (name if "/" in name else "")
    slug, path, prior_text = _locate_prior_text(txn, name, target, category)
    if prior_text is None and body is None and not (description or "").strip():
        raise InvalidInput(
            f"a new skill, {slug}, needs a body or a description",
            code="no_content",
            hint="give the text with -f FILE, or at least a description with -d TEXT",
        )
    edits: Edits = {}
    main = path
    if files:
        from .files import plan_skill_files

        main, edits = plan_skill_files(txn, path, files)
    if (
        if_changed
        and prior_text is not None
        and not edits
        and skill_document.is_noop(prior_text, description, body)
    ):
        return PlannedText(slug, path, prior_text, None, {})
    draft = partial(
        skill_document.upsert_document,
        name=slug if "/" in name else name,  # a name has no slash: this is a path
        slug=slug,
        description=description,
        body=body,
    )
    if prior_text is None:
        if base not in ("", NO_BASE_VERSION):
            raise Conflict(
                f"{slug} was removed after version {base}",
                code="stale_base",
                hint=f"see `brain log {slug}`; without a base it is created again",
            )
        new = draft(None, find_last_version(txn, slug))
        return PlannedText(slug, main, None, new, edits)
    if base:
        version = Skills(txn.state).load(path).card.version
        if base != version:
            new = _rebase(txn, path, prior_text, version, base, draft, files or {})
            return PlannedText(slug, main, prior_text, new, edits)
    try:
        new = raise_version(txn, slug, path, draft(prior_text, None))
    except InvalidInput as error:
        if not body and error.message.startswith("line "):  # of the recorded text
            error.message = f"{printable_text(path)}, {error.message}"
        raise
    return PlannedText(slug, main, prior_text, new, edits)


def write_planned(
    txn: WriteTransaction,
    planned: PlannedText,
    kind: SnapshotOperation | None,
    message: str,
    receipt: bytes | Receipt | None,
    name: str = "",
) -> Upserted:
    """Record a planned text with its files, as one snapshot of the operation `kind`.

    `name` is the one that the writer gave.
    """
    slug, path, prior_text, new, edits = planned
    if new is None:
        raise AssertionError("a plan that changes nothing is not written")
    upserted = record_skill(txn, slug, path, new, message, edits, kind, receipt)
    if (
        prior_text is not None
        and read_skill_metadata(prior_text, "").name == read_skill_metadata(new.content, "").name
    ):
        return upserted
    from ..repo import lookalikes

    notices = lookalikes.check_new_name(txn.state, path, name or slug)
    if prior_text is None and not path.startswith(f"{SKILLS_SECTION}/"):
        folder = skill_layout.new_skill_folder([path])
        where = f"is in {printable_text(folder)}, as all other skills of this brain are"
        notices = [*notices, Notice("skill_folder", path, where)]
    return upserted._replace(notices=[*upserted.notices, *notices])


def _locate_prior_text(
    txn: WriteTransaction, name: str, target: str, category: str = ""
) -> tuple[str, str, bytes | None]:
    """Return a skill's slug, its present or future path, and its text with manual edits.

    Without a `target`, a name is refused that has the slug of another one ("C++" and "C#").
    """
    session, text = txn.session, target or name
    slug = "" if "/" in name else slugify(name)
    path = Skills(txn.state).find_path(text)
    if path is None and "/" in target:
        error = Skills(txn.state).missing_error(target)
        error.hint = f"the name of a new skill has no slash, as in csv-cleanup; {error.hint}"
        raise error
    prior_text = None if path is None else working_copy.read_if_unchanged(txn.state, path)
    if path is None or prior_text is None:
        candidate_paths = find_skill.find_candidate_paths(session, slug) if path is None else [path]
        if category and path is None:
            candidate_paths.append(_choose_path(txn, slug, category))
        txn.record_edits_at(candidate_paths)
        skill = Skills(txn.state).find_or_none(text)
        if skill is None:
            path = _choose_path(txn, slug, category)
            working_copy.refuse_unsafe_parents(session, path)
            return slug, path, None
        path, prior_text = skill.path, session.reader.read_blob(skill.blob)
    slug = derive.slug_from_full_path(path)
    if target:
        return slug, path, prior_text
    # A skill made from a name alone has its slug as name and that name as title: then the title is
    # its name. A skill whose names lead to another slug is found by its path, too.
    names = skill_document.read_declared_names(prior_text)
    declared = {name for name in names - {slug} if fold_to_slug(name) == slug} or names | {slug}
    if not any(is_same_skill(name, other) for other in declared):
        other = min(declared)
        raise Conflict(
            f"'{name}' has the slug of another skill, '{other}'",
            code="name_taken",
            hint=f"write to it by its own name, '{printable_text(other)}', or choose another name",
        )
    return slug, path, prior_text


def _choose_path(txn: WriteTransaction, slug: str, category: str) -> str:
    from ..repo.manifest import load_manifest

    session = txn.session
    folder = derive.find_new_skill_folder(txn.state)
    layout = load_manifest(session).layout if folder == SKILLS_SECTION else "directory"
    above = f"{folder}/{slugify(category)}" if category else folder
    path = f"{above}/{skill_layout.new_skill_path(slug, layout)}"
    home = path.rpartition("/")[0]
    if home != above and any(
        derive.is_skill(txn.state, entry.path) for entry in txn.state.walk_below(home)
    ):  # a folder of skills, which would belong to the new one
        path = f"{home}/{path[len(above) + 1 :]}"
    if category and any(txn.state.has(f"{above}/{name}") for name in skill_layout.SKILL_FILES):
        raise Conflict(
            f"{category} is a skill itself, and no category",
            code="not_a_category",
            hint="choose another category, or none",
        )
    return path


def _rebase(
    txn: WriteTransaction,
    path: str,
    prior_text: bytes,
    version: str,
    base: str,
    draft: Callable[[bytes, None], UpdatedSkill],
    files: SkillFiles,
) -> UpdatedSkill:
    """Merge a text written for the version `base` into the skill at `version`, as branches are.

    Raises `NotFound` (`no_version`), or `Conflict` (`stale_base`) if a person must decide.
    """
    session, slug = txn.session, derive.slug_from_full_path(path)
    view = f"`brain skill view {slug}`"
    if base == NO_BASE_VERSION:
        raise Conflict(
            f"{slug} exists by now, at version {version}",
            code="stale_base",
            hint=f"read it with {view}, and write to its text",
        )
    from ..merging import content_merge, skill_merge
    from .log import find_skill_at_version

    base_snapshot, base_skill = find_skill_at_version(session, txn.head, slug, base)
    if files:  # these are not merged
        skill = Skills(txn.state).load(path)
        sides = (session.state_of(base_snapshot), base_skill), (txn.state, skill)
        then, now = (
            {
                entry.path.removeprefix(owner.folder or ""): entry.blob
                for entry in Skills(state).entries(owner)
            }
            for state, owner in sides
        )
        for file, content in files.items():
            wanted = None if content is None else blob_id(content)
            if now.get(file) not in (then.get(file), wanted):
                raise Conflict(
                    f"{file} of {slug} was changed by version {version}",
                    code="stale_base",
                    hint=f"read it again with {view}, and write to its new content",
                )
    base_text = session.reader.read_blob(base_skill.blob)
    theirs = draft(base_text, None)
    merged = skill_merge.merge_skill(base_text, prior_text, theirs.content, slug)
    content = content_merge.finish_merge(content_merge.DraftMerge(merged.pieces, merged), None)
    if content is None:
        raise Conflict(
            f"{slug} is at version {version}, which changed the same lines as this text for"
            f" version {base}",
            code="stale_base",
            hint=f"read it again with {view}, and write to its new text",
        )
    return UpdatedSkill(content, merged.version, version, theirs.name)


def raise_version(txn: WriteTransaction, slug: str, path: str, new: UpdatedSkill) -> UpdatedSkill:
    """Return a new text of a skill that exists, at a version that it never had.

    The user may have restored an older text, whose version is not the last.
    """
    previous = new.previous_version or skill_version.FIRST_VERSION
    if not skill_version.is_countable(previous) or not has_had_version(txn, path, new.version):
        return new
    versions = [previous, *filter(None, [find_last_version(txn, slug)])]
    return skill_document.bump_document(new.content, skill_version.greatest_version(versions), slug)


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


def list_skill_files(txn: WriteTransaction, skill: FoundSkill) -> list[str]:
    """Return the full paths of all recorded files of a skill."""
    return [entry.path for entry in Skills(txn.state).entries(skill)]


def flat_skill_folder(path: str) -> str:
    """Return the folder, with a `/`, that a flat skill at `path` would move to."""
    return f"{path.rpartition('/')[0]}/{derive.slug_from_full_path(path)}/"


def record_skill(
    txn: WriteTransaction,
    slug: str,
    path: str,
    new: UpdatedSkill,
    message: str,
    others: Mapping[str, TreeEntry | None] | None = None,
    kind: SnapshotOperation | None = None,
    receipt: bytes | Receipt | None = None,
) -> Upserted:
    """Record a new text of a skill, and `others` of its files, as one snapshot.

    `kind` is its operation, by default an upsert. An operation of format 1 states versions of
    numbers that rise, and knows no second front matter. One that cannot becomes that of a
    snapshot, which claims nothing of versions. For a decision, raises `InvalidInput`
    (`bad_version`).
    """
    from ..repo import secrets

    kind = kind or operation.upsert_operation(slug, new.previous_version or "", new.version)
    stated = [new.version, new.previous_version or new.version]
    if kind[0] == "absorb":
        stated.append(kind[5])
    has_no_next = new.version == new.previous_version
    has_two_heads = TWO_HEADS in read_skill_metadata(new.content, "").flags
    if has_no_next or has_two_heads or not all(map(operation.is_version, stated)):
        if has_two_heads and kind[0] in operation.DECISION_KINDS:
            raise InvalidInput(
                "the text has two front matters; a skill that runs has one",
                code="bad_version",
                hint="move the fields of the first one into the second",
            )
        if kind[0] in operation.DECISION_KINDS:
            raise InvalidInput(
                f"{printable_text(new.version, 80)} is no version of a skill that runs",
                code="bad_version",
                hint="write a version of numbers into its front matter, such as 1.0.0",
            )
        old = f"{printable_text(new.previous_version, 80)} → " if new.previous_version else ""
        message = message or f"Upsert {slug}: {old}{printable_text(new.version, 80)}"
        kind = ("snapshot",)
    if isinstance(receipt, bytes):
        receipt = txn.store_tx.put_blob(receipt)
    blob = txn.store_tx.put_blob(new.content)
    txn.contents[blob] = new.content
    card = lineage_cache.build_card_row(txn.session, path, blob, new.content)
    lineage_cache.stage_cards(txn.session, [card])
    was = (others or {}).get(path) or txn.state.get(path)
    file_kind = was.kind if was and was.kind != LINK else FILE
    edits = {**(others or {}), path: TreeEntry(path, file_kind, blob, len(new.content))}
    txn.record_snapshot(edits, kind, message, receipt or NO_DIGEST)
    txn.writes.update(edits)
    notices = secrets.scan_edits(txn.session, txn.head, edits, txn.contents)
    if txn.message_was_masked:
        notices = [Notice("secret", "", secrets.MASKED_MESSAGE), *notices]
    if has_no_next:
        kept = f"keeps its version '{printable_text(new.version, 80)}', which has no next one"
        notices = [Notice("version_kept", path, kept), *notices]
    result = upsert_result(txn, slug, new.name, new.version, new.previous_version, path)
    return result._replace(notices=notices)


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
    state = txn.session.load_snapshot(txn.head).bundle
    now = skill_version.version_value(version)
    before = skill_version.version_value(previous_version) if previous_version else None
    ids = (txn.head.hex(), state.hex())
    return Upserted(slug, name, now, before, path, *ids, changed, commitment=None)


def edit(
    session: Session, slug: str, change: ContentChange, *, file: str = "", message: str = ""
) -> Upserted:
    """Replace the text of a skill, or one of its files, by `change(old)`; raise its version.

    As `files.edit`, with the new version in the same snapshot. `file` is relative to the
    folder of the skill; a flat skill moves into a folder with its first file. `slug` may
    be the path below skills/ where several skills share a slug. Raises as `files.edit`,
    and `NotFound` (`no_skill`).
    """
    with locked_write_transaction(session, "upsert", f"edit {printable_text(slug, 80)}") as txn:
        text = slug
        slug, path, prior_text = _locate_prior_text(txn, text, text)
        if prior_text is None:
            raise Skills(txn.state).missing_error(text)
        content, main = prior_text, path
        edits: Edits = {}
        if not file:
            content = change(prior_text) or b""
        else:
            from . import files

            home, edits = files.plan_skill_folder(txn, path)
            if path in edits:
                main = f"{home}/{skill_layout.SKILL_FILES[0]}"
            files.refuse_unwritable_path(session, f"{home}/{file}")
            files.refuse_skill_name(file)
            edits.update(files.apply_change(txn, f"{home}/{file}", change))
        new = skill_document.replace_document(prior_text, slug, content)
        new = raise_version(txn, slug, path, new)
        return record_skill(txn, slug, main, new, message, edits)


def delete(session: Session, slug: str, *, message: str = "") -> Upserted:
    """Remove a skill with all its files; a new one of its slug continues its versions.

    Files in its folder that are not recorded yet are recorded first, so that `undo` has them.
    Raises `NotFound` (`no_skill`), or `Conflict` (`holds_skills`) if other skills are in
    folders below its own.
    """
    with locked_write_transaction(session, "delete", f"delete {printable_text(slug, 80)}") as txn:
        skill = Skills(txn.state).find(slug)
        txn.record_edits_below([skill.folder or skill.path])
        skill = Skills(txn.state).find(slug)
        removed: Edits = dict.fromkeys(list_skill_files(txn, skill))
        refuse_nested_skills(txn, skill, removed)
        version = skill.card.version
        stated = recorded_version(skill.card)
        txn.record_snapshot(removed, ("delete", skill.slug, stated), message)
        txn.writes.update(removed)
        return upsert_result(txn, skill.slug, skill.card.name, version, version, skill.path)


def refuse_nested_skills(txn: WriteTransaction, skill: FoundSkill, files: Iterable[str]) -> None:
    """Refuse to remove other skills with a skill, which may be of other authors."""
    others = (path for path in files if path != skill.path)
    if nested := [path for path in others if derive.is_skill(txn.state, path)]:
        addresses = Skills(txn.state).addresses(nested)
        names = ", ".join(printable_text(addresses[path]) for path in nested[:_MAX_NAMED_SKILLS])
        raise Conflict(
            f"the folder of {skill.slug} also holds {names}",
            code="holds_skills",
            hint="delete or move these skills first",
        )


def revert(session: Session, slug: str, to_version: str | int, *, message: str = "") -> Upserted:
    """Bring a skill, with all its files, back to what it was at a version, as a new version.

    If it has another place by now, it stays there.
    Raises `NotFound` (`no_skill`, `no_version`).
    """
    from .log import find_skill_at_version

    wanted, shown = str(to_version), printable_text(slug, 80)
    with locked_write_transaction(session, "revert", f"revert {shown} to {wanted}") as txn:
        snapshot_id, old_skill = find_skill_at_version(session, txn.head, slug, wanted)
        skill = Skills(txn.state).find_or_none(slug)
        if skill is not None:
            txn.record_edits_at(list_skill_files(txn, skill))
            skill = Skills(txn.state).find(slug)
        last_version = skill.card.version if skill else find_last_version(txn, old_skill.slug)
        previous = skill_version.greatest_version(
            [last_version or old_skill.card.version, old_skill.card.version]
        )
        content = session.reader.read_blob(old_skill.blob)
        new = skill_document.bump_document(content, previous, old_skill.slug)
        new = new._replace(name=old_skill.card.name or old_skill.slug)
        path, edits = plan_reverted_files(txn, session.state_of(snapshot_id), old_skill, skill)
        message = message or f"Revert {old_skill.slug} to version {wanted}"
        return record_skill(txn, derive.slug_from_full_path(path), path, new, message, edits)


def plan_reverted_files(
    txn: WriteTransaction, state: BrainState, old_skill: FoundSkill, skill: FoundSkill | None
) -> tuple[str, Edits]:
    """Return where an earlier skill of another state is written, and the edits of its files.

    It takes the place that the skill has now, if there is one. The cases that it has now stay,
    and the skills in its folder: they are no part of a version.
    """
    edits: Edits = {}
    entries = _list_own_entries(state, old_skill)
    if skill is not None:
        present = [entry.path for entry in _list_own_entries(txn.state, skill)]
        edits = dict.fromkeys(path for path in present if not slug_of_case(path))
        entries = [entry for entry in entries if not slug_of_case(entry.path)]
    main, moved = old_skill.path, {entry.path: entry.path for entry in entries}
    if skill is not None and skill.path != old_skill.path:
        if old_skill.folder is None:
            main, moved = skill.path, dict.fromkeys(moved, skill.path)
        else:
            folder, start = skill.folder or flat_skill_folder(skill.path), len(old_skill.folder)
            main = folder + main[start:]
            moved = {path: folder + path[start:] for path in moved}
    edits.update((moved[one.path], one._replace(path=moved[one.path])) for one in entries)
    return main, edits


def _list_own_entries(state: BrainState, skill: FoundSkill) -> list[TreeEntry]:
    """Return the entries of the files of a skill, without those of skills in its folder."""
    entries = Skills(state).entries(skill)
    others = {
        entry.path.rpartition("/")[0]
        for entry in entries
        if entry.path != skill.path and derive.is_skill(state, entry.path)
    }
    return [entry for entry in entries if not is_below(entry.path, others)]


def rename(session: Session, slug: str, new_name: str, *, message: str = "") -> Upserted:
    """Move a skill with all its files to the slug of `new_name`, as its next version.

    Its history goes on, and the name in its front matter follows if it named the old slug.
    Raises `NotFound` (`no_skill`), `InvalidInput` (`bad_name`), or `Conflict` (`skill_exists`)
    if something has the new name.
    """
    if "/" in new_name:
        raise InvalidInput(
            f"'{printable_text(new_name, 80)}' is not the name of a skill",
            code="bad_name",
            hint="a renamed skill stays in its folder; give the new name alone",
        )
    new_slug = slugify(new_name)
    description = f"rename {printable_text(slug, 80)} to {new_slug}"
    with locked_write_transaction(session, "rename", description) as txn:
        # 1. Where the skill goes, which must be free.
        skill = Skills(txn.state).find(slug)
        place, _, file = skill.path.rpartition("/")
        path = f"{place}/{new_slug}.md"
        if skill.folder is not None:
            path = f"{place.rpartition('/')[0]}/{new_slug}/{file}"
        _refuse_taken_name(txn, skill, new_slug, path)
        # 2. What the user changed in its folder, so that nothing is left behind.
        txn.record_edits_below([skill.folder or skill.path])
        skill = Skills(txn.state).load(skill.path)
        # 3. Its text, at a version that neither name ever had.
        content = session.reader.read_blob(skill.blob)
        if fold_to_slug(skill.card.name) == skill.slug:
            content = skill_document.set_name(content, new_slug)
        known = [find_last_version(txn, name) for name in (skill.slug, new_slug)]
        previous = skill_version.greatest_version([skill.card.version, *filter(None, known)])
        new = skill_document.bump_document(content, previous, new_slug)
        new = new._replace(previous_version=skill.card.version)
        # 4. Its files.
        edits: Edits = {}
        for entry in Skills(txn.state).entries(skill):
            moved = path
            if entry.path != skill.path and skill.folder is not None:
                moved = f"{path.rpartition('/')[0]}/{entry.path[len(skill.folder) :]}"
            edits[entry.path] = None
            edits[moved] = entry._replace(path=moved)
        # A skill that did not exist and absorbs another one is that skill under a new name.
        kind = ("absorb", new_slug, "", new.version, skill.slug, skill.card.version)
        message = message or f"Rename {skill.slug} to {new_slug}"
        return record_skill(txn, new_slug, path, new, message, edits, kind)


def _refuse_taken_name(txn: WriteTransaction, skill: FoundSkill, slug: str, path: str) -> None:
    """Refuse a name that a skill has, or whose place in the folder holds something."""
    session = txn.session
    other = Skills(txn.state).find_path(slug)
    if other is not None or slug == skill.slug:
        raise Conflict(
            f"there is already a skill {slug}, at {other or skill.path}",
            code="skill_exists",
            hint=f"choose another name, or merge them with `brain skill merge {slug} {skill.slug}`",
        )
    place = path if skill.folder is None else path.rpartition("/")[0]
    is_recorded = any(True for _ in txn.state.walk_below(place))
    is_there = os.path.lexists(there := session.root / place)
    if is_there and skill.folder is not None and there.is_dir() and not there.is_symlink():
        # Empty folders take no place: a removed file leaves one.
        is_there = any(path.is_symlink() or not path.is_dir() for path in there.rglob("*"))
    if is_recorded or (session.has_folder and is_there):
        raise Conflict(
            f"{place} exists already",
            code="skill_exists",
            hint="choose another name, or move it away first",
        )
