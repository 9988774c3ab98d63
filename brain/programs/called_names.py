"""The names of skills that the code of a program may call, read without running it."""

from __future__ import annotations

import ast
import re

from .python_parse import CodeFault, parse_code

_CALL = "call"
"""The function of `skillapi` by which a program calls a skill."""
_NAME = re.compile(r"[^\W\d]\w*")


def find_called_names(code: bytes) -> frozenset[str]:
    """Return the names by which a program calls skills.

    If a call takes its name from elsewhere, these are all names in texts of the program. A name
    that comes with the input, or is put together, is not found.
    """
    if _CALL.encode() not in code:
        return frozenset()
    try:
        tree = parse_code(code)
    except CodeFault:
        return _names_in(code.decode("utf-8", "replace"))
    nodes = list(ast.walk(tree))
    uses = sum(map(_is_use, nodes))
    names = [
        node.args[0].value
        for node in nodes
        if isinstance(node, ast.Call)
        and _is_use(node.func)
        and node.args
        and isinstance(node.args[0], ast.Constant)
        and isinstance(node.args[0].value, str)
    ]
    if len(names) == uses:
        return frozenset(names)
    return _names_in(" ".join(str(n.value) for n in nodes if isinstance(n, ast.Constant)))


def _is_use(node: ast.AST) -> bool:
    """Tell whether a node stands for the function, also under another name from there on."""
    return (
        (isinstance(node, ast.Name) and node.id == _CALL)
        or (isinstance(node, ast.Attribute) and node.attr == _CALL)
        or (isinstance(node, ast.alias) and node.name == _CALL and node.asname is not None)
    )


def _names_in(text: str) -> frozenset[str]:
    return frozenset(_NAME.findall(text))
