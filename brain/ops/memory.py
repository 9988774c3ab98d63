"""Memory files of an agent: where they are, what entries they have, and changes of these."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from typing import NamedTuple

from .. import limits
from ..errors import InvalidInput, NotFound, printable_text
from ..merging.memory_entries import (
    MEMORY_ACTIONS,
    RECORD_SUFFIXES,
    MemoryOperation,
    ParsedMemory,
    format_entry_list,
    parse_memory,
)
from ..objects import paths
from ..objects.collisions import find_file
from ..repo import working_copy
from ..repo.manifest import FOLDER_ENDINGS, MemoryFile, load_manifest
from ..repo.session import Session
from ..results import MemoryChanged, MemoryRead
from ..skills.skill_layout import SKILL_FILES

MEMORY_FOLDERS = ("memory", "memories")
MEMORY_NOTES = {"memory": ("MEMORY.md", 4000), "user": ("USER.md", 2000)}
"""Target to file name, and to its limit in characters unless the manifest has one."""
_META_RECORDS, _META_LIMIT = "meta.jsonl", 2000
"""Records of what the agent learned to do, and the characters of them in the prompt."""
_MAX_NOTES_CHARS = 20_000
"""Characters of a memory file that is named by its path."""
_MAX_NAMED_RECORDS = 20
ContentCheck = Callable[[bytes | None, bytes | None], None]
"""Gets the old and the new content of a file, None for no file, and may raise."""


def read(session: Session, target: str = "memory") -> MemoryRead:
    """Return the recorded entries of a memory; none if its file does not exist.

    Raises `NotFound` (`no_memory`) or `InvalidInput` (`not_text`).
    """
    from . import files

    path, limit = locate(session, target)
    try:
        memory = _parse_content(files.read(session, path), path)
    except NotFound:
        memory = _parse_content(b"", path)
    text = memory._replace(leading="", trailing="\n").text()
    return MemoryRead(path, text, [one.text for one in memory.entries], memory.size, limit)


def add(session: Session, target: str, content: str, *, message: str = "") -> MemoryChanged:
    """Add an entry at the end, unless the same entry exists. Raises as `apply`."""
    return apply(session, target, [MemoryOperation("add", content)], message=message)


def replace(
    session: Session, target: str, old_text: str, content: str, *, message: str = ""
) -> MemoryChanged:
    """Replace the entry with `old_text`. Raises as `apply`."""
    return apply(session, target, [MemoryOperation("replace", content, old_text)], message=message)


def remove(session: Session, target: str, old_text: str, *, message: str = "") -> MemoryChanged:
    """Remove the entry with `old_text`. Raises as `apply`."""
    operation = MemoryOperation("remove", old_text=old_text)
    return apply(session, target, [operation], message=message)


def apply(
    session: Session,
    target: str,
    operations: Sequence[MemoryOperation],
    *,
    message: str = "",
    check: ContentCheck | None = None,
) -> MemoryChanged:
    """Apply several changes in one snapshot, or none if one fails.

    `check` gets the old and the new content of the file, and may raise. Raises `NotFound`
    (`no_memory`), or `InvalidInput` (`no_match`, `ambiguous`, `memory_full`, `not_text`,
    `bad_arguments`).
    """
    from . import files

    path, limit = locate(session, target)
    after = _parse_content(b"", path)

    def change(content: bytes | None) -> bytes | None:
        nonlocal after
        before = after = _parse_content(content or b"", path)
        for number, operation in enumerate(operations, 1):
            try:
                after = after.apply(operation)
            except InvalidInput as error:
                if len(operations) > 1:
                    place = f"operation {number} of {len(operations)}"
                    error.message = f"{place}: {error.message}. None was done"
                raise
        if after.size > max(limit, before.size):
            raise InvalidInput(
                f"{path} would have {after.size} of {limit} characters; it has {before.size}",
                code="memory_full",
                hint="make room in the same call, with operations that remove or shorten entries:\n"
                + format_entry_list(before.entries)
                if before.entries
                else "say it shorter",
            )
        last = before.entries[-1].text if before.entries else ""
        new = content if after == before else after.text(last).encode()
        if check is not None:
            check(content, new)
        return new

    if not message:
        actions = [operation.action for operation in operations]
        counts = (f"{name} {actions.count(name)}" for name in MEMORY_ACTIONS if name in actions)
        message = f"{', '.join(counts)} in {path}"
    recorded = files.edit(session, path, change, message=message)
    sizes = (len(after.entries), after.size, limit)
    return MemoryChanged(path, *sizes, recorded.snapshot, recorded.changed)


def _parse_content(content: bytes, path: str) -> ParsedMemory:
    try:
        return parse_memory(content.decode(), path)
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"{path} is not UTF-8 text, so it cannot be edited as memory",
            code="not_text",
            hint="save it in UTF-8, or choose another memory",
        ) from error


# Where memory is: MEMORY.md and USER.md are at the top, in memory/ or in memories/, as in other
# programs; JSON Lines are in one of these folders. Paths in the manifest come first. A home of a
# program that was adopted in place has its memory where the program keeps it.


class _Places(NamedTuple):
    """Where a brain keeps memory.

    `notes`: the file of each target, none if it may be in several places. `folders`: where JSON
    Lines may lie. `patterns`: folders of Markdown files, in which a part may be `*`. `listed`:
    the files that the manifest names.
    """

    notes: dict[str, MemoryFile]
    folders: tuple[str, ...]
    patterns: tuple[tuple[str, ...], ...]
    listed: dict[str, int]

    def has_note(self, path: str) -> bool:
        """Tell whether a path is that of a Markdown file in a folder of memory."""
        parts = path.split("/")
        return path.endswith(".md") and any(
            len(parts) > len(pattern)
            and all(part in ("*", there) for part, there in zip(pattern, parts, strict=False))
            for pattern in self.patterns
        )


def _find_places(session: Session) -> _Places:
    """Return where memory is: in an adopted home, as the table of clients has it."""
    manifest = load_manifest(session)
    usual = _Places(
        {}, MEMORY_FOLDERS, (), {file.path: file.limit for file in manifest.memory or ()}
    )
    if not manifest.home:
        return usual
    from ..clients.client_table import load_clients

    homes = (home for client in load_clients().values() for home in (client.home, client.project))
    home = next((home for home in homes if home is not None and home.kind == manifest.home), None)
    if home is None or not home.memory_files:
        return usual
    notes = {file.target: MemoryFile(file.path, file.max_chars) for file in home.memory_files}
    notes.setdefault("user", notes["memory"])  # most programs have one file for both
    places = [place.partition("=")[0] for place in home.memory]
    found = [place.removesuffix("/") for place in places if place.endswith("/")]
    folders = tuple(place for place in found if "*" not in place)
    return _Places(notes, folders, tuple(tuple(place.split("/")) for place in found), usual.listed)


def locate(session: Session, target: str) -> MemoryFile:
    """Return the path of a memory, which may not exist yet, and its limit in characters.

    A target is `memory`, `user`, the name of a JSON Lines file, or in the home of a program
    the path of one of its memory files. Of a link, the path is that of the file it leads to.
    Raises `NotFound` (`no_memory`) for any other, and `InvalidInput` (`bad_path`,
    `bad_manifest`).
    """
    places, most = _find_places(session), limits.MAX_EDIT_BYTES
    if target in MEMORY_NOTES:
        name, most = MEMORY_NOTES[target]
        named = [path for path in places.listed if path.rpartition("/")[2] == name]
        if places.notes and not named:
            path, most = places.notes[target]
        else:
            near = (  # in the folder of the other notes
                path.removesuffix(other) + name
                for other, _ in MEMORY_NOTES.values()
                for path in _notes_paths(other)
                if not named and _has_file(session, path)
            )
            known = (path for path in named + _notes_paths(name) if _has_file(session, path))
            path = next(chain(known, named, near, [f"{MEMORY_FOLDERS[0]}/{name}"]))
    elif places.has_note(target) and _has_file(session, target):
        path, most = target, _MAX_NOTES_CHARS
    else:
        path = _locate_records(session, target, places.folders)
    # A link is followed to a file of the same kind, and to no skill.
    linked = find_file(session.at(), session.reader, path)
    ending = path.rpartition("/")[2].rpartition(".")[2]
    if linked and linked.path.endswith(f".{ending}") and not linked.path.endswith(SKILL_FILES):
        path = linked.path
    return MemoryFile(path, places.listed.get(path, most))


def _notes_paths(name: str) -> list[str]:
    return [name, *(f"{above}/{name}" for above in MEMORY_FOLDERS)]


def _locate_records(session: Session, target: str, folders: tuple[str, ...]) -> str:
    if not target.endswith(RECORD_SUFFIXES) or not folders:
        new = "; a new one has a name such as notes.jsonl" if folders else ""
        raise NotFound(
            f"there is no memory {printable_text(target, 80)}",
            code="no_memory",
            hint=f"there are: {', '.join(map(printable_text, list_targets(session)))}{new}",
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
    found = [f"{above}/{name}" for above in folders]
    return next((path for path in found if _has_file(session, path)), found[0])


def _has_file(session: Session, path: str) -> bool:
    if session.at().has(path):
        return True
    return session.has_folder and working_copy.find_candidate(session, path) is not None


def list_targets(session: Session) -> list[str]:
    """Return the targets that there are; in the home of a program with their paths."""
    places = _find_places(session)
    state = session.at()
    records = [
        entry.path.removeprefix(f"{above}/")
        for above in places.folders
        for entry in state.walk_below(above)
        if entry.path.endswith(RECORD_SUFFIXES) and "/" not in entry.path.removeprefix(f"{above}/")
    ][:_MAX_NAMED_RECORDS]
    if not places.notes:
        return [*MEMORY_NOTES, *records]
    of_targets = {file.path for file in places.notes.values()}
    notes = (
        entry.path
        for pattern in places.patterns
        for entry in state.walk_below(pattern[0])
        if entry.path not in of_targets and places.has_note(entry.path)
    )
    named = [f"{target} ({locate(session, target).path})" for target in MEMORY_NOTES]
    return [*named, *islice(notes, _MAX_NAMED_RECORDS), *records]


def list_prompt_memories(session: Session, snapshot_id: bytes) -> Iterator[MemoryFile]:
    """Yield the memories in the system prompt: those of the manifest, else the usual ones.

    The usual ones are the notes, and the records of what the agent learned to do. Last come the
    files of the targets memory and user, also if the manifest names them as files that say
    who the agent is.
    """
    manifest, state = load_manifest(session, snapshot_id), session.state_of(snapshot_id)
    targets = [locate(session, target) for target in MEMORY_NOTES]
    if manifest.memory is None:
        usual = [
            MemoryFile(path, most)
            for name, most in MEMORY_NOTES.values()
            for path in _notes_paths(name)
        ]
        usual += [MemoryFile(f"{above}/{_META_RECORDS}", _META_LIMIT) for above in MEMORY_FOLDERS]
        found = {file.path: file for file in (*usual, *targets)}
        yield from (f for f in found.values() if state.has(f.path))
        return
    for item in manifest.memory:
        ending = next((ending for ending in FOLDER_ENDINGS if item.path.endswith(ending)), None)
        if ending is None:
            yield item
            continue
        folder = item.path.removesuffix(ending)
        depth = folder.count("/") + 1
        for entry in state.walk_below(folder):
            if entry.path.endswith(".md") and (ending == "/" or entry.path.count("/") == depth):
                yield MemoryFile(entry.path, item.limit)
    yield from (file for file in targets if file.path in manifest.system)


def list_shown(session: Session) -> list[str]:
    """Return those of the targets memory and user whose entries every session is shown."""
    manifest, state = load_manifest(session), session.at()
    if manifest.memory is None:
        return list(MEMORY_NOTES)
    shown = set(manifest.system)
    shown.update(file.path for file in list_prompt_memories(session, session.head()))
    linked = (find_file(state, session.reader, path) for path in list(shown))
    shown.update(entry.path for entry in linked if entry is not None)
    return [name for name in MEMORY_NOTES if locate(session, name).path in shown]
