"""Filter out the files that the adopting brain ignores or cannot hold."""

from __future__ import annotations

import os
from pathlib import Path

from ..folder.ignore import IgnoreRules
from .source_protocol import FilesRead, Notice, SourceState

IGNORED_CODE, IGNORED_REASON = "ignored", "ignored by the rules of this brain"


def filter_ignored(root: Path, state: SourceState) -> SourceState:
    """Return the state without the files that the brain at `root` ignores or cannot write.

    The next scan of the folder would remove an ignored file again. `root` need not exist.
    """
    rules = IgnoreRules.load(root) if root.is_dir() else IgnoreRules()
    max_bytes = _max_name_bytes(root)

    def filter_files() -> FilesRead:
        for path, file in state.files:
            raw = path.encode()
            if len(raw) > max_bytes and any(len(part) > max_bytes for part in raw.split(b"/")):
                refusal = "name_too_long", f"a name of more than {max_bytes} bytes"
            elif is_ignored(rules, path):
                refusal = IGNORED_CODE, IGNORED_REASON
            else:
                yield path, file
                continue
            code, reason = refusal
            source = state.source_paths.pop(path, path)
            state.skipped.notices.append(Notice(code, source, reason))

    return state._replace(files=filter_files())


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
