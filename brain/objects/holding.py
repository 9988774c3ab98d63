"""Whether a folder can hold a tree: its names together, its links, its sizes.

After a tree that is good, one is checked by what came to it, and at the cost of that: the
names that could stand in the way of a new one are looked up in the sorted tree, without
going through the folder.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from .. import limits
from ..errors import InvalidInput, printable
from . import bundle as bundles
from . import paths, tree
from .bundle import Bundle
from .entry import LINK, Entry
from .folding import fits, fold, next_fitting, skeleton
from .links import MAX_TARGET_BYTES, stays_inside
from .nodes import Nodes

_SWEPT = 16
"""Where one path in so many is new, all are gone through instead of looked up one by one."""
_NOT_ASCII = 0x80


Read = Callable[[bytes], bytes | None]
"""Returns the content of a blob of at most `MAX_TARGET_BYTES`, None where it is not there."""


class Fault(NamedTuple):
    """What a folder cannot hold: a code, the path, and what is wrong, in words."""

    code: str
    path: str
    message: str


def refuse(
    nodes: Nodes, before: Bundle, after: Bundle, edits: Mapping[str, Entry | None], read: Read
) -> None:
    """Refuse what no folder can hold of `after`, to which `edits` lead from `before`.

    Raises `InvalidInput` with the code of the first of `faults`, or as `paths.check`.
    """
    came = {path: entry for path, entry in edits.items() if entry is not None}
    paths.check_all(came)
    new = [path for path in came if not (before and bundles.has(nodes, before, path))]
    for fault in faults(nodes, before, after, came.items(), new, read):
        raise InvalidInput(fault.message, code=fault.code, hint="rename it, or leave it out")


def faults(
    nodes: Nodes,
    before: Bundle,
    after: Bundle,
    came: Iterable[tuple[str, Entry]],
    new: Collection[str],
    read: Read,
) -> Iterator[Fault]:
    """Yield what a folder cannot hold of `after`, given that it can hold `before`.

    `came` are the entries that differ, by their full paths, and `new` the paths among them
    that `before` has not. That each is a path is checked elsewhere.
    """
    files = bundles.total(after).files
    if files > limits.MAX_FILES:
        yield Fault("too_many", "", f"{files} files, more than {limits.MAX_FILES}")
    for path, entry in came:
        if entry.size > limits.MAX_FILE_BYTES:
            what = f"{printable(path)} has {entry.size} bytes, more than {limits.MAX_FILE_BYTES}"
            yield Fault("too_large", path, what)
        elif entry.kind == LINK and not _is_good_link(path, entry, read):
            what = f"the link {printable(path)} may lead outside the brain"
            yield Fault("link_outside", path, what)
    yield from _clashes(nodes, before, after, new)


def _is_good_link(path: str, entry: Entry, read: Read) -> bool:
    if not 0 < entry.size <= MAX_TARGET_BYTES:
        return False
    target = read(entry.blob)
    return target is None or stays_inside(path, target)


def _clashes(nodes: Nodes, before: Bundle, after: Bundle, new: Collection[str]) -> Iterator[Fault]:
    are_many = len(new) * _SWEPT >= bundles.total(after).files
    if not new or (are_many and _swept(nodes, before, after, new)):
        return
    look = _Looking(nodes, before, after)
    for path in new:
        yield from look.at(path)


def _twins(path: str, other: str) -> Fault:
    both = f"{printable(other)} and {printable(path)}"
    return Fault("case_collision", path, f"{both} cannot lie in one folder on macOS or Windows")


def _conflict(path: str) -> Fault:
    return Fault("path_conflict", path, f"{printable(path)} cannot be both a file and a folder")


def twins(names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield pairs of names, or paths, that macOS or Windows take for one."""
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(fold(name), name)
        if other != name:
            yield other, name


def no_twins(names: Collection[str]) -> bool:
    """Tell at little cost that there are no `twins`."""
    joined = "\0".join(names)
    folded = joined.lower().split("\0") if joined.isascii() else [*map(fold, names)]
    return len(set(folded)) == len(names)


def _swept(nodes: Nodes, before: Bundle, after: Bundle, new: Collection[str]) -> bool:
    """Tell whether all paths of `after` can stand together, section by section."""
    if not before:
        return _stand(set(new), set())
    tops = {name for name in after if name != paths.TOP}
    return _stand(set(_paths(nodes, after.get(paths.TOP))), tops) and all(
        _stand(set(_paths(nodes, after[section])), set()) for section in tops
    )


def _paths(nodes: Nodes, root: tree.Root | None) -> Iterator[str]:
    for leaf in tree.leaves(nodes.glance, root):
        yield from leaf.paths


def _stand(files: set[str], folders: set[str]) -> bool:
    """Tell whether the files of a section can stand together, with the folders above them."""
    above = {path.rpartition("/")[0] for path in files} - {""}
    while above:
        folders |= above
        above = {path.rpartition("/")[0] for path in above} - folders - {""}
    return files.isdisjoint(folders) and no_twins(files | folders)


class _Looking:
    """Looks for what stands in the way of single paths."""

    def __init__(self, nodes: Nodes, before: Bundle, after: Bundle) -> None:
        self._nodes = nodes
        self._before = before
        self._after = after
        self._seen: set[str] = set()

    def at(self, path: str) -> Iterator[Fault]:
        """Look at a new path, and at the folders above it that are new."""
        if self._first(self._after, f"{path}/") is not None:
            yield _conflict(path)
        while path and path not in self._seen:
            self._seen.add(path)
            folder, _, name = path.rpartition("/")
            other = self._twin(folder, name)
            if other is not None:
                yield _twins(path, f"{folder}/{other}" if folder else other)
            if folder and self._first(self._before, f"{folder}/") is not None:
                return
            if folder and bundles.has(self._nodes, self._after, folder):
                yield _conflict(folder)
            path = folder

    def _first(self, bundle: Bundle, folder: str) -> str | None:
        """Return a path below `folder`, which ends in a slash."""
        section, _, inner = folder.partition("/")
        found = tree.first_from(self._nodes, bundle.get(section), inner)
        return f"{section}/{found}" if found is not None and found.startswith(inner) else None

    def _twin(self, folder: str, name: str) -> str | None:
        """Return another name in `folder` ("" is the top) that folds like `name`."""
        section, _, inner = folder.partition("/")
        if not folder:
            folded = fold(name)
            for other in self._after:
                if other not in (name, paths.TOP) and fold(other) == folded:
                    return other
        root = self._after.get(section or paths.TOP)
        prefix = f"{inner}/" if inner else ""
        return alike(lambda start: tree.first_from(self._nodes, root, start), prefix, name)


def alike(first_from: Callable[[str], str | None], prefix: str, name: str) -> str | None:
    """Return another name than `name`, after `prefix` in a sorted set, that folds like it.

    `first_from` gives the first path that is not below a text. What is asked for are the
    least texts that may be such a name, so whole stretches of a folder are passed over.
    """
    folded = fold(name)
    rest = skeleton(folded)
    start: str | None = prefix
    while start is not None:
        path = first_from(start)
        if path is None or not path.startswith(prefix):
            return None
        here = path[len(prefix) :]
        other = here.partition("/")[0]
        if other != name and fold(other) == folded:
            return other
        following = _following(here, rest)
        start = None if following is None else prefix + following
    return None


def _following(here: str, rest: str) -> str | None:
    """Return the least text above `here` and what it begins that may start such a name.

    That is one of which each code point goes on with the skeleton `rest`, up to a slash.
    """
    ways = [0]
    for char in here:
        done = ways[-1]
        if char == rest[done : done + 1]:
            ways.append(done + 1)
            continue
        size = fits(char, rest[done:]) if char != "/" else -1
        if size < 0:
            break
        ways.append(done + size)
    if len(ways) > len(here):
        code = _next(rest[ways[-1] :], -1)
        if code >= 0:
            return here + chr(code)
    for at in range(min(len(ways), len(here)) - 1, -1, -1):
        code = _next(rest[ways[at] :], ord(here[at]))
        if code >= 0:
            return here[:at] + chr(code)
    return None


def _next(rest: str, after: int) -> int:
    """Return the least code point above `after` that may come; -1 if none.

    For all beyond ASCII the first of them stands, until one of them is met.
    """
    wanted = "/" if not rest else rest[0] if rest[0].isascii() else ""
    for char in (wanted.upper(), wanted):
        if char and ord(char) > after:
            return ord(char)
    return _NOT_ASCII if after < _NOT_ASCII - 1 else next_fitting(rest, after)
