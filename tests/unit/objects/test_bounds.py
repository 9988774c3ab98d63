"""Limits of objects, each at its bound, and what is looked up in bundles and lineages."""

import sys
from typing import Any

import pytest

from brain.digest import blob_id
from brain.errors import InvalidInput, NotFound, StoreError
from brain.objects import bundle as bundles
from brain.objects import collisions, lineage, operation, paths, tree_node
from brain.objects import snapshot as snapshots
from brain.objects.bundle import State
from brain.objects.tree_node import TreeNode
from tests.support.node_store import MemoryNodeStore, file_entries, file_entry
from tests.support.refusals import raises_code
from tests.support.snapshot_graphs import SnapshotGraph

ID, OTHER = blob_id(b"snapshot"), blob_id(b"other")


@pytest.mark.parametrize(
    ("kind", "counts"),
    [
        ("genesis", [0]),
        ("merge", [2]),
        ("import", range(1, 17)),
        ("upsert", [1]),
        ("task", [1]),
        ("a later kind", range(1, 18)),
    ],
)
def test_an_operation_has_its_numbers_of_parents(kind, counts):
    fits = [count for count in range(18) if operation.can_have_parents((kind,), count)]
    assert fits == list(counts)


def test_what_an_operation_names_is_found_in_it():
    upsert = operation.upsert_operation("a", "1", "2")
    absorb = ("absorb", "a", "1", "3", "b", "4")
    delete = ("delete", "a", "5")
    redact = ("redact", "a", ID, "why")
    assert [operation.written_version(one) for one in (upsert, absorb, delete)] == ["2", "3", ""]
    assert operation.redacted_blob(redact) == ID and operation.redacted_blob(delete) == b""
    assert operation.evidence_blob(redact) == b""
    assert operation.fork_origin(operation.genesis_operation(bytes(16), ID)) == ID
    assert operation.is_task_end(("task", "r", "success"))
    assert not operation.is_task_end(delete)


def test_the_greatest_numbers_are_those_of_the_format():
    assert tree_node.MAX_SAFE_INTEGER == 2**53 - 1
    assert snapshots.MAX_TIME_MS == 253_402_300_799_999
    assert (tree_node.FILE, tree_node.EXECUTABLE, tree_node.LINK) == (0, 1, 2)
    assert (tree_node.LEAF, tree_node.INNER) == (0, 1)
    assert collisions.MAX_LINK_TARGET_BYTES == 4095


LONG = "/".join(["x" * 250] * 4)
"""A path of 1003 bytes."""
INVISIBLE = """AD 34F 61C 115F 1160 17B4 17B5 180E 200B 200E 200F 2028-202E 2060-206F 3164 FEFF
FFA0 FFF0-FFFB 1BCA0-1BCA3 1D173-1D17A E0000-E00FF"""
"""As the specification of the format lists them."""


def test_the_characters_that_no_path_holds_are_those_of_the_format():
    refused = {*range(0x20), *range(0x7F, 0xA0)}
    for span in INVISIBLE.split():
        first, _, last = span.partition("-")
        refused.update(range(int(first, 16), int(last or first, 16) + 1))
    found = set()
    near = {code + step for code in refused for step in (-1, 0, 1)} - {-1}
    for code in near.union(range(0, sys.maxunicode, 97)):
        if not 0xD800 <= code < 0xE000 and chr(code) not in "/\\":
            try:
                paths.check_path(f"a{chr(code)}b")
            except InvalidInput as error:
                if error.code == "bad_char":
                    found.add(code)
    assert found == refused


@pytest.mark.parametrize(
    ("last", "first_refused", "code"),
    [
        (f"{LONG}/{'x' * 20}", f"{LONG}/{'x' * 21}", "bad_path"),
        (f"{LONG}/{'é' * 10}", f"{LONG}/{'é' * 10}x", "bad_path"),
        ("a/" + "x" * 255, "a/" + "x" * 256, "name_too_long"),
        ("x" * 255, "x" * 256, "name_too_long"),
        ("/".join("d" * 64), "/".join("d" * 65), "too_deep"),
        ("s/" + "/".join("d" * 63), "s/" + "/".join("d" * 64), "too_deep"),
        ("ab:c", "a:c", "bad_path"),
        ("aa", "a/", "bad_path"),
        ("~git", "git~1", "reserved_name"),
        (".gitx", ".git", "reserved_name"),
    ],
)
def test_a_path_reaches_to_its_limits(last, first_refused, code):
    paths.check_path(last)
    with raises_code(code, InvalidInput):
        paths.check_path(first_refused)


def test_an_object_of_another_id_is_damaged():
    data = bundles.encode_bundle({})
    assert bundles.decode_verified_bundle(bundles.bundle_id({}), data) == {}
    graph = SnapshotGraph()
    encoded = snapshots.encode_snapshot(graph.known[graph.ids[0]])
    found = snapshots.decode_verified_snapshot(graph.ids[0], encoded)
    assert found == graph.known[graph.ids[0]]
    node = TreeNode(tree_node.LEAF, tuple(file_entries(["a"])))
    assert tree_node.decode_verified_node(node.id, node.encode()).entries == node.entries
    for decode, good in (
        (bundles.decode_verified_bundle, data),
        (snapshots.decode_verified_snapshot, encoded),
        (tree_node.decode_verified_node, node.encode()),
    ):
        with raises_code("corrupt_object", StoreError):
            decode(ID, good)


class Links:
    """Blobs of one size each; `read_blob` may be asked for those that links can hold alone."""

    def __init__(self, size: int) -> None:
        self._size = size

    def blob_size(self, id: bytes, /) -> int:
        if not self._size:
            raise NotFound("gone")
        return self._size

    def read_blob(self, id: bytes, /) -> bytes:
        return b"x" * self._size


def test_the_text_of_a_link_is_read_up_to_its_limit():
    assert collisions.read_link_target(Links(4095), ID) == b"x" * 4095
    assert collisions.read_link_target(Links(4096), ID) == b""
    assert collisions.read_link_target(Links(0), ID) is None
    assert collisions.is_safe_link_target("l", b"x" * 4095)
    assert not collisions.is_safe_link_target("l", b"x" * 4096)


PATHS = ["SOUL.md", "a", "a-b/x", "skills/x", "skills/x.md", "skills/y/1", "skills/y/2", "z/1"]


def test_what_is_below_a_path_is_walked():
    nodes = MemoryNodeStore().open_nodes()
    bundle = State.build(nodes, file_entries(PATHS))

    def below(path: str) -> list[str]:
        return [entry.path for entry in bundle.walk_below(path)]

    assert below("skills") == PATHS[3:7] and below("skills/y") == PATHS[5:7]
    assert below("skills/x") == ["skills/x"] and below("a") == ["a"]
    assert below("SOUL.md") == ["SOUL.md"] and below("skil") == below("skills/") == []
    assert below("skills/y/1") == ["skills/y/1"]


def test_a_folder_is_no_entry():
    nodes = MemoryNodeStore().open_nodes()
    bundle = State.build(nodes, file_entries(PATHS))
    assert bundle.has("a") and not bundle.has("skills")


def test_all_nodes_are_walked_parents_first():
    store = MemoryNodeStore()
    nodes = store.open_nodes()
    many = [f"skills/{number:05}" for number in range(6000)]
    bundle = State.build(nodes, file_entries([*many, "b/x"]))
    store.store_new_nodes(nodes)
    walked = list(bundle.node_ids())
    assert walked[0] == bundle.sections["b"].node and bundle.sections["skills"].node in walked
    assert set(walked) == set(store.stored) and len(walked) > 100
    place = {id: number for number, id in enumerate(walked)}
    for id in walked:
        node = nodes.get(id)
        if node.kind == tree_node.INNER:
            assert all(place[line[1]] > place[id] for line in node.entries)


def test_an_edit_with_the_size_and_the_kind_of_an_entry_is_stored():
    nodes = MemoryNodeStore().open_nodes()
    entry = file_entry("skills/a")._replace(kind=2, size=9)
    bundle = State(nodes).edit({"skills/a": entry})
    assert bundle.get("skills/a") == entry
    (found,) = State(nodes).diff(bundle)
    assert (found.before, found.after) == (None, entry)


def test_the_depth_that_a_snapshot_jumps_to_follows_from_its_own():
    graph = SnapshotGraph()
    for number in range(100):
        graph.add(number)
    for here in graph.ids[1:]:
        depth, target = graph.known[here].jump
        assert lineage.jump_target_depth(depth) == graph.known[target].jump.depth


def test_ancestors_are_found_across_forks_and_merges():
    graph = SnapshotGraph()
    for number in range(5):
        graph.add(number)
    side = graph.add(2)
    merge = graph.add(5, 6)
    fork = graph.add_fork(7)
    tip = graph.add(8)
    stranger = graph.add(3)
    everything = set(graph.ids)

    def load(id: bytes) -> snapshots.Snapshot:
        if id not in graph.known:
            raise NotFound("gone")
        return graph.known[id]

    def filtered(start: bytes, load: Any = load) -> set[bytes]:
        return lineage.filter_ancestors(load, [start], everything)

    assert filtered(tip) == everything - {stranger}
    assert filtered(merge) == everything - {stranger, fork, tip}
    assert filtered(side) == {*graph.ids[:3], side}
    assert lineage.filter_ancestors(load, [tip], [side]) == {side}
    assert lineage.filter_ancestors(load, [tip, side], []) == set()

    def without_merge(id: bytes) -> snapshots.Snapshot:
        if id == merge:
            raise NotFound("gone")
        return load(id)

    assert filtered(tip, without_merge) == {fork, tip}
    assert lineage.find_ancestor_at(graph.load, tip, -1) is None
    assert lineage.find_ancestor_at(graph.load, side, 4) is None
    assert lineage.find_ancestor_at(graph.load, side, 3) == side
    assert lineage.find_ancestor_at(graph.load, side, 0) == graph.ids[0]
