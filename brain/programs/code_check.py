"""Check the code of a program before it runs: advice with early, plain errors.

The process sandbox is the boundary; this only says sooner what would fail there, or what no
generated skill needs.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator

from ..errors import InvalidInput, printable_text
from .python_parse import CodeFault, parse_code

CODE_PROFILES = ("generated", "script", "seed-000", "seed-002")
"""`generated`: by allow-lists. `script`: a person wrote it. The others: blocklists of agents."""
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
    found = sorted(set(_check_tree(tree, code, profile, name)))
    return [f"line {line}: {reason}" if line else reason for line, reason in found[:MAX_FINDINGS]]


def _check_tree(
    tree: ast.Module, code: bytes, profile: str, name: str
) -> Iterator[tuple[int, str]]:
    from . import generated_check, seed_profiles  # not loaded where nothing is checked

    if profile == "script":
        yield from _check_imports(tree)
    elif profile == "seed-000":
        yield from seed_profiles.check_seed_000(tree, name)
    elif profile == "seed-002":
        yield from seed_profiles.check_seed_002(tree, name)
    else:
        yield from _check_identifiers(code)
        yield from generated_check.check_generated(tree)


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


def _check_identifiers(code: bytes) -> Iterator[tuple[int, str]]:
    """Yield names beyond ASCII: they may look like others, and Python reads some as others."""
    import io
    import tokenize

    if code.isascii():
        return
    lines = io.BytesIO(code.replace(b"\r\n", b"\n").replace(b"\r", b"\n"))
    try:
        for token in tokenize.tokenize(lines.readline):
            if token.type == tokenize.NAME and not token.string.isascii():
                yield token.start[0], f"the name {printable_text(token.string, 40)} is not ASCII"
    except (tokenize.TokenError, SyntaxError) as error:
        yield 0, f"it cannot be read: {printable_text(error, 100)}"
