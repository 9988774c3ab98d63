"""What the brain that takes something in leaves out by its own rules."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ..worktree.ignore import IgnoreRules
from .protocol import File, Notice, Step, Taking

CODE, WHY = "ignored", "left out by the rules of this brain"
Files = Iterator[tuple[str, File | None]]
"""Files of a step: paths of the brain, each with what is there."""


def outside_rules(root: Path, taking: Taking) -> Iterator[Step]:
    """Yield the steps without the files that the brain at `root` leaves out.

    Such a file would be recorded and then, by the next scan of the folder, be gone.
    """
    rules = IgnoreRules.load(root)
    told: set[str] = set()
    for step in taking.steps:
        yield step._replace(files=_kept(rules, step, taking, told))


def _kept(rules: IgnoreRules, step: Step, taking: Taking, told: set[str]) -> Files:
    for path, file in step.files:
        if file is None or not leaves_out(rules, path):
            yield path, file
            continue
        source = taking.placed.pop(path, path)
        if path not in told:
            told.add(path)
            taking.left.append(Notice(CODE, source, WHY))


def leaves_out(rules: IgnoreRules, path: str) -> bool:
    """Tell whether rules leave out the file at `path`, or a folder above it."""
    parts = path.split("/")
    last = len(parts) - 1
    return any(
        rules.ignored("/".join(parts[: at + 1]), part, at < last) for at, part in enumerate(parts)
    )
