"""Bundles: the whole state of a brain under one hash.

A bundle is the canonical MessagePack of its sections, `[[name, root, files,
bytes], …]`, sorted by name. Its id is the Merkle root over the hashes of the
sections, so one section is shared or proven without the others. The files at the
top of the brain form the section `.`; a section without files does not occur.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from .. import limits, merkle
from ..digest import domain
from ..encoding import MAX_BYTES, pack, unpack_shallow
from ..errors import FormatError, InvalidInput
from . import compare as _compare
from . import paths, tree
from .compare import Difference
from .entry import Entry
from .node import INNER, Line, check_children, join_hashes, path_of
from .nodes import Nodes
from .tree import Root

Bundle = Mapping[str, Root]
"""Section name to the tree of that section, ascending by name."""

EMPTY: Bundle = {}

_section_hash = domain("brain v1 bundle section")


class Total(NamedTuple):
    """Files of a bundle and their bytes."""

    files: int
    bytes: int


def encode(bundle: Bundle) -> bytes:
    """Return the canonical bytes."""
    return pack([(name, *root) for name, root in bundle.items()])


def bundle_id(bundle: Bundle) -> bytes:
    """Return the id; that of an empty bundle is the joining hash of nothing (RFC 6962, 2.1)."""
    if not bundle:
        return join_hashes(b"")
    return rows(bundle)[-1][0]


def rows(bundle: Bundle) -> list[list[bytes]]:
    """Return the rows of the Merkle tree of a bundle of one section or more."""
    hashes = [section_hash(name, root) for name, root in bundle.items()]
    return merkle.rows(hashes, join_hashes)


def section_hash(name: str, root: Root) -> bytes:
    """Return the hash of one section, as the Merkle tree of the bundle has it."""
    return _section_hash(pack((name, *root)))


def decode(data: bytes) -> Bundle:
    """Return the bundle that canonical `data` encodes.

    Raises `FormatError`: `bad_object` for another shape, `not_canonical`.
    """
    value = unpack_shallow(data)
    try:
        if type(value) is not tuple or len(value) > limits.MAX_SECTIONS:
            raise ValueError
        if value:
            check_children(value)
        for line in value:
            _check_name(line[0])
    except (TypeError, ValueError, InvalidInput) as error:
        raise FormatError("not a bundle", code="bad_object") from error
    bundle = {line[0]: Root(*line[1:]) for line in value}
    if encode(bundle) != data:
        raise FormatError("the encoding is not the shortest one", code="not_canonical")
    return bundle


def _check_name(name: str) -> None:
    if name != paths.TOP and ("/" in name or paths.check(name) != name):
        raise ValueError


def total(bundle: Bundle) -> Total:
    """Return the files of the bundle and the sum of their sizes in bytes."""
    return Total(
        sum(root.files for root in bundle.values()), sum(root.bytes for root in bundle.values())
    )


def get(nodes: Nodes, bundle: Bundle, path: str) -> Entry | None:
    """Return the entry at the full `path`, or None."""
    found = _line(nodes, bundle, path)
    return _named(path, found) if found else None


def has(nodes: Nodes, bundle: Bundle, path: str) -> bool:
    """Tell whether there is an entry at the full `path`."""
    return _line(nodes, bundle, path) is not None


def _line(nodes: Nodes, bundle: Bundle, path: str) -> Line | None:
    section, slash, inner = path.partition("/")
    root = bundle.get(section if slash else paths.TOP)
    return tree.get_line(nodes, root, inner if slash else path)


def _named(path: str, line: Line) -> Entry:
    return Entry(path, line[1], line[2], line[3])


def walk(nodes: Nodes, bundle: Bundle) -> Iterator[Entry]:
    """Yield all entries with their full paths, section by section."""
    for section in bundle:
        yield from walk_section(nodes, bundle, section)


def node_ids(nodes: Nodes, bundle: Bundle) -> Iterator[bytes]:
    """Yield the ids of all nodes, parents before their children; one may come twice."""
    for root in bundle.values():
        stack = [root.node]
        while stack:
            yield (here := stack.pop())
            node = nodes.get(here)
            if node.kind == INNER:
                stack.extend(line[1] for line in node.entries)


def walk_section(nodes: Nodes, bundle: Bundle, section: str, start: str = "") -> Iterator[Entry]:
    """Yield the entries of one section, from the full path `start` on, with their full paths."""
    prefix = "" if section == paths.TOP else section + "/"
    for path, kind, blob, size in tree.walk(nodes, bundle.get(section), start[len(prefix) :]):
        yield Entry(prefix + path, kind, blob, size)


def below(nodes: Nodes, bundle: Bundle, path: str) -> Iterator[Entry]:
    """Yield the entry at the full `path` and those below it, in order."""
    single = get(nodes, bundle, path)
    if single is not None:
        yield single
    prefix = path + "/"
    for entry in walk_section(nodes, bundle, path.partition("/")[0], prefix):
        if not entry.path.startswith(prefix):
            return
        yield entry


def names_in(nodes: Nodes, bundle: Bundle, folder: str) -> list[str]:
    """Return the names of the files and folders in `folder` ("" is the top), each once."""
    if not folder:
        top = walk_section(nodes, bundle, paths.TOP)
        return [*(name for name in bundle if name != paths.TOP), *(entry.path for entry in top)]
    start = len(folder) + 1
    inside = (entry.path[start:] for entry in below(nodes, bundle, folder) if entry.path != folder)
    return list(dict.fromkeys(path.partition("/")[0] for path in inside))


def update(nodes: Nodes, bundle: Bundle, edits: Mapping[str, Entry | None]) -> Bundle:
    """Return the bundle with `edits` (full path to entry, or None to remove) applied.

    Raises `InvalidInput` (`too_many`) past the greatest number of sections, or where
    their names are so long that the bundle would not be read again.
    """
    changed: dict[str, Root | None] = dict(bundle)
    by_section: dict[str, list[tree.Edit]] = {}
    for path, entry in edits.items():
        section, inner = paths.split(path)
        moved = entry and Entry(inner, entry.kind, entry.blob, entry.size)
        by_section.setdefault(section, []).append((inner, moved))
    for section, inside in by_section.items():
        inside.sort(key=path_of)
        changed[section] = tree.update(nodes, bundle.get(section), inside)
    kept = {name: root for name, root in sorted(changed.items()) if root is not None}
    if len(kept) > limits.MAX_SECTIONS or len(encode(kept)) > MAX_BYTES:
        raise InvalidInput(
            f"{len(kept)} top-level folders", code="too_many", hint="leave some out by .brainignore"
        )
    return kept


def build(nodes: Nodes, entries: Sequence[Entry]) -> Bundle:
    """Return the bundle of `entries`, full paths in any order."""
    return update(nodes, EMPTY, {entry.path: entry for entry in entries})


def compare(nodes: Nodes, before: Bundle, after: Bundle) -> Iterator[Difference]:
    """Yield what differs, with full paths, section by section; cost grows with the changes."""
    for section in sorted({*before, *after}):
        old, new = before.get(section), after.get(section)
        if old == new:
            continue
        for path, was, now in _compare.compare(nodes, old, new):
            full = paths.join(section, path)
            yield Difference(full, was and _named(full, was), now and _named(full, now))
