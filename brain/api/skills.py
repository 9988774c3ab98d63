"""`brain.skills`: write, read, compare and select skills."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..repo.part import Part, call_system, encode_body

if TYPE_CHECKING:
    import builtins

    from .. import results
    from ..ops.files import ContentChange, SkillFiles
    from ..ops.write_skill import UpsertCheck
    from ..receipts import Receipt


class SkillsPart(Part):
    """The skills of a brain.

    A `slug` may be any address, path or name of a skill, and also SKILL@VERSION where a
    method reads a skill. A name of several skills raises `InvalidInput` (`ambiguous_skill`).
    """

    def upsert(
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
        target: str = "",
        check: UpsertCheck | None = None,
        files: SkillFiles | None = None,
    ) -> results.Upserted:
        """Write a skill under the slug of `name`, raise its version, and record a snapshot.

        `name` may also be the path of an existing skill, such as tools/search.
        `body` is Markdown, with or without front matter; None keeps the text of an existing
        skill. With `if_changed`, identical text records nothing. `receipt` documents the work
        behind the change: bytes are kept unchanged, and a `brain.receipts.Receipt` gets this
        write as its last step. `base` is the version that the new text was written for, 0 if
        the skill did not exist; if the skill has a later version, both are merged, or the write
        is refused. `files` are written in the same snapshot: contents by path in the folder of
        the skill, None to remove one; a flat skill moves into a folder. A new file that begins
        with #! can be executed, others keep what they were. `category` is the folder below
        skills/ for a new skill. `target` is the slug or the path below skills/ of
        the skill to write, where `name` alone is ambiguous: "c" may be the slug of "C++".
        `check` gets the old text (None for a new skill) and the new text, and may raise.
        Raises `InvalidInput`, or `Conflict` (`name_taken`, `stale_base`, `not_a_category`,
        `path_conflict`).
        """
        from ..ops import write_skill as upsert

        request = upsert.UpsertRequest(
            name=name,
            description=description,
            body=encode_body(body),
            receipt=receipt,
            message=message,
            base=str(base),
            category=category,
            of=target,
            check=check,
            if_changed=if_changed,
            files=files or {},
        )
        return self._locked.run_write(upsert.upsert_skill, request)

    @staticmethod
    def read_folder(folder: str | Path) -> tuple[bytes, dict[str, bytes]]:
        """Return the text of a skill in a folder and its other files, as `upsert` takes them.

        Raises `NotFound` (`no_file`) or `InvalidInput` (`not_regular`, `too_many`, `too_large`).
        """
        from ..ops.files import read_skill_folder

        return call_system(read_skill_folder, Path(folder))

    def edit(
        self, slug: str, change: ContentChange, *, file: str = "", message: str = ""
    ) -> results.Upserted:
        """Replace the text of a skill, or one of its files, by `change(old)`; raise its version.

        As `files.edit`, with the new version in the same snapshot. `file` is relative to the
        folder of the skill; a flat skill moves into a folder with its first file. `slug` may
        be the path below skills/ where several skills share a slug. Raises as `files.edit`,
        and `NotFound` (`no_skill`).
        """
        from ..ops import write_skill

        return self._locked.run_write(write_skill.edit_skill, slug, file, change, message)

    def delete(self, slug: str, *, message: str = "") -> results.Upserted:
        """Remove a skill with its files. Raises `NotFound` (`no_skill`)."""
        from ..ops import write_skill

        return self._locked.run_write(write_skill.delete_skill, slug, message)

    def revert(self, slug: str, to_version: str, *, message: str = "") -> results.Upserted:
        """Write the text of an earlier version again, as a new version.

        Raises `NotFound` (`no_skill`, `no_version`).
        """
        from ..ops import write_skill

        return self._locked.run_write(write_skill.revert_skill, slug, str(to_version), message)

    def rename(self, slug: str, new_name: str, *, message: str = "") -> results.Upserted:
        """Move a skill to another name, as its next version; its history goes on.

        Raises `NotFound` (`no_skill`), `InvalidInput`, or `Conflict` (`skill_exists`).
        """
        from ..ops import rename_skill

        return self._locked.run_write(rename_skill.rename_skill, slug, new_name, message)

    def merge(
        self,
        slug: str,
        other: str,
        *,
        description: str | None = None,
        body: str | bytes | None = None,
        message: str = "",
    ) -> results.SkillMergeResult:
        """Merge the skill `other` into `slug`, and remove it in the same snapshot.

        The text and the files that only `other` has are added; or `body` is the new text.
        Both histories stay. Raises `NotFound` (`no_skill`) or `InvalidInput` (`same_skill`).
        """
        from ..ops import merge_skills

        request = merge_skills.MergeSkillsRequest(
            slug=slug,
            absorbed_skill=other,
            description=description,
            body=encode_body(body),
            message=message,
        )
        return self._locked.run_write(merge_skills.merge_skills, request)

    def survey(self) -> results.SkillSurvey:
        """Return what skills the folder has, recorded or not, and which are left out and why.

        Raises `InvalidInput` for what a brain cannot hold.
        """
        from ..ops import snapshot

        return self._locked.run(snapshot.survey_folder)

    def list(self, rev: str = "@") -> builtins.list[results.Skill]:
        """Return all skills at a revision, sorted by slug and path."""
        from ..ops import skills

        return self._locked.run(skills.list_skills, rev)

    def find_addresses(self, slug: str, rev: str = "@") -> builtins.list[str]:
        """Return the addresses of the skills that share a slug, sorted."""
        from ..ops import skills

        return self._locked.run(skills.list_addresses, slug, rev)

    def view(self, slug: str, rev: str = "@") -> results.SkillView:
        """Return a skill with its text. Raises `NotFound` (`no_skill`, `no_version`)."""
        from ..ops import skills

        return self._locked.run(skills.view_skill, slug, rev)

    def read_file(self, slug: str, file: str = "", rev: str = "@") -> results.SkillFile:
        """Return a file of a skill, by default the file with its text, unchanged.

        Raises `NotFound` (`no_skill`, `no_version`, `no_file`) or `InvalidInput` (`too_large`).
        """
        from ..ops import skills

        return self._locked.run(skills.read_skill_file, slug, file, rev)

    def history(self, slug: str) -> builtins.list[results.SkillVersion]:
        """Return the changes of a skill, newest first. Raises `NotFound` (`no_skill`)."""
        from ..ops import log

        return self._locked.run(log.read_skill_history, slug)

    def check(
        self, slugs: Sequence[str] = (), *, strict: bool = False
    ) -> builtins.list[results.SkillProblem]:
        """Check skills, by default all, against the rules of agentskills.io.

        Without `strict`, only the rules that clients depend on.
        """
        from ..ops import skills

        return self._locked.run(skills.check_skills, [*slugs], strict)

    def check_names(self, paths: Sequence[str]) -> builtins.list[results.Notice]:
        """Return a notice for each skill at `paths` whose name looks like another one's."""
        from ..repo import lookalikes

        return self._locked.run(lookalikes.check_names_at_head, paths)

    def select(
        self, task: str, limit: int = 10, *, by: str = "", rev: str = "@"
    ) -> builtins.list[results.Selected]:
        """Return the skills that fit a task, best first: at most `limit`, or all if it is 0.

        `rank` also says how they were found.
        """
        return self.rank(task, limit, by=by, rev=rev).skills

    def rank(
        self, task: str, limit: int = 10, *, by: str = "", rev: str = "@"
    ) -> results.Selection:
        """Return the skills that fit a task, and the selector that found them.

        `by` is "keyword", "bm25", "embedding", "hybrid" (bm25 and embedding), or "" for the
        best one available: "hybrid" with an embedder, else "bm25". If the embedder fails,
        "" and "hybrid" use "bm25", and `fallback` has the reason; "embedding" raises
        `ModelError` or `InvalidInput` (`bad_embedder`, `no_key`, `key_readable`). The first
        call reads the skills of the head and keeps them. Raises `InvalidInput`
        (`bad_selector`) or `NotFound` (`no_embedder`).
        """
        from ..repo import select

        request = select.SelectionRequest(task, limit, by)
        return self._locked.run(select.select_skills, request, rev)

    def find_duplicates(
        self,
        name: str,
        description: str | None = None,
        body: str | bytes | None = None,
        limit: int = 5,
    ) -> builtins.list[results.Similar]:
        """Return the skills that a planned one would nearly duplicate, most similar first.

        The list is empty if a skill of that name exists: an upsert would improve that one.
        Raises `InvalidInput` for an invalid name.
        """
        from ..ops import similar as similar_new

        content = encode_body(body)
        return self._locked.run(similar_new.find_similar_if_new, name, description, content, limit)

    def similar(self, slug: str, limit: int = 5) -> builtins.list[results.Similar]:
        """Return the skills similar to one, most similar first. Raises `NotFound`."""
        from ..ops import similar

        return self._locked.run(similar.find_similar_to_skill, slug, limit)
