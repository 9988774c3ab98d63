"""Three-way merge of front matter, field by field.

Each field is the text from its key to the next one, so comments and the way a
value is written go with it. The map `metadata` is merged key by key.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..skills import frontmatter_fields
from ..skills.frontmatter import parse_front_matter
from ..skills.frontmatter_fields import BLOCK_MAP_KIND, FrontMatter, FrontMatterField
from .diff3 import ConflictHunk, MergePiece, TextLines, split_lines

LinesByKey = dict[str, str]
"""Key to its lines; "" to what stands before the first key."""


def merge_front_matter(base: str, ours: str, theirs: str) -> list[MergePiece]:
    """Return the merged head in pieces; a contested field is a `Stretch`.

    All three are texts of heads that `scan` reads. A head in braces is one field.
    """
    sides = [
        parse_front_matter(text) if text else frontmatter_fields.EMPTY_FRONT_MATTER
        for text in (base, ours, theirs)
    ]
    if any(side.is_flow for side in sides):
        return [_merge_field(base, ours, theirs)]
    chunks_by_side = [_split_by_key(side.text, side.fields) for side in sides]
    pieces: list[MergePiece] = []
    for key in _merge_key_order(*chunks_by_side):
        texts = tuple(chunks.get(key, "") for chunks in chunks_by_side)
        if key == "metadata" and _has_block_maps(sides, texts):
            pieces += _merge_metadata(*sides)
        else:
            pieces.append(_merge_field(*texts))
    return pieces


def _merge_metadata(base: FrontMatter, ours: FrontMatter, theirs: FrontMatter) -> list[MergePiece]:
    chunks_by_side: list[LinesByKey] = []
    for side in (base, ours, theirs):
        field = side.fields.get("metadata")
        if field is None:
            chunks_by_side.append({})
            continue
        start = frontmatter_fields.line_start_offset(side.text, field.key_start)
        chunks_by_side.append(
            _split_by_key(side.text[: _field_end(side, field)], side.metadata, start)
        )
    keys = _merge_key_order(*chunks_by_side)
    return [_merge_field(*(chunks.get(key, "") for chunks in chunks_by_side)) for key in keys]


def _has_block_maps(sides: list[FrontMatter], texts: tuple[str, ...]) -> bool:
    """Tell whether `metadata` is a map in lines on both sides, and in the base or not there."""
    return all(
        side.fields["metadata"].kind == BLOCK_MAP_KIND if text else side is sides[0]
        for side, text in zip(sides, texts, strict=True)
    )


def _field_end(side: FrontMatter, field: FrontMatterField) -> int:
    later = [other.key_start for other in side.fields.values() if other.key_start > field.key_start]
    return frontmatter_fields.line_start_offset(side.text, min(later)) if later else len(side.text)


def _split_by_key(text: str, fields: Mapping[str, FrontMatterField], start: int = 0) -> LinesByKey:
    places = sorted(
        (frontmatter_fields.line_start_offset(text, f.key_start), key) for key, f in fields.items()
    )
    out = {"": text[start : places[0][0] if places else len(text)]}
    for number, (place, key) in enumerate(places):
        stop = places[number + 1][0] if number + 1 < len(places) else len(text)
        out[key] = text[place:stop]
    return out


def _merge_key_order(base: LinesByKey, ours: LinesByKey, theirs: LinesByKey) -> list[str]:
    """Return all keys: those of the longer side in its order, the other's after their neighbour."""
    first, second = sorted((list(ours), list(theirs)), key=lambda keys: (-len(keys), keys))
    out = list(first)
    last = ""
    for key in second:
        if key not in out:
            out.insert(out.index(last) + 1 if last in out else len(out), key)
        last = key
    return out


def _merge_field(base: str, ours: str, theirs: str) -> MergePiece:
    if ours == theirs or theirs == base:
        return _encode_lines(ours)
    if ours == base:
        return _encode_lines(theirs)
    return ConflictHunk(_encode_lines(base), _encode_lines(ours), _encode_lines(theirs))


def _encode_lines(text: str) -> TextLines:
    return split_lines(text.encode())
