"""Check the code of a program before it runs: advice with early, plain errors.

The process sandbox is the boundary; this only says sooner what would fail there, or what another
agent would have refused.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Sequence

from ..errors import InvalidInput, printable_text
from .python_parse import CodeFault, parse_code

ADVICE = "script"
CODE_PROFILES = (ADVICE, "seed-000", "seed-002")
"""`script`: what the sandbox lacks, as advice. The others: blocklists of agents, which refuse."""
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
    found = sorted(set(_check_tree(tree, profile, name)))
    return [f"line {line}: {reason}" if line else reason for line, reason in found[:MAX_FINDINGS]]


def find_refusal(code: bytes, profile: str, findings: Sequence[str]) -> str:
    """Return why a program is not even tried, "" if it is: advice refuses only what is no Python.

    `findings` are those of `check_code`.
    """
    if profile != ADVICE:
        return next(iter(findings), "")
    try:
        parse_code(code)
    except CodeFault as fault:
        return fault.message
    return ""


def _check_tree(tree: ast.Module, profile: str, name: str) -> Iterator[tuple[int, str]]:
    from . import seed_profiles  # not loaded where nothing is checked

    if profile == "seed-000":
        yield from seed_profiles.check_seed_000(tree, name)
    elif profile == "seed-002":
        yield from seed_profiles.check_seed_002(tree, name)
    else:
        yield from _check_imports(tree)


def _check_imports(tree: ast.Module) -> Iterator[tuple[int, str]]:
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
