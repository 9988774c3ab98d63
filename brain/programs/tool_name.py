"""The name by which a model calls an executable skill: its slug with `_` for `-`."""

from __future__ import annotations

import keyword
import re

from ..errors import InvalidInput, printable_text

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_KEYWORDS = frozenset(word.lower() for word in (*keyword.kwlist, *keyword.softkwlist, "type"))
"""In lower case; `type` is one since Python 3.12."""
BUILT_IN_TOOLS = frozenset(
    (
        *("brain_diff", "brain_log", "brain_snapshot", "brain_verify", "create_skill"),
        *("list_lessons", "manage_skills", "memory", "skill_manage", "skill_manager"),
        *("skill_view", "skills_list"),
    )
)
"""Names that no skill can have: those of the tools of the brain itself."""


def tool_name(slug: str) -> str:
    """Return the name of the tool of a skill."""
    return slug.replace("-", "_")


def slug_of_tool(name: str) -> str:
    """Return the slug of the skill whose tool has this name."""
    return name.replace("_", "-")


def check_tool_name(name: str) -> str:
    """Return the slug for a tool of that name.

    A name is an identifier of Python of at most 64 characters, no keyword and no tool of the brain
    itself; so is the name that the slug gives back. Raises `InvalidInput` (`bad_tool_name`).
    """
    if not _is_identifier(name):
        raise _bad_name(
            f"not a name for a tool: {printable_text(name, 80)!r}",
            "use up to 64 letters, digits and '_', not beginning with a digit, and no keyword",
        )
    slug = "-".join(filter(None, name.lower().split("_")))
    if not _is_identifier(tool_name(slug)):
        raise _bad_name(
            f"not a name for a tool: {printable_text(name, 80)!r}",
            "without '_' around it, and in lower case, it must still be a name and no keyword",
        )
    if tool_name(slug) in BUILT_IN_TOOLS:
        raise _bad_name(
            f"the name {printable_text(name, 80)!r} is taken by a tool of the brain itself",
            "choose another name, such as one that says what it is about",
        )
    return slug


def _is_identifier(name: str) -> bool:
    return _IDENTIFIER.fullmatch(name) is not None and name.lower() not in _KEYWORDS


def _bad_name(message: str, hint: str) -> InvalidInput:
    return InvalidInput(message, code="bad_tool_name", hint=hint)
