"""JSON Schemas (draft 2020-12) of everything exchanged, one file a kind.

What `brain … --json` prints has the name of the command (`status`, `skill-upsert`),
what it prints to stderr is `error`. `manifest`, `frontmatter`, `trust`, `proof`,
`evidence` and `receipt` describe files. `python -m brain.chain.check` prints what
`brain verify FILE` does.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parent
_SHARED = "defs"


def names() -> list[str]:
    """Return the names of all schemas, sorted."""
    return sorted(path.stem for path in _FOLDER.glob("*.json") if path.stem != _SHARED)


def load(name: str) -> dict[str, Any]:
    """Return the schema `name` in one piece: the shared definitions are embedded in it.

    Raises `KeyError` if there is none of that name.
    """
    if name not in names():
        raise KeyError(name)
    schema = _read(name)
    shared = _read(_SHARED)
    return {**schema, "$defs": {_SHARED: shared}}


def _read(name: str) -> dict[str, Any]:
    text = (_FOLDER / f"{name}.json").read_text("utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema
