"""The rule that cuts a tree into nodes.

A node of a level ends after its c-th entry if c ≥ 24 and u < c³, where u are 22 bits of a hash
of the entry's path, salted by the level. So the chance of a cut rises with the cube of the
count (a Weibull hazard of shape 4 and scale 64), which gives nodes of about 58 entries with
little spread. At c = 162 the cut is certain, since 162³ > 2²². So each node except the last of
its level has 24 to 162 entries, even if an attacker chooses the paths. Cuts depend on paths
only, neither on content nor on the order of edits.
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
