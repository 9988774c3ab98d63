"""Skills: written through one door, and read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .ledgers import Ledgers

if TYPE_CHECKING:
    from .. import results
    from ..chain.ledger_protocol import Ledger
    from ..receipts import Receipt
    from ..repo.skills.upsert import UpsertCheck


class Skills(Ledgers):
    """What an agent does with its skills."""

    def upsert_skill(
        self,
        name: str,
        body: str | bytes | None = None,
        *,
        description: str | None = None,
        if_changed: bool = False,
        receipt: bytes | Receipt | None = None,
        message: str = "",
        base: str | int = "",
        category: str = "",
        of: str = "",
        check: UpsertCheck | None = None,
        commit_to: Ledger | None = None,
    ) -> results.Upserted:
        """Write a skill under the slug of `name`, raise its version, record a snapshot.

        `body` is the Markdown text, bare or with front matter; None keeps the text
        of a skill that exists. With `if_changed` an identical save does nothing.
        `receipt` is the record of the work that taught it: bytes as they are, or a
        `brain.receipts.Receipt`, to which this step is added. `base` is the version
        the text was written for, 0 if there was no such skill: if the skill is further by
        now, both are merged, or the write refused. A new skill goes into the folder
        `category` of skills/, if one is named. `of` is the slug,
        or the path below skills/, of the skill that is meant, where more is known than
        `name`: "c" may be "C++", but the skill at "c" is no other. `check` gets the text
        before, None for a new skill, and the one to be written, and may raise. With
        `commit_to` the new snapshot is committed to that ledger; if that fails it stands
        all the same, and `commitment` says what happened.
        Raises `InvalidInput`, or `Conflict` (`name_taken`, `stale_base`, `not_a_category`).
        """
        from ..repo.skills import upsert

        request = upsert.UpsertRequest(
            name=name,
            description=description,
            body=body.encode() if isinstance(body, str) else body,
            receipt=receipt,
            message=message,
            base=str(base),
            category=category,
            of=of,
            check=check,
            if_changed=if_changed,
        )
        return self._committing(self._do(upsert.upsert_skill, request), commit_to)

    def delete_skill(self, slug: str, *, message: str = "") -> results.Upserted:
        """Remove a skill with its files. Raises `NotFound` (`no_skill`)."""
        from ..repo.skills import revert

        return self._committing(self._do(revert.delete_skill, slug, message))

    def revert_skill(self, slug: str, to_version: str, *, message: str = "") -> results.Upserted:
        """Bring a skill back to what it was at a version, as a new version.

        Raises `NotFound` (`no_skill`, `no_version`).
        """
        from ..repo.skills import revert

        return self._committing(self._do(revert.revert_skill, slug, str(to_version), message))

    def merge_skills(
        self,
        slug: str,
        other: str,
        *,
        description: str | None = None,
        body: str | bytes | None = None,
        message: str = "",
    ) -> results.SkillMergeResult:
        """Let the skill `slug` absorb the `other`, which is removed in the same snapshot.

        What the other's text has and this one's has not is taken in, and its files; or
        `body` is the new text. Both histories stay. Raises `NotFound` (`no_skill`) or
        `InvalidInput` (`same_skill`).
        """
        from ..repo.skills import merge_skills

        content = body.encode() if isinstance(body, str) else body
        wish = merge_skills.MergeSkillsRequest(slug, other, description, content, message)
        return self._committing(self._do(merge_skills.merge_skills, wish))

    def skills(self, rev: str = "@") -> list[results.Skill]:
        """Return all skills at a revision, by slug."""
        from ..repo.skills import skill_views

        return self._do(skill_views.list_skills, rev)

    def view_skill(self, slug: str, rev: str = "@") -> results.SkillView:
        """Return one skill with its text; `slug` may be SLUG@VERSION.

        Raises `NotFound` (`no_skill`, `no_version`).
        """
        from ..repo.skills import skill_views

        return self._do(skill_views.view_skill, slug, rev)

    def skill_history(self, slug: str) -> list[results.SkillVersion]:
        """Return what changed a skill, newest first. Raises `NotFound` (`no_skill`)."""
        from ..repo.history import log

        return self._do(log.read_skill_history, slug)

    def doubtful_names(self, paths: Sequence[str]) -> list[results.Notice]:
        """Return notices of skills at these paths whose names deceive, as a snapshot does."""
        from ..repo.read import lookalikes

        return self._do(lookalikes.check_names_at_head, paths)

    def check_skills(
        self, slugs: Sequence[str] = (), *, strict: bool = False
    ) -> list[results.SkillProblem]:
        """Check skills, all or the given ones, against the rules of agentskills.io.

        Without `strict` only against what clients need.
        """
        from ..repo.skills import skill_views

        return self._do(skill_views.check_skills, list(slugs), strict)
