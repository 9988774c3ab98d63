"""Rebase an upsert that was written against an earlier version of the skill.

Another writer came first. What both did is merged, as branches are, so that
neither is lost; where that needs a decision the upsert is refused.
"""

from __future__ import annotations

from ...errors import Conflict
from ...merging import content_merge, document_merge
from ...merging.content_merge import DraftMerge
from ...skills import skill_document
from ..core.transaction import WriteTransaction
from ..history.log import find_skill_at_version
from .upsert import NO_BASE_VERSION, UpsertRequest


def rebase_upsert(
    txn: WriteTransaction, slug: str, prior_text: bytes, current: str, request: UpsertRequest
) -> skill_document.UpdatedSkill:
    """Return what a skill at version `current` becomes by a wish for version `wish.base`.

    Raises `NotFound` (`no_version`) or `Conflict` (`stale_base`).
    """
    if request.base == NO_BASE_VERSION:
        raise Conflict(
            f"{slug} is there by now, at version {current}",
            code="stale_base",
            hint=f"read it with `brain skill view {slug}`, and write to its text",
        )
    session = txn.session
    _, old_skill = find_skill_at_version(session, txn.head, slug, request.base)
    old = session.reader.read_blob(old_skill.blob)
    theirs = skill_document.upsert_document(
        old, None, request.name, slug, request.description, request.body
    )
    merged = document_merge.merge_skill(old, prior_text, theirs.content, slug)
    content = content_merge.finish_merge(DraftMerge(merged.pieces, merged), None)
    if content is None:
        raise Conflict(
            f"{slug} is at version {current}, which changed what was written for {request.base}",
            code="stale_base",
            hint=f"read it again with `brain skill view {slug}`, and write to its new text",
        )
    return skill_document.UpdatedSkill(content, merged.version, current, theirs.name)
