"""Filter out the files that the adopting brain ignores or cannot hold."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from ..folder.ignore import IgnoreRules
from .source_protocol import ImportStep, Notice, SourceFile, SourceStates

IGNORED_CODE, IGNORED_REASON = "ignored", "ignored by the rules of this brain"
StepFiles = Iterator[tuple[str, SourceFile | None]]
"""Files of a step: paths of the brain with their new content, None for a removed file."""
_RefusalFunction = Callable[[str], tuple[str, str] | None]
"""Returns code and reason to skip a path, None to take it."""


def filter_ignored(root: Path, states: SourceStates) -> Iterator[ImportStep]:
    """Yield the steps without the files that the brain at `root` ignores or cannot write.

    The next scan of the folder would remove an ignored file again. `root` need not exist.
    """
    rules = IgnoreRules.load(root) if root.is_dir() else IgnoreRules()
    max_bytes = _max_name_bytes(root)

    def refuse(path: str) -> tuple[str, str] | None:
        raw = path.encode()
        if len(raw) > max_bytes and any(len(part) > max_bytes for part in raw.split(b"/")):
            return "name_too_long", f"a name of more than {max_bytes} bytes"
        return (IGNORED_CODE, IGNORED_REASON) if is_ignored(rules, path) else None

    reported: set[str] = set()
    for step in states.steps:
        yield step._replace(files=_filter_step(refuse, step, states, reported))


def _filter_step(
    refuse: _RefusalFunction, step: ImportStep, states: SourceStates, reported: set[str]
) -> StepFiles:
    for path, file in step.files:
        refusal = refuse(path) if file is not None else None
        if refusal is None:
            yield path, file
            continue
        code, reason = refusal
        source = states.source_paths.pop(path, path)
        if path not in reported:
            reported.add(path)
            states.skipped.append(Notice(code, source, reason))


def _max_name_bytes(root: Path) -> int:
    """Return the most bytes that a file name may have on the file system of `root`."""
    existing = next(folder for folder in (root, *root.parents) if folder.is_dir())
    return os.pathconf(existing, "PC_NAME_MAX")


def is_ignored(rules: IgnoreRules, path: str) -> bool:
    """Tell whether the rules ignore the file at `path` or a folder above it."""
    parts = path.split("/")
    last = len(parts) - 1
    return any(
        rules.is_ignored("/".join(parts[: at + 1]), part, at < last)
        for at, part in enumerate(parts)
    )
