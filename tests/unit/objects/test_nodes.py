from __future__ import annotations

import pytest

from brain.errors import FormatError
from brain.objects.node import LEAF, Node
from brain.objects.nodes import KEPT, KEPT_SWEPT, Nodes
from tests.shelf import Shelf, entries


def leaf(name: str) -> Node:
    return Node(LEAF, tuple(entries([name])))


def test_a_node_is_loaded_once_and_then_at_hand() -> None:
    shelf = Shelf()
    node = leaf("a")
    shelf.stored[node.id] = node.encode()
    nodes = shelf.nodes()
    assert nodes.get(node.id) is nodes.get(node.id)
    assert shelf.loads == [node.id]


def test_a_new_node_is_fresh_until_it_is_settled() -> None:
    shelf = Shelf()
    nodes = shelf.nodes()
    node = leaf("a")
    assert nodes.add(node) == nodes.add(leaf("a")) == node.id
    assert nodes.fresh == {node.id: node.encode()}
    nodes.settled()
    assert nodes.fresh == {}
    assert nodes.get(node.id).entries == node.entries
    assert shelf.loads == []


def test_a_node_that_is_stored_and_at_hand_is_not_built_anew() -> None:
    shelf = Shelf()
    nodes = shelf.nodes()
    made = nodes.add(leaf("a"))
    shelf.settle(nodes)
    shelf.stored[leaf("b").id] = leaf("b").encode()
    nodes.get(leaf("b").id)
    assert [nodes.add(leaf(name)) for name in "ab"] == [made, leaf("b").id]
    assert nodes.fresh == {}


def test_a_node_that_was_not_stored_is_built_anew() -> None:
    nodes = Shelf().nodes()
    for end in (nodes.dropped, nodes.forget):
        nodes.add(leaf("a"))
        end()
        assert nodes.fresh == {}
        nodes.add(leaf("a"))
        assert nodes.fresh == {leaf("a").id: leaf("a").encode()}


def test_a_node_read_before_it_is_stored_is_not_taken_for_stored() -> None:
    nodes = Shelf().nodes()
    made = nodes.add(leaf("a"))
    nodes._kept.clear()
    assert nodes.get(made).entries == leaf("a").entries
    assert nodes.add(leaf("a")) == made
    assert nodes.fresh == {made: leaf("a").encode()}


def test_what_is_forgotten_is_read_again_from_the_store() -> None:
    nodes = Shelf().nodes()
    node = leaf("a")
    nodes.add(node)
    nodes.forget()
    assert nodes.fresh == {}
    with pytest.raises(KeyError):
        nodes.get(node.id)


def test_bytes_that_are_no_node_are_refused() -> None:
    nodes = Nodes({b"id": b"\xc1"}.__getitem__)
    with pytest.raises(FormatError):
        nodes.get(b"id")


def test_memory_holds_a_bounded_number_of_nodes_and_loses_no_fresh_one() -> None:
    shelf = Shelf()
    nodes = shelf.nodes()
    ids = [nodes.add(leaf(f"{number:05}")) for number in range(KEPT + 500)]
    assert len(nodes.fresh) == len(ids)
    assert [nodes.get(node_id).id for node_id in ids] == ids
    assert shelf.loads == []
    shelf.settle(nodes)
    for node_id in ids[-500:]:
        nodes.get(node_id)
    assert shelf.loads == []
    nodes.get(ids[0])
    assert shelf.loads == [ids[0]]


def test_a_sweep_returns_each_node_and_holds_no_more_than_a_part_of_them() -> None:
    shelf = Shelf()
    nodes = shelf.nodes()
    ids = [nodes.add(leaf(f"{number:05}")) for number in range(KEPT_SWEPT + 50)]
    shelf.settle(nodes)
    swept = shelf.nodes()
    assert [swept.glance(node_id).id for node_id in [*ids, *ids]] == [*ids, *ids]
    assert shelf.loads == [*ids, *ids[KEPT_SWEPT:]]
