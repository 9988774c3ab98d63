"""Plan a publication: which file of the brain goes where in the client's layout."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..errors import NotFound, printable_text
from ..objects.tree_entry import FILE
from ..repo.changes.import_source import BRAIN_OWNED_FILES
from ..repo.open import manifest
from ..repo.open.manifest import Manifest
from ..results import FileInfo, Notice, Skill
from ..skills.skill_layout import SKILL_FILES
from .brain_protocol import AdoptionBrain
from .layouts import LAYOUT_BY_KIND, HomeLayout
from .publish_manifest import ENTRY_KINDS
from .safe_read import MAX_ADOPTED_FILE_BYTES


class PlannedFile(NamedTuple):
    """A file to publish: its path at the client and its source.

    `skill_path` is the slug of its skill and the path inside it, "" outside of skills.
    `is_skill_text` marks the text of the skill itself, which is rendered for the client.
    """

    client_path: str
    kind: int
    info: FileInfo
    skill_path: str
    is_skill_text: bool

    @property
    def slug(self) -> str:
        """The slug of the skill, "" outside of skills."""
        return self.skill_path.partition("/")[0]


class PublishPlan(NamedTuple):
    """The files to publish, by path at the client, and the skipped ones with the reason."""

    files: dict[str, PlannedFile]
    skipped: list[Notice]


def read_manifest_at(brain: AdoptionBrain, rev: str) -> Manifest:
    """Return the manifest of a revision."""
    try:
        return manifest.parse_manifest(brain.files.read(manifest.MANIFEST_PATH, rev))
    except NotFound:
        return manifest.DEFAULT_MANIFEST


def plan_publication(brain: AdoptionBrain, rev: str, target: HomeLayout) -> PublishPlan:
    """Plan the publication of a revision in the layout `target`."""
    source = LAYOUT_BY_KIND.get(read_manifest_at(brain, rev).home)
    skills = _SkillPlacement(brain.skills.list(rev), target)
    plan = PublishPlan({}, [])
    for info in brain.files.list(rev):
        if info.path in BRAIN_OWNED_FILES:
            continue
        if info.path.startswith("skills/"):
            planned = skills.plan_file(info)
            reason = skills.skip_reason(info)
        else:
            planned = _plan_other_file(info, source, target)
            reason = f"a {target.title} has no place for it"
        reason = _refusal_reason(planned, plan) if planned else reason
        if planned and not reason:
            plan.files[planned.client_path] = planned
        else:
            plan.skipped.append(Notice("not_published", info.path, reason))
    return plan


def _plan_other_file(
    info: FileInfo, source: HomeLayout | None, target: HomeLayout
) -> PlannedFile | None:
    path = source.brain_path(info.path) if source else info.path
    home = target.home_path(path) if path else None
    return PlannedFile(home, ENTRY_KINDS[info.kind], info, "", False) if home else None


def _refusal_reason(planned: PlannedFile, plan: PublishPlan) -> str:
    if planned.is_skill_text and planned.info.kind == "link":
        return "a skill cannot be a link"
    if planned.info.size > MAX_ADOPTED_FILE_BYTES:
        return f"{planned.info.size} bytes; at most {MAX_ADOPTED_FILE_BYTES} are published"
    if planned.client_path in plan.files:
        return f"{plan.files[planned.client_path].info.path} has the same path at the client"
    return ""


class _SkillPlacement:
    """Maps the files of skills to paths at the client: each skill to a folder named by its slug."""

    def __init__(self, skills: list[Skill], target: HomeLayout) -> None:
        self._target = target
        self._main_files: dict[str, Skill] = {}
        self._folders: dict[str, Skill] = {}
        self._duplicates: dict[str, Skill] = {}
        first_by_slug: dict[str, Skill] = {}
        for skill in skills:
            folder, _, name = skill.path.rpartition("/")
            first_skill = first_by_slug.setdefault(skill.slug, skill)
            if first_skill is skill:
                self._main_files[skill.path] = skill
            else:
                self._duplicates[skill.path] = first_skill
            if name in SKILL_FILES:
                (self._folders if first_skill is skill else self._duplicates)[folder] = first_skill

    def skip_reason(self, info: FileInfo) -> str:
        """Return why a file below `skills/` is not published."""
        first_skill = next(
            (self._duplicates[at] for at in _path_and_parents(info.path) if at in self._duplicates),
            None,
        )
        if first_skill is not None:
            return f"{printable_text(first_skill.path)} has the same slug, {first_skill.slug}"
        return "it belongs to no skill"

    def plan_file(self, info: FileInfo) -> PlannedFile | None:
        """Return the plan of a file below `skills/`, None if it has no place."""
        main = self._main_files.get(info.path)
        if main is not None:
            return self._planned_file(
                info, self._skill_folder(main), SKILL_FILES[0], main.slug, True
            )
        for folder in _path_and_parents(info.path):
            if folder in self._duplicates:
                return None
            skill = self._folders.get(folder)
            if skill is not None:
                inner = info.path[len(folder) + 1 :]
                return self._planned_file(info, self._skill_folder(skill), inner, skill.slug, False)
        parent, _, name = info.path.rpartition("/")
        return (
            self._planned_file(info, parent, name, "", False)
            if self._target.has_categories
            else None
        )

    def _planned_file(
        self, info: FileInfo, folder: str, inner: str, slug: str, is_main: bool
    ) -> PlannedFile | None:
        home = self._target.home_path(f"{folder}/{inner}")
        if home is None:
            return None
        inside = f"{slug}/{inner}" if slug else ""
        return PlannedFile(home, FILE if is_main else ENTRY_KINDS[info.kind], info, inside, is_main)

    def _skill_folder(self, skill: Skill) -> str:
        """Return the folder of a skill, in its category if the client has categories."""
        if not self._target.has_categories:
            return f"skills/{skill.slug}"
        folder, _, name = skill.path.rpartition("/")
        folder = folder.rpartition("/")[0] if name in SKILL_FILES else folder
        return f"{folder}/{skill.slug}"


def _path_and_parents(path: str) -> Iterator[str]:
    """Yield a path and the folders above it, the nearest first."""
    while path:
        yield path
        path = path.rpartition("/")[0]
