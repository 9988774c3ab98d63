"""A tree is accepted if, and only if, it is cut as the rule says, whatever tree was before it.

A tree is written here as nested lists of nodes. Each forged tree differs from an honest one in
one place, and all that its nodes claim about each other is true unless the test says otherwise.
"""

from collections.abc import Callable, Iterator
from functools import cache
from itertools import count

import pytest

from brain.errors import FormatError
from brain.objects.bundle import Sections, State
from brain.objects.node_cache import NodeCache
from brain.objects.tree import TreeRoot, build_tree
from brain.objects.tree_node import (
    INNER,
    LEAF,
    MIN_NODE_ENTRIES,
    ChildEntry,
    NodeEntry,
    TreeEntry,
    TreeNode,
    is_node_boundary,
)
from brain.verify.tree_check import SectionDiff, check_bundles
from tests.support.node_store import MemoryNodeStore, file_entry
from tests.support.refusals import raises_code

Shape = list["Shape"] | list[TreeEntry]
"""An inner node as the list of its children, or a leaf as the list of its entries."""
Lie = Callable[[ChildEntry], ChildEntry]
"""What the parent says instead of the truth about a node."""

SECTION_FILES = 2 * MIN_NODE_ENTRIES**2 + 30


_FIRST_NONCES = {MIN_NODE_ENTRIES**2: 35_167, 2 * MIN_NODE_ENTRIES**2: 110_182}
"""Names that end nodes of two levels are rare: the search for these begins where they are."""


def check_states(nodes: NodeCache, before: Sections, after: Sections) -> Iterator[SectionDiff]:
    """Check sections given as mappings."""
    return check_bundles(State(nodes, before), State(nodes, after))


@cache
def mined_files() -> list[TreeEntry]:
    """Return files whose leaves end after 24, and so do the nodes above them."""
    return [file_entry(_mine_name(place)) for place in range(1, SECTION_FILES + 1)]


def _mine_name(place: int) -> str:
    ends = [level for level in (0, 1) if place % MIN_NODE_ENTRIES ** (level + 1) == 0]
    names = (f"{place:04}-{nonce}" for nonce in count(_FIRST_NONCES.get(place, 0)))
    return next(
        name
        for name in names
        if all(is_node_boundary(level, name, MIN_NODE_ENTRIES) for level in ends)
    )


def cut(entries: list[TreeEntry]) -> Shape:
    """Return the only tree that these files may have, by the rule alone."""
    level, nodes = 0, _cut_level(0, [(entry, entry.path) for entry in entries])
    while len(nodes) > 1:
        level += 1
        nodes = _cut_level(level, [(node, last_path(node)) for node in nodes])
    return nodes[0]


def _cut_level(level: int, items: list[tuple[object, str]]) -> list[Shape]:
    nodes: list[list[object]] = [[]]
    for item, path in items:
        nodes[-1].append(item)
        if is_node_boundary(level, path, len(nodes[-1])):
            nodes.append([])
    return [node for node in nodes if node]  # type: ignore[misc]


def is_leaf(shape: Shape) -> bool:
    return isinstance(shape[0], TreeEntry)


def last_path(shape: Shape) -> str:
    last = shape[-1]
    return last.path if isinstance(last, TreeEntry) else last_path(last)


def files_of(shape: Shape) -> list[TreeEntry]:
    return [
        file
        for child in shape
        for file in ([child] if isinstance(child, TreeEntry) else files_of(child))
    ]


class Forger:
    """Stores nodes as they are, and asks the verifier about trees of them."""

    def __init__(self) -> None:
        self._store = MemoryNodeStore()
        self._nodes = self._store.open_nodes()

    def store(self, shape: Shape, lies: dict[int, Lie] | None = None) -> TreeRoot:
        """Store the nodes of a tree; `lies` are by the identity of the node that they are about."""
        _, node, files, size = self._store_node(shape, lies or {})
        return TreeRoot(node, files, size)

    def _store_node(self, shape: Shape, lies: dict[int, Lie]) -> ChildEntry:
        lines: tuple[NodeEntry, ...] = tuple(
            child if isinstance(child, TreeEntry) else self._store_node(child, lies)
            for child in shape
        )
        node = TreeNode(LEAF if is_leaf(shape) else INNER, lines)
        self._store.stored[node.id] = node.encode()
        truth = ChildEntry(node.last, node.id, *node.totals())
        return lies.get(id(shape), lambda said: said)(truth)

    def refuses(self, before: TreeRoot | None, after: TreeRoot) -> bool:
        old = {"s": before} if before else {}
        try:
            list(check_states(self._nodes, old, {"s": after}))
        except FormatError as error:
            assert error.code in {"bad_tree", "not_canonical"}
            return True
        return False


def replaced(shape: Shape, place: int, *children: Shape | TreeEntry, width: int = 1) -> Shape:
    """Return a node with other children instead of `width` of them."""
    return [*shape[:place], *children, *shape[place + width :]]  # type: ignore[list-item, return-value]


def edges(shape: Shape) -> list[int]:
    """Return the places that a test looks at: the first and the last two."""
    return sorted({0, 1, len(shape) - 2, len(shape) - 1} & set(range(len(shape))))


def forgeries(shape: Shape) -> Iterator[tuple[str, Shape]]:
    """Yield trees that differ from `shape` in one node."""
    if is_leaf(shape):
        return
    for place in edges(shape):
        child: Shape = shape[place]  # type: ignore[assignment]
        for label, forged in forgeries(child):
            yield f"{place}: {label}", replaced(shape, place, forged)
        yield f"{place} below a node of its own", replaced(shape, place, [child])  # type: ignore[list-item]
        yield f"{place} left out", replaced(shape, place)
        for at in {1, len(child) // 2, len(child) - 1} & set(range(1, len(child))):
            yield f"{place} cut at {at}", replaced(shape, place, child[:at], child[at:])
        if not is_leaf(child):
            yield f"{place} a level too low", replaced(shape, place, child[0])
            yield f"{place} dissolved", replaced(shape, place, *child)
        if place + 1 == len(shape):
            continue
        following: Shape = shape[place + 1]  # type: ignore[assignment]
        for label, pair in {
            "joined": [[*child, *following]],
            "cut early": [child[:-1], [child[-1], *following]],
            "cut late": [[*child, following[0]], following[1:]],
        }.items():
            nodes = [node for node in pair if node]
            yield f"{place} {label}", replaced(shape, place, *nodes, width=2)  # type: ignore[arg-type]
        if is_leaf(child):
            for label, path in {
                "twice": last_path(child),
                "out of order": last_path(child)[:-1],
                "far out of order": "0",
            }.items():
                stray = [file_entry(path), *following]
                yield f"{place + 1} has a path {label}", replaced(shape, place + 1, stray)  # type: ignore[arg-type]


FILES = mined_files()
LEAF_FILES, MIDDLE_FILES = MIN_NODE_ENTRIES, MIN_NODE_ENTRIES**2
HONEST = {
    "one leaf": FILES[: LEAF_FILES - 4],
    "one full leaf": FILES[:LEAF_FILES],
    "two leaves": FILES[: LEAF_FILES + 1],
    "two full leaves": FILES[: 2 * LEAF_FILES],
    "a full middle": FILES[:MIDDLE_FILES],
    "two middles": FILES[: MIDDLE_FILES + LEAF_FILES + 5],
    "three middles": FILES,
    "later files alone": FILES[MIDDLE_FILES:],
    "one file fewer": [*FILES[:100], *FILES[101:]],
    "another content": [file_entry(FILES[0].path, "x"), *FILES[1:]],
}
"""Files of trees whose right edges end in every way."""


@pytest.mark.parametrize("base", ["two leaves", "two full leaves", "two middles", "three middles"])
def test_a_forged_tree_is_refused_whatever_honest_tree_was_before_it(base):
    forger = Forger()
    befores = {name: forger.store(cut(files)) for name, files in HONEST.items()}
    honest = cut(HONEST[base])
    forged = [("a single child", [honest]), *forgeries(honest)]
    refused = 0
    for label, shape in forged:
        if not shape or shape == cut(sorted(files_of(shape))):  # type: ignore[type-var]
            continue
        refused += 1
        after = forger.store(shape)
        for name, before in [("nothing", None), *befores.items()]:
            assert forger.refuses(before, after), f"{label}, after {name}"
    assert refused > 10


@pytest.mark.parametrize("before", ["nothing", *HONEST])
def test_an_honest_tree_is_accepted_after_any_other(before):
    forger = Forger()
    old = forger.store(cut(HONEST[before])) if before in HONEST else None
    for files in HONEST.values():
        root = forger.store(cut(files))
        assert root == build_tree(NodeCache(lambda _: b""), files)
        assert not forger.refuses(old, root)


def _inner_nodes(shape: Shape) -> Iterator[Shape]:
    if not is_leaf(shape):
        for place in edges(shape):
            child: Shape = shape[place]  # type: ignore[assignment]
            yield child
            yield from _inner_nodes(child)


LIES: dict[str, Lie] = {
    "one file more": lambda said: said._replace(files=said.files + 1),
    "one byte more": lambda said: said._replace(bytes=said.bytes + 1),
    "a later last path": lambda said: said._replace(last_path=said.last_path + "-"),
    "an earlier last path": lambda said: said._replace(last_path=said.last_path[:-1]),
}


@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("base", ["two full leaves", "two middles", "three middles"])
def test_a_false_claim_about_a_node_is_refused_whether_the_node_is_new_or_not(base, lie):
    forger = Forger()
    befores = [None, *(forger.store(cut(files)) for files in HONEST.values())]
    honest = cut(HONEST[base])
    for node in [*_inner_nodes(honest)]:
        after = forger.store(honest, {id(node): LIES[lie]})
        for before in befores:
            assert forger.refuses(before, after)


@pytest.mark.parametrize("base", HONEST)
def test_a_false_claim_about_the_whole_tree_is_refused(base):
    forger = Forger()
    befores = [None, *(forger.store(cut(files)) for files in HONEST.values())]
    honest = forger.store(cut(HONEST[base]))
    for after in (honest._replace(files=honest.files + 1), honest._replace(bytes=honest.bytes - 1)):
        for before in befores:
            assert forger.refuses(before, after)


def _mine(prefix: str, *levels: int, avoid: tuple[int, ...] = ()) -> TreeEntry:
    names = (f"{prefix}-{nonce}" for nonce in count())
    return file_entry(
        next(
            name
            for name in names
            if all(is_node_boundary(level, name, MIN_NODE_ENTRIES) for level in levels)
            and not any(is_node_boundary(level, name, MIN_NODE_ENTRIES) for level in avoid)
        )
    )


@pytest.mark.parametrize(
    ("files_in_last_leaf", "ends_levels", "accepted"),
    [(24, (0, 1), True), (24, (0,), False), (24, (1,), False), (24, (), False), (23, (1,), False)],
)
def test_a_node_that_leaves_the_right_edge_ends_with_a_cut_on_every_level(
    files_in_last_leaf, ends_levels, accepted
):
    forger = Forger()
    full = FILES[: MIDDLE_FILES - LEAF_FILES]
    plain = [file_entry(f"0553-{place:02}") for place in range(files_in_last_leaf - 1)]
    avoid = tuple({0, 1} - set(ends_levels))
    middle = [*cut(full), [*plain, _mine("0554", *ends_levels, avoid=avoid)]]
    before = forger.store(middle)
    assert not forger.refuses(None, before)
    added: Shape = [[file_entry("0600")]]  # type: ignore[list-item]
    assert forger.refuses(before, forger.store([middle, added])) is not accepted  # type: ignore[list-item]


@pytest.mark.parametrize("is_twice", [True, False])
def test_a_leaf_that_is_shared_starts_after_the_new_leaf_before_it(is_twice):
    forger = Forger()
    head, stray = FILES[: LEAF_FILES - 1], _mine(FILES[LEAF_FILES].path, 0)
    shared = [stray if is_twice else FILES[LEAF_FILES], *FILES[LEAF_FILES + 1 : 2 * LEAF_FILES]]
    before = forger.store([FILES[:LEAF_FILES], shared])  # type: ignore[list-item]
    assert not forger.refuses(None, before)
    forged = forger.store([[*head, stray], shared])  # type: ignore[list-item]
    assert forger.refuses(before, forged)
    assert forger.refuses(None, forged)


def test_an_inner_node_that_is_shared_starts_after_the_new_one_before_it():
    forger = Forger()
    honest = cut(FILES)
    before = forger.store(honest)
    first: Shape = honest[0]  # type: ignore[assignment]
    stray = _mine(FILES[MIDDLE_FILES].path, 0, 1)
    forged = [*first[:-1], [*first[-1][:-1], stray]]  # type: ignore[index, misc]
    assert forger.refuses(before, forger.store([forged, *honest[1:]]))  # type: ignore[list-item]


def test_entries_that_differ_are_told_apart_from_those_that_moved_to_another_node():
    forger = Forger()
    before = forger.store(cut(FILES[:100]))
    for added in (1, 3):
        files = [*FILES[:30], *FILES[31:100], *FILES[200 : 200 + added]]
        (diff,) = check_states(forger._nodes, {"s": before}, {"s": forger.store(cut(files))})
        assert sorted(diff.old_entries) == [FILES[30]]
        assert sorted(diff.new_entries) == FILES[200 : 200 + added]
        assert list(diff.walk_added_paths()) == [
            f"s/{file.path}" for file in FILES[200 : 200 + added]
        ]


@pytest.mark.parametrize("base", ["one leaf", "two middles", "three middles"])
def test_a_changed_entry_is_reported_before_and_after(base):
    forger = Forger()
    files = HONEST[base]
    for places in ([0], [len(files) - 1], [0, len(files) // 2]):
        edited = [
            file_entry(file.path, "edited") if place in places else file
            for place, file in enumerate(files)
        ]
        before, after = forger.store(cut(files)), forger.store(cut(edited))
        (diff,) = check_states(forger._nodes, {"s": before}, {"s": after})
        assert sorted(diff.old_entries) == [files[place] for place in places]
        assert sorted(diff.new_entries) == [edited[place] for place in places]
        assert list(diff.walk_added_paths()) == []


@pytest.fixture(scope="module")
def honest_trees():
    forger = Forger()
    return forger, {name: forger.store(cut(files)) for name, files in HONEST.items()}


@pytest.mark.parametrize("after", HONEST)
@pytest.mark.parametrize("before", HONEST)
def test_every_file_that_came_or_went_is_reported_whatever_nodes_the_trees_share(
    honest_trees, before, after
):
    forger, roots = honest_trees
    old, new = set(HONEST[before]), set(HONEST[after])
    diffs = list(check_states(forger._nodes, {"s": roots[before]}, {"s": roots[after]}))
    assert sorted(line for diff in diffs for line in diff.old_entries) == sorted(old - new)
    assert sorted(line for diff in diffs for line in diff.new_entries) == sorted(new - old)


@pytest.mark.parametrize("place", [0, 255, 256, 257, SECTION_FILES - 1])
@pytest.mark.parametrize("section", ["s", "."])
def test_a_path_that_no_brain_may_hold_is_refused_wherever_it_is(section, place):
    path = {"s": "{}/../x", ".": "{}/x"}[section]
    files = list(FILES)
    files[place] = file_entry(path.format(files[place].path[:-1] + "z"))
    forger = Forger()
    after = forger.store(cut(files))
    with raises_code("bad_path", FormatError):
        list(check_states(forger._nodes, {}, {section: after}))
