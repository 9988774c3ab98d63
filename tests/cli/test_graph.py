"""The lineage as a drawing."""

from brain_cli.render.lineage_graph import GraphLanes
from hypothesis import given
from hypothesis import strategies as st

Graph = list[tuple[str, list[str]]]


def draw(graph: Graph) -> str:
    lanes = GraphLanes()
    rows = []
    for name, parents in graph:
        row, below = lanes.add_snapshot(name, parents)
        rows += [f"{row} {name}", *below]
    return "\n".join(rows)


def test_a_line_is_a_column_of_stars():
    assert draw([("c", ["b"]), ("b", ["a"]), ("a", [])]) == "* c\n* b\n* a"


def test_a_merge_opens_a_lane_and_the_common_ancestor_closes_it():
    graph = [("m", ["b", "c"]), ("c", ["a"]), ("b", ["a"]), ("a", [])]
    assert draw(graph) == "* m\n|\\\n| * c\n* | b\n|/\n* a"


def test_two_heads_without_a_merge_meet_at_their_ancestor():
    assert draw([("x", ["a"]), ("y", ["a"]), ("a", [])]) == "* x\n| * y\n|/\n* a"


def test_a_lane_that_ends_lets_the_others_move_left():
    graph = [("m", ["b", "c"]), ("b", []), ("c", [])]
    assert draw(graph) == "* m\n|\\\n* | b\n /\n* c"


def test_three_parents_open_two_lanes():
    graph: Graph = [("m", ["a", "b", "c"]), ("a", []), ("b", []), ("c", [])]
    assert draw(graph).split("\n")[:4] == ["* m", "|\\", "| |\\", "* | | a"]


def test_lines_that_cross_are_drawn_as_a_cross():
    graph: Graph = [("e", ["c", "d"]), ("d", ["a"]), ("c", ["a", "b"]), ("b", ["a"]), ("a", [])]
    assert draw(graph) == "* e\n|\\\n| * d\n* | c\n|X\n| * b\n|/\n* a"


@st.composite
def graphs(pick: st.DrawFn) -> Graph:
    """Draw graphs whose nodes name later nodes as parents."""
    size = pick(st.integers(1, 12))
    return [
        (str(at), sorted(pick(st.sets(st.sampled_from(later), max_size=3))) if later else [])
        for at, later in ((at, [str(n) for n in range(at + 1, size)]) for at in range(size))
    ]


@given(graphs())
def test_every_snapshot_has_exactly_one_star(graph):
    drawing = draw(graph).split("\n")
    stars = [row for row in drawing if "*" in row]
    assert [row.split()[-1] for row in stars] == [name for name, _ in graph]
    assert all(row.count("*") == 1 for row in stars)
