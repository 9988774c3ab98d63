"""`brain.skills`: write, read, compare and select skills."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..repo.part import Part, call_system, lazy, reads, writes

if TYPE_CHECKING:
    import builtins

    from .. import results
    from ..ops import files, log, merge_skills, similar, skills, snapshot, write_skill
    from ..repo import lookalikes, select
else:
    lazy(globals(), "ops", "files log merge_skills similar skills snapshot write_skill")
    lazy(globals(), "repo", "lookalikes select")


class SkillsPart(Part):
    """The skills of a brain.

    A `slug` may be any address, path or name of a skill, and also SKILL@VERSION where a
    method reads a skill. A name of several skills raises `InvalidInput` (`ambiguous_skill`).
    """

    upsert = writes(lambda: write_skill.upsert)
    edit = writes(lambda: write_skill.edit)
    delete = writes(lambda: write_skill.delete)
    revert = writes(lambda: write_skill.revert)
    rename = writes(lambda: write_skill.rename)
    merge = writes(lambda: merge_skills.merge)
    list = reads(lambda: skills.list_skills)
    find_addresses = reads(lambda: skills.find_addresses)
    view = reads(lambda: skills.view_skill)
    read_file = reads(lambda: skills.read_skill_file)
    history = reads(lambda: log.read_skill_history)
    survey = reads(lambda: snapshot.survey)
    check = reads(lambda: skills.check_skills)
    check_names = reads(lambda: lookalikes.check_names_at_head)
    rank = reads(lambda: select.select_skills)
    find_duplicates = reads(lambda: similar.find_duplicates)
    similar = reads(lambda: similar.find_similar)

    @staticmethod
    def read_folder(folder: str | Path) -> tuple[bytes, dict[str, bytes]]:
        """Return the text of a skill in a folder and its other files, as `upsert` takes them.

        Raises `NotFound` (`no_file`) or `InvalidInput` (`not_regular`, `too_many`, `too_large`).
        """
        return call_system(files.read_skill_folder, folder)

    def select(
        self, task: str, limit: int = 10, *, by: str = "", rev: str = "@"
    ) -> builtins.list[results.Selected]:
        """Return the skills that fit a task, best first: at most `limit`, or all if it is 0.

        `rank` also says how they were found.
        """
        return self.rank(task, limit, by=by, rev=rev).skills
