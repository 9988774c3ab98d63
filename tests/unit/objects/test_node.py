from brain.digest import blob_id
from brain.objects.tree_node import INNER, LEAF, TreeNode
from tests.support.node_store import file_entries, file_entry

BLOB = blob_id(b"content")
LINE = ("a", 0, BLOB, 7)
CHILD = ("a", BLOB, 1, 7)


def test_hashes_taken_over_from_a_similar_node_give_the_same_id():
    old = TreeNode(LEAF, tuple(file_entries(f"{i:03}" for i in range(100))))
    assert old.id
    for lines in (
        (*old.entries[:50], file_entry("050", "new"), *old.entries[51:]),
        old.entries[1:],
        (*old.entries, file_entry("zzz")),
    ):
        node = TreeNode(LEAF, lines)
        node.reuse_rows(old)
        assert node.id == TreeNode(LEAF, lines).id


def test_a_node_with_lines_replaced_has_the_id_of_one_made_of_those_lines():
    lines = file_entries(f"{i:03}" for i in range(100))
    hashed, fresh = TreeNode(LEAF, tuple(lines)), TreeNode(LEAF, tuple(lines))
    assert hashed.id
    new = {0: file_entry("000", "new"), 99: file_entry("099", "new")}
    expected = TreeNode(LEAF, (new[0], *lines[1:99], new[99]))
    for old in (hashed, fresh):
        node = old.replace_entries(new)
        assert (node.entries, node.id) == (expected.entries, expected.id)
        assert old.id == TreeNode(LEAF, tuple(lines)).id


def test_nothing_is_taken_over_from_a_node_of_the_other_kind_or_one_never_hashed():
    for old in (TreeNode(INNER, (CHILD,)), TreeNode(LEAF, (LINE,))):
        node = TreeNode(LEAF, (LINE, ("b", 0, BLOB, 1)))
        node.reuse_rows(old)
        assert node.id == TreeNode(LEAF, node.entries).id
