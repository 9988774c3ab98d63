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
from . import home_layout
from .brain_protocol import AdoptionBrain
from .layouts import LAYOUT_BY_KIND, HomeLayout
from .publish_manifest import ENTRY_KINDS
from .safe_read import MAX_ADOPTED_FILE_BYTES


class PlannedFile(NamedTuple):
    """A file to be published: its path there and what it is made of.

    `inside` is the slug of the skill it is part of, and the path within, "" if of none.
    `is_main` tells that it is the text of that skill, which may have to be put in form.
    """

    client_path: str
    kind: int
    info: FileInfo
    skill_path: str
    is_skill_text: bool

    @property
    def slug(self) -> str:
        """The slug of the skill, "" if there is none."""
        return self.skill_path.partition("/")[0]


class PublishPlan(NamedTuple):
    """All that is to be there, by path, and what is not, with the reason."""

    files: dict[str, PlannedFile]
    skipped: list[Notice]


def read_manifest_at(brain: AdoptionBrain, rev: str) -> Manifest:
    """Return the manifest of a revision."""
    try:
        return manifest.parse_manifest(brain.files.read(manifest.MANIFEST_PATH, rev))
    except NotFound:
        return manifest.DEFAULT_MANIFEST


def plan_publication(brain: AdoptionBrain, rev: str, target: HomeLayout) -> PublishPlan:
    """Return what the layout `target` has of a revision of a brain."""
    source = LAYOUT_BY_KIND.get(read_manifest_at(brain, rev).home)
    skills = _SkillPlacement(brain.skills.list(rev), target)
    publish_plan = PublishPlan({}, [])
    for info in brain.files.list(rev):
        if info.path in BRAIN_OWNED_FILES:
            continue
        if info.path.startswith("skills/"):
            found = skills.plan_file(info)
            why = skills.skip_reason(info)
        else:
            found = _plan_other_file(info, source, target)
            why = f"a {target.title} has no place for it"
        why = _refusal_reason(found, publish_plan) if found else why
        if found and not why:
            publish_plan.files[found.client_path] = found
        else:
            publish_plan.skipped.append(Notice("not_published", info.path, why))
    return publish_plan


def _plan_other_file(
    info: FileInfo, source: HomeLayout | None, target: HomeLayout
) -> PlannedFile | None:
    path = source.brain_path(info.path) if source else info.path
    home = home_layout.map_to_home(target.rules, path) if path else None
    return PlannedFile(home, ENTRY_KINDS[info.kind], info, "", False) if home else None


def _refusal_reason(found: PlannedFile, publish_plan: PublishPlan) -> str:
    if found.is_skill_text and found.info.kind == "link":
        return "a skill cannot be a link"
    if found.info.size > MAX_ADOPTED_FILE_BYTES:
        return f"{found.info.size} bytes; at most {MAX_ADOPTED_FILE_BYTES} are published"
    if found.client_path in publish_plan.files:
        return f"{publish_plan.files[found.client_path].info.path} goes to the same place"
    return ""


class _SkillPlacement:
    """Where the files of skills go: each skill in a folder that bears its slug."""

    def __init__(self, skills: list[Skill], target: HomeLayout) -> None:
        self._target = target
        self._main_files: dict[str, Skill] = {}
        self._folders: dict[str, Skill] = {}
        self._duplicates: dict[str, Skill] = {}
        first: dict[str, Skill] = {}
        for skill in skills:
            folder, _, name = skill.path.rpartition("/")
            known = first.setdefault(skill.slug, skill)
            if known is skill:
                self._main_files[skill.path] = skill
            else:
                self._duplicates[skill.path] = known
            if name in SKILL_FILES:
                (self._folders if known is skill else self._duplicates)[folder] = known

    def skip_reason(self, info: FileInfo) -> str:
        """Return why a file below `skills/` has no place."""
        known = next(
            (self._duplicates[at] for at in _path_and_parents(info.path) if at in self._duplicates),
            None,
        )
        if known is not None:
            return f"{printable_text(known.path)} has the same slug, {known.slug}"
        return "it belongs to no skill"

    def plan_file(self, info: FileInfo) -> PlannedFile | None:
        """Return where a file below `skills/` goes, None if it has no place."""
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
        above, _, name = info.path.rpartition("/")
        return (
            self._planned_file(info, above, name, "", False)
            if self._target.has_categories
            else None
        )

    def _planned_file(
        self, info: FileInfo, folder: str, inner: str, slug: str, is_main: bool
    ) -> PlannedFile | None:
        home = home_layout.map_to_home(self._target.rules, f"{folder}/{inner}")
        if home is None:
            return None
        inside = f"{slug}/{inner}" if slug else ""
        return PlannedFile(home, FILE if is_main else ENTRY_KINDS[info.kind], info, inside, is_main)

    def _skill_folder(self, skill: Skill) -> str:
        """Return the folder of a skill; where there are categories, it stays in its own."""
        if not self._target.has_categories:
            return f"skills/{skill.slug}"
        above, _, name = skill.path.rpartition("/")
        above = above.rpartition("/")[0] if name in SKILL_FILES else above
        return f"{above}/{skill.slug}"


def _path_and_parents(path: str) -> Iterator[str]:
    """Yield a path and the folders above it, the nearest first."""
    while path:
        yield path
        path = path.rpartition("/")[0]
