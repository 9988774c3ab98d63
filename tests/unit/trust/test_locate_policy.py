"""Finding the trust file of a snapshot."""

import pytest

from brain.digest import blob_id
from brain.errors import BrainError
from brain.objects.bundle import State
from brain.objects.snapshot import Snapshot
from brain.objects.tree_node import EXECUTABLE, FILE, LINK, TreeEntry
from brain.trust import trust_file
from brain.trust.trust_file import MAX_POLICY_BYTES, LocatePolicy, policy_locator
from tests.support.node_store import MemoryNodeStore
from tests.support.refusals import raises_code
from tests.support.snapshot_graphs import SnapshotGraph

BLOB = blob_id(b"trust")
NOTE = TreeEntry("memory/trust.json", FILE, blob_id(b"note"), 4)


class Brain:
    """Bundles that are looked up with a count of the nodes read."""

    def __init__(self) -> None:
        self.shelf = MemoryNodeStore()
        self.bundles: dict[bytes, State] = {}

    def snapshot(self, *entries: TreeEntry) -> Snapshot:
        nodes = self.shelf.open_nodes()
        bundle = State.build(nodes, entries)
        self.shelf.store_new_nodes(nodes)
        here = bundle.id
        self.bundles[here] = bundle
        dag = SnapshotGraph()
        return dag.known[dag.ids[0]]._replace(bundle=here)

    def locate(self) -> LocatePolicy:
        nodes = self.shelf.open_nodes()
        return policy_locator(lambda id: State(nodes, self.bundles[id].sections))


@pytest.mark.parametrize("kind", [FILE, EXECUTABLE])
def test_the_trust_file_lies_at_the_top(kind):
    brain = Brain()
    made = brain.snapshot(NOTE, TreeEntry("trust.json", kind, BLOB, 5))
    assert brain.locate()(made) == BLOB


def test_a_brain_without_one_has_none():
    brain = Brain()
    assert brain.locate()(brain.snapshot()) == b""
    assert brain.locate()(brain.snapshot(NOTE)) == b""
    assert brain.locate()(brain.snapshot(TreeEntry("SOUL.md", FILE, BLOB, 5))) == b""


@pytest.mark.parametrize(("kind", "size"), [(LINK, 5), (FILE, 1 << 30)])
def test_a_link_or_a_huge_file_is_no_trust_file(kind, size):
    brain = Brain()
    with raises_code("bad_trust", BrainError):
        brain.locate()(brain.snapshot(TreeEntry("trust.json", kind, BLOB, size)))


@pytest.mark.parametrize(
    ("kind", "size", "message"),
    [
        (FILE, MAX_POLICY_BYTES, ""),
        (FILE, MAX_POLICY_BYTES + 1, "it is too large"),
        (LINK, 5, "it is a link"),
        (LINK, MAX_POLICY_BYTES + 1, "it is a link"),
    ],
)
def test_a_trust_file_is_a_file_of_at_most_the_greatest_size(kind, size, message):
    brain = Brain()
    made = brain.snapshot(TreeEntry("trust.json", kind, BLOB, size))
    if message:
        with pytest.raises(BrainError, match=message):
            brain.locate()(made)
    else:
        assert brain.locate()(made) == BLOB


def test_a_trust_file_is_read_only_under_its_own_id():
    contents = {BLOB: b"trust", blob_id(b"other"): b"trust"}
    assert trust_file.read_policy_blob(contents.__getitem__, BLOB) == b"trust"
    with raises_code("corrupt_object", BrainError):
        trust_file.read_policy_blob(contents.__getitem__, blob_id(b"other"))
