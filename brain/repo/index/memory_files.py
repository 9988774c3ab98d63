"""Locate the memory files of an agent, and their size limits.

MEMORY.md and USER.md are at the top, in memory/ or in memories/, as in other programs;
JSON Lines are in one of these folders. Paths in the manifest come first. A home of a
program that was adopted in place has its memory where the program keeps it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from ... import limits
from ...errors import NotFound, printable_text
from ...objects import bundle as bundles
from ...objects import paths
from ...objects.bundle import Bundle
from ...objects.collisions import find_file
from ...skills.skill_layout import SKILL_FILES
from ..core import working_copy as folders
from ..open.manifest import FOLDER_ENDINGS, MemoryFile, load_manifest
from ..open.session import Session
from .home_memory import (
    MAX_NOTES_CHARS,
    HomeMemory,
    find_home_memory,
    is_note_file,
    list_note_files,
)
from .memory_entries import JSONL_FORMAT, NOTE_FORMAT, MemoryFormat

MEMORY_FOLDERS = ("memory", "memories")
MEMORY_NOTES = {"memory": ("MEMORY.md", 4000), "user": ("USER.md", 2000)}
"""Target to file name, and to its limit in characters unless the manifest has one."""
RECORD_SUFFIXES = (".jsonl", ".ndjson")
META_RECORDS, META_LIMIT = "meta.jsonl", 2000
"""Records of what the agent learned to do, and the characters of them in the prompt."""
_MAX_NAMED_RECORDS = 20


def locate_memory(session: Session, target: str) -> MemoryFile:
    """Return the path of a memory, present or future, and its limit in characters.

    A target is `memory`, `user`, the name of a JSON Lines file, or in the home of a program
    the path of one of its memory files. Of a link, the path is that of the file it leads to.
    Raises `NotFound` (`no_memory`) for any other, and `InvalidInput` (`bad_path`,
    `bad_manifest`).
    """
    manifest = load_manifest(session)
    home = find_home_memory(manifest.home) if manifest.home else None
    listed = {file.path: file.limit for file in manifest.memory or ()}
    if target in MEMORY_NOTES:
        name, most = MEMORY_NOTES[target]
        if home is None or any(path.rpartition("/")[2] == name for path in listed):
            path = _locate_notes(session, name, listed)
        else:
            path, most = home.notes[target]
    elif home is not None and is_note_file(home, target) and _has_file(session, target):
        path, most = target, MAX_NOTES_CHARS
    else:
        path, most = _locate_records(session, target, home), limits.MAX_EDIT_BYTES
    return MemoryFile(_follow_link(session, path), listed.get(path, most))


def _follow_link(session: Session, path: str) -> str:
    """Return where a memory is written: to no other kind of file, and to no skill."""
    bundle = session.bundle_of(session.head())
    linked = find_file(session.nodes, bundle, session.reader, path)
    ending = path.rpartition("/")[2].rpartition(".")[2]
    if linked is None or not linked.path.endswith(f".{ending}"):
        return path
    return path if linked.path.endswith(SKILL_FILES) else linked.path


def find_format(path: str) -> MemoryFormat:
    """Return how the entries of a memory file are separated."""
    return JSONL_FORMAT if path.endswith(RECORD_SUFFIXES) else NOTE_FORMAT


def list_targets(session: Session) -> list[str]:
    """Return the targets of the memories that there are, some with their paths in brackets.

    A home of a program is named with the files in which it keeps memory.
    """
    kind = load_manifest(session).home
    return _list_targets(session, find_home_memory(kind) if kind else None)


def _list_targets(session: Session, home: HomeMemory | None) -> list[str]:
    if home is None:
        return [*MEMORY_NOTES, *_list_record_files(session, MEMORY_FOLDERS)]
    notes = [f"{target} ({locate_memory(session, target).path})" for target in MEMORY_NOTES]
    files = islice(list_note_files(session, home), _MAX_NAMED_RECORDS)
    return [*notes, *files, *_list_record_files(session, home.folders)]


def list_prompt_memories(session: Session, snapshot_id: bytes) -> Iterator[MemoryFile]:
    """Yield the memories in the system prompt: those of the manifest, else the usual ones.

    The usual ones are the notes, and the records of what the agent learned to do. Last come the
    files of the targets memory and user, also if the manifest names them as files that say
    who the agent is.
    """
    manifest, bundle = load_manifest(session, snapshot_id), session.bundle_of(snapshot_id)
    targets = [locate_memory(session, target) for target in MEMORY_NOTES]
    if manifest.memory is not None:
        for item in manifest.memory:
            yield from _expand_memory_item(session, bundle, item)
        yield from (file for file in targets if file.path in manifest.system)
        return
    usual = [
        MemoryFile(path, most)
        for name, most in MEMORY_NOTES.values()
        for path in (name, *(f"{above}/{name}" for above in MEMORY_FOLDERS))
    ]
    usual += [MemoryFile(f"{above}/{META_RECORDS}", META_LIMIT) for above in MEMORY_FOLDERS]
    found = {file.path: file for file in (*usual, *targets)}
    yield from (f for f in found.values() if bundles.has_entry(session.nodes, bundle, f.path))


def list_shown_targets(session: Session) -> list[str]:
    """Return those of the targets memory and user whose entries are in the system prompt."""
    manifest, bundle = load_manifest(session), session.bundle_of(session.head())
    if manifest.memory is None:
        return list(MEMORY_NOTES)
    shown = set(manifest.system)
    shown.update(file.path for file in list_prompt_memories(session, session.head()))
    linked = (find_file(session.nodes, bundle, session.reader, path) for path in list(shown))
    shown.update(entry.path for entry in linked if entry is not None)
    return [name for name in MEMORY_NOTES if locate_memory(session, name).path in shown]


def _expand_memory_item(session: Session, bundle: Bundle, item: MemoryFile) -> Iterator[MemoryFile]:
    ending = next((ending for ending in FOLDER_ENDINGS if item.path.endswith(ending)), None)
    if ending is None:
        yield item
        return
    folder = item.path.removesuffix(ending)
    depth = folder.count("/") + 1
    for entry in bundles.walk_below(session.nodes, bundle, folder):
        if entry.path.endswith(".md") and (ending == "/" or entry.path.count("/") == depth):
            yield MemoryFile(entry.path, item.limit)


def _locate_notes(session: Session, name: str, listed: dict[str, int]) -> str:
    usual = [name, *(f"{above}/{name}" for above in MEMORY_FOLDERS)]
    known = [*(path for path in listed if path.rpartition("/")[2] == name), *usual]
    for path in known:
        if _has_file(session, path):
            return path
    if known[0] in listed:
        return known[0]
    for other, _ in MEMORY_NOTES.values():  # in the folder of the other notes
        for path in (other, *(f"{above}/{other}" for above in MEMORY_FOLDERS)):
            if _has_file(session, path):
                return path.removesuffix(other) + name
    return f"{MEMORY_FOLDERS[0]}/{name}"


def _locate_records(session: Session, target: str, home: HomeMemory | None) -> str:
    folders = MEMORY_FOLDERS if home is None else home.folders
    if not target.endswith(RECORD_SUFFIXES) or not folders:
        new = "; a new one has a name such as notes.jsonl" if folders else ""
        raise NotFound(
            f"there is no memory {printable_text(target, 80)}",
            code="no_memory",
            hint=f"there are: {', '.join(map(printable_text, _list_targets(session, home)))}{new}",
        )
    above, _, name = paths.check_path(target).rpartition("/")
    if above in folders:
        return target
    if above:
        raise NotFound(
            f"{printable_text(target, 80)} is not in {' or '.join(folders)}",
            code="no_memory",
            hint="give only the name of the file",
        )
    for path in (f"{above}/{name}" for above in folders):
        if _has_file(session, path):
            return path
    return f"{folders[0]}/{name}"


def _has_file(session: Session, path: str) -> bool:
    if bundles.has_entry(session.nodes, session.bundle_of(session.head()), path):
        return True
    return session.has_folder and folders.find_candidate(session, path) is not None


def _list_record_files(session: Session, folders: Sequence[str]) -> list[str]:
    bundle = session.bundle_of(session.head())
    found = [
        entry.path.removeprefix(f"{above}/")
        for above in folders
        for entry in bundles.walk_below(session.nodes, bundle, above)
        if entry.path.endswith(RECORD_SUFFIXES) and "/" not in entry.path.removeprefix(f"{above}/")
    ]
    return found[:_MAX_NAMED_RECORDS]
