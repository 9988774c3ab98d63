"""Bundles: the whole state of a brain under one hash.

A bundle is the canonical MessagePack of its sections, `[[name, root, files, bytes], …]`, sorted
by name. Its id is the Merkle root over the hashes of the sections, so one section is shared or
proven without the others. The files at the top of the brain form the section `.`. No section
is empty.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from .. import limits, merkle
from ..digest import domain_hash
from ..encoding import MAX_OBJECT_BYTES, pack, unpack_unchecked
from ..errors import (
    RESTORE_HINT,
    FormatError,
    InvalidInput,
    corrupt_object_error,
    malformed_object_error,
)
from ..named_tuple import NamedTuple
from . import paths, tree, tree_diff
from .node_cache import NodeCache
from .tree import TreeRoot
from .tree_diff import Difference
from .tree_node import INNER, NodeEntry, TreeEntry, check_child_entries, join_hashes

Bundle = Mapping[str, TreeRoot]
"""Maps the name of each section to its tree, ascending by name."""

Edits = dict[str, TreeEntry | None]
"""Changes of a bundle: maps full paths to new entries, None to remove the path."""

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
    """Return the hash of one section in the Merkle tree of the bundle."""
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
        for section in value:
            _check_section_name(section[0])
    except (TypeError, ValueError, InvalidInput) as error:
        raise FormatError(
            "the object is not a bundle", code="bad_object", hint=RESTORE_HINT
        ) from error
    bundle = {name: TreeRoot(*root) for name, *root in value}
    if encode_bundle(bundle) != data:
        raise FormatError(
            "the bundle is not encoded in its shortest form",
            code="not_canonical",
            hint=RESTORE_HINT,
        )
    return bundle


def decode_verified_bundle(id: bytes, data: bytes) -> Bundle:
    """Return the bundle that `data` encodes.

    Raises `FormatError` as `decode_bundle`, and `StoreError` (`corrupt_object`) if it has
    another id.
    """
    try:
        bundle = decode_bundle(data)
    except FormatError as error:
        raise malformed_object_error("bundle", id, error) from error
    if bundle_id(bundle) != id:
        raise corrupt_object_error(id)
    return bundle


def _check_section_name(name: str) -> None:
    if name != paths.TOP_SECTION and ("/" in name or paths.check_path(name) != name):
        raise ValueError


def bundle_totals(bundle: Bundle) -> BundleTotals:
    """Return the number of files of the bundle and the sum of their sizes in bytes."""
    roots = bundle.values()
    return BundleTotals(sum(root.files for root in roots), sum(root.bytes for root in roots))


def get_entry(nodes: NodeCache, bundle: Bundle, path: str) -> TreeEntry | None:
    """Return the entry at the full `path`, or None."""
    entry = _find_entry(nodes, bundle, path)
    return _with_path(path, entry) if entry else None


def has_entry(nodes: NodeCache, bundle: Bundle, path: str) -> bool:
    """Tell whether there is an entry at the full `path`."""
    return _find_entry(nodes, bundle, path) is not None


def _find_entry(nodes: NodeCache, bundle: Bundle, path: str) -> NodeEntry | None:
    section, inner = paths.split_section(path)
    return tree.get_tree_entry(nodes, bundle.get(section), inner)


def _with_path(path: str, entry: NodeEntry) -> TreeEntry:
    return TreeEntry(path, entry[1], entry[2], entry[3])


def walk_entries(nodes: NodeCache, bundle: Bundle) -> Iterator[TreeEntry]:
    """Yield all entries with their full paths, section by section."""
    for section in bundle:
        yield from walk_section(nodes, bundle, section)


def walk_node_ids(nodes: NodeCache, bundle: Bundle) -> Iterator[bytes]:
    """Yield the ids of all nodes, parents before their children; an id may be repeated."""
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
    exact = get_entry(nodes, bundle, path)
    if exact is not None:
        yield exact
    prefix = path + "/"
    for entry in walk_section(nodes, bundle, path.partition("/")[0], prefix):
        if not entry.path.startswith(prefix):
            return
        yield entry


def update_bundle(
    nodes: NodeCache, bundle: Bundle, edits: Mapping[str, TreeEntry | None]
) -> Bundle:
    """Return the bundle with `edits` (full path to entry, or None to remove) applied.

    Raises `InvalidInput` (`too_many`) if there are too many sections, or their names are so
    long that the bundle would be too large to read.
    """
    changed: dict[str, TreeRoot | None] = dict(bundle)
    by_section: dict[str, list[str]] = {}
    for path in edits:
        by_section.setdefault(paths.split_section(path)[0], []).append(path)
    for section, every in by_section.items():
        every.sort()
        inner_edits = (
            (inner, entry and _with_path(inner, entry))
            for inner, entry in ((paths.split_section(path)[1], edits[path]) for path in every)
        )
        root = bundle.get(section)
        if root is None:  # all at once they may be very many
            new = tree.build_tree(nodes, (entry for _, entry in inner_edits if entry))
        else:
            new = tree.update_tree(nodes, root, list(inner_edits))
        changed[section] = new
    remaining = {name: root for name, root in sorted(changed.items()) if root is not None}
    if len(remaining) > limits.MAX_SECTIONS or len(encode_bundle(remaining)) > MAX_OBJECT_BYTES:
        raise InvalidInput(
            f"the brain has {len(remaining)} folders at its top, more than {limits.MAX_SECTIONS}"
            if len(remaining) > limits.MAX_SECTIONS
            else f"the names of the {len(remaining)} folders at the top of the brain are too long",
            code="too_many",
            hint="exclude some of them in .brainignore",
        )
    return remaining


def build_bundle(nodes: NodeCache, entries: Sequence[TreeEntry]) -> Bundle:
    """Return the bundle of `entries`, full paths in any order."""
    return update_bundle(nodes, EMPTY_BUNDLE, {entry.path: entry for entry in entries})


def diff_bundles(nodes: NodeCache, before: Bundle, after: Bundle) -> Iterator[Difference]:
    """Yield the differences, with full paths, section by section; cost grows with the changes."""
    for section in sorted({*before, *after}):
        old, new = before.get(section), after.get(section)
        if old == new:
            continue
        for inner, was, now in tree_diff.diff_trees(nodes, old, new):
            path = paths.join_section(section, inner)
            yield Difference(path, was and _with_path(path, was), now and _with_path(path, now))
