"""What publishing writes where: the files of a brain as the layout of a client has them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from .. import manifest
from ..actions.importing import RULING
from ..brain import Brain
from ..errors import NotFound, printable
from ..manifest import Manifest
from ..objects.entry import FILE
from ..results import FileInfo, Notice, Skill
from ..skills.layout import SKILL_FILES
from . import rules
from .layouts import BY_KIND, Layout
from .published import KINDS
from .reading import MAX_BYTES


class Planned(NamedTuple):
    """A file to be published: its path there and what it is made of.

    `inside` is the slug of the skill it is part of, and the path within, "" if of none.
    `is_main` tells that it is the text of that skill, which may have to be put in form.
    """

    home: str
    kind: int
    info: FileInfo
    inside: str
    is_main: bool

    @property
    def slug(self) -> str:
        """The slug of the skill, "" if there is none."""
        return self.inside.partition("/")[0]


class Plan(NamedTuple):
    """All that is to be there, by path, and what is not, with the reason."""

    files: dict[str, Planned]
    left: list[Notice]


def says(brain: Brain, rev: str) -> Manifest:
    """Return the manifest of a revision."""
    try:
        return manifest.parse(brain.read_file(manifest.PATH, rev))
    except NotFound:
        return manifest.DEFAULT


def plan(brain: Brain, rev: str, target: Layout) -> Plan:
    """Return what the layout `target` has of a revision of a brain."""
    source = BY_KIND.get(says(brain, rev).home)
    skills = _Skills(brain.skills(rev), target)
    made = Plan({}, [])
    for info in brain.files(rev):
        if info.path in RULING:
            continue
        if info.path.startswith("skills/"):
            found = skills.planned(info)
            why = skills.why_not(info)
        else:
            found = _beside_skills(info, source, target)
            why = f"a {target.title} has no place for it"
        why = _refusal(found, made) if found else why
        if found and not why:
            made.files[found.home] = found
        else:
            made.left.append(Notice("not_published", info.path, why))
    return made


def _beside_skills(info: FileInfo, source: Layout | None, target: Layout) -> Planned | None:
    path = source.place(info.path) if source else info.path
    home = rules.to_home(target.rules, path) if path else None
    return Planned(home, KINDS[info.kind], info, "", False) if home else None


def _refusal(found: Planned, made: Plan) -> str:
    if found.is_main and found.info.kind == "link":
        return "a skill cannot be a link"
    if found.info.size > MAX_BYTES:
        return f"{found.info.size} bytes; at most {MAX_BYTES} are published"
    if found.home in made.files:
        return f"{made.files[found.home].info.path} goes to the same place"
    return ""


class _Skills:
    """Where the files of skills go: each skill in a folder that bears its slug."""

    def __init__(self, skills: list[Skill], target: Layout) -> None:
        self._target = target
        self._main: dict[str, Skill] = {}
        self._folders: dict[str, Skill] = {}
        self._doubles: dict[str, Skill] = {}
        first: dict[str, Skill] = {}
        for skill in skills:
            folder, _, name = skill.path.rpartition("/")
            known = first.setdefault(skill.slug, skill)
            if known is skill:
                self._main[skill.path] = skill
            else:
                self._doubles[skill.path] = known
            if name in SKILL_FILES:
                (self._folders if known is skill else self._doubles)[folder] = known

    def why_not(self, info: FileInfo) -> str:
        """Return why a file below `skills/` has no place."""
        known = next((self._doubles[at] for at in _at(info.path) if at in self._doubles), None)
        if known is not None:
            return f"{printable(known.path)} has the same slug, {known.slug}"
        return "it belongs to no skill"

    def planned(self, info: FileInfo) -> Planned | None:
        """Return where a file below `skills/` goes, None if it has no place."""
        main = self._main.get(info.path)
        if main is not None:
            return self._as(info, self._folder(main), SKILL_FILES[0], main.slug, True)
        for folder in _at(info.path):
            if folder in self._doubles:
                return None
            skill = self._folders.get(folder)
            if skill is not None:
                inner = info.path[len(folder) + 1 :]
                return self._as(info, self._folder(skill), inner, skill.slug, False)
        above, _, name = info.path.rpartition("/")
        return self._as(info, above, name, "", False) if self._target.categories else None

    def _as(
        self, info: FileInfo, folder: str, inner: str, slug: str, is_main: bool
    ) -> Planned | None:
        home = rules.to_home(self._target.rules, f"{folder}/{inner}")
        if home is None:
            return None
        inside = f"{slug}/{inner}" if slug else ""
        return Planned(home, FILE if is_main else KINDS[info.kind], info, inside, is_main)

    def _folder(self, skill: Skill) -> str:
        """Return the folder of a skill; where there are categories, it stays in its own."""
        if not self._target.categories:
            return f"skills/{skill.slug}"
        above, _, name = skill.path.rpartition("/")
        above = above.rpartition("/")[0] if name in SKILL_FILES else above
        return f"{above}/{skill.slug}"


def _at(path: str) -> Iterator[str]:
    """Yield a path and the folders above it, the nearest first."""
    while path:
        yield path
        path = path.rpartition("/")[0]
