from typing import Any

import pytest
from blake3 import blake3

from brain.digest import blob_id
from brain.encoding import pack
from brain.errors import FormatError, InvalidInput
from brain.limits import MAX_SECTIONS
from brain.objects import bundle as bundles
from brain.objects import tree
from brain.objects.bundle import BundleTotals
from brain.objects.tree import TreeRoot
from tests.support.node_store import MemoryNodeStore, file_entries, file_entry
from tests.support.refusals import raises_code

ROOT = blob_id(b"root")
LINE = ("skills", ROOT, 1, 7)
PATHS = ["SOUL.md", "a-b/x", "a/y", "memory/MEMORY.md", "skills/x/SKILL.md", "skills/y.md"]


def refusal(value: Any) -> str:
    with pytest.raises(FormatError) as caught:
        bundles.decode_bundle(value if isinstance(value, bytes) else pack(value))
    return caught.value.code


def of(context: str, data: bytes) -> bytes:
    return blake3(data, derive_key_context=context).digest()


def test_the_files_at_the_top_and_each_folder_are_sections():
    bundle = bundles.build_bundle(MemoryNodeStore().open_nodes(), file_entries(PATHS))
    assert list(bundle) == [".", "a", "a-b", "memory", "skills"]
    assert bundles.bundle_totals(bundle) == BundleTotals(6, sum(map(len, PATHS)))


def test_a_section_is_the_tree_of_its_inner_paths():
    nodes = MemoryNodeStore().open_nodes()
    bundle = bundles.build_bundle(nodes, file_entries(PATHS))
    inner = [
        line._replace(path=line.path.removeprefix("skills/")) for line in file_entries(PATHS[4:])
    ]
    assert bundle["skills"] == tree.build_tree(nodes, inner)


def test_the_id_is_the_merkle_root_over_the_hashed_sections():
    bundle = {"a": TreeRoot(ROOT, 1, 2), "b": TreeRoot(ROOT, 3, 4)}
    one, two = (of("brain v1 bundle section", pack((name, *bundle[name]))) for name in "ab")
    assert bundles.bundle_id(bundle) == of("brain v1 merkle join", one + two)
    assert bundles.bundle_id({"a": bundle["a"]}) == one


def test_a_brain_without_files_has_an_id_of_its_own():
    assert bundles.bundle_id(bundles.EMPTY_BUNDLE) == of("brain v1 merkle join", b"")
    assert (
        bundles.decode_bundle(bundles.encode_bundle(bundles.EMPTY_BUNDLE)) == bundles.EMPTY_BUNDLE
    )
    assert bundles.bundle_totals(bundles.EMPTY_BUNDLE) == BundleTotals(0, 0)


def test_a_bundle_is_read_back_as_it_was_written():
    bundle = bundles.build_bundle(MemoryNodeStore().open_nodes(), file_entries(PATHS))
    assert bundles.decode_bundle(bundles.encode_bundle(bundle)) == bundle


@pytest.mark.parametrize(
    "value",
    [
        7,
        "skills",
        {},
        {"skills": 1},
        (7,),
        ((),),
        (LINE[:3],),
        ((*LINE, 1),),
        (("skills", ROOT[:31], 1, 7),),
        (("skills", ROOT, 0, 7),),
        (("skills", ROOT, 2**63, 7),),
        (("skills", ROOT, 1, 2**63),),
        (("skills", ROOT, True, 7),),
        (("skills", ROOT, 1, None),),
        ((b"skills", ROOT, 1, 7),),
        (("", ROOT, 1, 7),),
        (("..", ROOT, 1, 7),),
        (("a/b", ROOT, 1, 7),),
        (("a\\b", ROOT, 1, 7),),
        (("C:", ROOT, 1, 7),),
        (("a\x00", ROOT, 1, 7),),
        (("x" * 1025, ROOT, 1, 7),),
    ],
)
def test_another_shape_is_no_bundle(value):
    assert refusal(value) == "bad_object"


def test_sections_out_of_order_or_twice_are_not_canonical():
    assert refusal((LINE, LINE)) == "not_canonical"
    assert refusal((LINE, (".", ROOT, 1, 7))) == "not_canonical"


def test_an_encoding_that_is_not_the_shortest_is_not_canonical():
    data = pack((LINE,))
    assert refusal(b"\xdc\x00\x01" + data[1:]) == "not_canonical"
    assert refusal(data[:-1] + b"\xcc\x07") == "not_canonical"


def test_there_are_at_most_4096_sections():
    names = [f"{number:04}" for number in range(MAX_SECTIONS + 1)]
    most = bundles.build_bundle(
        MemoryNodeStore().open_nodes(), file_entries(f"{name}/x" for name in names[1:])
    )
    assert bundles.decode_bundle(bundles.encode_bundle(most)) == most
    assert refusal(tuple((name, ROOT, 1, 1) for name in names)) == "bad_object"
    with raises_code("too_many", InvalidInput):
        bundles.update_bundle(
            MemoryNodeStore().open_nodes(), most, {"0000/x": file_entry("0000/x")}
        )


def test_a_bundle_that_would_not_be_read_again_is_not_made():
    long = [f"{number:04}{'x' * 250}/x" for number in range(MAX_SECTIONS)]
    with raises_code("too_many", InvalidInput):
        bundles.build_bundle(MemoryNodeStore().open_nodes(), file_entries(long))


@pytest.fixture
def small():
    node_store = MemoryNodeStore()
    nodes = node_store.open_nodes()
    bundle = bundles.build_bundle(nodes, file_entries(PATHS))
    node_store.store_new_nodes(nodes)
    return node_store, bundle


def test_an_entry_is_found_by_its_full_path(small):
    node_store, bundle = small
    for path in PATHS:
        assert bundles.get_entry(node_store.open_nodes(), bundle, path) == file_entry(path)
    for path in ("nothing", "skills", "skills/z", "SOUL.md/x", "other/x"):
        assert bundles.get_entry(node_store.open_nodes(), bundle, path) is None


def test_walking_yields_full_paths_section_by_section(small):
    node_store, bundle = small
    found = [line.path for line in bundles.walk_entries(node_store.open_nodes(), bundle)]
    assert found == ["SOUL.md", "a/y", "a-b/x", *PATHS[3:]]


def test_a_section_is_walked_from_a_full_path_on(small):
    node_store, bundle = small
    nodes = node_store.open_nodes()
    assert list(bundles.walk_section(nodes, bundle, "skills")) == file_entries(PATHS[4:])
    assert list(bundles.walk_section(nodes, bundle, "skills", "skills/y")) == file_entries(
        PATHS[5:]
    )
    assert list(bundles.walk_section(nodes, bundle, ".", "T")) == []
    assert list(bundles.walk_section(nodes, bundle, "other")) == []


def test_an_update_shares_the_sections_it_does_not_touch(small):
    node_store, bundle = small
    nodes = node_store.open_nodes()
    after = bundles.update_bundle(
        nodes, bundle, {"skills/y.md": None, "new/z": file_entry("new/z")}
    )
    assert {name for name in after if after[name] == bundle.get(name)} == {
        ".",
        "a",
        "a-b",
        "memory",
    }
    assert list(after) == [".", "a", "a-b", "memory", "new", "skills"]
    found = [difference.path for difference in bundles.diff_bundles(nodes, bundle, after)]
    assert found == ["new/z", "skills/y.md"]


def test_a_section_whose_last_file_goes_goes_with_it(small):
    node_store, bundle = small
    after = bundles.update_bundle(
        node_store.open_nodes(), bundle, {"memory/MEMORY.md": None, "SOUL.md": None}
    )
    assert list(after) == ["a", "a-b", "skills"]


def test_comparing_a_bundle_with_itself_reads_nothing(small):
    node_store, bundle = small
    assert list(bundles.diff_bundles(node_store.open_nodes(), bundle, dict(bundle))) == []
    assert node_store.loads == []
