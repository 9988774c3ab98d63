"""Which snapshots one has behind it and another has not."""

from __future__ import annotations

import heapq
from collections.abc import Iterator

from .lineage import Load


def only_behind(load: Load, new: bytes, old: bytes | None) -> Iterator[bytes]:
    """Yield `new` and its ancestors that are neither `old` nor its ancestors, newest first.

    By generation, so that a snapshot is met after all its descendants: git's
    `rev-list old..new`. With None nothing is left out. Raises what `load` raises.
    """
    known = {new: False}
    if old is not None:
        known[old] = True
    queue = [(-load(id).generation, id) for id in known]
    heapq.heapify(queue)
    open_ends = 0 if new == old else 1
    while queue and open_ends:
        _, here = heapq.heappop(queue)
        common = known[here]
        if not common:
            open_ends -= 1
            yield here
        for parent in load(here).parents:
            if parent not in known:
                known[parent] = common
                heapq.heappush(queue, (-load(parent).generation, parent))
                open_ends += not common
            elif common and not known[parent]:
                known[parent] = True
                open_ends -= 1
