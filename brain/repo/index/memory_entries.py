"""Parse the entries of a memory file, change them, and format them again.

In notes, entries are separated by a line that is a single §, as in Hermes. Notes that begin
with a heading or a list, as people write them, are split into blocks up to the first §.
In JSON Lines every line is an entry. Unchanged entries keep their bytes; new ones get the
line ends of the file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, pairwise, repeat
from operator import itemgetter
from typing import NamedTuple

from ...errors import InvalidInput, printable_text
from ...util import strict_json

NOTE_SEPARATOR = "\n§\n"
"""The text between two entries of notes."""
_LEADING_BLANKS = re.compile(r"\ufeff?(?:[ \t]*\r?\n)*")
_SEPARATOR_LINE = re.compile(r"((?:\r?\n|(?<![^\n]))§[ \t]*\r?\n)")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_HEADING_OR_ITEM = re.compile(r"(?:#{1,6}|[-*+]|\d{1,9}[.)])[ \t]")
_MAX_JSON_DEPTH = 64
_PREVIEW_CHARS = 120


class MemoryEntry(NamedTuple):
    """An entry, and the text between it and the one before."""

    separator: str
    text: str


MemoryEntries = list[MemoryEntry]


class ParsedMemory(NamedTuple):
    """The entries of a memory, the blanks above and below them, and its line end."""

    leading: str
    entries: MemoryEntries
    trailing: str
    line_end: str


class MemoryFormat(NamedTuple):
    """How to split a kind of memory, the separator of new entries, and the check of an entry.

    `split` gets a text without trailing blanks.
    """

    split: Callable[[str], MemoryEntries]
    separator: str
    check_entry: Callable[[str], str]


def parse_memory(text: str, memory_format: MemoryFormat) -> ParsedMemory:
    """Split the text of a memory into its entries."""
    blanks = _LEADING_BLANKS.match(text)
    leading = blanks[0] if blanks else ""
    body = text[len(leading) :]
    stripped = body.rstrip()
    line_end = "\r\n" if "\r\n" in text else "\n"
    return ParsedMemory(leading, memory_format.split(stripped), body[len(stripped) :], line_end)


def format_memory(memory: ParsedMemory, last: str = "") -> str:
    """Return the text of a memory; `last` was its last entry when it was read.

    A new last entry gets a line end, for programs that append lines.
    """
    if not memory.entries:
        return memory.leading
    is_new = memory.entries[-1].text != last
    trailing_text = memory.trailing or (memory.line_end if is_new else "")
    return f"{memory.leading}{''.join(chain.from_iterable(memory.entries))}{trailing_text}"


def entries_size(entries: MemoryEntries) -> int:
    """Return the characters of entries and their separators."""
    return sum(map(len, chain.from_iterable(entries)))


def add_entry(memory: ParsedMemory, content: str, memory_format: MemoryFormat) -> ParsedMemory:
    """Return a memory with one more entry at the end, unless it has that entry."""
    text = _prepare_entry(memory, content, memory_format)
    if text in map(itemgetter(1), memory.entries):
        return memory
    between = _convert_line_ends(memory_format.separator, memory.line_end) if memory.entries else ""
    return memory._replace(entries=[*memory.entries, MemoryEntry(between, text)])


def replace_entry(
    memory: ParsedMemory, old_text: str, content: str, memory_format: MemoryFormat
) -> ParsedMemory:
    """Return a memory with the one entry that has `old_text` replaced.

    Raises `InvalidInput` (`no_match`, `ambiguous`, `bad_arguments`).
    """
    entries = memory.entries
    place = _find_entry(entries, old_text)
    new = entries[place]._replace(text=_prepare_entry(memory, content, memory_format))
    return memory._replace(entries=[*entries[:place], new, *entries[place + 1 :]])


def remove_entry(memory: ParsedMemory, old_text: str) -> ParsedMemory:
    """Return a memory without the one entry that has `old_text`. Raises as `replace_entry`."""
    place = _find_entry(memory.entries, old_text)
    rest = memory.entries[:place] + memory.entries[place + 1 :]
    if rest and place == 0:
        rest[0] = rest[0]._replace(separator="")
    return memory._replace(entries=rest)


def format_entry_list(entries: MemoryEntries, max_rows: int = 40) -> str:
    """Return entries as numbered lines, each cut short."""
    rows = [
        f"{n}. {printable_text(entry.text, _PREVIEW_CHARS)}"
        for n, entry in enumerate(entries[:max_rows], 1)
    ]
    unlisted_count = len(entries) - len(rows)
    return "\n".join([*rows, f"({unlisted_count} more)"] if unlisted_count else rows)


def _prepare_entry(memory: ParsedMemory, content: str, memory_format: MemoryFormat) -> str:
    return _convert_line_ends(memory_format.check_entry(content), memory.line_end)


def _convert_line_ends(text: str, line_end: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", line_end) if line_end != "\n" else text


def _find_entry(entries: MemoryEntries, old_text: str) -> int:
    wanted = old_text.strip().replace("\r\n", "\n")
    if not wanted:
        raise InvalidInput(
            "old_text is empty", code="bad_arguments", hint="give a part of the entry to change"
        )
    places = [
        place for place, entry in enumerate(entries) if wanted in entry.text.replace("\r\n", "\n")
    ]
    if not places:
        raise InvalidInput(
            f"no entry has '{printable_text(wanted)}'",
            code="no_match",
            hint=f"the entries are:\n{format_entry_list(entries)}"
            if entries
            else "there are no entries",
        )
    if len({entries[place].text for place in places}) > 1:
        raise InvalidInput(
            f"{len(places)} entries have '{printable_text(wanted)}'",
            code="ambiguous",
            hint="give more of the one you mean:\n"
            + format_entry_list([entries[place] for place in places], 10),
        )
    return places[0]


def _split_notes(text: str) -> MemoryEntries:
    if not text:
        return []
    parts = _SEPARATOR_LINE.split(text)
    rest = [MemoryEntry(*pair) for pair in zip(parts[1::2], parts[2::2], strict=True)]
    if _HEADING_OR_ITEM.match(parts[0].lstrip()):
        return [*_split_at(parts[0], _block_starts(parts[0])), *rest]
    return [MemoryEntry("", parts[0]), *rest]


def _split_records(text: str) -> MemoryEntries:
    plain = text[:1] == "{" and text.count("\n") == text.count("\n{")
    if plain and "\r" not in text:  # the usual case, on a fast path
        first, *rest = text.split("\n")
        return [
            MemoryEntry("", first),
            *map(MemoryEntry._make, zip(repeat("\n"), rest, strict=False)),
        ]
    return _split_at(text, (line.start() for line in _LINE.finditer(text) if line[0].strip()))


def _block_starts(text: str) -> Iterator[int]:
    blank = True
    for line in _LINE.finditer(text):
        if line[0].strip() and (blank or _HEADING_OR_ITEM.match(line[0])):
            yield line.start()
        blank = not line[0].strip()


def _split_at(text: str, starts: Iterable[int]) -> MemoryEntries:
    """Split a text at `starts`; the trailing blanks of an entry become the next separator."""
    entries: MemoryEntries = []
    before = ""
    for start, end in pairwise([*starts, len(text)]):
        block = text[start if entries else 0 : end]
        body = block.rstrip() if end < len(text) else block
        entries.append(MemoryEntry(before, body))
        before = block[len(body) :]
    return entries


def _check_note(content: str) -> str:
    text = content.strip()
    if not text:
        raise InvalidInput(
            "content is empty", code="bad_arguments", hint="give the text of the entry"
        )
    if re.search(r"(?m)^§[ \t]*\r?$", text):
        raise InvalidInput(
            "content has a line § of its own, which separates entries",
            code="bad_arguments",
            hint="give the entries one by one",
        )
    return text


def _check_record(content: str) -> str:
    data = content.encode()
    try:
        if strict_json.nesting_depth(data, _MAX_JSON_DEPTH) > _MAX_JSON_DEPTH:
            raise ValueError("nested too deeply")
        record = strict_json.parse_unbounded_json(data)
        if not isinstance(record, dict) or not record:
            raise ValueError("not an object with fields")
        line = json.dumps(record, ensure_ascii=False, allow_nan=False)
        line.encode()
    except ValueError as error:
        raise InvalidInput(
            f"content is not one JSON object: {printable_text(error)}",
            code="bad_arguments",
            hint='this memory holds JSON Lines: give an object such as {"lesson": "…"}',
        ) from error
    return line


NOTE_FORMAT = MemoryFormat(_split_notes, NOTE_SEPARATOR, _check_note)
JSONL_FORMAT = MemoryFormat(_split_records, "\n", _check_record)
