import pytest

from brain.errors import FormatError
from brain.objects.node_cache import MAX_CACHED_NODES, MAX_CACHED_SWEEP_NODES, NodeCache
from brain.objects.tree_node import LEAF, TreeNode
from tests.support.node_store import MemoryNodeStore, file_entries


def leaf(name: str) -> TreeNode:
    return TreeNode(LEAF, tuple(file_entries([name])))


def test_a_node_is_loaded_once_and_then_at_hand():
    node_store = MemoryNodeStore()
    node = leaf("a")
    node_store.stored[node.id] = node.encode()
    nodes = node_store.open_nodes()
    assert nodes.get(node.id) is nodes.get(node.id)
    assert node_store.loads == [node.id]


def test_a_new_node_is_fresh_until_it_is_settled():
    node_store = MemoryNodeStore()
    nodes = node_store.open_nodes()
    node = leaf("a")
    assert nodes.add(node) == nodes.add(leaf("a")) == node.id
    assert nodes.unstored == {node.id: node.encode()}
    nodes.mark_stored()
    assert nodes.unstored == {}
    assert nodes.get(node.id).entries == node.entries
    assert node_store.loads == []


def test_a_node_that_is_stored_and_at_hand_is_not_built_anew():
    node_store = MemoryNodeStore()
    nodes = node_store.open_nodes()
    made = nodes.add(leaf("a"))
    node_store.store_new_nodes(nodes)
    node_store.stored[leaf("b").id] = leaf("b").encode()
    nodes.get(leaf("b").id)
    assert [nodes.add(leaf(name)) for name in "ab"] == [made, leaf("b").id]
    assert nodes.unstored == {}


def test_a_node_that_was_not_stored_is_built_anew():
    nodes = MemoryNodeStore().open_nodes()
    for end in (nodes.drop_unstored, nodes.clear):
        nodes.add(leaf("a"))
        end()
        assert nodes.unstored == {}
        nodes.add(leaf("a"))
        assert nodes.unstored == {leaf("a").id: leaf("a").encode()}


def test_a_node_read_before_it_is_stored_is_not_taken_for_stored():
    nodes = MemoryNodeStore().open_nodes()
    made = nodes.add(leaf("a"))
    nodes._cached.clear()
    assert nodes.get(made).entries == leaf("a").entries
    assert nodes.add(leaf("a")) == made
    assert nodes.unstored == {made: leaf("a").encode()}


def test_what_is_forgotten_is_read_again_from_the_store():
    nodes = MemoryNodeStore().open_nodes()
    node = leaf("a")
    nodes.add(node)
    nodes.clear()
    assert nodes.unstored == {}
    with pytest.raises(KeyError):
        nodes.get(node.id)


def test_bytes_that_are_no_node_are_refused():
    nodes = NodeCache({b"id": b"\xc1"}.__getitem__)
    with pytest.raises(FormatError):
        nodes.get(b"id")


def test_memory_holds_a_bounded_number_of_nodes_and_loses_no_fresh_one():
    node_store = MemoryNodeStore()
    nodes = node_store.open_nodes()
    ids = [nodes.add(leaf(f"{number:05}")) for number in range(MAX_CACHED_NODES + 500)]
    assert len(nodes.unstored) == len(ids)
    assert [nodes.get(node_id).id for node_id in ids] == ids
    assert node_store.loads == []
    node_store.store_new_nodes(nodes)
    for node_id in ids[-500:]:
        nodes.get(node_id)
    assert node_store.loads == []
    nodes.get(ids[0])
    assert node_store.loads == [ids[0]]


def test_a_sweep_returns_each_node_and_holds_no_more_than_a_part_of_them():
    node_store = MemoryNodeStore()
    nodes = node_store.open_nodes()
    ids = [nodes.add(leaf(f"{number:05}")) for number in range(MAX_CACHED_SWEEP_NODES + 50)]
    node_store.store_new_nodes(nodes)
    swept = node_store.open_nodes()
    assert [swept.peek(node_id).id for node_id in [*ids, *ids]] == [*ids, *ids]
    assert node_store.loads == [*ids, *ids[MAX_CACHED_SWEEP_NODES:]]


def test_the_cache_holds_2048_nodes_and_drops_the_oldest_quarter_for_the_next():
    node_store = MemoryNodeStore()
    nodes = node_store.open_nodes()
    ids = [nodes.add(leaf(f"{number:05}")) for number in range(2049)]
    assert len(nodes._cached) == 255  # of the new ones
    node_store.store_new_nodes(nodes)
    nodes.clear()
    for node_id in ids[:2048]:
        nodes.get(node_id)
    assert len(nodes._cached) == len(nodes._id_by_entries) == 2048
    nodes.get(ids[2048])
    assert list(nodes._cached) == ids[512:]
    assert len(nodes._id_by_entries) == 1537


def test_a_sweep_caches_512_nodes():
    node_store = MemoryNodeStore()
    nodes = node_store.open_nodes()
    ids = [nodes.add(leaf(f"{number:05}")) for number in range(514)]
    node_store.store_new_nodes(nodes)
    nodes.clear()
    for node_id in ids:
        nodes.peek(node_id)
    assert list(nodes._cached) == ids[:512]
    fresh = nodes.add(leaf("fresh"))
    nodes._cached.pop(fresh)
    assert nodes.peek(fresh).id == fresh and fresh not in nodes._cached
