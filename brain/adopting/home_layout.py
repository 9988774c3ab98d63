"""The layout of a program's home: which files go where in a brain, and what is skipped.

A rule is a pair of patterns. A pattern that ends in `/` means all that lies below, another
one a file; a part `*` stands for one part of a path, and is carried over. The first rule
that fits counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from ..objects import paths
from ..repo.changes.import_source import BRAIN_OWNED_FILES
from ..worktree import ignore_rules

REASON_SECRETS = "secrets"
REASON_DATABASE = "a database"
REASON_SESSIONS = "sessions, not memory"
REASON_LOGS = "logs"
REASON_CACHE = "made anew when needed"
REASON_SETTINGS = "settings of the program"
REASON_BUNDLED = "comes with the program"
REASON_STATE = "what the program notes for itself"
REASON_OTHER = "not a part of a brain"
REASON_TEMPORARY = "of the system or an editor, for itself"
REASON_RULE_FILE = "the rules of another brain; copy them if they are to count in this one"


class HomeLayout(NamedTuple):
    """A home of one kind of program.

    `client` is the name that publishing knows it by, `title` is for people. `rules` say what
    is taken and where it goes. `marks` are paths, of which one is enough to know such a home
    by; of `signs`, which are weaker, it takes `needs`; one of `unless` tells that it is
    another kind. `left` says what is left out, in patterns of gitignore, and why. What lies
    beside in a folder of `owned` is named as left out too. `memory` are the files for the
    prompt, with their limits in characters, and `system` those that say who the agent is,
    both as the home has them. `in_place` tells whether skills lie where a brain looks for
    them. `keeps` are the fields of a skill, beyond those of agentskills.io, that the program
    reads. With `tops` nothing else at the top is looked at. `categories` are folders of skills.
    """

    kind: str
    client: str
    title: str
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
    kept_fields: frozenset[str] = frozenset()
    top_folders: frozenset[str] = frozenset()
    has_categories: bool = False

    def brain_path(self, path: str) -> str | None:
        """Return where the file at `path` of the home goes in a brain, None if it does not."""
        target = None if self._is_other_top(path) else map_to_brain(self.rules, path)
        return None if target is None or self.skip_reason(path) else target

    def has_rule_for(self, path: str) -> bool:
        """Tell whether a rule is about the file at `path`, though it may be left out."""
        return not self._is_other_top(path) and map_to_brain(self.rules, path) is not None

    def rule_rank(self, path: str) -> int:
        """Return the number of the rule for `path`; of two files for one place the lower counts."""
        return first_rule_index(self.rules, path)

    def may_contain(self, folder: str) -> bool:
        """Tell whether something below `folder` of the home may go into a brain."""
        return not self._is_other_top(folder) and rules_reach_below(self.rules, folder)

    def skip_reason(self, path: str) -> str:
        """Return why a file or folder is left out wherever it lies, "" if nothing says so."""
        for pattern, why in self.skipped_patterns:
            if matches_pattern(pattern, path):
                return why
        return REASON_RULE_FILE if is_rule_file(map_to_brain(self.rules, path) or "") else ""

    def _is_other_top(self, path: str) -> bool:
        return bool(self.top_folders) and path.partition("/")[0] not in self.top_folders


def is_rule_file(path: str) -> bool:
    """Tell whether a path of a brain is that of what rules it, in any spelling of its name."""
    return "/" not in path and paths.fold_name(path) in BRAIN_OWNED_FILES


def default_skip_reason(name: str, is_folder: bool) -> str:
    """Return why every brain leaves out a file or folder of a name, "" if none does."""
    if not ignore_rules.is_ignored_by_default(name, is_folder):
        return ""
    if ignore_rules.is_secret_file_name(name):
        return REASON_SECRETS
    return REASON_CACHE if is_folder else REASON_TEMPORARY


WILDCARD = "*"


class PathRule(NamedTuple):
    """Where something lies in the home of a program, and where in a brain."""

    home_pattern: str
    brain_pattern: str


def map_to_brain(rules: Sequence[PathRule], path: str) -> str | None:
    """Return where the file at `path` of the home lies in a brain, None if nowhere."""
    mapped = (_map_path(rule.home_pattern, rule.brain_pattern, path) for rule in rules)
    return next((found for found in mapped if found is not None), None)


def map_to_home(rules: Sequence[PathRule], path: str) -> str | None:
    """Return where the file at `path` of the brain lies in the home, None if nowhere."""
    mapped = (_map_path(rule.brain_pattern, rule.home_pattern, path) for rule in rules)
    return next((found for found in mapped if found is not None), None)


def first_rule_index(rules: Sequence[PathRule], path: str) -> int:
    """Return the number of the first rule for `path` of the home."""
    mapped = enumerate(_map_path(rule.home_pattern, rule.brain_pattern, path) for rule in rules)
    return next((number for number, found in mapped if found is not None), len(rules))


def rules_reach_below(rules: Sequence[PathRule], folder: str) -> bool:
    """Tell whether something below `folder` of the home may lie in a brain."""
    parts = folder.split("/")
    for rule in rules:
        pattern_parts = rule.home_pattern.removesuffix("/").split("/") if rule.home_pattern else []
        is_folder = not rule.home_pattern or rule.home_pattern.endswith("/")
        if (is_folder or len(parts) < len(pattern_parts)) and all(
            want in (WILDCARD, part) for part, want in zip(parts, pattern_parts, strict=False)
        ):
            return True
    return False


def matches_pattern(pattern: str, path: str) -> bool:
    """Tell whether a pattern in gitignore's sense, without `**`, is about `path` itself.

    One without a slash is about a name, wherever it is.
    """
    if "/" not in pattern:
        return fnmatchcase(path.rpartition("/")[2], pattern)
    pattern_parts, parts = pattern.removeprefix("/").split("/"), path.split("/")
    return len(pattern_parts) == len(parts) and all(map(fnmatchcase, parts, pattern_parts))


def _map_path(pattern: str, target: str, path: str) -> str | None:
    """Return `path`, which fits `pattern`, as it reads in the other pattern."""
    parts, pattern_parts = path.split("/"), pattern.split("/")
    below = pattern_parts.pop() if pattern_parts[-1] == "" else None
    if (
        (len(parts) <= len(pattern_parts))
        if below is not None
        else (len(parts) != len(pattern_parts))
    ):
        return None
    taken = []
    for part, want in zip(parts, pattern_parts, strict=False):
        if want == WILDCARD:
            taken.append(part)
        elif part != want:
            return None
    named = iter(taken)
    out = [next(named) if part == WILDCARD else part for part in target.split("/")]
    if below is not None:
        out = [*out[:-1], *parts[len(pattern_parts) :]]
    return "/".join(out)
