"""Imports web3 and eth_account without their change of the recursion limit.

Both import py_ecc, which raises the limit of recursion a hundredfold for the whole
process: after that, deeply nested JSON or YAML from anywhere would end it by a
segmentation fault instead of a `RecursionError`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def preserve_recursion_limit() -> Iterator[None]:
    """Leave the limit of recursion as it was before the block."""
    before = sys.getrecursionlimit()
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
