"""Look up which versions a skill has had in the lineage of the head."""

from __future__ import annotations

from ...skills import skill_version
from ..core.transaction import WriteTransaction
from ..read import lineage_cache, skill_lookup
from ..read.ancestor_set import AncestorSet


def has_had_version(txn: WriteTransaction, path: str, number: str) -> bool:
    """Tell whether the skill at a path bore a version before, in the lineage of the head."""
    ancestors = AncestorSet(txn.session, txn.head)
    rows = lineage_cache.read_skill_rows(txn.session, path, number)
    return any(row.version == number and row.snapshot in ancestors for row in rows)


def find_last_version(txn: WriteTransaction, slug: str) -> str | None:
    """Return the greatest version that a skill of that slug ever had in the lineage.

    The latest is not enough: a merge may have kept a removal and left greater versions behind.
    """
    ancestors = AncestorSet(txn.session, txn.head)
    versions = [
        row.version
        for path in skill_lookup.find_paths_in_lineage(txn.session, ancestors, slug)
        for row in lineage_cache.read_skill_rows(txn.session, path)
        if row.snapshot in ancestors
    ]
    return skill_version.greatest_version(versions) if versions else None
