"""The entries of a memory: cut apart, changed, and put together again.

In notes, entries are separated by a line with a § alone, as Hermes does it. Notes that a
person began, with a heading or a list, are entries block by block up to the first §.
In JSON Lines every line is an entry. Whatever is not changed stays byte for byte, and what
is new gets the line ends of the rest.
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
from .arguments import distinct

SEPARATOR = "\n§\n"
"""What stands between two entries of notes."""
_ABOVE = re.compile(r"\ufeff?(?:[ \t]*\r?\n)*")
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


class Memory(NamedTuple):
    """The entries of a memory; what is blank above and below them; how its lines end."""

    above: str
    entries: Entries
    below: str
    line_end: str


class Kind(NamedTuple):
    """How a kind of memory is cut, what stands between entries, and what an entry may be.

    The text that `cut` gets has no blanks at its end.
    """

    cut: Callable[[str], Entries]
    between: str
    check: Callable[[str], str]


def read(text: str, kind: Kind) -> Memory:
    """Return a memory cut apart."""
    found = _ABOVE.match(text)
    above = found[0] if found else ""
    body = text[len(above) :]
    stripped = body.rstrip()
    line_end = "\r\n" if "\r\n" in text else "\n"
    return Memory(above, kind.cut(stripped), body[len(stripped) :], line_end)


def written(memory: Memory, last: str = "") -> str:
    """Return the text of a memory, of which `last` was the last entry when it was read.

    A last entry that is new has a line end, as programs expect that add a line.
    """
    if not memory.entries:
        return memory.above
    is_new = memory.entries[-1].text != last
    below = memory.below or (memory.line_end if is_new else "")
    return f"{memory.above}{''.join(chain.from_iterable(memory.entries))}{below}"


def size(entries: Entries) -> int:
    """Return the characters of entries and of what stands between them."""
    return sum(map(len, chain.from_iterable(entries)))


def added(memory: Memory, content: str, kind: Kind) -> Memory:
    """Return a memory with one more entry at the end, unless it is there already."""
    text = _new(memory, content, kind)
    if text in map(itemgetter(1), memory.entries):
        return memory
    between = _with_ends(kind.between, memory.line_end) if memory.entries else ""
    return memory._replace(entries=[*memory.entries, Entry(between, text)])


def replaced(memory: Memory, old: str, content: str, kind: Kind) -> Memory:
    """Return a memory with the entry that holds `old` replaced; raises `ToolFailure`."""
    entries = memory.entries
    place = _place(entries, old)
    new = entries[place]._replace(text=_new(memory, content, kind))
    return memory._replace(entries=[*entries[:place], new, *entries[place + 1 :]])


def removed(memory: Memory, old: str) -> Memory:
    """Return a memory without the entry that holds `old`; raises `ToolFailure`."""
    place = _place(memory.entries, old)
    rest = memory.entries[:place] + memory.entries[place + 1 :]
    if rest and place == 0:
        rest[0] = rest[0]._replace(before="")
    return memory._replace(entries=rest)


def listed(entries: Entries, most: int = 40) -> str:
    """Return entries as numbered lines, each cut short."""
    rows = [f"{n}. {printable(entry.text, _SHOWN)}" for n, entry in enumerate(entries[:most], 1)]
    left = len(entries) - len(rows)
    return "\n".join([*rows, f"({left} more)"] if left else rows)


def _new(memory: Memory, content: str, kind: Kind) -> str:
    return _with_ends(kind.check(content), memory.line_end)


def _with_ends(text: str, line_end: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", line_end) if line_end != "\n" else text


def _place(entries: Entries, old: str) -> int:
    wanted = old.strip().replace("\r\n", "\n")
    if not wanted:
        raise ToolFailure("old_text is empty.", code="bad_arguments")
    found = [
        place for place, entry in enumerate(entries) if wanted in entry.text.replace("\r\n", "\n")
    ]
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
    if not text:
        return []
    parts = _APART.split(text)
    rest = [Entry(*pair) for pair in zip(parts[1::2], parts[2::2], strict=True)]
    if _MARK.match(parts[0].lstrip()):
        return [*_at(parts[0], _blocks(parts[0])), *rest]
    return [Entry("", parts[0]), *rest]


def _cut_records(text: str) -> Entries:
    plain = text[:1] == "{" and text.count("\n") == text.count("\n{")
    if plain and "\r" not in text:  # most often so, and then quickly done
        first, *rest = text.split("\n")
        return [Entry("", first), *map(Entry._make, zip(repeat("\n"), rest, strict=False))]
    return _at(text, (line.start() for line in _LINE.finditer(text) if line[0].strip()))


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
        record = json.loads(data, object_pairs_hook=distinct)
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
