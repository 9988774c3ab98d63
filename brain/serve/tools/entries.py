"""The entries of a memory: cut apart, changed, and put together again.

In notes, entries are separated by a line with a § alone, as Hermes does it. Notes that a
person began, with a heading or a list, are entries block by block up to the first §.
In JSON Lines every line is an entry. Whatever is not changed stays byte for byte.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, pairwise, repeat
from operator import itemgetter
from typing import NamedTuple

from ... import jsontext
from ...errors import ToolFailure, printable

SEPARATOR = "\n§\n"
"""What stands between two entries of notes."""
_APART = re.compile(r"((?:\r?\n|(?<![^\n]))§[ \t]*\r?\n)")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_MARK = re.compile(r"(?:#{1,6}|[-*+]|\d{1,9}[.)])[ \t]")
"""How a heading or an item of a list begins."""
_DEEPEST = 64
_SHOWN = 120
"""Characters of an entry that are shown where all are listed."""


class Entry(NamedTuple):
    """An entry, and what stands between it and the one before."""

    before: str
    text: str


Entries = list[Entry]


class Kind(NamedTuple):
    """How a kind of memory is cut, what stands between entries, and what an entry may be."""

    cut: Callable[[str], Entries]
    between: str
    check: Callable[[str], str]


def joined(entries: Entries) -> str:
    """Return the text of entries, with a line end after the last one."""
    return "".join(chain.from_iterable(entries)) + "\n" if entries else ""


def size(entries: Entries) -> int:
    """Return the characters of entries and of what stands between them."""
    return sum(map(len, chain.from_iterable(entries)))


def added(entries: Entries, content: str, kind: Kind) -> Entries:
    """Return `entries` with one more at the end, unless it is there already."""
    text = kind.check(content)
    if text in map(itemgetter(1), entries):
        return entries
    return [*entries, Entry(kind.between if entries else "", text)]


def replaced(entries: Entries, old: str, content: str, kind: Kind) -> Entries:
    """Return `entries` with the one that holds `old` replaced; raises `ToolFailure`."""
    place = _place(entries, old)
    new = entries[place]._replace(text=kind.check(content))
    return [*entries[:place], new, *entries[place + 1 :]]


def removed(entries: Entries, old: str) -> Entries:
    """Return `entries` without the one that holds `old`; raises `ToolFailure`."""
    place = _place(entries, old)
    rest = entries[:place] + entries[place + 1 :]
    return [rest[0]._replace(before=""), *rest[1:]] if rest and place == 0 else rest


def listed(entries: Entries, most: int = 40) -> str:
    """Return entries as numbered lines, each cut short."""
    rows = [f"{n}. {printable(entry.text, _SHOWN)}" for n, entry in enumerate(entries[:most], 1)]
    left = len(entries) - len(rows)
    return "\n".join([*rows, f"({left} more)"] if left else rows)


def _place(entries: Entries, old: str) -> int:
    wanted = old.strip()
    if not wanted:
        raise ToolFailure("old_text is empty.", code="bad_arguments")
    found = [place for place, entry in enumerate(entries) if wanted in entry.text]
    if not found:
        raise ToolFailure(
            f"No entry has '{printable(wanted)}'.",
            code="no_match",
            hint=f"The entries are:\n{listed(entries)}" if entries else "There are no entries.",
        )
    if len({entries[place].text for place in found}) > 1:
        raise ToolFailure(
            f"{len(found)} entries have '{printable(wanted)}'.",
            code="ambiguous",
            hint="Give more of the one you mean:\n"
            + listed([entries[place] for place in found], 10),
        )
    return found[0]


def _cut_notes(text: str) -> Entries:
    stripped = text.rstrip()
    if not stripped:
        return []
    parts = _APART.split(stripped)
    rest = [Entry(*pair) for pair in zip(parts[1::2], parts[2::2], strict=True)]
    if _MARK.match(parts[0].lstrip("\ufeff\n\r\t ")):
        return [*_at(parts[0], _blocks(parts[0])), *rest]
    return [Entry("", parts[0]), *rest]


def _cut_records(text: str) -> Entries:
    stripped = text.rstrip()
    plain = stripped[:1] == "{" and stripped.count("\n") == stripped.count("\n{")
    if plain and "\r" not in stripped:  # most often so, and then quickly done
        first, *rest = stripped.split("\n")
        return [Entry("", first), *map(Entry._make, zip(repeat("\n"), rest, strict=False))]
    return _at(stripped, (line.start() for line in _LINE.finditer(stripped) if line[0].strip()))


def _blocks(text: str) -> Iterator[int]:
    """Yield where blocks begin: at headings, at items, and after blank lines."""
    blank = True
    for line in _LINE.finditer(text):
        if line[0].strip() and (blank or _MARK.match(line[0])):
            yield line.start()
        blank = not line[0].strip()


def _at(text: str, starts: Iterable[int]) -> Entries:
    """Cut a text at these places; what is blank at the end of one stands before the next."""
    out: Entries = []
    before = ""
    for start, end in pairwise([*starts, len(text)]):
        whole = text[start if out else 0 : end]
        body = whole.rstrip() if end < len(text) else whole
        out.append(Entry(before, body))
        before = whole[len(body) :]
    return out


def _a_note(content: str) -> str:
    text = content.strip()
    if not text:
        raise ToolFailure("content is empty.", code="bad_arguments")
    if re.search(r"(?m)^§[ \t]*\r?$", text):
        raise ToolFailure(
            "content has a line § of its own, which separates entries.",
            code="bad_arguments",
            hint="Give the entries one by one.",
        )
    return text


def _a_record(content: str) -> str:
    data = content.encode()
    try:
        if jsontext.depth(data, _DEEPEST) > _DEEPEST:
            raise ValueError("nested too deeply")
        record = json.loads(data)
        if not isinstance(record, dict):
            raise ValueError("not an object")
        line = json.dumps(record, ensure_ascii=False, allow_nan=False)
        line.encode()
    except ValueError as error:
        raise ToolFailure(
            f"content is not one JSON object: {printable(error)}.",
            code="bad_arguments",
            hint='This memory holds JSON Lines: give an object such as {"lesson": "…"}.',
        ) from error
    return line


NOTES = Kind(_cut_notes, SEPARATOR, _a_note)
RECORDS = Kind(_cut_records, "\n", _a_record)
