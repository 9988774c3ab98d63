"""The shape of a program: a script, or a class on SkillBase."""

from __future__ import annotations

import ast
from typing import Literal

from .python_parse import CodeFault, parse_code

Shape = Literal["script", "class"]


def find_shape(code: bytes) -> Shape:
    """Return the shape of a program, by a class at its top level that has SkillBase as a base.

    A text that is not Python is a script; running it shows what is wrong.
    """
    try:
        tree = parse_code(code)
    except CodeFault:
        return "script"
    return "class" if list_skill_classes(tree) else "script"


def list_skill_classes(tree: ast.Module) -> list[ast.ClassDef]:
    """Return the classes at the top level that have SkillBase as a base."""
    return [
        node
        for node in tree.body
        if isinstance(node, ast.ClassDef) and any(map(_is_skill_base, node.bases))
    ]


def _is_skill_base(base: ast.expr) -> bool:
    return (isinstance(base, ast.Name) and base.id == "SkillBase") or (
        isinstance(base, ast.Attribute) and base.attr == "SkillBase"
    )
