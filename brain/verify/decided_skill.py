"""Find, in a bundle, the skill that a decision is about: its text, version and program.

Everything is read from objects, never from the cache.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice

from .. import limits
from ..objects.tree_node import LINK, TreeEntry
from ..programs import PROGRAM_FILE, SCHEMA_FILE, TESTS_FOLDER
from ..repo import derive
from ..repo.session import BrainState, Session
from ..skills import skill_layout
from ..skills.skill_metadata import recorded_version
from ..verdicts.verdict_types import ProgramFile
from .operation_check import can_have_slug, skill_name_of_text

IN_USE = "skills/"
"""The folder of skills in use; others may be anywhere but below RETIRED."""
RETIRED = skill_layout.RETIRED_FOLDER


def find_usual_texts(state: BrainState, slug: str, place: str = IN_USE) -> Iterator[TreeEntry]:
    """Yield the texts of a skill at the paths that a skill of that slug usually has; O(log n)."""
    for path in _usual_paths(place, slug):
        entry = state.get(path)
        if entry is not None and entry.kind != LINK:
            yield entry


def find_texts(state: BrainState, slug: str, place: str = IN_USE) -> Iterator[TreeEntry]:
    """Yield the texts that a skill of that slug may have, those at their usual paths first.

    The whole bundle is walked only if the caller asks for more than those.
    """
    yield from find_usual_texts(state, slug, place)
    usual = _usual_paths(place, slug)
    for entry in state.walk():
        if (
            entry.path not in usual
            and entry.kind != LINK
            and entry.path.startswith(RETIRED) == (place == RETIRED)
            and can_have_slug(skill_name_of_text(entry.path), slug)
        ):
            yield entry


def _usual_paths(place: str, slug: str) -> list[str]:
    return [f"{place}{slug}{ending}" for ending in (*skill_layout.FOLDER_SUFFIXES, ".md")]


def read_program(state: BrainState, text_path: str) -> tuple[ProgramFile, ...]:
    """Return the program of the skill whose text is at `text_path`; empty without one.

    Links are left out. At most one file more than a verdict can name is read.
    """
    folder, _, name = text_path.rpartition("/")
    if name not in skill_layout.SKILL_FILES:
        return ()
    alone = (state.get(f"{folder}/{file}") for file in (SCHEMA_FILE, PROGRAM_FILE))
    tests = state.walk_below(f"{folder}/{TESTS_FOLDER.rstrip('/')}")
    files = tuple(
        ProgramFile(entry.path[len(folder) + 1 :], entry.blob)
        for entry in chain(alone, islice(tests, limits.MAX_VERDICT_FILES))
        if entry is not None and entry.kind != LINK
    )
    return files if any(file.path == PROGRAM_FILE for file in files) else ()


def read_version(session: Session, text: TreeEntry) -> str | None:
    """Return the version of a text, None if its content was redacted or is too large."""
    card = derive.read_cards(session, [text.blob])[text.blob]
    return None if card.flags in derive.CONTENT_UNREAD_FLAGS else recorded_version(card)
