"""Recognise the call of an acquired tool that is wrapped in code, and say how to call it.

A model that sees a tool made of code is tempted to import it, or to start its file from a
shell. Neither can work: the code is kept in the brain, and runs in a sandbox.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

_TOKEN = re.compile(r"[\w./-]+")
_MAX_TEXTS = 64
_MAX_CHARS = 100_000


def find_wrapped_tool(arguments: Any, tools: Collection[str]) -> str:
    """Return the tool among `tools` that a text in `arguments` imports or starts; "" if none.

    An import of names counts if the module is called like the tool, and the name too; an import
    of the module counts, and a file with the tool's name.
    """
    for text in _texts(arguments):
        for name in _wrapped_names(text[:_MAX_CHARS]):
            if name in tools:
                return name
    return ""


def call_by_name_hint(name: str) -> str:
    """Return the sentence that says how to call an acquired tool."""
    return (
        f"{name} is a tool of its own: call {name} by its name, with its arguments as JSON. "
        "Its code cannot be imported or started from other code."
    )


def _wrapped_names(text: str) -> Iterator[str]:
    tokens = ["", "", *_TOKEN.findall(text), "", ""]
    for number, word in enumerate(tokens[2:-2], 2):
        before, following = tokens[number - 2], tokens[number + 1]
        if word == "import" and before == "from":
            module = tokens[number - 1].rpartition(".")[2]
            if following in (module, "main", "run"):
                yield module
        elif word in ("import", "-m"):
            yield following.rpartition(".")[2]
        elif word.endswith("/skill.py"):
            yield word.split("/")[-2].replace("-", "_")
        elif word.endswith(".py"):
            yield word.rpartition("/")[2].removesuffix(".py").replace("-", "_")


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
