"""Plan a publication: the client's folder and layout, and which file of the brain goes where."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from ..errors import InvalidInput, Locked, NotFound, printable_text
from ..folder.handles import FolderHandles, open_root
from ..folder.ignore import IgnoreRules
from ..folder.write import remove_temporary_files
from ..gating.case_paths import is_case_path, is_hidden_case
from ..objects import paths
from ..objects.collisions import is_safe_link_target
from ..objects.folding import fold_name
from ..objects.tree_node import LINK
from ..ops.import_states import BRAIN_OWNED_FILES
from ..repo import manifest
from ..repo.manifest import Manifest
from ..repo.session import is_brain
from ..results import FileInfo, Notice, Skill
from ..skills.skill_layout import SKILL_FILES, name_from_path
from ..skills.slug import is_valid_name, normalize_name
from ..util.files import LockTimeout, lock_file
from .brain_protocol import AdoptionBrain
from .layouts import AGENTSKILLS, CLIENT_LAYOUTS, LAYOUT_BY_KIND, HomeLayout, PathRule
from .publish_manifest import ENTRY_KINDS, file_state
from .source_files import (
    GONE_CODE,
    MAX_ADOPTED_FILE_BYTES,
    SkipFile,
    is_ignored,
    read_home_file,
    real_place,
)
from .sources import HomeReader


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedFile:
    """A file to publish: its path at the client and its source.

    Of a link that is published as the file it leads to, `info` describes that file.
    `skill` is its skill, None outside of skills, and `inner` the path in the folder of the
    skill.
    """

    client_path: str
    info: FileInfo
    skill: Skill | None = None
    inner: str = ""

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
    folder: Path,
) -> PublishPlan:
    """Plan the publication of a revision in the layout `target` into `folder`.

    `home_paths` maps paths of files that were adopted from there to where they lie.
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
        elif info.path not in BRAIN_OWNED_FILES and not (
            is_case_path(info.path)  # no agent is shown a held-out case
            and is_hidden_case(info.path, brain.files.read_stored(info.path, rev))
        ):
            others.append(info)
            files[info.path] = info
    for info in sorted(others, key=lambda info: ENTRY_KINDS[info.kind] == LINK):
        if info.path.startswith("skills/"):
            new = skills.plan_file(info)
            reason = skills.skip_reason(info)
        else:
            path = source.brain_path(info.path) if source else info.path
            home = target.home_path(path) if path else None
            new = PlannedFile(client_path=home, info=info) if home else None
            reason = f"a {target.title} has no place for it"
        if new:
            new = replace(new, client_path=real_place(folder, new.client_path))
        if new and new.kind == LINK:
            new = _plan_link(brain, rev, new, files, plan)
            if new is None:
                reason = "a link to what is no published file of this brain"
                plan.skipped.append(Notice("link_outside", info.path, reason))
                continue
        if new:
            reason = content_refusal(new)
            other = plan.files.setdefault(new.client_path, new) if not reason else new
            if other is not new:
                reason = f"{other.info.path} has the same path at the client"
        if not new or reason:
            plan.skipped.append(Notice("not_published", info.path, reason))
    return plan


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


def content_refusal(planned: PlannedFile) -> str:
    """Return why the content of a file cannot be published, "" if it can."""
    if planned.is_skill_text and planned.kind == LINK:
        return "a skill cannot be a link"
    if planned.info.size > MAX_ADOPTED_FILE_BYTES:
        return f"it has {planned.info.size} bytes; at most {MAX_ADOPTED_FILE_BYTES} are published"
    return ""


class _SkillPlacement:
    """Maps the files of skills to paths at the client.

    A skill stays where it was adopted from. Each other one gets a folder: named as its own if
    agentskills.io allows that name, else by its valid declared name, else by its slug. For a
    client that requires it, the declared name comes first.
    """

    def __init__(
        self, skills: list[Skill], target: HomeLayout, home_paths: Mapping[str, str]
    ) -> None:
        self._target = target
        self._home_paths = home_paths
        self._published: dict[str, Skill] = {}
        self._folders: dict[str, str] = {}  # names, by the paths of skills
        self._first: dict[str, Skill] = {}  # of one name, by the places of the later ones
        first_by_name: dict[str, Skill] = {}
        waiting: list[Skill] = []
        for skill in sorted(skills, key=lambda one: one.path.count("/")):
            if skill.path in home_paths:
                self._published |= dict.fromkeys(_places(skill), skill)
                name = name_from_path(home_paths[skill.path])
                first_by_name.setdefault(_folder_key(name), skill)
                if not is_valid_name(name):
                    first_by_name.setdefault(skill.slug, skill)
            else:
                waiting.append(skill)
        finders = (_own_name, _declared_name, _slug_name)
        if target.client in _REQUIRES_FOLDER_NAME:
            finders = (_declared_name, _own_name, _slug_name)
        for find_name in finders:
            for skill in waiting:
                name = "" if skill.path in self._folders else find_name(skill)
                if not name:
                    continue
                first = first_by_name.setdefault(_folder_key(name), skill)
                if first is skill:
                    self._folders[skill.path] = name
                    self._published |= dict.fromkeys(_places(skill), skill)
                else:
                    self._first |= dict.fromkeys(_places(skill), first)
        for place in self._published:
            self._first.pop(place, None)

    def skip_reason(self, info: FileInfo) -> str:
        """Return why a file below `skills/` is not published."""
        for place in (info.path, *paths.folders_above(info.path)):
            if place in self._first:
                first = self._first[place]
                return f"{printable_text(first.path)} has the same slug, {first.slug}"
        return "it belongs to no skill"

    def plan_adopted(self, info: FileInfo) -> PlannedFile:
        """Return the plan of a file that goes where it was adopted from."""
        home = self._home_paths[info.path]
        skill, inner = self._find_skill(info.path)
        return PlannedFile(client_path=home, info=info, skill=skill, inner=inner)

    def plan_file(self, info: FileInfo) -> PlannedFile | None:
        """Return the plan of a file below `skills/`, None if it has no place.

        A skill gets a folder in its category, if the client has categories.
        """
        skill, inner = self._find_skill(info.path)
        if skill is None:
            places = (info.path, *paths.folders_above(info.path))
            if not self._target.has_categories or not self._first.keys().isdisjoint(places):
                return None
            home = self._target.home_path(info.path)
            return PlannedFile(client_path=home, info=info) if home else None
        category, _, name = skill.path.rpartition("/")
        if name in SKILL_FILES:
            category = category.rpartition("/")[0]
            adopted = self._home_paths.get(skill.path)
        else:
            adopted = None
        if adopted is None:
            section = category if self._target.has_categories else "skills"
            home = self._target.home_path(f"{section}/{self._folders[skill.path]}/{inner}")
        else:
            home = f"{adopted.rpartition('/')[0]}/{inner}".removeprefix("/")
        if home is None:
            return None
        return PlannedFile(client_path=home, info=info, skill=skill, inner=inner)

    def _find_skill(self, path: str) -> tuple[Skill | None, str]:
        """Return the skill of a file to publish, and the path inside its folder."""
        for place in (path, *paths.folders_above(path)):
            skill = self._published.get(place)
            if skill is not None:
                return skill, SKILL_FILES[0] if skill.path == path else path[len(place) + 1 :]
        return None, ""


_REQUIRES_FOLDER_NAME = frozenset(("agentskills", "opencode"))
"""Clients whose documentation requires the name of its folder as the name of a skill."""


def find_other_names(files: Iterable[PlannedFile], target: HomeLayout) -> list[Notice]:
    """Return notices of skills whose names the client does not accept."""
    if target.client not in _REQUIRES_FOLDER_NAME:
        return []
    return [
        Notice(
            "name_not_folder",
            planned.client_path,
            f"its name is {printable_text(planned.skill.name)}; {target.client} requires that of "
            "its folder",
        )
        for planned in files
        if planned.skill is not None
        and planned.is_skill_text
        and normalize_name(planned.skill.name) != normalize_name(planned.folder_name)
    ]


def _places(skill: Skill) -> tuple[str, ...]:
    folder, _, name = skill.path.rpartition("/")
    return (skill.path, folder) if name in SKILL_FILES else (skill.path,)


def _folder_key(name: str) -> str:
    """Return a key that names share which one folder, or one client, cannot tell apart."""
    return fold_name(normalize_name(name))


def _own_name(skill: Skill) -> str:
    name = name_from_path(skill.path)
    return name if is_valid_name(name) else ""


def _declared_name(skill: Skill) -> str:
    return skill.name if is_valid_name(skill.name) else ""


def _slug_name(skill: Skill) -> str:
    return "" if _own_name(skill) else skill.slug


PUBLISH_CLIENTS = (*(name for name, found in CLIENT_LAYOUTS.items() if found), "agentskills")
_BARE_SKILLS = replace(AGENTSKILLS, kind="agentskills", rules=(PathRule("", "skills/"),))


def client_layout(client: str, folder: Path) -> HomeLayout:
    """Return the layout of a client in a folder, which need not exist.

    Most clients have homes and projects, OpenClaw has a state folder and workspaces. A folder
    with the name of a home is a home; another folder is one if adoption would detect it as
    one. The client `agentskills` gets its skills in `skills/` if that exists, else directly in
    the folder. Raises `InvalidInput` (`bad_client`).
    """
    if client == "agentskills":
        return AGENTSKILLS if (folder / "skills").is_dir() else _BARE_SKILLS
    found = CLIENT_LAYOUTS.get(client)
    if not found:
        raise InvalidInput(
            f"there is no client {client}",
            code="bad_client",
            hint=f"use one of: {', '.join(PUBLISH_CLIENTS)}",
        )
    home, project = found[0], found[-1]
    if home.is_home(folder):
        return home
    as_home, as_project = HomeReader(home).detect(folder), HomeReader(project).detect(folder)
    is_home = as_home and (as_project is None or as_home.confidence >= as_project.confidence)
    return home if is_home else project


def layout_by_kind(kind: str, folder: Path) -> HomeLayout | None:
    """Return the layout for publishing into a folder as `kind`, None if there is none."""
    if kind == _BARE_SKILLS.kind:
        return client_layout(kind, folder)
    candidates = chain(*CLIENT_LAYOUTS.values())
    return next((layout for layout in candidates if layout.kind == kind), None)


def refuse_own_folder(root: Path, folder: Path, layout: HomeLayout) -> None:
    """Refuse a folder whose published files the brain at `root` would record.

    Raises `InvalidInput` (`own_folder`).
    """
    root, target = root.resolve(), folder.resolve()
    if not target.is_relative_to(root):
        return
    inside = target.relative_to(root)
    if target == root:
        refused, hint = layout.in_place, "the client reads the files of the brain as they are"
    else:
        recorded = not is_ignored(IgnoreRules.load(root), f"{inside.as_posix()}/x")
        refused = recorded or any(map(paths.is_reserved_name, inside.parts))
        hint = "name a folder outside of it, or one that .brainignore ignores"
    if refused:
        place = "is" if target == root else "is inside"
        raise InvalidInput(
            f"{folder} {place} the folder of this brain",
            code="own_folder",
            hint=hint,
        )


@contextmanager
def hold_publish_lock(folder: Path) -> Iterator[None]:
    """Lock a folder, created if missing, against other publications during the block.

    A created folder that stays empty is removed. Raises `Locked` at once if another
    publication is running. On file systems without locks it continues without one.
    """
    created = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    with open_root(folder) as handle, ExitStack() as stack:
        try:
            stack.enter_context(lock_file(handle, 0, "ignore"))
        except LockTimeout:
            raise Locked(
                f"another publication is running in {folder}",
                hint="wait until it ends, and try again",
            ) from None
        try:
            yield
        finally:
            with suppress(OSError):  # it has files, as it should
                for path in created:
                    path.rmdir()


def clear_leftovers(folder: Path, root: Path, published: Iterable[str]) -> None:
    """Remove temporary files that killed publications of the brain at `root` left.

    Nothing is removed if the folder belongs to another brain, which may be writing there.
    """
    folder, root = folder.resolve(), root.resolve()
    brains = {path for path in (folder, *folder.parents) if is_brain(path)}
    if brains <= {root} - {folder}:
        remove_temporary_files(folder, published)


def read_states(folder: Path, paths: Iterable[str]) -> dict[str, str]:
    """Return the states of the files at some paths of a folder, "" where there is none."""
    if not folder.is_dir():
        return dict.fromkeys(paths, "")
    with open_root(folder) as fd, closing(FolderHandles(fd)) as folders:
        return {path: _read_state(folders, path) for path in paths}


def _read_state(folders: FolderHandles, path: str) -> str:
    try:
        return file_state(read_home_file(folders, path))
    except SkipFile as error:
        return "" if error.code == GONE_CODE else error.code
