from typing import Any

import pytest

from brain.digest import blob_id
from brain.encoding import pack
from brain.errors import FormatError, InvalidInput
from brain.limits import MAX_SECTIONS
from brain.objects import bundle as bundles
from brain.objects import tree
from brain.objects.bundle import BundleTotals, State
from tests.support.node_store import MemoryNodeStore, file_entries, file_entry
from tests.support.refusals import raises_code

ROOT = blob_id(b"root")
PATHS = ["SOUL.md", "a-b/x", "a/y", "memory/MEMORY.md", "skills/x/SKILL.md", "skills/y.md"]


def refusal(value: Any) -> str:
    with pytest.raises(FormatError) as caught:
        bundles.decode_bundle(value if isinstance(value, bytes) else pack(value))
    return caught.value.code


def test_the_files_at_the_top_and_each_folder_are_sections():
    bundle = State.build(MemoryNodeStore().open_nodes(), file_entries(PATHS))
    assert list(bundle.sections) == [".", "a", "a-b", "memory", "skills"]
    assert bundle.totals == BundleTotals(6, sum(map(len, PATHS)))


def test_a_section_is_the_tree_of_its_inner_paths():
    nodes = MemoryNodeStore().open_nodes()
    bundle = State.build(nodes, file_entries(PATHS))
    inner = [
        line._replace(path=line.path.removeprefix("skills/")) for line in file_entries(PATHS[4:])
    ]
    assert bundle.sections["skills"] == tree.build_tree(nodes, inner)


def test_there_are_at_most_4096_sections():
    names = [f"{number:04}" for number in range(MAX_SECTIONS + 1)]
    most = State.build(
        MemoryNodeStore().open_nodes(), file_entries(f"{name}/x" for name in names[1:])
    )
    assert bundles.decode_bundle(most.encode()) == most.sections
    assert refusal(tuple((name, ROOT, 1, 1) for name in names)) == "bad_object"
    with raises_code("too_many", InvalidInput):
        most.edit({"0000/x": file_entry("0000/x")})


def test_a_bundle_that_would_not_be_read_again_is_not_made():
    long = [f"{number:04}{'x' * 250}/x" for number in range(MAX_SECTIONS)]
    with raises_code("too_many", InvalidInput):
        State.build(MemoryNodeStore().open_nodes(), file_entries(long))


@pytest.fixture
def small():
    node_store = MemoryNodeStore()
    nodes = node_store.open_nodes()
    bundle = State.build(nodes, file_entries(PATHS))
    node_store.store_new_nodes(nodes)
    return node_store, bundle


def test_an_entry_is_found_by_its_full_path(small):
    _, bundle = small
    for path in PATHS:
        assert bundle.get(path) == file_entry(path)
    for path in ("nothing", "skills", "skills/z", "SOUL.md/x", "other/x"):
        assert bundle.get(path) is None


def test_walking_yields_full_paths_section_by_section(small):
    _, bundle = small
    found = [line.path for line in bundle.walk()]
    assert found == ["SOUL.md", "a/y", "a-b/x", *PATHS[3:]]


def test_a_section_is_walked_from_a_full_path_on(small):
    _, bundle = small
    assert list(bundle.walk_section("skills")) == file_entries(PATHS[4:])
    assert list(bundle.walk_section("skills", "skills/y")) == file_entries(PATHS[5:])
    assert list(bundle.walk_section(".", "T")) == []
    assert list(bundle.walk_section("other")) == []


def test_an_update_shares_the_sections_it_does_not_touch(small):
    _, bundle = small
    after = bundle.edit({"skills/y.md": None, "new/z": file_entry("new/z")})
    assert {name for name, root in after.sections.items() if root == bundle.sections.get(name)} == {
        ".",
        "a",
        "a-b",
        "memory",
    }
    assert list(after.sections) == [".", "a", "a-b", "memory", "new", "skills"]
    found = [difference.path for difference in bundle.diff(after)]
    assert found == ["new/z", "skills/y.md"]


def test_a_section_whose_last_file_goes_goes_with_it(small):
    _, bundle = small
    after = bundle.edit({"memory/MEMORY.md": None, "SOUL.md": None})
    assert list(after.sections) == ["a", "a-b", "skills"]
