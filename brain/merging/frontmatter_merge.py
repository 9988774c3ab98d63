"""Three-way merge of front matter, field by field.

A field is the text from its key to the next key, so comments and the notation of the
value stay with it. The map `metadata` is merged key by key.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..skills import frontmatter_fields
from ..skills.frontmatter import parse_if_any
from ..skills.frontmatter_fields import BLOCK_MAP_KIND, FrontMatter, FrontMatterField
from .lines import ConflictHunk, MergePiece, TextLines, split_lines

LinesByKey = dict[str, str]
"""The lines of each key; under "", the lines before the first key."""


def merge_front_matter(base: str, ours: str, theirs: str) -> list[MergePiece]:
    """Return the merged front matter in pieces; a field may be a conflict.

    The three texts are front matter that `parse_front_matter` reads, or empty. Front
    matter in flow style (`{…}`) counts as one field.
    """
    sides = list(map(parse_if_any, (base, ours, theirs)))
    if any(side.is_flow for side in sides):
        return [_merge_field(base, ours, theirs)]
    chunks_by_side = [split_by_key(side.text, side.fields) for side in sides]
    pieces: list[MergePiece] = []
    for key in _merge_key_order(*chunks_by_side):
        texts = tuple(chunks.get(key, "") for chunks in chunks_by_side)
        if key == "metadata" and _has_block_maps(sides, texts):
            pieces += _merge_metadata(*sides)
        else:
            pieces.append(_merge_field(*texts))
    return pieces


def split_by_key(text: str, fields: Mapping[str, FrontMatterField], start: int = 0) -> LinesByKey:
    """Return the lines of each of the `fields` of a text, from the offset `start` on."""
    starts = sorted(
        (frontmatter_fields.line_start_offset(text, f.key_start), key) for key, f in fields.items()
    )
    ends = [*(offset for offset, _ in starts), len(text)]
    lines = {"": text[start : ends[0]]}
    for (offset, key), end in zip(starts, ends[1:], strict=True):
        lines[key] = text[offset:end]
    return lines


def _merge_metadata(base: FrontMatter, ours: FrontMatter, theirs: FrontMatter) -> list[MergePiece]:
    chunks_by_side: list[LinesByKey] = []
    for side in (base, ours, theirs):
        field = side.fields.get("metadata")
        if field is None:
            chunks_by_side.append({})
            continue
        start = frontmatter_fields.line_start_offset(side.text, field.key_start)
        text = side.text[: _field_end(side, field)]
        chunks_by_side.append(split_by_key(text, side.metadata, start))
    keys = _merge_key_order(*chunks_by_side)
    return [_merge_field(*(chunks.get(key, "") for chunks in chunks_by_side)) for key in keys]


def _has_block_maps(sides: list[FrontMatter], texts: tuple[str, ...]) -> bool:
    """Tell whether `metadata` is a block map wherever it is; only the base may lack it."""
    return all(
        side.fields["metadata"].kind == BLOCK_MAP_KIND if text else side is sides[0]
        for side, text in zip(sides, texts, strict=True)
    )


def _field_end(side: FrontMatter, field: FrontMatterField) -> int:
    later = [other.key_start for other in side.fields.values() if other.key_start > field.key_start]
    return frontmatter_fields.line_start_offset(side.text, min(later)) if later else len(side.text)


def _merge_key_order(base: LinesByKey, ours: LinesByKey, theirs: LinesByKey) -> list[str]:
    """Return all keys: the longer side's in its order, each other key after its predecessor."""
    first, second = sorted((list(ours), list(theirs)), key=lambda keys: (-len(keys), keys))
    order = list(first)
    previous = ""
    for key in second:
        if key not in order:
            order.insert(order.index(previous) + 1 if previous in order else len(order), key)
        previous = key
    return order


def _merge_field(base: str, ours: str, theirs: str) -> MergePiece:
    if ours == theirs or theirs == base:
        return _encode_lines(ours)
    if ours == base:
        return _encode_lines(theirs)
    return ConflictHunk(_encode_lines(base), _encode_lines(ours), _encode_lines(theirs))


def _encode_lines(text: str) -> TextLines:
    return split_lines(text.encode())
