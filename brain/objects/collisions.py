"""What one folder, on any system, can hold: names that collide, and links that stay inside.

If the tree before is portable, only changes are checked.

A link is checked by its text only. `..` is allowed only at the beginning, where it leads up from
the folder of the link, which is not a link itself. The names after it may be links that obey the
same rule. So no chain of links leads outside, whatever the tree holds, and no link has to be
followed.
"""

from __future__ import annotations

import posixpath
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING

from .. import limits
from ..errors import InvalidInput, NotFound, printable_text
from ..named_tuple import NamedTuple
from . import paths, tree
from .bundle import Edits, State
from .folding import fold_name, match_length, next_char, strip_marks
from .node_cache import NodeCache
from .tree_node import LINK, TreeEntry

if TYPE_CHECKING:
    from typing import Protocol

    class BlobReader(Protocol):
        """The part of a store that links are read from."""

        def blob_size(self, id: bytes, /) -> int:
            """Return the size of a blob."""

        def read_blob(self, id: bytes, /) -> bytes:
            """Return the content of a blob."""


MAX_LINK_TARGET_BYTES = 4095
"""Longest text of a link (Linux: PATH_MAX, of which the NUL at the end takes one)."""
_MAX_FOLLOWED = 40
"""Links on the way to one file (Linux: MAXSYMLINKS)."""


def is_safe_link_target(path: str, target: bytes) -> bool:
    """Tell whether a link at the full `path` may have this text; its target may be missing."""
    if not 0 < len(target) <= MAX_LINK_TARGET_BYTES:
        return False
    try:
        text = target.decode()
    except UnicodeDecodeError:
        return False
    is_absolute = text[0] == "/" or text[1:2] == ":"
    if is_absolute or "\\" in text or not paths.CONTROL_CHARS.isdisjoint(text):
        return False
    above = path.count("/")
    named = False
    for part in map(paths.strip_ignorable_chars, text.split("/")):
        if part == "..":
            above -= 1
            if named or above < 0:
                return False
        elif part not in ("", "."):
            named = True
            if paths.is_reserved_name(part):
                return False
    return True


def read_link_target(reader: BlobReader, blob: bytes) -> bytes | None:
    """Return the text of a link, b"" if it is too long; None if it is not stored."""
    try:
        if reader.blob_size(blob) > MAX_LINK_TARGET_BYTES:
            return b""
        return reader.read_blob(blob)
    except NotFound:
        return None


def find_file(state: State, reader: BlobReader, path: str) -> TreeEntry | None:
    """Return the file to which a full path leads as on disk, over links; None if to none."""
    found = resolve_links(state, reader, path)
    return state.get(found) if found else None


def resolve_links(state: State, reader: BlobReader, path: str) -> str:
    """Return the full path, without links, to which one leads as on disk; "" if links go astray.

    The links may be the path itself or folders above it. None leads outside of the bundle.
    """
    for _ in range(_MAX_FOLLOWED):
        entry = state.get(path)
        rest = ""
        while entry is None and (above := path[: len(path) - len(rest)].rpartition("/")[0]):
            rest = path[len(above) :]
            entry = state.get(above)
        if entry is None or entry.kind != LINK:
            return path
        target = read_link_target(reader, entry.blob) or b""
        if ".." in rest.split("/") or not is_safe_link_target(entry.path, target):
            return ""
        path = posixpath.join(posixpath.dirname(entry.path), target.decode()) + rest
        path = posixpath.normpath(path)
    return ""


def follow_link(state: State, reader: BlobReader, entry: TreeEntry) -> TreeEntry:
    """Return the file that an entry of a bundle is or leads to. Raises `NotFound` (`dead_link`)."""
    if entry.kind != LINK:
        return entry
    found = find_file(state, reader, entry.path)
    if found is not None:
        return found
    target = (read_link_target(reader, entry.blob) or b"").decode(errors="replace")
    raise NotFound(
        f"{entry.path} is a link to {target}, where no file is",
        code="dead_link",
        hint="make it lead to a file of the brain, or write the text in its place",
    )


_SWEEP_RATIO = 16
"""If one path in so many is new, all are listed instead of looked up one by one."""
_MAX_QUERIES = 4096
"""Queries after which folders are listed, which is faster for many new names."""


class PortabilityFault(NamedTuple):
    """A path that a folder cannot hold, with a code and a message."""

    code: str
    path: str
    message: str


def require_portable(
    reader: BlobReader,
    before: State,
    after: State,
    edits: Mapping[str, TreeEntry | None] | None = None,
) -> None:
    """Check that any folder can hold `after`, to which `edits` lead from `before`.

    Without `edits`, these are the differences. Raises `InvalidInput`: `case_collision`,
    `path_conflict`, `link_outside`, `too_many`, `too_large`, or as `paths.check_path`.
    """
    if edits is None:
        edits = {path: now for path, _, now in before.diff(after)}
    changed_entries = {path: entry for path, entry in edits.items() if entry is not None}
    for path in changed_entries:
        paths.check_path(path)
    added = [path for path in changed_entries if not before.has(path)]
    entries = changed_entries.items()
    for fault in find_portability_faults(reader, before, after, entries, added):
        raise InvalidInput(
            fault.message, code=fault.code, hint="rename it, or leave it out with .brainignore"
        )


def find_portability_faults(
    reader: BlobReader,
    before: State,
    after: State,
    changed_entries: Iterable[tuple[str, TreeEntry]],
    added_paths: Collection[str],
) -> Iterator[PortabilityFault]:
    """Yield the paths of `after` that a folder cannot hold, given that it can hold `before`.

    `changed_entries` differ, by full path; `added_paths` are those that `before` lacks. The
    caller has checked each path.
    """
    files = after.totals.files
    if files > limits.MAX_FILES:
        yield PortabilityFault(
            "too_many", "", f"the brain has {files} files, more than {limits.MAX_FILES}"
        )
    for path, entry in changed_entries:
        if entry.size > limits.MAX_FILE_BYTES:
            size = f"has {entry.size} bytes, more than {limits.MAX_FILE_BYTES}"
            message = f"{printable_text(path)} {size}"
            yield PortabilityFault("too_large", path, message)
        elif entry.kind == LINK and not _is_safe_link(path, entry, reader):
            message = f"the link {printable_text(path)} may lead outside the brain"
            yield PortabilityFault("link_outside", path, message)
    yield from _find_collisions(before, after, added_paths)


def _is_safe_link(path: str, entry: TreeEntry, reader: BlobReader) -> bool:
    if not 0 < entry.size <= MAX_LINK_TARGET_BYTES:
        return False
    target = read_link_target(reader, entry.blob)
    return target is None or is_safe_link_target(path, target)


def _find_collisions(
    before: State, after: State, added_paths: Collection[str]
) -> Iterator[PortabilityFault]:
    are_many = len(added_paths) * _SWEEP_RATIO >= after.totals.files
    if not added_paths or (are_many and _is_free_of_collisions(before, after, added_paths)):
        return
    lookup = _CollisionLookup(before, after)
    for path in added_paths:
        yield from lookup.check_new_path(path)


def split_edits(before: State, edits: Mapping[str, TreeEntry | None]) -> tuple[Edits, list[str]]:
    """Return the edits of `before` that one folder can hold, and the paths of the others.

    Of several new paths that collide with each other, the first one stays.
    """
    new = [path for path, entry in edits.items() if entry]
    new = [path for path in new if not before.has(path)]
    after = before.edit(edits)
    places = {fault.path for fault in _find_collisions(before, after, new)}
    doubtful = [path for path in new if not places.isdisjoint((path, *paths.folders_above(path)))]
    unsure = set(doubtful)
    accepted = {path: entry for path, entry in edits.items() if path not in unsure}
    left_out = []
    held = before.edit(accepted) if doubtful else after
    for path in doubtful:
        tried = held.edit({path: edits[path]})
        if any(_find_collisions(held, tried, [path])):
            left_out.append(path)
        else:
            held, accepted[path] = tried, edits[path]
    return accepted, left_out


def case_collision_message(path: str, other: str) -> str:
    """Return the message for two paths with the same folded form."""
    both = f"{printable_text(other)} and {printable_text(path)}"
    return f"{both} cannot be in one folder on macOS or Windows"


def case_collision_error(path: str, other: str) -> InvalidInput:
    """Return the error for two names of a folder with the same folded form."""
    return InvalidInput(
        case_collision_message(path, other),
        code="case_collision",
        hint="rename one of them, or exclude it in .brainignore",
    )


def _path_conflict(path: str) -> PortabilityFault:
    message = f"{printable_text(path)} cannot be both a file and a folder"
    return PortabilityFault("path_conflict", path, message)


def find_case_collisions(names: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield pairs of names of one folder that macOS or Windows treat as equal."""
    if _are_distinct(names):
        return
    seen: dict[str, str] = {}
    for name in sorted(names):
        other = seen.setdefault(fold_name(name), name)
        if other != name:
            yield other, name


def _are_distinct(names: Collection[str]) -> bool:
    """Tell at little cost whether all names have different folded forms."""
    fold = str.lower if all(map(str.isascii, names)) else fold_name
    # Hashes take less memory than names.
    return len(names) < 2 or len(set(map(hash, map(fold, names)))) == len(names)


def _is_free_of_collisions(before: State, after: State, added_paths: Collection[str]) -> bool:
    """Tell whether all paths of `after` can coexist, section by section."""
    new: dict[str, list[str]] = {}  # these need not be read
    for path in added_paths:
        section = paths.split_section(path)[0]
        if section not in before.sections:
            new.setdefault(section, []).append(path)
    tops = {name for name in after.sections if name != paths.TOP_SECTION}
    return _can_coexist(
        [*_walk_paths(after.nodes, after.sections.get(paths.TOP_SECTION))], set(tops)
    ) and all(
        _can_coexist(
            new.get(section) or [*_walk_paths(after.nodes, after.sections[section])], set()
        )
        for section in tops
    )


def _walk_paths(nodes: NodeCache, root: tree.TreeRoot | None, start: str = "") -> Iterator[str]:
    for leaf in tree.walk_leaves(nodes.peek, root, start):
        yield from leaf.paths[bisect_left(leaf.paths, start) :]


def _can_coexist(files: Collection[str], folders: set[str]) -> bool:
    """Tell whether the files of a section can coexist, with the folders above them."""
    for path in files:
        while (path := path.rpartition("/")[0]) and path not in folders:
            folders.add(path)
    return folders.isdisjoint(files) and _are_distinct([*files, *folders])


class _CollisionLookup:
    def __init__(self, before: State, after: State) -> None:
        self._before = before
        self._after = after
        self._checked_paths: set[str] = set()
        self._names: dict[str, dict[str, set[str]]] = {}
        self._queries = 0

    def check_new_path(self, path: str) -> Iterator[PortabilityFault]:
        """Yield the collisions of a new path, and of the new folders above it."""
        if self._first_path_below(self._after, f"{path}/") is not None:
            yield _path_conflict(path)
        while path and path not in self._checked_paths:
            self._checked_paths.add(path)
            folder, _, name = path.rpartition("/")
            other = self._find_case_variant(folder, name)
            if other is not None:
                message = case_collision_message(path, f"{folder}/{other}" if folder else other)
                yield PortabilityFault("case_collision", path, message)
            if folder and self._first_path_below(self._before, f"{folder}/") is not None:
                return
            if folder and self._after.has(folder):
                yield _path_conflict(folder)
            path = folder

    def _first_path_below(self, state: State, folder: str) -> str | None:
        section, _, inner = folder.partition("/")
        path = tree.first_path_from(state.nodes, state.sections.get(section), inner)
        return f"{section}/{path}" if path is not None and path.startswith(inner) else None

    def _find_case_variant(self, folder: str, name: str) -> str | None:
        section, _, inner = folder.partition("/")
        if not folder:
            folded = fold_name(name)
            for other in self._after.sections:
                if other not in (name, paths.TOP_SECTION) and fold_name(other) == folded:
                    return other
        root = self._after.sections.get(section or paths.TOP_SECTION)
        prefix = f"{inner}/" if inner else ""
        if folder not in self._names:
            try:
                return find_case_variant(partial(self._first_from, root), prefix, name)
            except LookupError:
                self._names[folder] = self._list_names(root, prefix)
        return min(self._names[folder].get(fold_name(name), {name}) - {name}, default=None)

    def _first_from(self, root: tree.TreeRoot | None, start: str) -> str | None:
        self._queries += 1
        if self._queries > _MAX_QUERIES:
            raise LookupError
        return tree.first_path_from(self._after.nodes, root, start)

    def _list_names(self, root: tree.TreeRoot | None, prefix: str) -> dict[str, set[str]]:
        names: dict[str, set[str]] = {}
        for path in _walk_paths(self._after.nodes, root, prefix):
            if not path.startswith(prefix):
                break
            name = path[len(prefix) :].partition("/")[0]
            names.setdefault(fold_name(name), set()).add(name)
        return names


def find_case_variant(
    first_from: Callable[[str], str | None], prefix: str, name: str
) -> str | None:
    """Return another name with the folded form of `name`, after `prefix` in a sorted set.

    `first_from` returns the first path that is not below a text. Each query is the least text
    that may be such a name, so most names of a folder are skipped.
    """
    folded = fold_name(name)
    skeleton = strip_marks(folded)
    path = first_from(prefix)
    while path is not None and path.startswith(prefix):
        here = path[len(prefix) :]
        other = here.partition("/")[0]
        if other != name and fold_name(other) == folded:
            return other
        following = _next_candidate(here, skeleton)
        path = first_from(prefix + following) if following else None
    return None


def _next_candidate(here: str, skeleton: str) -> str:
    """Return the least text after `here` that may start a name with this skeleton, "" if none."""
    rests = [skeleton]  # what is left of it after each character of `here` that continues it
    for char in here:
        length = match_length(char, rests[-1]) if char != "/" else -1
        if length < 0:
            break
        rests.append(rests[-1][length:])
    for at in range(len(rests) - 1, -1, -1):
        following = next_char(rests[at], here[at : at + 1])
        if following:
            return here[:at] + following
    return ""
