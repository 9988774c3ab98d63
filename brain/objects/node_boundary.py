"""The rule that says where a tree is cut into nodes.

Going through the entries of a level in order, a node ends after the entry that
is the c-th since the last cut when c ≥ 24 and u < c³, where u are 22 bits of a
hash of the entry's path, salted by the level. The chance of a cut thus rises
with the cube of the count (a Weibull hazard of shape 4 and scale 64), which
gives nodes of about 58 entries with little spread, and at c = 162 the cut is
certain, since 162³ > 2²². So a node but the last of its level has 24 to 162
entries, whatever names somebody mines, and the place of a cut depends on paths
alone: neither on content nor on the order of edits.
"""

from __future__ import annotations

from ..digest import domain_hash

MIN_NODE_ENTRIES = 24
MAX_NODE_ENTRIES = 162

_hash_path = domain_hash("brain v1 tree cut")


def is_node_boundary(level: int, path: str, count: int) -> bool:
    """Tell whether a node of `level` (0 is leaves) ends after its `count`-th entry, `path`."""
    if count < MIN_NODE_ENTRIES:
        return False
    digest = _hash_path(bytes((level,)) + path.encode())
    return int.from_bytes(digest[:3], "big") >> 2 < count * count * count
