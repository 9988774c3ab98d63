"""The files of a skill, and the write of a new text of it as one snapshot."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ...digest import NO_DIGEST
from ...errors import InvalidInput, printable_text
from ...objects import bundle as bundles
from ...objects import operation
from ...objects.operation import SnapshotOperation
from ...objects.tree_node import FILE, LINK, TreeEntry
from ...results import Notice, Upserted
from ...skills import skill_version
from ...skills.skill_document import UpdatedSkill
from .. import derive, lineage_cache
from ..core import working_copy
from ..core.transaction import WriteTransaction
from ..find_skill import FoundSkill, list_skill_entries

if TYPE_CHECKING:
    from ...receipts import Receipt


def list_skill_files(txn: WriteTransaction, skill: FoundSkill) -> list[str]:
    """Return the full paths of all recorded files of a skill."""
    return [entry.path for entry in list_skill_entries(txn.session, txn.bundle, skill)]


def flat_skill_folder(path: str) -> str:
    """Return the folder, with a `/`, that a flat skill at `path` would move to."""
    return f"{path.rpartition('/')[0]}/{derive.slug_from_full_path(path)}/"


def record_edits_at(txn: WriteTransaction, paths: Iterable[str]) -> None:
    """Record what the user changed in the folder at `paths`, before anything else."""
    edits = working_copy.store_edits_at(txn.session, txn.store_tx, txn.bundle, list(paths))
    txn.record_manual_edits(edits)


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
    from ..core import secret_scan

    if isinstance(receipt, bytes):
        receipt = txn.store_tx.put_blob(receipt)
    evidence = receipt or NO_DIGEST
    kind = kind or operation.upsert_operation(slug, new.previous_version or "", new.version)
    upserted = record_skill(txn, slug, path, new, kind, message, others, evidence)
    notices = secret_scan.masked_message_notices(txn.message_was_masked)
    notices += secret_scan.scan_skill(txn.session, txn.head, path, new.content)
    if others:
        notices += secret_scan.scan_edits(txn.session, txn.head, others)
    if new.version == new.previous_version:
        kept = f"keeps its version {printable_text(new.version, 80)!r}, which has no next one"
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
