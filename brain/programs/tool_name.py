"""The name by which a model calls an executable skill: its slug with `_` for `-`."""

from __future__ import annotations

import keyword
import re
from collections.abc import Collection

from ..errors import InvalidInput, printable_text

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")


def tool_name(slug: str) -> str:
    """Return the name of the tool of a skill."""
    return slug.replace("-", "_")


def slug_of_tool(name: str) -> str:
    """Return the slug of the skill whose tool has this name."""
    return name.replace("_", "-")


def check_tool_name(name: str, taken: Collection[str]) -> str:
    """Return the slug for a tool of that name.

    A name is an identifier of Python of at most 64 characters, no keyword and none of the tools
    `taken` already. Raises `InvalidInput` (`bad_tool_name`).
    """
    if (
        _IDENTIFIER.fullmatch(name) is None
        or keyword.iskeyword(name)
        or keyword.issoftkeyword(name)
    ):
        raise InvalidInput(
            f"not a name for a tool: {printable_text(name, 80)!r}",
            code="bad_tool_name",
            hint="use up to 64 letters, digits and '_', not beginning with a digit, and no keyword",
        )
    slug = "-".join(filter(None, name.lower().split("_")))
    if not slug or tool_name(slug) in taken:
        raise InvalidInput(
            f"the name {printable_text(name, 80)!r} is taken by a tool of the brain itself",
            code="bad_tool_name",
            hint="choose another name, such as one that says what it is about",
        )
    return slug
