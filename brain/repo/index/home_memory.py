"""Find where an adopted home keeps memory, by the table of clients."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from ...objects import bundle as bundles
from ..open.manifest import MemoryFile
from ..open.session import Session

if TYPE_CHECKING:
    from ...clients.client_row import ClientFolder

MAX_NOTES_CHARS = 20_000
"""Characters of a memory file that is named by its path."""


class HomeMemory(NamedTuple):
    """The memory of a home.

    `notes`: the file of each target. `folders`: where JSON Lines may lie. `patterns`: folders
    of Markdown files, in which a part may be `*`.
    """

    notes: dict[str, MemoryFile]
    folders: tuple[str, ...]
    patterns: tuple[tuple[str, ...], ...]


def find_home_memory(kind: str) -> HomeMemory | None:
    """Return where a kind of home keeps memory, None for an unknown kind or one without."""
    folder = next((folder for folder in _list_folders() if folder.kind == kind), None)
    if folder is None or not folder.memory_files:
        return None
    notes = {file.target: MemoryFile(file.path, file.max_chars) for file in folder.memory_files}
    notes.setdefault("user", notes["memory"])  # most programs have one file for both
    places = [place.partition("=")[0] for place in folder.memory]
    found = [place.removesuffix("/") for place in places if place.endswith("/")]
    return HomeMemory(
        notes,
        tuple(place for place in found if "*" not in place),
        tuple(tuple(place.split("/")) for place in found),
    )


def _list_folders() -> Iterator[ClientFolder]:
    from ...clients.client_table import load_clients

    for client in load_clients().values():
        yield from filter(None, (client.home, client.project))


def list_note_files(session: Session, home: HomeMemory) -> Iterator[str]:
    """Yield the Markdown files in the folders of memory, without those of the targets."""
    targets = {file.path for file in home.notes.values()}
    for pattern in home.patterns:
        bundle = session.bundle_of(session.head())
        for entry in bundles.walk_below(session.nodes, bundle, pattern[0]):
            if entry.path not in targets and is_note_file(home, entry.path):
                yield entry.path


def is_note_file(home: HomeMemory, path: str) -> bool:
    """Tell whether a path is that of a Markdown file in a folder of memory."""
    parts = path.split("/")
    return path.endswith(".md") and any(
        len(parts) > len(pattern)
        and all(part in ("*", there) for part, there in zip(pattern, parts, strict=False))
        for pattern in home.patterns
    )
