"""What the brain that takes something in leaves out by its own rules, or cannot hold."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from ..worktree.ignore import IgnoreRules
from .protocol import File, Notice, Step, Taking

CODE, WHY = "ignored", "left out by the rules of this brain"
Files = Iterator[tuple[str, File | None]]
"""Files of a step: paths of the brain, each with what is there."""
_Refuse = Callable[[str], tuple[str, str] | None]
"""Returns code and reason why the brain does not take a path."""


def admitted(root: Path, taking: Taking) -> Iterator[Step]:
    """Yield the steps without the files that the brain at `root`, there or not, does not take.

    A file that its rules leave out would be recorded and then, by the next scan of the folder,
    be gone. One with a name that no folder there can hold could never be written.
    """
    rules = IgnoreRules.load(root) if root.is_dir() else IgnoreRules()
    longest = _longest_name(root)

    def refuse(path: str) -> tuple[str, str] | None:
        raw = path.encode()
        if len(raw) > longest and any(len(part) > longest for part in raw.split(b"/")):
            return "name_too_long", f"a name of more than {longest} bytes"
        return (CODE, WHY) if leaves_out(rules, path) else None

    told: set[str] = set()
    for step in taking.steps:
        yield step._replace(files=_kept(refuse, step, taking, told))


def _kept(refuse: _Refuse, step: Step, taking: Taking, told: set[str]) -> Files:
    for path, file in step.files:
        why = refuse(path) if file is not None else None
        if why is None:
            yield path, file
            continue
        source = taking.placed.pop(path, path)
        if path not in told:
            told.add(path)
            taking.left.append(Notice(why[0], source, why[1]))


def _longest_name(root: Path) -> int:
    """Return how many bytes a name may have in a folder, or where it is going to be made."""
    there = next(folder for folder in (root, *root.parents) if folder.is_dir())
    return os.pathconf(there, "PC_NAME_MAX")


def leaves_out(rules: IgnoreRules, path: str) -> bool:
    """Tell whether rules leave out the file at `path`, or a folder above it."""
    parts = path.split("/")
    last = len(parts) - 1
    return any(
        rules.ignored("/".join(parts[: at + 1]), part, at < last) for at, part in enumerate(parts)
    )
