from typing import Any

import pytest
from blake3 import blake3

from brain.digest import blob_id
from brain.encoding import pack
from brain.errors import FormatError
from brain.objects.node_boundary import MAX_NODE_ENTRIES
from brain.objects.tree_entry import MAX_SAFE_INTEGER
from brain.objects.tree_node import INNER, LEAF, TreeNode, decode_node
from tests.support.node_store import file_entries, file_entry

BLOB = blob_id(b"content")
LINE = ("a", 0, BLOB, 7)
CHILD = ("a", BLOB, 1, 7)


def refusal(value: Any) -> str:
    with pytest.raises(FormatError) as caught:
        decode_node(value if isinstance(value, bytes) else pack(value))
    return caught.value.code


def of(context: str, data: bytes) -> bytes:
    return blake3(data, derive_key_context=context).digest()


def test_a_node_is_read_back_as_it_was_written():
    for node in (
        TreeNode(LEAF, (LINE,)),
        TreeNode(
            LEAF, (("a", 0, BLOB, 0), ("b", 1, BLOB, MAX_SAFE_INTEGER - 1), ("c/d", 2, BLOB, 1))
        ),
        TreeNode(INNER, (("a", BLOB, 1, 0), ("é", BLOB, MAX_SAFE_INTEGER - 1, MAX_SAFE_INTEGER))),
    ):
        again = decode_node(node.encode())
        assert (again.kind, again.entries, again.last) == (node.kind, node.entries, node.last)
        assert again.id == node.id


def test_the_id_of_a_node_of_one_entry_is_the_hash_of_that_entry():
    assert TreeNode(LEAF, (LINE,)).id == of("brain v1 tree leaf", pack(LINE))


def test_the_last_path_of_a_child_is_hashed_by_itself_first():
    last = of("brain v1 tree last", CHILD[0].encode())
    assert TreeNode(INNER, (CHILD,)).id == of("brain v1 tree inner", pack((last, *CHILD[1:])))


def test_the_id_of_a_node_joins_the_hashes_of_its_entries_as_rfc_6962_does():
    lines = file_entries("abc")
    a, b, c = (of("brain v1 tree leaf", pack(tuple(line))) for line in lines)
    join = "brain v1 merkle join"
    assert TreeNode(LEAF, tuple(lines)).id == of(join, of(join, a + b) + c)


def test_files_and_bytes_are_summed():
    assert TreeNode(LEAF, (("a", 0, BLOB, 3), ("b", 0, BLOB, 4))).totals() == (2, 7)
    assert TreeNode(INNER, (("a", BLOB, 3, 10), ("b", BLOB, 4, 5))).totals() == (7, 15)


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


@pytest.mark.parametrize(
    "value",
    [
        (),
        (0,),
        (0, (LINE,), 0),
        {},
        "ab",
        (0, b"ab"),
        7,
        (0, ()),
        (1, ()),
        (0, {}),
        (0, 5),
        (0, "text"),
        (2, (LINE,)),
        (255, (LINE,)),
        ((LINE,), 0),
        ("0", (LINE,)),
        (False, (LINE,)),
        (True, (CHILD,)),
        (0.0, (LINE,)),
        (1.0, (CHILD,)),
        (None, (LINE,)),
        (-1, (CHILD,)),
        (0, (CHILD,)),
        (1, (LINE,)),
        (0, (LINE[:3],)),
        (0, ((*LINE, 0),)),
        (0, (LINE, ("b", 0, BLOB))),
        (0, ("abcd",)),
        (0, (b"abcd",)),
        (0, ({"a": 0, "b": 1, "c": 2, "d": 3},)),
        (0, (LINE, {"w": 0, "x": 1, "y": 2, "z": 3})),
        (0, ((b"a", 0, BLOB, 7),)),
        (0, ((None, 0, BLOB, 7),)),
        (0, (("a", 3, BLOB, 7),)),
        (0, (("a", -1, BLOB, 7),)),
        (0, (("a", 99_999_999, BLOB, 7),)),
        (0, (("a", True, BLOB, 7),)),
        (0, (("a", 0.0, BLOB, 7),)),
        (0, (("a", 0, BLOB[:31], 7),)),
        (0, (("a", 0, BLOB + b"x", 7),)),
        (0, (("a", 0, b"", 7),)),
        (0, (("a", 0, "x" * 32, 7),)),
        (0, (("a", 0, (0,) * 32, 7),)),
        (0, (("a", 0, BLOB, -1),)),
        (0, (("a", 0, BLOB, MAX_SAFE_INTEGER + 1),)),
        (0, (("a", 0, BLOB, MAX_SAFE_INTEGER), ("b", 0, BLOB, 1))),
        (1, (("a", BLOB, MAX_SAFE_INTEGER, 0), ("b", BLOB, 1, 0))),
        (1, (("a", BLOB, 1, MAX_SAFE_INTEGER), ("b", BLOB, 1, 1))),
        (0, (("a", 0, BLOB, 2**64 - 1),)),
        (0, (("a", 0, BLOB, False),)),
        (0, (("a", 0, BLOB, 7.0),)),
        (0, (("a", 0, BLOB, "7"),)),
        (1, (("a", BLOB, 0, 7),)),
        (1, (("a", BLOB, -1, 7),)),
        (1, (("a", BLOB, MAX_SAFE_INTEGER + 1, 7),)),
        (1, (("a", BLOB, 1, -1),)),
        (1, (("a", BLOB, 1, MAX_SAFE_INTEGER + 1),)),
        (1, (("a", BLOB, True, 7),)),
        (1, (("a", BLOB[:31], 1, 7),)),
    ],
)
def test_another_shape_is_no_node(value):
    assert refusal(value) == "bad_object"


def test_a_node_of_163_entries_is_refused():
    names = [f"{i:03}" for i in range(MAX_NODE_ENTRIES + 1)]
    assert (
        decode_node(pack((0, file_entries(names[:MAX_NODE_ENTRIES])))).totals()[0]
        == MAX_NODE_ENTRIES
    )
    assert refusal((0, file_entries(names))) == "bad_object"
    assert refusal((1, tuple((name, BLOB, 1, 1) for name in names))) == "bad_object"


@pytest.mark.parametrize(
    "names", [("b", "a"), ("a", "a"), ("a", "c", "b"), ("é", "z"), ("ab", "a")]
)
def test_entries_out_of_order_or_twice_are_not_canonical(names):
    assert refusal((0, tuple((name, 0, BLOB, 7) for name in names))) == "not_canonical"
    assert refusal((1, tuple((name, BLOB, 1, 7) for name in names))) == "not_canonical"


def test_order_is_that_of_utf8_bytes_beyond_the_first_plane_too():
    low, high = "\uffee", "\U00010000"  # in UTF-16 they would stand the other way round
    assert decode_node(pack((0, ((low, 0, BLOB, 1), (high, 0, BLOB, 1)))))
    assert refusal((0, ((high, 0, BLOB, 1), (low, 0, BLOB, 1)))) == "not_canonical"


def test_an_encoding_that_is_not_the_shortest_is_not_canonical():
    good = pack((0, (LINE,)))
    assert good.startswith(bytes.fromhex("92009194a161 00 c420"))
    for old, new in (
        ("9200", "92cc00"),
        ("a161", "d90161"),
        ("c420", "c50020"),
        ("0091", "00dc0001"),
        ("9200", "dc000200"),
    ):
        bad = good.replace(bytes.fromhex(old), bytes.fromhex(new), 1)
        assert refusal(bad) == "not_canonical"
    assert refusal(good[:-1] + b"\xcc\x07") == "not_canonical"


def test_bytes_cut_off_or_added_are_refused():
    good = TreeNode(LEAF, tuple(file_entries("abc"))).encode()
    assert {refusal(good[:cut]) for cut in range(len(good))} == {"bad_msgpack"}
    for more in (b"\x00", b"\xc0", b"\xc1", good):
        assert refusal(good + more) == "bad_msgpack"


@pytest.mark.parametrize("kind", [LEAF, INNER])
def test_a_node_with_any_bit_flipped_is_refused_or_has_another_id(kind):
    lines = (
        file_entries("ab")
        if kind == LEAF
        else [("a", BLOB, 3, 9), ("b", blob_id(b"b"), 300, 70_000)]
    )
    node = TreeNode(kind, tuple(lines))
    data = node.encode()
    for place in range(8 * len(data)):
        flipped = bytearray(data)
        flipped[place >> 3] ^= 1 << (place & 7)
        try:
            assert decode_node(bytes(flipped)).id != node.id
        except FormatError:
            continue
