"""Delete a skill, or revert it to an earlier version, in one snapshot."""

from __future__ import annotations

from collections.abc import Iterable

from ...errors import Conflict, printable_text
from ...gating.case_paths import slug_of_case
from ...objects import operation
from ...objects.bundle import Bundle, Edits
from ...objects.tree_node import TreeEntry
from ...results import Upserted
from ...skills import skill_document, skill_version
from .. import derive, find_skill
from ..core.transaction import WriteTransaction, locked_write_transaction
from ..core.working_copy import is_below
from ..find_skill import FoundSkill, list_skill_entries
from ..open.session import Session
from .next_version import find_last_version
from .skill_files import (
    flat_skill_folder,
    list_skill_files,
    record_edits_at,
    record_upsert,
    upsert_result,
)

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
    from ...ops.log import find_skill_at_version

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
