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
from ..digest import domain_hash
from ..encoding import MAX_OBJECT_BYTES, pack, unpack_unchecked
from ..errors import FormatError, InvalidInput
from . import paths, tree
from . import tree_diff as _compare
from .node_cache import NodeCache
from .tree import TreeRoot
from .tree_diff import Difference
from .tree_entry import TreeEntry
from .tree_node import INNER, NodeEntry, check_child_entries, entry_path, join_hashes

Bundle = Mapping[str, TreeRoot]
"""Section name to the tree of that section, ascending by name."""

Edits = dict[str, TreeEntry | None]
"""Changes to a bundle: full path to its new entry, None to remove it."""

EMPTY_BUNDLE: Bundle = {}

_hash_section = domain_hash("brain v1 bundle section")


class BundleTotals(NamedTuple):
    """Files of a bundle and their bytes."""

    files: int
    bytes: int


def encode_bundle(bundle: Bundle) -> bytes:
    """Return the canonical bytes."""
    return pack([(name, *root) for name, root in bundle.items()])


def bundle_id(bundle: Bundle) -> bytes:
    """Return the id; that of an empty bundle is the joining hash of nothing (RFC 6962, 2.1)."""
    if not bundle:
        return join_hashes(b"")
    return bundle_rows(bundle)[-1][0]


def bundle_rows(bundle: Bundle) -> list[list[bytes]]:
    """Return the rows of the Merkle tree of a bundle of one section or more."""
    hashes = [section_hash(name, root) for name, root in bundle.items()]
    return merkle.build_rows(hashes, join_hashes)


def section_hash(name: str, root: TreeRoot) -> bytes:
    """Return the hash of one section, as the Merkle tree of the bundle has it."""
    return _hash_section(pack((name, *root)))


def decode_bundle(data: bytes) -> Bundle:
    """Return the bundle that canonical `data` encodes.

    Raises `FormatError`: `bad_object` for another shape, `not_canonical`.
    """
    value = unpack_unchecked(data)
    try:
        if type(value) is not tuple or len(value) > limits.MAX_SECTIONS:
            raise ValueError
        if value:
            check_child_entries(value)
        for line in value:
            _check_section_name(line[0])
    except (TypeError, ValueError, InvalidInput) as error:
        raise FormatError("not a bundle", code="bad_object") from error
    bundle = {line[0]: TreeRoot(*line[1:]) for line in value}
    if encode_bundle(bundle) != data:
        raise FormatError("the encoding is not the shortest one", code="not_canonical")
    return bundle


def _check_section_name(name: str) -> None:
    if name != paths.TOP_SECTION and ("/" in name or paths.check_path(name) != name):
        raise ValueError


def bundle_totals(bundle: Bundle) -> BundleTotals:
    """Return the files of the bundle and the sum of their sizes in bytes."""
    return BundleTotals(
        sum(root.files for root in bundle.values()), sum(root.bytes for root in bundle.values())
    )


def get_entry(nodes: NodeCache, bundle: Bundle, path: str) -> TreeEntry | None:
    """Return the entry at the full `path`, or None."""
    found = _get_line(nodes, bundle, path)
    return _make_entry(path, found) if found else None


def has_entry(nodes: NodeCache, bundle: Bundle, path: str) -> bool:
    """Tell whether there is an entry at the full `path`."""
    return _get_line(nodes, bundle, path) is not None


def _get_line(nodes: NodeCache, bundle: Bundle, path: str) -> NodeEntry | None:
    section, slash, inner = path.partition("/")
    root = bundle.get(section if slash else paths.TOP_SECTION)
    return tree.get_tree_entry(nodes, root, inner if slash else path)


def _make_entry(path: str, line: NodeEntry) -> TreeEntry:
    return TreeEntry(path, line[1], line[2], line[3])


def walk_entries(nodes: NodeCache, bundle: Bundle) -> Iterator[TreeEntry]:
    """Yield all entries with their full paths, section by section."""
    for section in bundle:
        yield from walk_section(nodes, bundle, section)


def walk_node_ids(nodes: NodeCache, bundle: Bundle) -> Iterator[bytes]:
    """Yield the ids of all nodes, parents before their children; one may come twice."""
    for root in bundle.values():
        stack = [root.node]
        while stack:
            yield (here := stack.pop())
            node = nodes.get(here)
            if node.kind == INNER:
                stack.extend(line[1] for line in node.entries)


def walk_section(
    nodes: NodeCache, bundle: Bundle, section: str, start: str = ""
) -> Iterator[TreeEntry]:
    """Yield the entries of one section, from the full path `start` on, with their full paths."""
    prefix = "" if section == paths.TOP_SECTION else section + "/"
    for path, kind, blob, size in tree.walk_tree(nodes, bundle.get(section), start[len(prefix) :]):
        yield TreeEntry(prefix + path, kind, blob, size)


def walk_below(nodes: NodeCache, bundle: Bundle, path: str) -> Iterator[TreeEntry]:
    """Yield the entry at the full `path` and those below it, in order."""
    single = get_entry(nodes, bundle, path)
    if single is not None:
        yield single
    prefix = path + "/"
    for entry in walk_section(nodes, bundle, path.partition("/")[0], prefix):
        if not entry.path.startswith(prefix):
            return
        yield entry


def list_names(nodes: NodeCache, bundle: Bundle, folder: str) -> list[str]:
    """Return the names of the files and folders in `folder` ("" is the top), each once."""
    if not folder:
        top = walk_section(nodes, bundle, paths.TOP_SECTION)
        return [
            *(name for name in bundle if name != paths.TOP_SECTION),
            *(entry.path for entry in top),
        ]
    start = len(folder) + 1
    inside = (
        entry.path[start:] for entry in walk_below(nodes, bundle, folder) if entry.path != folder
    )
    return list(dict.fromkeys(path.partition("/")[0] for path in inside))


def update_bundle(
    nodes: NodeCache, bundle: Bundle, edits: Mapping[str, TreeEntry | None]
) -> Bundle:
    """Return the bundle with `edits` (full path to entry, or None to remove) applied.

    Raises `InvalidInput` (`too_many`) past the greatest number of sections, or where
    their names are so long that the bundle would not be read again.
    """
    changed: dict[str, TreeRoot | None] = dict(bundle)
    by_section: dict[str, list[tree.EntryEdit]] = {}
    for path, entry in edits.items():
        section, inner = paths.split_section(path)
        moved = entry and TreeEntry(inner, entry.kind, entry.blob, entry.size)
        by_section.setdefault(section, []).append((inner, moved))
    for section, inside in by_section.items():
        inside.sort(key=entry_path)
        changed[section] = tree.update_tree(nodes, bundle.get(section), inside)
    remaining = {name: root for name, root in sorted(changed.items()) if root is not None}
    if len(remaining) > limits.MAX_SECTIONS or len(encode_bundle(remaining)) > MAX_OBJECT_BYTES:
        raise InvalidInput(
            f"{len(remaining)} top-level folders",
            code="too_many",
            hint="leave some out by .brainignore",
        )
    return remaining


def build_bundle(nodes: NodeCache, entries: Sequence[TreeEntry]) -> Bundle:
    """Return the bundle of `entries`, full paths in any order."""
    return update_bundle(nodes, EMPTY_BUNDLE, {entry.path: entry for entry in entries})


def diff_bundles(nodes: NodeCache, before: Bundle, after: Bundle) -> Iterator[Difference]:
    """Yield what differs, with full paths, section by section; cost grows with the changes."""
    for section in sorted({*before, *after}):
        old, new = before.get(section), after.get(section)
        if old == new:
            continue
        for path, was, now in _compare.diff_trees(nodes, old, new):
            full = paths.join_section(section, path)
            yield Difference(full, was and _make_entry(full, was), now and _make_entry(full, now))
