"""Three-way merge of front matter, field by field.

Each field is the text from its key to the next one, so comments and the way a
value is written go with it. The map `metadata` is merged key by key.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..skills import edit
from ..skills.fields import BLOCK_MAP, Field, Head
from ..skills.frontmatter import scan
from .lines import Lines, Piece, Stretch, split

Chunks = dict[str, str]
"""Key to its lines; "" to what stands before the first key."""


def merge(base: str, ours: str, theirs: str) -> list[Piece]:
    """Return the merged head in pieces; a contested field is a `Stretch`.

    All three are texts of heads that `scan` reads. A head in braces is one field.
    """
    heads = [scan(text) if text else edit.EMPTY for text in (base, ours, theirs)]
    if any(head.flow for head in heads):
        return [_field(base, ours, theirs)]
    cut = [_chunks(head.text, head.fields) for head in heads]
    pieces: list[Piece] = []
    for key in _order(*cut):
        texts = tuple(chunks.get(key, "") for chunks in cut)
        if key == "metadata" and _are_block_maps(heads, texts):
            pieces += _metadata(*heads)
        else:
            pieces.append(_field(*texts))
    return pieces


def _metadata(base: Head, ours: Head, theirs: Head) -> list[Piece]:
    cut: list[Chunks] = []
    for head in (base, ours, theirs):
        field = head.fields.get("metadata")
        if field is None:
            cut.append({})
            continue
        start = edit.line_start(head.text, field.key_start)
        cut.append(_chunks(head.text[: _end(head, field)], head.metadata, start))
    keys = _order(*cut)
    return [_field(*(chunks.get(key, "") for chunks in cut)) for key in keys]


def _are_block_maps(heads: list[Head], texts: tuple[str, ...]) -> bool:
    """Tell whether `metadata` is a map in lines on both sides, and in the base or not there."""
    return all(
        head.fields["metadata"].kind == BLOCK_MAP if text else head is heads[0]
        for head, text in zip(heads, texts, strict=True)
    )


def _end(head: Head, field: Field) -> int:
    later = [other.key_start for other in head.fields.values() if other.key_start > field.key_start]
    return edit.line_start(head.text, min(later)) if later else len(head.text)


def _chunks(text: str, fields: Mapping[str, Field], start: int = 0) -> Chunks:
    places = sorted((edit.line_start(text, f.key_start), key) for key, f in fields.items())
    out = {"": text[start : places[0][0] if places else len(text)]}
    for number, (place, key) in enumerate(places):
        stop = places[number + 1][0] if number + 1 < len(places) else len(text)
        out[key] = text[place:stop]
    return out


def _order(base: Chunks, ours: Chunks, theirs: Chunks) -> list[str]:
    """Return all keys: those of the longer side in its order, the other's after their neighbour."""
    first, second = sorted((list(ours), list(theirs)), key=lambda keys: (-len(keys), keys))
    out = list(first)
    last = ""
    for key in second:
        if key not in out:
            out.insert(out.index(last) + 1 if last in out else len(out), key)
        last = key
    return out


def _field(base: str, ours: str, theirs: str) -> Piece:
    if ours == theirs or theirs == base:
        return _lines(ours)
    if ours == base:
        return _lines(theirs)
    return Stretch(_lines(base), _lines(ours), _lines(theirs))


def _lines(text: str) -> Lines:
    return split(text.encode())
