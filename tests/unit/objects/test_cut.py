import itertools

import pytest
from blake3 import blake3

from brain.objects.node_boundary import MAX_NODE_ENTRIES, MIN_NODE_ENTRIES, is_node_boundary


def bits(level: int, path: str) -> int:
    """The 22 bits of a path, from the text of the specification."""
    data = bytes([level]) + path.encode()
    first = blake3(data, derive_key_context="brain v1 tree cut").digest(3)
    return int.from_bytes(first, "big") >> 2


@pytest.mark.parametrize("level", [0, 1, 2, 7])
def test_a_cut_comes_when_the_cube_of_the_count_passes_the_bits_of_the_path(level):
    for number in range(200):
        path = f"skills/{number}.md"
        first = next(count for count in itertools.count(1) if is_node_boundary(level, path, count))
        assert first == max(MIN_NODE_ENTRIES, round_up_to_cube(bits(level, path)))


def round_up_to_cube(number: int) -> int:
    return next(count for count in itertools.count() if number < count**3)


def test_no_node_ends_before_its_24th_entry():
    low = next(name for name in map(str, itertools.count()) if bits(0, name) < 23**3)
    assert [is_node_boundary(0, low, count) for count in (1, 23, 24, 25)] == [
        False,
        False,
        True,
        True,
    ]


def test_every_node_ends_at_its_162nd_entry():
    assert (MAX_NODE_ENTRIES - 1) ** 3 < 1 << 22 <= MAX_NODE_ENTRIES**3
    high = next(name for name in map(str, itertools.count()) if bits(0, name) >= 161**3)
    assert [is_node_boundary(0, high, count) for count in (161, 162)] == [False, True]


def test_the_level_salts_the_cut():
    firsts = {level: bits(level, "skills/x.md") for level in range(4)}
    assert len(set(firsts.values())) == 4
