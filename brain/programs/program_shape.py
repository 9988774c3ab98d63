"""The shape of a program: a script, or a class on SkillBase."""

from __future__ import annotations

import ast
from typing import Literal

Shape = Literal["script", "class"]


def find_shape(code: bytes) -> Shape:
    """Return the shape of a program, by a class at its top level that has SkillBase as a base.

    A text that is not Python is a script; running it shows what is wrong.
    """
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return "script"
    is_class = any(_is_skill_class(node) for node in tree.body)
    return "class" if is_class else "script"


def _is_skill_class(node: ast.stmt) -> bool:
    return isinstance(node, ast.ClassDef) and any(
        (isinstance(base, ast.Name) and base.id == "SkillBase")
        or (isinstance(base, ast.Attribute) and base.attr == "SkillBase")
        for base in node.bases
    )
