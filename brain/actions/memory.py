"""Where the memory of an agent lies, and how much of it there may be.

MEMORY.md and USER.md lie at the top, in memory/ or in memories/, as other programs have
them; JSON Lines in one of these folders. What the manifest says of the prompt comes first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .. import limits
from ..errors import NotFound, printable
from ..manifest import FOLDER_ENDINGS, MemoryFile, load
from ..objects import bundle as bundles
from ..objects import paths
from ..objects.bundle import Bundle
from ..session import Session
from . import folder as folders

FOLDERS = ("memory", "memories")
NOTES = {"memory": ("MEMORY.md", 4000), "user": ("USER.md", 2000)}
"""Target to file name, and to its most characters where the manifest does not say."""
RECORDS = (".jsonl", ".ndjson")
_MOST_NAMED = 20


def place(session: Session, target: str) -> MemoryFile:
    """Return the file that `target` means, there or not, and its most characters.

    A target is `memory`, `user`, or the name of a file of JSON Lines. Raises `NotFound`
    (`no_memory`) for any other, and `InvalidInput` (`bad_path`, `bad_manifest`).
    """
    listed = {file.path: file.limit for file in load(session).memory or ()}
    if target in NOTES:
        name, most = NOTES[target]
        path = _notes(session, name, listed)
    else:
        path, most = _records(session, target), limits.MAX_EDITED_BYTES
    return MemoryFile(path, listed.get(path, most))


def in_prompt(session: Session, snapshot_id: bytes) -> Sequence[MemoryFile]:
    """Return the memories that the system prompt holds: those of the manifest, else the notes."""
    listed = load(session, snapshot_id).memory
    bundle = session.bundle_of(snapshot_id)
    if listed is not None:
        return [file for item in listed for file in _files(session, bundle, item)]
    return [
        MemoryFile(path, most)
        for name, most in NOTES.values()
        for path in (name, *(f"{above}/{name}" for above in FOLDERS))
        if bundles.has(session.nodes, bundle, path)
    ]


def _files(session: Session, bundle: Bundle, item: MemoryFile) -> Iterator[MemoryFile]:
    """Yield the files that an item of the manifest stands for."""
    ending = next((ending for ending in FOLDER_ENDINGS if item.path.endswith(ending)), None)
    if ending is None:
        yield item
        return
    folder = item.path.removesuffix(ending)
    depth = folder.count("/") + 1
    for entry in bundles.below(session.nodes, bundle, folder):
        if entry.path.endswith(".md") and (ending == "/" or entry.path.count("/") == depth):
            yield MemoryFile(entry.path, item.limit)


def _notes(session: Session, name: str, listed: dict[str, int]) -> str:
    usual = [name, *(f"{above}/{name}" for above in FOLDERS)]
    known = [*(path for path in listed if path.rpartition("/")[2] == name), *usual]
    for path in known:
        if _is_there(session, path):
            return path
    if known[0] in listed:
        return known[0]
    for other, _ in NOTES.values():  # where the other one is
        for path in (other, *(f"{above}/{other}" for above in FOLDERS)):
            if _is_there(session, path):
                return path.removesuffix(other) + name
    return f"{FOLDERS[0]}/{name}"


def _records(session: Session, target: str) -> str:
    if not target.endswith(RECORDS):
        there = ", ".join(map(printable, _all_records(session)))
        raise NotFound(
            f"no memory {printable(target, 80)}",
            code="no_memory",
            hint=f"there are: {', '.join(filter(None, (*NOTES, there)))}; "
            "a new one is named as in notes.jsonl",
        )
    above, _, name = paths.check(target).rpartition("/")
    if above in FOLDERS:
        return target
    if above:
        raise NotFound(
            f"{printable(target, 80)} is not in {' or '.join(FOLDERS)}",
            code="no_memory",
            hint="give the name of the file alone",
        )
    for path in (f"{above}/{name}" for above in FOLDERS):
        if _is_there(session, path):
            return path
    return f"{FOLDERS[0]}/{name}"


def _is_there(session: Session, path: str) -> bool:
    if bundles.has(session.nodes, session.bundle_of(session.head()), path):
        return True
    return session.has_folder and folders.candidate_at(session, path) is not None


def _all_records(session: Session) -> list[str]:
    bundle = session.bundle_of(session.head())
    found = [
        entry.path.partition("/")[2]
        for above in FOLDERS
        for entry in bundles.below(session.nodes, bundle, above)
        if entry.path.endswith(RECORDS) and entry.path.count("/") == 1
    ]
    return found[:_MOST_NAMED]
