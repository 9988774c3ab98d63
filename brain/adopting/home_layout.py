"""The layout of a program's home: which files go where in a brain, and what is skipped.

A rule is a pair of patterns, one for the home and one for the brain. A pattern that ends in
`/` matches everything below a folder, another one a single file. A part `*` matches one part
of a path, which replaces the `*` of the other pattern. The first matching rule counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from ..errors import printable_text
from ..folder.ignore import is_ignored_by_default
from ..objects import paths
from ..ops.import_states import BRAIN_OWNED_FILES
from ..util.files import is_secret_file_name

REASON_SECRETS = "secrets"
REASON_DATABASE = "a database"
REASON_SESSIONS = "sessions, not memory"
REASON_LOGS = "logs"
REASON_CACHE = "a cache"
REASON_SETTINGS = "settings of the program"
REASON_BUNDLED = "comes with the program"
REASON_STATE = "internal state of the program"
REASON_OTHER = "not a part of a brain"
REASON_TEMPORARY = "a temporary file of the system or an editor"
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

    def reaches(self, folder: str) -> bool:
        """Tell whether a folder is one of these, above one or in one."""
        return self.leads_to(folder) or self.brain_path(folder) is not None


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
    `extra_fields`: front matter fields beyond agentskills.io that the program reads.
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
    extra_fields: frozenset[str] = frozenset()
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
        mapped = (_map_path(rule.brain_pattern, rule.home_pattern, path) for rule in self.rules)
        return next(filter(None, mapped), None)

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
        return self.skill_folders.reaches(folder) or any(
            _reaches_below(rule.home_pattern, folder) for rule in self.rules
        )

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
        return REASON_SECRETS
    return REASON_CACHE if is_folder else REASON_TEMPORARY


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
