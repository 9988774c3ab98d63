"""A layout: what lies where in the home of a program, what of it a brain takes, and why not."""

from __future__ import annotations

from typing import NamedTuple

from ..actions.importing import RULING
from ..objects import paths
from ..worktree import defaults
from . import rules
from .rules import Rule

SECRETS = "secrets"
DATABASE = "a database"
SESSIONS = "sessions, not memory"
LOGS = "logs"
CACHE = "made anew when needed"
SETTINGS = "settings of the program"
BUNDLED = "comes with the program"
STATE = "what the program notes for itself"
OTHER = "not a part of a brain"
PASSING = "of the system or an editor, for itself"
RULES = "the rules of another brain; copy them if they are to count in this one"


class Layout(NamedTuple):
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
    rules: tuple[Rule, ...]
    marks: tuple[str, ...]
    signs: tuple[str, ...]
    left: tuple[tuple[str, str], ...]
    owned: tuple[str, ...] = ("",)
    needs: int = 2
    unless: tuple[str, ...] = ()
    memory: tuple[tuple[str, int], ...] = ()
    system: tuple[str, ...] = ()
    in_place: bool = True
    keeps: frozenset[str] = frozenset()
    tops: frozenset[str] = frozenset()
    categories: bool = False

    def place(self, path: str) -> str | None:
        """Return where the file at `path` of the home goes in a brain, None if it does not."""
        target = None if self._is_beside(path) else rules.to_brain(self.rules, path)
        return None if target is None or self.reason(path) else target

    def covers(self, path: str) -> bool:
        """Tell whether a rule is about the file at `path`, though it may be left out."""
        return not self._is_beside(path) and rules.to_brain(self.rules, path) is not None

    def rank(self, path: str) -> int:
        """Return the number of the rule for `path`; of two files for one place the lower counts."""
        return rules.rank(self.rules, path)

    def reaches(self, folder: str) -> bool:
        """Tell whether something below `folder` of the home may go into a brain."""
        return not self._is_beside(folder) and rules.reaches(self.rules, folder)

    def reason(self, path: str) -> str:
        """Return why a file or folder is left out wherever it lies, "" if nothing says so."""
        for pattern, why in self.left:
            if rules.matches(pattern, path):
                return why
        return RULES if is_ruling(rules.to_brain(self.rules, path) or "") else ""

    def _is_beside(self, path: str) -> bool:
        return bool(self.tops) and path.partition("/")[0] not in self.tops


def is_ruling(path: str) -> bool:
    """Tell whether a path of a brain is that of what rules it, in any spelling of its name."""
    return "/" not in path and paths.fold(path) in RULING


def usual_reason(name: str, is_folder: bool) -> str:
    """Return why every brain leaves out a file or folder of a name, "" if none does."""
    if not defaults.left_out(name, is_folder):
        return ""
    if defaults.is_secret(name):
        return SECRETS
    return CACHE if is_folder else PASSING
