"""Check the skills of the folder against the rules, and against each other."""

from __future__ import annotations

from functools import partial

from ... import limits
from ...errors import printable_text
from ...objects.bundle import Bundle
from ...results import SkillProblem
from ...skills import deceptive_names
from ...skills.skill_lint import WARNING, check_skill
from .. import derive, find_skill, lookalikes
from ..find_skill import FoundSkill
from ..open.session import Session
from .folder_skills import FolderSkills, read_folder_skills

_MAX_NAMED_FILES = 20


def _choose_skill(
    session: Session, bundle: Bundle, every: list[FoundSkill], text: str
) -> FoundSkill:
    """Return the skill that `text` means; one that is in the folder only by slug or path."""
    exact = [found for found in every if text in (found.slug, found.path)]
    return exact[0] if len(exact) == 1 else find_skill.find_skill(session, bundle, text)


def check_skills(session: Session, texts: list[str], strict: bool) -> list[SkillProblem]:
    """Check skills of the folder, all or some, against agentskills.io.

    With `strict` by the rules of the specification, else by what clients need.
    """
    with read_folder_skills(session) as folder:
        return _check_folder_skills(session, folder, texts, strict)


def _check_folder_skills(
    session: Session, skills: FolderSkills, texts: list[str], strict: bool
) -> list[SkillProblem]:
    every = find_skill.find_all_skills(session, skills.bundle)
    chosen = [_choose_skill(session, skills.bundle, every, text) for text in texts] or every
    shared: dict[str, list[str]] = {}
    called: dict[str, list[str]] = {}
    for found in every:
        shared.setdefault(found.slug, []).append(found.path)
        skeleton = deceptive_names.name_skeleton(found.card.name or found.slug)
        called.setdefault(skeleton, []).append(found.path)
    stored = list({found.blob for found in chosen} - skills.contents.keys())
    content = dict(derive.read_skill_contents(session, stored))
    content |= {blob: text for blob, text in skills.contents.items() if text is not None}
    out: list[SkillProblem] = []
    for found in chosen:
        report = partial(SkillProblem, found.slug, found.path)
        folder = found.path.split("/")[-2] if found.folder else None
        if found.blob not in content:
            size = f"more than {limits.MAX_SKILL_BYTES} bytes"
            out.append(report("too_large", "error", 0, size))
            continue
        out += [
            report(*row) for row in check_skill(found.path, content[found.blob], folder, strict)
        ]
        others = [path for path in shared[found.slug] if path != found.path]
        if others:
            message = f"shares its slug with {', '.join(map(printable_text, others))}"
            out.append(report("duplicate_slug", "error", 0, message))
        name = found.card.name or found.slug
        namesakes = called[deceptive_names.name_skeleton(name)]
        alike = [path for path in namesakes if path != found.path]
        if alike:
            message = lookalikes.describe_same_name(name, alike[:_MAX_NAMED_FILES])
            out.append(report(lookalikes.SAME_NAME_CODE, WARNING, 0, message))
    return out
