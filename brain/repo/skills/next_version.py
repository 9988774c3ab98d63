"""Decide the next version of a skill, after all it has had in the lineage of the head."""

from __future__ import annotations

from collections.abc import Callable

from ...skills import skill_version
from ...skills.skill_document import UpdatedSkill
from .. import find_skill, lineage_cache
from ..core.transaction import WriteTransaction
from ..lineage_cache import AncestorSet


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
