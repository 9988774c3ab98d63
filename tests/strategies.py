"""What hypothesis draws: values of objects, and paths of brains."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from brain.errors import InvalidInput
from brain.objects import paths

numbers = st.one_of(
    st.integers(0, 300), st.integers(0, 2**64 - 1), st.sampled_from([2**16 - 1, 2**16, 2**32])
)
texts = st.one_of(st.text(max_size=40), st.sampled_from(["x" * 255, "x" * 256]))

values: st.SearchStrategy[Any] = st.recursive(
    st.one_of(numbers, texts, st.binary(max_size=40)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=20).map(tuple),
        st.dictionaries(texts, inner, max_size=20).map(lambda d: dict(sorted(d.items()))),
    ),
    max_leaves=60,
)
"""Any value an object may hold, arrays as tuples, maps in the order of their keys."""

_parts = st.one_of(
    st.sampled_from(["a", "b", "A", "a-", "a.", "z", "é", "ﬀ", "🧠"]),
    st.text(
        st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="/\\:"),
        min_size=1,
        max_size=12,
    ),
).filter(lambda part: part not in (".", ".."))


def _is_path(text: str) -> bool:
    try:
        return paths.check(text) == text
    except InvalidInput:
        return False


brain_paths = st.lists(_parts, min_size=1, max_size=4).map("/".join).filter(_is_path)
"""Paths that a brain may hold."""
