"""Derive the write steps of a receipt from what a snapshot changed.

The files of a skill are one `skill_create` step, all other files one `memory_write`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ... import limits
from ...digest import NO_DIGEST
from ...objects import bundle as bundles
from ...objects.bundle import Bundle
from ...objects.operation import SnapshotOperation
from ...objects.tree_diff import Difference
from ...objects.tree_entry import LINK, TreeEntry
from ...receipts import FileWrite, Receipt, RunStep, encode_receipt
from ...skills.skill_version import recorded_version
from ..open.session import Session
from . import skill_rows
from .skill_homes import SkillHomes


def build_edit_steps(
    session: Session,
    before: Bundle,
    after: Bundle,
    edits: Mapping[str, TreeEntry | None],
    operation: SnapshotOperation,
) -> tuple[RunStep, ...]:
    """Return the write steps of the edits of a snapshot."""
    changes = (
        Difference(path, bundles.get_entry(session.nodes, before, path), edits[path])
        for path in sorted(edits)
    )
    return build_write_steps(session, before, after, changes, operation, session.timestamp_ms())


def extend_receipt(
    session: Session,
    receipt: Receipt,
    before: Bundle,
    after: Bundle,
    edits: Mapping[str, TreeEntry | None],
    operation: SnapshotOperation,
) -> bytes:
    """Return the text of a receipt that was made elsewhere, with the steps of a snapshot.

    Its `bundle_after` is that of the snapshot, which will carry it.
    """
    more = build_edit_steps(session, before, after, edits, operation)
    return encode_receipt(
        receipt._replace(steps=receipt.steps + more, bundle_after=bundles.bundle_id(after))
    )


def build_write_steps(
    session: Session,
    before: Bundle,
    after: Bundle,
    changes: Iterable[Difference],
    operation: SnapshotOperation,
    at: int = 0,
) -> tuple[RunStep, ...]:
    """Return the steps that made the differences, which are sorted by path."""
    groups: dict[str, list[Difference]] = {}
    find_home = SkillHomes(session, (after, before)).find_home
    omitted = count = 0
    for change in changes:
        if change.before == change.after:
            continue
        count += 1
        if count > limits.MAX_RECEIPT_WRITES:
            omitted += 1
            continue
        groups.setdefault(find_home(change.path), []).append(change)
    rest = groups.pop("", [])
    out = []
    for home in sorted(groups):
        slug, writes = skill_rows.slug_from_full_path(home), _build_writes(groups[home])
        old, new = _find_skill_versions(session, before, after, home, operation)
        out.append(
            RunStep(
                kind="skill_create", at=at, name=slug, version=new, from_version=old, writes=writes
            )
        )
    if rest or omitted:
        name = rest[0].path if len(rest) == 1 and not omitted else operation[0]
        out.append(
            RunStep(
                kind="memory_write", at=at, name=name, writes=_build_writes(rest), omitted=omitted
            )
        )
    return tuple(out)


def _build_writes(changes: list[Difference]) -> tuple[FileWrite, ...]:
    return tuple(FileWrite(path, now.blob if now else NO_DIGEST) for path, _, now in changes)


def _find_skill_versions(
    session: Session, before: Bundle, after: Bundle, home: str, operation: SnapshotOperation
) -> tuple[str, str]:
    if operation[0] == "upsert" and operation[1] == skill_rows.slug_from_full_path(home):
        return operation[2], operation[3]
    return _read_skill_version(session, before, home), _read_skill_version(session, after, home)


def _read_skill_version(session: Session, bundle: Bundle, path: str) -> str:
    entry = bundles.get_entry(session.nodes, bundle, path)
    if entry is None or entry.kind == LINK or not skill_rows.is_skill(session, bundle, path):
        return ""
    return recorded_version(skill_rows.read_cards(session, [entry.blob])[entry.blob].version)
