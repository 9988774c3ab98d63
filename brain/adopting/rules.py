"""Rules that say which path of a program's home is which path of a brain, both ways.

A rule is a pair of patterns. A pattern that ends in `/` means all that lies below, another
one a file; a part `*` stands for one part of a path, and is carried over. The first rule
that fits counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

ANY = "*"


class Rule(NamedTuple):
    """Where something lies in the home of a program, and where in a brain."""

    home: str
    brain: str


def to_brain(rules: Sequence[Rule], path: str) -> str | None:
    """Return where the file at `path` of the home lies in a brain, None if nowhere."""
    tries = (_carried(rule.home, rule.brain, path) for rule in rules)
    return next((found for found in tries if found is not None), None)


def to_home(rules: Sequence[Rule], path: str) -> str | None:
    """Return where the file at `path` of the brain lies in the home, None if nowhere."""
    tries = (_carried(rule.brain, rule.home, path) for rule in rules)
    return next((found for found in tries if found is not None), None)


def rank(rules: Sequence[Rule], path: str) -> int:
    """Return the number of the first rule for `path` of the home."""
    tries = enumerate(_carried(rule.home, rule.brain, path) for rule in rules)
    return next((number for number, found in tries if found is not None), len(rules))


def reaches(rules: Sequence[Rule], folder: str) -> bool:
    """Tell whether something below `folder` of the home may lie in a brain."""
    parts = folder.split("/")
    for rule in rules:
        wanted = rule.home.removesuffix("/").split("/") if rule.home else []
        is_folder = not rule.home or rule.home.endswith("/")
        if (is_folder or len(parts) < len(wanted)) and all(
            want in (ANY, part) for part, want in zip(parts, wanted, strict=False)
        ):
            return True
    return False


def matches(pattern: str, path: str) -> bool:
    """Tell whether a pattern in gitignore's sense, without `**`, is about `path` itself.

    One without a slash is about a name, wherever it is.
    """
    if "/" not in pattern:
        return fnmatchcase(path.rpartition("/")[2], pattern)
    wanted, parts = pattern.removeprefix("/").split("/"), path.split("/")
    return len(wanted) == len(parts) and all(map(fnmatchcase, parts, wanted))


def _carried(pattern: str, target: str, path: str) -> str | None:
    """Return `path`, which fits `pattern`, as it reads in the other pattern."""
    parts, wanted = path.split("/"), pattern.split("/")
    below = wanted.pop() if wanted[-1] == "" else None
    if (len(parts) <= len(wanted)) if below is not None else (len(parts) != len(wanted)):
        return None
    taken = []
    for part, want in zip(parts, wanted, strict=False):
        if want == ANY:
            taken.append(part)
        elif part != want:
            return None
    named = iter(taken)
    out = [next(named) if part == ANY else part for part in target.split("/")]
    if below is not None:
        out = [*out[:-1], *parts[len(wanted) :]]
    return "/".join(out)
