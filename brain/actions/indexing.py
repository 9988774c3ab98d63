"""The Level-0 index, and the system prompt it feeds; both from the head, not the folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from .. import manifest
from ..objects import bundle as bundles
from ..objects.bundle import Bundle
from ..results import Index, Prompt
from ..session import Session
from ..skills import index as level0
from ..skills.text import clean
from . import find, memory
from .revisions import resolve

if TYPE_CHECKING:
    from .selecting import Wanted

SYSTEM = "prompts/system.md"
FRAGMENTS = "prompts/fragments/"
_MAX_PART_BYTES = 4 << 20
"""Bytes of one prompt or memory file that are read."""


def index(
    session: Session,
    revision: str = "@",
    limit: int | None = None,
    budget: int | None = None,
    wanted: Wanted | None = None,
) -> Index:
    """Return one line per skill; `limit` in characters a description, `budget` in tokens.

    With `wanted` there are only lines of the skills that a task needs.
    """
    bundle = session.bundle_of(resolve(session, revision))
    made = _index(session, bundle, limit, budget, wanted)
    return Index(made.text, made.shown, made.tokens)


def prompt(
    session: Session,
    revision: str = "@",
    limit: int | None = None,
    budget: int | None = None,
    wanted: Wanted | None = None,
) -> Prompt:
    """Return the system prompt: system.md, what the manifest names, fragments, index, memory.

    `limit`, `budget` and `wanted` are those of the index. Hidden and bidirectional
    characters are left out of every part.
    """
    snapshot_id = resolve(session, revision)
    bundle = session.bundle_of(snapshot_id)
    made = _index(session, bundle, limit, budget, wanted)
    says = manifest.load(session, snapshot_id)
    parts = list(_prompt_files(session, bundle, says.system))
    parts.append(f"# Skills\n\n{made.text}")
    cut = []
    for path, most in memory.in_prompt(session, snapshot_id):
        text = _text(session, bundle, path)
        if text is None:
            continue
        if len(text) > most:
            cut.append(path)
            text = text[:most].rstrip() + "\n[…]"
        parts.append(f"# Memory: {clean(path)}\n\n{text}")
    whole = "\n\n".join(part.strip("\n") for part in parts if part.strip()) + "\n"
    return Prompt(whole, made.text, made.shown, level0.tokens(whole), cut)


def _index(
    session: Session,
    bundle: Bundle,
    limit: int | None,
    budget: int | None,
    wanted: Wanted | None,
) -> level0.IndexText:
    if wanted is not None:
        from . import selecting

        chosen = selecting.among(session, bundle, wanted)
        return level0.build(
            [(one.name, one.description, one.path) for one in chosen], limit, budget
        )
    lines = [
        (card.name or name, card.description, path)
        for path, name, _, card in find.places(session, bundle)
    ]
    return level0.build(lines, limit, budget)


def _prompt_files(session: Session, bundle: Bundle, system: Sequence[str]) -> Iterator[str]:
    names = [SYSTEM, *system]
    for entry in bundles.walk_section(session.nodes, bundle, "prompts", FRAGMENTS):
        if not entry.path.startswith(FRAGMENTS):
            break
        if entry.path.endswith(".md"):
            names.append(entry.path)
    for name in names:
        text = _text(session, bundle, name)
        if text is not None:
            yield text


def _text(session: Session, bundle: Bundle, path: str) -> str | None:
    """Return the cleaned text of a file of the bundle; None if it is not there."""
    entry = bundles.get(session.nodes, bundle, path)
    if entry is None:
        return None
    content = b"".join(_first(session, entry.blob))
    return clean(content.decode("utf-8", "replace"))


def _first(session: Session, blob: bytes) -> Iterator[bytes]:
    left = _MAX_PART_BYTES
    for piece in session.reader.stream_blob(blob):
        yield piece[:left]
        left -= len(piece)
        if left <= 0:
            return
