"""Draw a lineage as text lanes, as `git log --graph` does."""

from __future__ import annotations


class GraphLanes:
    """Places snapshots, children before their parents, in lanes from the left.

    A lane waits for the snapshot that its last one names as a parent.
    """

    def __init__(self) -> None:
        self._waiting: list[str] = []

    def add_snapshot(self, snapshot: str, parents: list[str]) -> tuple[str, list[str]]:
        """Return the row of `snapshot` and the rows below it that join or open lanes."""
        before = self._waiting
        if snapshot not in before:
            before = [*before, snapshot]
        at = before.index(snapshot)
        row = " ".join("*" if lane == at else "|" for lane in range(len(before)))
        after, edges = self._next_lanes(before, at, snapshot, parents)
        self._waiting = after
        return row, _draw_edges(edges)

    def _next_lanes(
        self, before: list[str], at: int, snapshot: str, parents: list[str]
    ) -> tuple[list[str], list[tuple[int, int]]]:
        """Return the lanes below, and every edge as (lane above, lane below)."""
        after: list[str] = []
        for lane, waiting in enumerate(before):
            heirs = parents if lane == at else [] if waiting == snapshot else [waiting]
            after += [heir for heir in heirs if heir not in after]
        edges = []
        for lane, waiting in enumerate(before):
            heirs = parents if lane == at else [waiting] if waiting != snapshot else []
            edges += [(lane, after.index(heir)) for heir in heirs]
        return after, edges


def _draw_edges(edges: list[tuple[int, int]]) -> list[str]:
    """Draw edges that change lanes, one lane a row; none if all go straight down."""
    rows = []
    while any(above != below for above, below in edges):
        cells: dict[int, str] = {}
        moved = []
        for above, below in edges:
            step = (below > above) - (below < above)
            mark = {0: "|", 1: "\\", -1: "/"}[step]
            crosses = {mark, cells.get(2 * above + step)} == {"\\", "/"}
            cells[2 * above + step] = "X" if crosses else mark
            moved.append((above + step, below))
        rows.append("".join(cells.get(cell, " ") for cell in range(max(cells) + 1)))
        edges = moved
    return rows
