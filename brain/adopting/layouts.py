"""The layout of a program's home: which files go where in a brain, and what is skipped.

A rule is a pair of patterns, one for the home and one for the brain. A pattern that ends in
`/` matches everything below a folder, another one a single file. A part `*` matches one part
of a path, which replaces the `*` of the other pattern. The first matching rule counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from itertools import chain
from pathlib import Path
from typing import NamedTuple, TypeVar

from ..clients.client_table import Client, ClientFolder, load_clients
from ..errors import printable_text
from ..folder.ignore import is_ignored_by_default
from ..objects import paths
from ..ops.import_states import BRAIN_OWNED_FILES
from ..util.files import is_secret_file_name

REASON_DATABASE = "a database"
REASON_STATE = "internal state of the program"
REASON_OTHER = "not a part of a brain"
REASON_RULE_FILE = "the rules of another brain; copy them to apply them in this one"


class SkillFolders(NamedTuple):
    """Folders of skills, each with its place in a brain, and the folders above them."""

    places: Mapping[str, str]
    above: frozenset[str]

    @classmethod
    def build(cls, places: Mapping[str, str]) -> SkillFolders:
        """Return the folders with all those above them."""
        above = {folder for place in places for folder in paths.folders_above(place)}
        return cls(places, frozenset(above))

    def brain_path(self, path: str) -> str | None:
        """Return the path in a brain of a file in one of the folders, None for others."""
        if not self.places:
            return None
        for folder in paths.folders_above(path):
            if folder in self.places:
                return self.places[folder] + path[len(folder) :]
        return None

    def leads_to(self, folder: str) -> bool:
        """Tell whether a folder is one of these, or above one."""
        return folder in self.places or folder in self.above

    def folders_above(self, path: str) -> Iterator[str]:
        """Yield the folders above skills that `path`, which is in no skill itself, is in."""
        if self.above and self.brain_path(path) is None:
            yield from (folder for folder in paths.folders_above(path) if folder in self.above)


NO_SKILL_FOLDERS = SkillFolders({}, frozenset())


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeLayout:
    """The layout of one kind of home.

    `client`: the name for publishing; `title`: the name for people; `home_name`: that of the
    folder in the home of its user, "" for a project.
    `rules`: which files are adopted, and their paths in a brain.
    `marks`: paths of which one identifies the home; `signs`: weaker paths, of which it takes
    `min_signs`; `excluding_marks`: paths that only another kind has.
    `skipped_patterns`: what is skipped, as gitignore patterns, with the reason.
    `reported_folders`: folders whose other entries are reported as skipped, too.
    `memory`, `system`: paths in the home of the memory files for the prompt, with their
    limits in characters, and of the files that describe the agent.
    `in_place`: the home can be adopted in place, because its skills are in `skills/`.
    `skills_anywhere`: skills outside of the folders of the rules are adopted too;
    `skill_folders`: those that were found. `other_skills`: folders of skills that stay out,
    with the reason, since another one has their path in a brain. `skill_homes`: where each
    skill lies, by its folder in a brain in small letters, if several places may have it.
    `has_categories`: the program supports folders of skills.
    """

    kind: str
    client: str
    title: str
    home_name: str = ""
    rules: tuple[PathRule, ...]
    marks: tuple[str, ...]
    signs: tuple[str, ...]
    skipped_patterns: tuple[tuple[str, str], ...]
    reported_folders: tuple[str, ...] = ("",)
    min_signs: int = 2
    excluding_marks: tuple[str, ...] = ()
    memory: tuple[tuple[str, int], ...] = ()
    system: tuple[str, ...] = ()
    in_place: bool = True
    skills_anywhere: bool = False
    skill_folders: SkillFolders = NO_SKILL_FOLDERS
    other_skills: Mapping[str, str] = field(default_factory=dict)
    skill_homes: Mapping[str, str] = field(default_factory=dict)
    has_categories: bool = False

    def brain_path(self, path: str) -> str | None:
        """Return the path in a brain of the file at `path` of the home, None if skipped."""
        target = self._map_to_brain(path)
        return None if target is None or self.skip_reason(path) else target

    def home_path(self, path: str) -> str | None:
        """Return the path in the home of the file at `path` of a brain, None if it has none."""
        return next(self.home_paths(path), None)

    def home_paths(self, path: str) -> Iterator[str]:
        """Yield all paths to which the rules map the file at `path` of a brain."""
        for rule in self.rules:
            home = _map_path(rule.brain_pattern, rule.home_pattern, path)
            if home:
                yield home

    def is_home(self, folder: Path) -> bool:
        """Tell whether a folder has the name of the home of the program."""
        names = tuple(self.home_name.split("/"))
        return bool(self.home_name) and folder.parts[-len(names) :] == names

    def has_rule_for(self, path: str) -> bool:
        """Tell whether a rule matches the file at `path`, even if a pattern skips it."""
        return self._map_to_brain(path) is not None

    def rule_rank(self, path: str) -> int:
        """Return the number of the rule for `path`; of two files for one path the lower wins."""
        if self.skill_folders.brain_path(path) is not None:
            return len(self.rules)
        for number, rule in enumerate(self.rules):
            if _map_path(rule.home_pattern, rule.brain_pattern, path) is not None:
                return number
        return len(self.rules)

    def may_contain(self, folder: str) -> bool:
        """Tell whether a rule can match something below `folder` of the home."""
        skills = self.skill_folders
        if skills.leads_to(folder) or skills.brain_path(folder) is not None:
            return True
        return any(_reaches_below(rule.home_pattern, folder) for rule in self.rules)

    def skip_reason(self, path: str) -> str:
        """Return the reason to skip a file or folder, "" if there is none."""
        if self.other_skills:
            for place in (path, *paths.folders_above(path)):
                if place in self.other_skills:
                    return self.other_skills[place]
        if self.skill_homes:
            for place in paths.folders_above(paths.fold_name(self._map_to_brain(path) or "")):
                home = self.skill_homes.get(place)
                if home is not None and not path.startswith(f"{home}/"):
                    return f"a file of another skill than {printable_text(home)}"
        if self.skill_folders.leads_to(path):
            return ""
        for place in (path, *self.skill_folders.folders_above(path)):
            for pattern, reason in self.skipped_patterns:
                if _matches_pattern(pattern, place):
                    return reason
        return REASON_RULE_FILE if is_rule_file(self._map_to_brain(path) or "") else ""

    def _map_to_brain(self, path: str) -> str | None:
        found = self.skill_folders.brain_path(path)
        if found is not None:
            return found
        mapped = (_map_path(rule.home_pattern, rule.brain_pattern, path) for rule in self.rules)
        return next(filter(None, mapped), None)


def is_rule_file(path: str) -> bool:
    """Tell whether a path of a brain is one of its own rule files, in any spelling."""
    return "/" not in path and paths.fold_name(path) in BRAIN_OWNED_FILES


def default_skip_reason(name: str, is_folder: bool) -> str:
    """Return the reason why every brain ignores a name by default, "" if none does."""
    if not is_ignored_by_default(name, is_folder):
        return ""
    if is_secret_file_name(name):
        return "secrets"
    return "a cache" if is_folder else "a temporary file of the system or an editor"


WILDCARD = "*"


class PathRule(NamedTuple):
    """A pattern for paths in the home, and one for the same paths in a brain."""

    home_pattern: str
    brain_pattern: str


def _reaches_below(pattern: str, folder: str) -> bool:
    parts = folder.split("/")
    pattern_parts = pattern.removesuffix("/").split("/") if pattern else []
    is_folder = not pattern or pattern.endswith("/")
    return (is_folder or len(parts) < len(pattern_parts)) and all(
        pattern_part in (WILDCARD, part)
        for part, pattern_part in zip(parts, pattern_parts, strict=False)
    )


def _matches_pattern(pattern: str, path: str) -> bool:
    """Tell whether a gitignore pattern without `**` matches `path` itself.

    A pattern without a slash matches a name in any folder.
    """
    if "/" not in pattern:
        return fnmatchcase(path.rpartition("/")[2], pattern)
    pattern_parts, parts = pattern.removeprefix("/").split("/"), path.split("/")
    return len(pattern_parts) == len(parts) and all(map(fnmatchcase, parts, pattern_parts))


def _map_path(pattern: str, target: str, path: str) -> str | None:
    """Return `path` rewritten from `pattern` to `target`, None if `pattern` does not match."""
    parts, pattern_parts = path.split("/"), pattern.split("/")
    below = pattern_parts.pop() if pattern_parts[-1] == "" else None
    if (
        (len(parts) <= len(pattern_parts))
        if below is not None
        else (len(parts) != len(pattern_parts))
    ):
        return None
    matched = []
    for part, pattern_part in zip(parts, pattern_parts, strict=False):
        if pattern_part == WILDCARD:
            matched.append(part)
        elif part != pattern_part:
            return None
    wildcards = iter(matched)
    target_parts = [next(wildcards) if part == WILDCARD else part for part in target.split("/")]
    if below is not None:
        target_parts = [*target_parts[:-1], *parts[len(pattern_parts) :]]
    return "/".join(target_parts)


_SKIPPED_ANYWHERE = (
    ("*.sqlite*", REASON_DATABASE),
    ("*.db", REASON_DATABASE),
    ("/*.lock", REASON_STATE),
    ("/*.bak*", REASON_STATE),
)
_Item = TypeVar("_Item")
_SHARED_SKILLS = ".agents/skills/"
"""The folder of skills that every program reads in a project, as most of them do."""


def _build_layout(name: str, client: Client, folder: ClientFolder) -> HomeLayout:
    system = tuple(_path_rule(place, "").home_pattern for place in folder.instructions)
    is_project = not folder.name and folder.skills[:1] != ("skills/",)
    shared = (_SHARED_SKILLS,) if is_project and _SHARED_SKILLS not in folder.skills else ()
    rules = (
        *(_path_rule(place, "skills/") for place in (*folder.skills, *shared)),
        *(_path_rule(place, "") for place in folder.instructions),
        *(_path_rule(place, "prompts/") for place in folder.prompts),
        *(_path_rule(place, "memory/") for place in folder.memory),
    )
    return HomeLayout(
        kind=folder.kind,
        client=name,
        title=folder.title,
        home_name=folder.name,
        rules=rules,
        marks=folder.marks,
        signs=folder.signs,
        min_signs=folder.min_signs,
        excluding_marks=folder.other_marks,
        skipped_patterns=(
            *(
                (pattern, reason)
                for reason, patterns in folder.left_out.items()
                for pattern in patterns
            ),
            *_SKIPPED_ANYWHERE,
        ),
        reported_folders=folder.reported,
        memory=tuple(
            (file.path, file.max_chars) for file in folder.memory_files if file.path not in system
        ),
        system=system,
        in_place=folder.skills[:1] == ("skills/",),
        skills_anywhere=is_project,
        has_categories=client.has_categories,
    )


def _path_rule(place: str, section: str) -> PathRule:
    """Return the rule of a place; without a path in a brain it has the usual one."""
    home, _, brain = place.partition("=")
    if brain:
        return PathRule(home, brain)
    name = home.removesuffix("/").rpartition("/")[2]
    if section == "prompts/":
        return PathRule(home, f"prompts/{name}/")
    if not home.endswith("/"):
        return PathRule(home, section + name)
    return PathRule(home, section)


AGENTSKILLS = HomeLayout(
    kind="agentskills",
    client="agentskills",
    title="folder of skills",
    rules=(PathRule("skills/", "skills/"),),
    marks=(),
    signs=(),
    skipped_patterns=(
        (".hub", "where skills were installed from"),
        (".archive", "put away by the program"),
        (".curator_backups", "backups of the program"),
        ("skills/.*", REASON_STATE),
        *_SKIPPED_ANYWHERE,
    ),
    skills_anywhere=True,
)

_LETTA_RULES = (PathRule("skills/", "skills/"), PathRule("", "memory/"))
_LETTA_LIMIT = 20_000

LETTA = HomeLayout(
    kind="letta",
    client="letta",
    title="Letta MemFS",
    rules=_LETTA_RULES,
    marks=(),
    signs=("persona.md", "human.md", "MEMORY.md"),
    skipped_patterns=_SKIPPED_ANYWHERE,
    min_signs=3,
    memory=(("*.md", _LETTA_LIMIT),),
    in_place=False,
)
LETTA_SYSTEM = replace(
    LETTA,
    kind="letta-system",
    title="Letta MemFS with system/",
    signs=("system/persona.md", "system/human.md"),
    min_signs=2,
    memory=(("system/", _LETTA_LIMIT),),
)
CLIENT_LAYOUTS = {
    name: tuple(
        _build_layout(name, client, folder)
        for folder in (client.home, client.project)
        if folder is not None
    )
    for name, client in load_clients().items()
}
"""By the name of a client: the layout of its home, and that of a project or a workspace."""


def _build_project(projects: Sequence[HomeLayout]) -> HomeLayout:
    """Return the layout of a project in which several programs are used."""
    return HomeLayout(
        kind="project",
        client="project",
        title="project of several programs",
        rules=_unite(layout.rules for layout in projects),
        marks=(),
        signs=(),
        skipped_patterns=_unite(layout.skipped_patterns for layout in projects),
        reported_folders=_unite(layout.reported_folders for layout in projects),
        system=_unite(layout.system for layout in projects),
        in_place=False,
        skills_anywhere=True,
    )


def _unite(found: Iterable[tuple[_Item, ...]]) -> tuple[_Item, ...]:
    return tuple(dict.fromkeys(chain.from_iterable(found)))


PROJECT = _build_project(
    [layout for layout in chain(*CLIENT_LAYOUTS.values()) if layout.skills_anywhere]
)
HOME_LAYOUTS = (*chain(*CLIENT_LAYOUTS.values()), PROJECT, AGENTSKILLS)
LAYOUT_BY_KIND = {layout.kind: layout for layout in (*HOME_LAYOUTS, LETTA, LETTA_SYSTEM)}
