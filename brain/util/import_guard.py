"""Keeps the recursion limit while web3 and eth_account are imported.

Both import py_ecc, which raises the limit a hundredfold for the whole process. Deeply nested
JSON or YAML would then crash the process instead of raising `RecursionError`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def preserve_recursion_limit() -> Iterator[None]:
    """Restore the recursion limit after the block."""
    before = sys.getrecursionlimit()
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
