"""Plan a publication: which file of the brain goes where in the client's layout."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from ..errors import NotFound, printable_text
from ..gating.case_paths import is_case_path, is_hidden_case
from ..objects import paths
from ..objects.collisions import is_safe_link_target
from ..objects.tree_node import LINK
from ..ops.import_states import BRAIN_OWNED_FILES
from ..repo import manifest
from ..repo.manifest import Manifest
from ..results import FileInfo, Notice, Skill
from ..skills.skill_layout import SKILL_FILES
from .brain_protocol import AdoptionBrain
from .layouts import LAYOUT_BY_KIND, HomeLayout
from .publish_manifest import ENTRY_KINDS
from .source_files import MAX_ADOPTED_FILE_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedFile:
    """A file to publish: its path at the client and its source.

    Of a link that is published as the file it leads to, `info` describes that file.
    `skill` is its skill, None outside of skills, and `inner` the path in the folder of the
    skill. `is_adopted` marks a file that goes where it was adopted from.
    """

    client_path: str
    info: FileInfo
    skill: Skill | None = None
    inner: str = ""
    is_adopted: bool = False

    @property
    def is_skill_text(self) -> bool:
        """True for the text of the skill itself."""
        return self.skill is not None and self.skill.path == self.info.path

    @property
    def skill_path(self) -> str:
        """The path of the skill in the brain, "" outside of skills."""
        return self.skill.path if self.skill else ""

    @property
    def folder_name(self) -> str:
        """The name of the folder of a skill at the client, for a text without one its slug."""
        folder, _, name = self.client_path.rpartition("/")
        folder_name = folder.rpartition("/")[2] if name in SKILL_FILES else ""
        return folder_name or (self.skill.slug if self.skill else "")

    @property
    def kind(self) -> int:
        """The kind of the file in the brain, as in `TreeEntry`."""
        return ENTRY_KINDS[self.info.kind]


_MAX_FOLLOWED = 8
"""Links from one to the next that publishing follows."""


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


def plan_publication(
    brain: AdoptionBrain,
    rev: str,
    target: HomeLayout,
    home_paths: Mapping[str, str],
    place: Callable[[str], str],
) -> PublishPlan:
    """Plan the publication of a revision in the layout `target`.

    `home_paths` maps paths of files that were adopted from there to where they lie, and
    `place` a path at the client to the one that it leads to.
    """
    source = LAYOUT_BY_KIND.get(read_manifest_at(brain, rev).home)
    skills = _SkillPlacement(brain.skills.list(rev), target, home_paths)
    plan = PublishPlan({}, [])
    others: list[FileInfo] = []
    files: dict[str, FileInfo] = {}
    for info in brain.files.list(rev):
        if info.path in home_paths:
            planned = skills.plan_adopted(info)
            plan.files[planned.client_path] = planned
            files[info.path] = info
        elif info.path not in BRAIN_OWNED_FILES and not _is_hidden(brain, rev, info):
            others.append(info)
            files[info.path] = info
    for info in sorted(others, key=lambda info: ENTRY_KINDS[info.kind] == LINK):
        if info.path.startswith("skills/"):
            new = skills.plan_file(info)
            reason = skills.skip_reason(info)
        else:
            new = _plan_other_file(info, source, target)
            reason = f"a {target.title} has no place for it"
        if new:
            new = replace(new, client_path=place(new.client_path))
        if new and new.kind == LINK:
            new = _plan_link(brain, rev, new, files, plan)
            if new is None:
                reason = "a link to what is no published file of this brain"
                plan.skipped.append(Notice("link_outside", info.path, reason))
                continue
        reason = _refusal_reason(new, plan) if new else reason
        if new and not reason:
            plan.files[new.client_path] = new
        else:
            plan.skipped.append(Notice("not_published", info.path, reason))
    return plan


def _is_hidden(brain: AdoptionBrain, rev: str, info: FileInfo) -> bool:
    """Tell whether a file is a held-out case, which no agent is shown."""
    return is_case_path(info.path) and is_hidden_case(
        info.path, brain.files.read_stored(info.path, rev)
    )


def _plan_link(
    brain: AdoptionBrain,
    rev: str,
    planned: PlannedFile,
    files: Mapping[str, FileInfo],
    plan: PublishPlan,
) -> PlannedFile | None:
    """Plan a link as one if it means the same at the client, else the file it leads to, or None."""
    text = brain.files.read_stored(planned.info.path, rev)
    if planned.inner and is_safe_link_target(planned.inner, text):
        return planned
    found = planned.info
    for _ in range(_MAX_FOLLOWED):
        if not is_safe_link_target(found.path, text):
            return None
        place = posixpath.join(posixpath.dirname(found.path), text.decode())
        target = files.get(posixpath.normpath(place))
        if target is None or (planned.skill and not target.path.startswith("skills/")):
            return None
        if ENTRY_KINDS[target.kind] != LINK:
            there = posixpath.join(posixpath.dirname(planned.client_path), text.decode())
            same = plan.files.get(posixpath.normpath(there))
            if not planned.inner and same and same.info.path == target.path:
                return planned
            return replace(planned, info=target._replace(path=planned.info.path))
        found, text = target, brain.files.read_stored(target.path, rev)
    return None


def _plan_other_file(
    info: FileInfo, source: HomeLayout | None, target: HomeLayout
) -> PlannedFile | None:
    path = source.brain_path(info.path) if source else info.path
    home = target.home_path(path) if path else None
    return PlannedFile(client_path=home, info=info) if home else None


def _refusal_reason(planned: PlannedFile, plan: PublishPlan) -> str:
    reason = content_refusal(planned)
    if not reason and planned.client_path in plan.files:
        return f"{plan.files[planned.client_path].info.path} has the same path at the client"
    return reason


def content_refusal(planned: PlannedFile) -> str:
    """Return why the content of a file cannot be published, "" if it can."""
    if planned.is_skill_text and planned.kind == LINK:
        return "a skill cannot be a link"
    if planned.info.size > MAX_ADOPTED_FILE_BYTES:
        return f"it has {planned.info.size} bytes; at most {MAX_ADOPTED_FILE_BYTES} are published"
    return ""


class _SkillPlacement:
    """Maps the files of skills to paths at the client.

    A skill stays where it was adopted from; each other one gets a folder named by its slug.
    """

    def __init__(
        self, skills: list[Skill], target: HomeLayout, home_paths: Mapping[str, str]
    ) -> None:
        self._target = target
        self._home_paths = home_paths
        self._main_files: dict[str, Skill] = {}
        self._folders: dict[str, Skill] = {}
        self._duplicates: dict[str, Skill] = {}
        first_by_slug: dict[str, Skill] = {}
        for skill in sorted(skills, key=lambda one: (one.path not in home_paths, _depth(one))):
            folder, _, name = skill.path.rpartition("/")
            first_skill = first_by_slug.setdefault(skill.slug, skill)
            is_published = first_skill is skill or skill.path in home_paths
            if is_published:
                self._main_files[skill.path] = skill
            else:
                self._duplicates[skill.path] = first_skill
            if name in SKILL_FILES:
                (self._folders if is_published else self._duplicates)[folder] = (
                    skill if is_published else first_skill
                )

    def skip_reason(self, info: FileInfo) -> str:
        """Return why a file below `skills/` is not published."""
        places = (info.path, *paths.folders_above(info.path))
        first_skill = next((self._duplicates[at] for at in places if at in self._duplicates), None)
        if first_skill is not None:
            return f"{printable_text(first_skill.path)} has the same slug, {first_skill.slug}"
        return "it belongs to no skill"

    def plan_adopted(self, info: FileInfo) -> PlannedFile:
        """Return the plan of a file that goes where it was adopted from."""
        home = self._home_paths[info.path]
        skill, inner = self._find_skill(info.path) or (None, "")
        return PlannedFile(client_path=home, info=info, skill=skill, inner=inner, is_adopted=True)

    def plan_file(self, info: FileInfo) -> PlannedFile | None:
        """Return the plan of a file below `skills/`, None if it has no place."""
        found = self._find_skill(info.path)
        if found is None:
            if not self._target.has_categories or self._is_duplicate(info.path):
                return None
            home = self._target.home_path(info.path)
            return PlannedFile(client_path=home, info=info) if home else None
        skill, inner = found
        folder = self._adopted_folder(skill)
        home = (
            self._target.home_path(f"{self._skill_folder(skill)}/{inner}")
            if folder is None
            else f"{folder}/{inner}".removeprefix("/")
        )
        if home is None:
            return None
        return PlannedFile(client_path=home, info=info, skill=skill, inner=inner)

    def _find_skill(self, path: str) -> tuple[Skill, str] | None:
        """Return the skill of a file to publish, and the path inside its folder."""
        main = self._main_files.get(path)
        if main is not None:
            return main, SKILL_FILES[0]
        for folder in (path, *paths.folders_above(path)):
            if folder in self._folders:
                return self._folders[folder], path[len(folder) + 1 :]
        return None

    def _is_duplicate(self, path: str) -> bool:
        return any(folder in self._duplicates for folder in (path, *paths.folders_above(path)))

    def _adopted_folder(self, skill: Skill) -> str | None:
        """Return the folder in the home that a skill was adopted from, None without one."""
        home = self._home_paths.get(skill.path)
        if home is None or skill.path.rpartition("/")[2] not in SKILL_FILES:
            return None
        return home.rpartition("/")[0]

    def _skill_folder(self, skill: Skill) -> str:
        """Return the folder of a skill, in its category if the client has categories."""
        if not self._target.has_categories:
            return f"skills/{skill.slug}"
        folder, _, name = skill.path.rpartition("/")
        folder = folder.rpartition("/")[0] if name in SKILL_FILES else folder
        return f"{folder}/{skill.slug}"


def _depth(skill: Skill) -> int:
    return skill.path.count("/")
