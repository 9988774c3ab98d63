"""What agents of earlier programs call: other names of the tools, and calls that cannot work.

A model that sees a tool made of code is tempted to import it, or to start its file from a shell.
The code is kept in the brain, and runs in a sandbox, so such a call is recognised and answered.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from .definitions import CREATE_SKILL, MANAGE_ACTIONS, Tool, object_schema

LESSONS_ANSWER = (
    "Lessons, preferences and facts are memory, not skills: read them with memory, action read, "
    "target memory or user. Procedures that you wrote down are in skills_list."
)
LESSONS_TOOLS = ("list_lessons", "manage_lessons")

_CREATE_PARTS = CREATE_SKILL.parameters["properties"]
SKILL_MANAGER = Tool(
    name="skill_manager",
    description="Create, list or delete skills that run.",
    parameters=object_schema(
        ("action",),
        action={
            "type": "string",
            "enum": ["create", *MANAGE_ACTIONS],
            "description": "What to do.",
        },
        code=_CREATE_PARTS["python_code"],
        **{name: part for name, part in _CREATE_PARTS.items() if name != "python_code"},
    ),
    read_only=False,
    destructive=True,
    idempotent=True,
)
"""Another name of both, as agents of another assistant call them; it is not offered."""


_WRAPPED = re.compile(
    r"\bfrom[ \t]+(?:[\w.]*\.)?(?P<module>\w+)[ \t]+import[ \t]+(?P<symbol>\w+)"
    r"|(?:\bimport|(?<!\S)-m)[ \t]+(?:[\w.]*\.)?(?P<name>\w+)"
    r"|(?<![\w-])(?P<folder>[\w-]+)/skill\.py\b|(?<![\w-])(?P<file>[\w-]+)\.py\b"
)
_MAX_TEXTS = 64
_MAX_CHARS = 100_000


def find_wrapped_tool(arguments: Any, tools: Collection[str]) -> str:
    """Return the tool among `tools` that a text in `arguments` imports or starts; "" if none.

    An import of names counts if the module is called like the tool, and the name too; an import
    of the module counts, and a file with the tool's name.
    """
    for text in _texts(arguments):
        for found in _WRAPPED.finditer(text[:_MAX_CHARS]):
            module, symbol = found["module"], found["symbol"]
            wrapped = found["name"] or found["folder"] or found["file"] or ""
            if module and symbol in (module, "main", "run"):
                wrapped = module
            if (name := wrapped.replace("-", "_")) in tools:
                return name
    return ""


def call_by_name_hint(name: str) -> str:
    """Return the sentence that says how to call an acquired tool."""
    return (
        f"{name} is a tool of its own: call {name} by its name, with its arguments as JSON. "
        "Its code cannot be imported or started from other code."
    )


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts in arguments of whatever shape, up to a number of them."""
    waiting = [value]
    for _ in range(_MAX_TEXTS):
        if not waiting:
            return
        item = waiting.pop()
        if isinstance(item, bytes):
            yield item.decode(errors="replace")
        elif isinstance(item, str):
            yield item
        elif isinstance(item, Mapping):
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)
