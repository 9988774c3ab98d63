"""What an index shows, read back from its text."""

from __future__ import annotations

from typing import NamedTuple

from brain.skills.index_lines import NAME_LIST_MARK, SKILL_MARK, address_in_head

_NAME_START = " ("


class IndexEntry(NamedTuple):
    """A skill in the index; `name` is "" if it is the slug, `description` None in a list."""

    address: str
    name: str
    description: str | None


def parse_index(text: str) -> list[IndexEntry]:
    """Return the skills that an index shows, in its order."""
    entries = []
    for line in text.split("\n"):
        mark, _, rest = line.partition(" ")
        if mark == SKILL_MARK:
            head, colon, description = rest.partition(": ")
            address = address_in_head(head)
            name = head[len(address) + len(_NAME_START) : -1]
            entries.append(IndexEntry(address, name, description if colon else None))
        elif mark == NAME_LIST_MARK:
            entries += [IndexEntry(address, "", None) for address in rest.split(", ")]
    return entries
