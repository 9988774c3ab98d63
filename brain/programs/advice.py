"""Check the code of a program before it runs: advice with early, plain errors.

The process sandbox is the boundary; this only says sooner what would fail there, or what another
agent would have refused.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Mapping

from ..errors import InvalidInput, printable_text
from .python_code import CodeFault, list_skill_classes, parse_code

ADVICE = "script"
CODE_PROFILES = (ADVICE, "seed-000", "seed-002")
"""`script`: what the sandbox lacks. The others: what the blocklists of two agents refuse."""
MAX_FINDINGS = 20
_OWN_MODULES = frozenset(("skillapi", "src"))
_IMPORT_ERRORS = frozenset(("ImportError", "ModuleNotFoundError", "Exception", "BaseException"))


def check_code(code: bytes, profile: str, *, name: str = "") -> list[str]:
    """Return what a profile has against a program, `line N: reason` each; empty if nothing.

    `name` is the name of its tool, which some profiles check. Raises `InvalidInput`
    (`bad_code_profile`).
    """
    if profile not in CODE_PROFILES:
        raise InvalidInput(
            f"there is no code profile {printable_text(profile, 40)}",
            code="bad_code_profile",
            hint=f"use one of {', '.join(CODE_PROFILES)}",
        )
    try:
        tree = parse_code(code)
    except CodeFault as fault:
        return [fault.message]
    checks = {"seed-000": _check_seed_000, "seed-002": _check_seed_002, ADVICE: _check_imports}
    found = sorted(set(checks[profile](tree, name)))
    return [f"line {line}: {reason}" if line else reason for line, reason in found[:MAX_FINDINGS]]


def _check_imports(tree: ast.Module, _: str) -> Iterator[tuple[int, str]]:
    """Yield imports of what a sandbox does not have, unless the script goes on without it."""
    optional = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.Try) and any(map(_catches_import, node.handlers))
        for part in node.body
        for inner in ast.walk(part)
    }
    for node in ast.walk(tree):
        modules: list[str] = []
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            modules = ["." * node.level + (node.module or "")]
        for module in modules:
            top = module.partition(".")[0]
            if id(node) not in optional and top not in sys.stdlib_module_names | _OWN_MODULES:
                yield node.lineno, f"it imports {module}, which is not in the standard library"  # type: ignore[attr-defined]


def _catches_import(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    return any(
        isinstance(node, ast.Name) and node.id in _IMPORT_ERRORS for node in ast.walk(handler.type)
    )


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


def _check_seed_000(tree: ast.Module, name: str) -> Iterator[tuple[int, str]]:
    """Yield what the skill evolution refuses: dangerous imports, a wrong name or interface."""
    yield from _check_uses(tree, _REFUSED_000)
    if name and not _NAME_000.fullmatch(name):
        yield 0, f"the name {name} is not 2 to 49 of a-z, 0-9 and _, beginning with a letter"
    classes = list_skill_classes(tree)
    if not classes:
        yield 0, "no class has SkillBase as its base"
    for skill in classes:
        yield from _check_methods(skill, {"definition": None, "execute": None})


def _check_seed_002(tree: ast.Module, name: str) -> Iterator[tuple[int, str]]:
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
