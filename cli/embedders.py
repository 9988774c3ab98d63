"""The embedder of whoever runs the command: its settings, and where its key is."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .ledgers import book
from .terminal import escape

if TYPE_CHECKING:
    from brain.selection.embedding import Embedder, Settings

KEY = "BRAIN_EMBEDDER_KEY"
"""The variable that holds the key of any endpoint."""
_OPENAI_KEY = "OPENAI_API_KEY"


def place() -> Path:
    """Return the file of the settings, beside that of the ledgers."""
    return book().with_name("embedder.json")


def opened() -> Embedder | None:
    """Open the embedder that is configured, None if none is.

    Raises `InvalidInput` (`bad_embedder`, `no_key`, `key_readable`) or `ModelError`.
    """
    file = place()
    if not file.exists():  # the usual case, without an import
        return None
    from brain.selection import embedding
    from brain.selection.embedding.settings import load, read_key

    settings = load(file)
    if settings is None:
        return None
    if settings.key_file:
        return embedding.opened(settings, read_key(settings.key_file))
    named = next((name for name in _variables(settings) if os.environ.get(name)), "")
    return embedding.opened(settings, os.environ.get(named, "").strip())


def merged(before: Settings | None, given: Mapping[str, Any]) -> Settings:
    """Return settings with what is given changed; a folder and a model take turns.

    Raises `InvalidInput` (`bad_embedder`).
    """
    from brain.ownfile import changed
    from brain.selection.embedding.settings import parse

    fields = changed(before) if before else {}
    if given.get("folder") and not given.get("model"):
        fields = {}
    elif given.get("model"):
        fields.pop("folder", None)
    new = {key: value for key, value in given.items() if value is not None}
    for name in ("key_file", "folder"):
        if new.get(name):
            new[name] = os.path.abspath(os.path.expanduser(new[name]))
    return parse({**fields, **new})


def described(settings: Settings | None) -> dict[str, Any]:
    """Return what may be shown of settings; never a key."""
    shown: dict[str, Any] = {"file": str(place())}
    if settings is None:
        return {**shown, **dict.fromkeys(("folder", "model", "base_url", "key", "timeout"))}
    asked = bool(settings.model)
    return {
        **shown,
        "folder": settings.folder or None,
        "model": settings.model or None,
        "base_url": settings.base_url if asked else None,
        "key": _source(settings) or None,
        "timeout": settings.timeout if asked else None,
    }


def lines(told: Mapping[str, Any]) -> Iterator[str]:
    """Say what skills are embedded with."""
    if told["folder"]:
        yield escape(f"The model in {told['folder']}, on this machine")
    elif told["model"]:
        yield escape(f"{told['model']} at {told['base_url']}; names and descriptions go there")
        yield escape(f"  key: {told['key'] or 'none'}; {told['timeout']} seconds a request")
    else:
        yield "No embedder is configured: skills are selected by their words."


def _variables(settings: Settings) -> list[str]:
    """Return the variables that may hold the key; that of OpenAI goes to OpenAI alone."""
    from brain.selection.embedding.settings import OPENAI

    return [KEY, _OPENAI_KEY] if settings.base_url == OPENAI else [KEY]


def _source(settings: Settings) -> str:
    """Say where the key comes from, "" if there is none."""
    if settings.folder:
        return ""
    if settings.key_file:
        return f"file {settings.key_file}"
    named = next((name for name in _variables(settings) if os.environ.get(name)), "")
    return f"environment {named}" if named else ""
