"""Entries of a memory file: how its text is split into them, changed, and merged by them.

In notes they are separated by a line that is a single §, as in Hermes. Notes that begin with a
heading or a list, as people write them, are split into blocks up to the first §. In JSON Lines
every line is an entry. Unchanged entries keep their bytes; new ones get the line ends of the file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, pairwise
from typing import NamedTuple

from ..errors import InvalidInput, printable_text
from ..util import strict_json

RECORD_SUFFIXES = (".jsonl", ".ndjson")
MEMORY_ACTIONS = ("add", "replace", "remove")
_LEADING_BLANKS = re.compile(r"\ufeff?(?:[ \t]*\r?\n)*")
_SEPARATOR_LINE = re.compile(r"((?:\r?\n|(?<![^\n]))§[ \t]*\r?\n)")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_HEADING_OR_ITEM = re.compile(r"(?:#{1,6}|[-*+]|\d{1,9}[.)])[ \t]")
_MAX_JSON_DEPTH = 64
_PREVIEW_CHARS = 120


class MemoryOperation(NamedTuple):
    """One change: `action` is "add" (`content`), "replace" (both) or "remove" (`old_text`).

    `old_text` is text of the one entry that is replaced or removed.
    """

    action: str
    content: str = ""
    old_text: str = ""


class MemoryEntry(NamedTuple):
    """An entry, and the text between it and the one before."""

    separator: str
    text: str


class ParsedMemory(NamedTuple):
    """The entries of a memory, the blanks above and below them, its line end, and its kind."""

    leading: str
    entries: list[MemoryEntry]
    trailing: str
    line_end: str
    holds_records: bool

    @property
    def size(self) -> int:
        """The characters of entries and their separators."""
        return sum(map(len, chain.from_iterable(self.entries)))

    def text(self, last: str = "") -> str:
        """Return the text of the file; `last` was its last entry when it was read.

        A new last entry gets a line end, for programs that append lines.
        """
        if not self.entries:
            return self.leading
        is_new = self.entries[-1].text != last
        trailing_text = self.trailing or (self.line_end if is_new else "")
        return f"{self.leading}{''.join(chain.from_iterable(self.entries))}{trailing_text}"

    def apply(self, operation: MemoryOperation) -> ParsedMemory:
        """Return the memory after one change; an entry that is there is not added again.

        Raises `InvalidInput` (`no_match`, `ambiguous`, `bad_arguments`).
        """
        action, content, old_text = operation
        if action not in MEMORY_ACTIONS:
            raise InvalidInput(
                f"there is no memory action {action}",
                code="bad_arguments",
                hint=f"the actions are: {', '.join(MEMORY_ACTIONS)}",
            )
        entries, text = list(self.entries), ""
        place = len(entries) if action == "add" else _find_entry(entries, old_text)
        if action != "remove":
            text = _check_record(content) if self.holds_records else _check_note(content)
            if self.line_end != "\n":
                text = text.replace("\r\n", "\n").replace("\n", self.line_end)
        if action == "replace":
            entries[place] = entries[place]._replace(text=text)
        elif action == "remove":
            del entries[place]
            if entries and place == 0:
                entries[0] = entries[0]._replace(separator="")
        elif all(entry.text != text for entry in entries):
            between = self.line_end if self.holds_records else f"{self.line_end}§{self.line_end}"
            entries.append(MemoryEntry(between if entries else "", text))
        return self._replace(entries=entries)


def parse_memory(text: str, path: str) -> ParsedMemory:
    """Split the text of a memory into its entries; the ending of its path says what they are."""
    blanks = _LEADING_BLANKS.match(text)
    leading = blanks[0] if blanks else ""
    body = text[len(leading) :]
    stripped = body.rstrip()
    line_end = "\r\n" if "\r\n" in text else "\n"
    holds_records = path.endswith(RECORD_SUFFIXES)
    entries = _split_records(stripped) if holds_records else _split_notes(stripped)
    return ParsedMemory(leading, entries, body[len(stripped) :], line_end, holds_records)


def format_entry_list(entries: Sequence[MemoryEntry], max_rows: int = 40) -> str:
    """Return entries as numbered lines, each cut short."""
    rows = [
        f"{n}. {printable_text(entry.text, _PREVIEW_CHARS)}"
        for n, entry in enumerate(entries[:max_rows], 1)
    ]
    unlisted_count = len(entries) - len(rows)
    return "\n".join([*rows, f"({unlisted_count} more)"] if unlisted_count else rows)


def _find_entry(entries: list[MemoryEntry], old_text: str) -> int:
    wanted = old_text.strip().replace("\r\n", "\n")
    if not wanted:
        raise InvalidInput(
            "old_text is empty", code="bad_arguments", hint="give a part of the entry to change"
        )
    texts = [entry.text.replace("\r\n", "\n") for entry in entries]
    whole = [place for place, text in enumerate(texts) if wanted == text.strip()]
    places = whole or [place for place, text in enumerate(texts) if wanted in text]
    if not places:
        raise InvalidInput(
            f"no entry has '{wanted}'",
            code="no_match",
            hint=f"the entries are:\n{format_entry_list(entries)}"
            if entries
            else "there are no entries",
        )
    if len({entries[place].text for place in places}) > 1:
        raise InvalidInput(
            f"{len(places)} entries have '{wanted}'",
            code="ambiguous",
            hint="give more of the one you mean:\n"
            + format_entry_list([entries[place] for place in places], 10),
        )
    return places[0]


def begins_with_block(text: str) -> bool:
    """Tell whether notes begin with a heading or a list."""
    return _HEADING_OR_ITEM.match(text.lstrip()) is not None


def _split_notes(text: str) -> list[MemoryEntry]:
    if not text:
        return []
    parts = _SEPARATOR_LINE.split(text)
    rest = [MemoryEntry(*pair) for pair in zip(parts[1::2], parts[2::2], strict=True)]
    if begins_with_block(parts[0]):
        return [*_split_at(parts[0], _block_starts(parts[0])), *rest]
    return [MemoryEntry("", parts[0]), *rest]


def _split_records(text: str) -> list[MemoryEntry]:
    return _split_at(text, (line.start() for line in _LINE.finditer(text) if line[0].strip()))


def _block_starts(text: str) -> Iterator[int]:
    blank = True
    for line in _LINE.finditer(text):
        if line[0].strip() and (blank or _HEADING_OR_ITEM.match(line[0])):
            yield line.start()
        blank = not line[0].strip()


def _split_at(text: str, starts: Iterable[int]) -> list[MemoryEntry]:
    """Split a text at `starts`; the trailing blanks of an entry become the next separator."""
    entries: list[MemoryEntry] = []
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
            f"content is not one JSON object: {error}",
            code="bad_arguments",
            hint='this memory holds JSON Lines: give an object such as {"lesson": "…"}',
        ) from error
    return line
