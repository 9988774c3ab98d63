"""Finding the trust file of a snapshot."""

from __future__ import annotations

import pytest

from brain.digest import blob_id
from brain.errors import BrainError
from brain.objects import bundle as bundles
from brain.objects.entry import EXECUTABLE, FILE, LINK, Entry
from brain.objects.snapshot import Snapshot
from brain.trust.place import Locate, locator
from tests.dags import Dag
from tests.shelf import Shelf

BLOB = blob_id(b"trust")
NOTE = Entry("memory/trust.json", FILE, blob_id(b"note"), 4)


class Brain:
    """Bundles that are looked up with a count of the nodes read."""

    def __init__(self) -> None:
        self.shelf = Shelf()
        self.bundles: dict[bytes, bundles.Bundle] = {}

    def snapshot(self, *entries: Entry) -> Snapshot:
        nodes = self.shelf.nodes()
        bundle = bundles.build(nodes, entries)
        self.shelf.settle(nodes)
        here = bundles.bundle_id(bundle)
        self.bundles[here] = bundle
        dag = Dag()
        return dag.known[dag.ids[0]]._replace(bundle=here)

    def locate(self) -> Locate:
        return locator(self.shelf.nodes(), self.bundles.__getitem__)


@pytest.mark.parametrize("kind", [FILE, EXECUTABLE])
def test_the_trust_file_lies_at_the_top(kind: int) -> None:
    brain = Brain()
    made = brain.snapshot(NOTE, Entry("trust.json", kind, BLOB, 5))
    assert brain.locate()(made) == BLOB


def test_a_brain_without_one_has_none() -> None:
    brain = Brain()
    assert brain.locate()(brain.snapshot()) == b""
    assert brain.locate()(brain.snapshot(NOTE)) == b""
    assert brain.locate()(brain.snapshot(Entry("SOUL.md", FILE, BLOB, 5))) == b""


@pytest.mark.parametrize(("kind", "size"), [(LINK, 5), (FILE, 1 << 30)])
def test_a_link_or_a_huge_file_is_no_trust_file(kind: int, size: int) -> None:
    brain = Brain()
    with pytest.raises(BrainError) as caught:
        brain.locate()(brain.snapshot(Entry("trust.json", kind, BLOB, size)))
    assert caught.value.code == "bad_trust"


def test_snapshots_that_share_the_files_at_the_top_are_looked_up_once() -> None:
    brain = Brain()
    trust = Entry("trust.json", FILE, BLOB, 5)
    made = [
        brain.snapshot(trust, Entry(f"memory/{number}.md", FILE, BLOB, number))
        for number in range(20)
    ]
    locate = brain.locate()
    brain.shelf.loads.clear()
    assert {locate(snapshot) for snapshot in made} == {BLOB}
    assert len(brain.shelf.loads) == 1
