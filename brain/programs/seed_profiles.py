"""The blocklists of two published agents as profiles, for skills that were written for them.

Blocklists miss much: these profiles say what those agents would have refused, and no more.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

from .program_shape import list_skill_classes

_REFUSED_000 = frozenset(
    "subprocess os sys pty ctypes pickle marshal importlib __import__ eval exec compile".split()
)
_NAME_000 = re.compile(r"[a-z][a-z0-9_]{1,48}")
_REFUSED_002 = frozenset(
    """
    subprocess socket requests urllib httpx aiohttp ctypes pickle marshal importlib pty shutil
    os.system os.popen os.exec os.spawn os.remove os.unlink os.rmdir eval exec compile open
    __import__
    """.split()
)


def check_seed_000(tree: ast.Module, name: str) -> Iterator[tuple[int, str]]:
    """Yield what the skill evolution refuses: dangerous imports, a wrong name or interface."""
    yield from _check_uses(tree, _REFUSED_000)
    if name and not _NAME_000.fullmatch(name):
        yield 0, f"the name {name} is not 2 to 49 of a-z, 0-9 and _, beginning with a letter"
    classes = list_skill_classes(tree)
    if not classes:
        yield 0, "no class has SkillBase as its base"
    for skill in classes:
        yield from _check_methods(skill, {"definition": None, "execute": None})


def check_seed_002(tree: ast.Module, name: str) -> Iterator[tuple[int, str]]:
    """Yield what the capability engine refuses: its blocklist, a wrong structure or name."""
    yield from _check_uses(tree, _REFUSED_002)
    classes = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    if "GeneratedSkill" in classes:
        kinds = {"definition": ast.FunctionDef, "execute": ast.AsyncFunctionDef}
        yield from _check_methods(classes["GeneratedSkill"], kinds)
    else:
        yield 0, "there is no class GeneratedSkill"
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    for wanted in ("SkillResult", "SkillDefinition"):
        if wanted not in used:
            yield 0, f"it does not use {wanted}"
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    if name and name not in texts:
        yield 0, f"the name {name} does not stand in the code as a text"


def _check_uses(tree: ast.Module, refused: frozenset[str]) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        used: list[str] = []
        if isinstance(node, ast.Import):
            used = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            used = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Name):
            used = [node.id] if node.id in refused else []
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            used = [f"{node.value.id}.{node.attr}"]
        for name in used:
            if name in refused or name.partition(".")[0] in refused:
                yield node.lineno, f"it uses {name}, which is on the blocklist"  # type: ignore[attr-defined]


def _check_methods(
    skill: ast.ClassDef, wanted: Mapping[str, type[ast.stmt] | None]
) -> Iterator[tuple[int, str]]:
    for name, kind in wanted.items():
        found = [node for node in skill.body if getattr(node, "name", "") == name]
        if not found or (kind is not None and not isinstance(found[-1], kind)):
            prefix = "async " if kind is ast.AsyncFunctionDef else ""
            yield skill.lineno, f"the class {skill.name} has no {prefix}method {name}"
