"""States: all files of a brain at one time; and bundles, their encoding under one hash.

A bundle is the canonical MessagePack of its sections, `[[name, root, files, bytes], …]`, sorted
by name. Its id is the Merkle root over the hashes of the sections, so one section is shared or
proven without the others. The files at the top of the brain form the section `.`. No section
is empty.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from typing import Self

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
from . import paths, tree
from .node_cache import NodeCache
from .tree import Difference, TreeRoot
from .tree_node import INNER, NodeEntry, TreeEntry, check_child_entries, join_hashes

Sections = Mapping[str, TreeRoot]
"""Maps the name of each section to its tree, ascending by name."""

Edits = dict[str, TreeEntry | None]
"""Changes of a state: maps full paths to new entries, None to remove the path."""

_hash_section = domain_hash("brain v1 bundle section")


class BundleTotals(NamedTuple):
    """Files of a bundle and their bytes."""

    files: int
    bytes: int


def encode_bundle(sections: Sections) -> bytes:
    """Return the canonical bytes."""
    return pack([(name, *root) for name, root in sections.items()])


def bundle_id(sections: Sections) -> bytes:
    """Return the id; that of an empty bundle is the joining hash of nothing (RFC 6962, 2.1)."""
    if not sections:
        return join_hashes(b"")
    return bundle_rows(sections)[-1][0]


def bundle_rows(sections: Sections) -> list[list[bytes]]:
    """Return the rows of the Merkle tree of a bundle of one section or more."""
    hashes = [section_hash(name, root) for name, root in sections.items()]
    return merkle.build_rows(hashes, join_hashes)


def section_hash(name: str, root: TreeRoot) -> bytes:
    """Return the hash of one section in the Merkle tree of the bundle."""
    return _hash_section(pack((name, *root)))


def decode_bundle(data: bytes) -> Sections:
    """Return the sections of the bundle that canonical `data` encodes.

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
    sections = {name: TreeRoot(*root) for name, *root in value}
    if encode_bundle(sections) != data:
        raise FormatError(
            "the bundle is not encoded in its shortest form",
            code="not_canonical",
            hint=RESTORE_HINT,
        )
    return sections


def decode_verified_bundle(id: bytes, data: bytes) -> Sections:
    """Return the sections of the bundle that `data` encodes.

    Raises `FormatError` as `decode_bundle`, and `StoreError` (`corrupt_object`) if it has
    another id.
    """
    try:
        sections = decode_bundle(data)
    except FormatError as error:
        raise malformed_object_error("bundle", id, error) from error
    if bundle_id(sections) != id:
        raise corrupt_object_error(id)
    return sections


def _check_section_name(name: str) -> None:
    if name != paths.TOP_SECTION and ("/" in name or paths.check_path(name) != name):
        raise ValueError


class State:
    """All files of a brain at one time; equal to another one of the same files.

    It never changes. Its trees are read through `nodes`; `sections` has their roots. Paths are
    full ones, from the top of the brain.
    """

    def __init__(self, nodes: NodeCache, sections: Sections | None = None) -> None:
        self.nodes = nodes
        self.sections = sections or {}

    @classmethod
    def build(cls, nodes: NodeCache, entries: Iterable[TreeEntry]) -> State:
        """Return the state of `entries`, in any order. Raises as `edit`."""
        return State(nodes).edit({entry.path: entry for entry in entries})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, State) and self.sections == other.sections

    def __hash__(self) -> int:
        return hash(self.id)

    @property
    def id(self) -> bytes:
        """The id of its bundle."""
        return bundle_id(self.sections)

    @property
    def totals(self) -> BundleTotals:
        """The number of files and the sum of their sizes in bytes."""
        roots = self.sections.values()
        return BundleTotals(sum(root.files for root in roots), sum(root.bytes for root in roots))

    def encode(self) -> bytes:
        """Return the canonical bytes of its bundle."""
        return encode_bundle(self.sections)

    def get(self, path: str) -> TreeEntry | None:
        """Return the entry at `path`, or None."""
        section, inner = paths.split_section(path)
        entry = tree.get_tree_entry(self.nodes, self.sections.get(section), inner)
        return _with_path(path, entry) if entry else None

    def has(self, path: str) -> bool:
        """Tell whether there is an entry at `path`."""
        return self.get(path) is not None

    def walk(self) -> Iterator[TreeEntry]:
        """Yield all entries, section by section."""
        for section in self.sections:
            yield from self.walk_section(section)

    def walk_section(self, section: str, start: str = "") -> Iterator[TreeEntry]:
        """Yield the entries of one section, from the path `start` on."""
        prefix = "" if section == paths.TOP_SECTION else section + "/"
        root = self.sections.get(section)
        for path, kind, blob, size in tree.walk_tree(self.nodes, root, start[len(prefix) :]):
            yield TreeEntry(prefix + path, kind, blob, size)

    def walk_below(self, path: str) -> Iterator[TreeEntry]:
        """Yield the entry at `path` and those below it, in order."""
        exact = self.get(path)
        if exact is not None:
            yield exact
        prefix = path + "/"
        for entry in self.walk_section(path.partition("/")[0], prefix):
            if not entry.path.startswith(prefix):
                return
            yield entry

    def node_ids(self) -> Iterator[bytes]:
        """Yield the ids of all nodes, parents before their children; an id may be repeated."""
        for root in self.sections.values():
            stack = [root.node]
            while stack:
                yield (here := stack.pop())
                node = self.nodes.get(here)
                if node.kind == INNER:
                    stack.extend(line[1] for line in node.entries)

    def diff(self, after: State) -> Iterator[Difference]:
        """Yield the differences, section by section; cost grows with the changes."""
        for section in sorted({*self.sections, *after.sections}):
            old, new = self.sections.get(section), after.sections.get(section)
            if old == new:
                continue
            for inner, was, now in tree.diff_trees(self.nodes, old, new):
                path = paths.join_section(section, inner)
                yield Difference(path, was and _with_path(path, was), now and _with_path(path, now))

    def edit(self, edits: Mapping[str, TreeEntry | None]) -> Self:
        """Return the state with `edits` (path to entry, or None to remove) applied.

        Raises `InvalidInput` (`too_many`) if there are too many sections, or their names are so
        long that the bundle would be too large to read.
        """
        changed: dict[str, TreeRoot | None] = dict(self.sections)
        by_section: dict[str, list[str]] = {}
        for path in edits:
            by_section.setdefault(paths.split_section(path)[0], []).append(path)
        for section, every in by_section.items():
            every.sort()
            inner_edits = (
                (inner, entry and _with_path(inner, entry))
                for inner, entry in ((paths.split_section(path)[1], edits[path]) for path in every)
            )
            changed[section] = tree.update_tree(self.nodes, self.sections.get(section), inner_edits)
        made = copy(self)
        made.sections = {name: root for name, root in sorted(changed.items()) if root is not None}
        count = len(made.sections)
        if count > limits.MAX_SECTIONS or len(made.encode()) > MAX_OBJECT_BYTES:
            raise InvalidInput(
                f"the brain has {count} folders at its top, more than {limits.MAX_SECTIONS}"
                if count > limits.MAX_SECTIONS
                else f"the names of the {count} folders at the top of the brain are too long",
                code="too_many",
                hint="exclude some of them in .brainignore",
            )
        return made


def _with_path(path: str, entry: NodeEntry) -> TreeEntry:
    return TreeEntry(path, entry[1], entry[2], entry[3])
