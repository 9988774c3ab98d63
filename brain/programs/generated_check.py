"""The profile `generated`: what code that a model wrote may use, by lists of what is allowed.

It refuses more than the sandbox would, early and with reasons: a name that leads out of the list,
code at the top level of a class, and what makes the checked code differ from what would run.
"""

from __future__ import annotations

import ast
import builtins
import string
from collections import Counter
from collections.abc import Iterator
from functools import cache
from importlib import import_module

from .generated_profile import (
    DEFINED_DUNDERS,
    LITERAL_BUILTINS,
    METHODS,
    MODULE_TEXTS,
    MODULES,
    READ_ATTRIBUTES,
    REFUSED_ATTRIBUTES,
    REFUSED_BUILTINS,
    SYNTAX,
)
from .program_bindings import Bindings, find_bindings
from .program_shape import list_skill_classes

Finding = tuple[int, str]
"""A line, and what is wrong there."""

_MAX_CHAIN = 4
"""Attributes one after the other in which the name of a module is looked for."""
_BUILTIN_TYPES = (
    *(str, bytes, bytearray, int, float, complex, list, tuple, dict, set, frozenset, range, slice),
    *(BaseException, property, type(iter(())), type(lambda: 0), type(_ for _ in ())),
)
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_CLASS_TOP_LEVEL = (ast.Import, ast.ImportFrom, *_DEFINITIONS, ast.Assign, ast.AnnAssign)


def check_generated(tree: ast.Module) -> list[Finding]:
    """Return what the profile has against a program, by line."""
    check = _GeneratedCheck(tree)
    return sorted({*check.check_nodes(), *_check_structure(tree)})


class _GeneratedCheck:
    def __init__(self, tree: ast.Module) -> None:
        self._nodes = list(ast.walk(tree))
        self._bindings: Bindings = find_bindings(self._nodes)
        self._known = (
            METHODS
            | self._bindings.attributes
            | _known_attributes(frozenset(self._bindings.imported))
        )
        self._fine: set[ast.AST] = set()
        """Nodes that another one, which is around them, makes harmless."""

    def check_nodes(self) -> Iterator[Finding]:
        """Yield a finding for each node that the lists do not allow."""
        for node in self._nodes:
            kind = type(node).__name__
            line = getattr(node, "lineno", 1)
            if kind not in SYNTAX:
                yield line, f"no generated program may use {kind}"
                continue
            method = getattr(self, f"_check_{kind.lower()}", None)
            if method is not None:
                for reason in method(node):
                    yield line, reason
        for name, line in self._bindings.rebound_modules():
            yield line, f"{name} is the name of a module here; give another name to what is not it"

    def _check_import(self, node: ast.Import) -> Iterator[str]:
        for alias in node.names:
            if alias.name not in MODULES:
                yield f"it imports {alias.name}, which is not among the allowed modules"
            yield from self._check_binding(alias.asname)

    def _check_importfrom(self, node: ast.ImportFrom) -> Iterator[str]:
        module = "." * node.level + (node.module or "")
        if module not in MODULES:
            yield f"it imports from {module}, which is not among the allowed modules"
            return
        for alias in node.names:
            if alias.name not in MODULES[module]:
                yield f"it imports {alias.name} from {module}, which is not allowed"
            yield from self._check_binding(alias.asname)

    def _check_name(self, node: ast.Name) -> Iterator[str]:
        if not isinstance(node.ctx, ast.Load):
            yield from self._check_binding(node.id)
        elif node.id in REFUSED_BUILTINS:
            yield f"no generated program may use {node.id}"
        elif node.id.startswith("__") and node.id != "__name__":
            yield f"it uses the special name {node.id}"
        elif node.id in LITERAL_BUILTINS and node not in self._fine:
            yield f"{node.id} is allowed only with the name of an attribute written out"
        elif node.id in self._bindings.modules:
            if node not in self._fine:
                yield f"it uses the module {node.id} as a value"
        elif node.id not in self._bindings.names and node.id not in _allowed_builtins():
            yield f"the name {node.id} is defined nowhere"

    def _check_attribute(self, node: ast.Attribute) -> Iterator[str]:
        module = self._find_module(node.value)
        if module:
            self._fine.add(node.value)
            if not isinstance(node.ctx, ast.Load):
                yield f"it changes {module}.{node.attr}"
            elif node.attr not in MODULES[module]:
                yield f"{module}.{node.attr} is not among what is allowed of {module}"
            elif f"{module}.{node.attr}" in MODULES and node not in self._fine:
                yield f"it uses the module {module}.{node.attr} as a value"
        elif node not in self._fine:
            yield from self._check_attribute_name(node.attr, node)

    def _check_attribute_name(self, name: str, node: ast.Attribute | None = None) -> Iterator[str]:
        if name.startswith("_"):
            if not (self._is_own(node) or (_is_read(node) and name in READ_ATTRIBUTES)):
                yield f"it uses the private attribute {name}"
        elif name == "format" and node is not None:
            yield "it formats a text that does not stand in the code; use an f-string"
        elif REFUSED_ATTRIBUTES.fullmatch(name):
            yield f"no generated program may use the attribute {name}"
        elif name not in self._known:
            yield f"the attribute {name} is neither defined here nor one of the allowed modules"

    def _is_own(self, node: ast.Attribute | None) -> bool:
        """Tell whether a private attribute is one that the program gives to its own classes."""
        if node is None:
            return False
        if isinstance(node.value, ast.Call):
            func = node.value.func
            is_super = isinstance(func, ast.Name) and func.id == "super" and not node.value.args
            return is_super and node.attr in DEFINED_DUNDERS
        is_self = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
        is_defined = node.attr in self._bindings.attributes
        return is_self and is_defined and not node.attr.startswith("__")

    def _check_call(self, node: ast.Call) -> Iterator[str]:
        func = node.func
        if isinstance(func, ast.Name) and func.id in LITERAL_BUILTINS and len(node.args) > 1:
            name = node.args[1]
            if isinstance(name, ast.Constant) and isinstance(name.value, str):
                self._fine.add(func)
                yield from self._check_attribute_name(name.value)
        if isinstance(func, ast.Attribute) and func.attr == "format":
            text = self._bindings.text_of(func.value)
            if text is not None:
                self._fine.add(func)
                yield from _check_format(text)
        for keyword in node.keywords:
            if keyword.arg and keyword.arg.startswith("__"):
                yield f"it uses the special name {keyword.arg}"

    def _check_classdef(self, node: ast.ClassDef) -> Iterator[str]:
        yield from self._check_binding(node.name)
        if any(keyword.arg in (None, "metaclass") for keyword in node.keywords):
            yield f"the class {node.name} has a metaclass"

    def _check_functiondef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
        if node.name not in DEFINED_DUNDERS:
            yield from self._check_binding(node.name)

    _check_asyncfunctiondef = _check_functiondef

    def _check_arg(self, node: ast.arg) -> Iterator[str]:
        yield from self._check_binding(node.arg)

    def _check_excepthandler(self, node: ast.ExceptHandler) -> Iterator[str]:
        yield from self._check_binding(node.name)

    def _check_matchas(self, node: ast.MatchAs | ast.MatchStar) -> Iterator[str]:
        yield from self._check_binding(node.name)

    _check_matchstar = _check_matchas

    def _check_matchmapping(self, node: ast.MatchMapping) -> Iterator[str]:
        yield from self._check_binding(node.rest)

    def _check_matchclass(self, node: ast.MatchClass) -> Iterator[str]:
        for name in node.kwd_attrs:
            yield from self._check_attribute_name(name)

    def _check_binding(self, name: str | None) -> Iterator[str]:
        if name is None:
            return
        if name in REFUSED_BUILTINS or name in LITERAL_BUILTINS:
            yield f"it gives another meaning to {name}; choose another name"
        elif name.startswith("__") and name not in MODULE_TEXTS:
            yield f"it defines the special name {name}"

    def _find_module(self, node: ast.expr) -> str:
        """Return the module that an expression names, "" if it names none."""
        names: list[str] = []
        while isinstance(node, ast.Attribute) and len(names) < _MAX_CHAIN:
            names.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id not in self._bindings.modules:
            return ""
        path = ".".join([self._bindings.modules[node.id], *reversed(names)])
        return path if path in MODULES else ""


def _check_structure(tree: ast.Module) -> Iterator[Finding]:
    """Yield what is wrong with the top level, and with the class of a skill."""
    defined = Counter(node.name for node in tree.body if isinstance(node, _DEFINITIONS))
    for node in tree.body:
        if isinstance(node, _DEFINITIONS) and defined[node.name] > 1:
            yield node.lineno, f"{node.name} is defined {defined[node.name]} times"
    classes = list_skill_classes(tree)
    if not classes:
        return
    for extra in classes[1:]:
        yield extra.lineno, "a skill is one class on SkillBase, and this is another"
    for node in tree.body:
        if not (isinstance(node, _CLASS_TOP_LEVEL) or _is_docstring(node) or _is_main(node)):
            yield (
                node.lineno,
                "beside a skill's class, only imports, constants, functions and classes stand at "
                "the top level",
            )
    yield from _check_skill_class(classes[0], tree)


def _check_skill_class(skill: ast.ClassDef, tree: ast.Module) -> Iterator[Finding]:
    imported = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    is_imported = isinstance(skill.bases[0], ast.Attribute) or "SkillBase" in imported
    if len(skill.bases) != 1 or not is_imported:
        yield skill.lineno, "the class of a skill has one base, SkillBase, imported from skillapi"
    for name, kinds in (("definition", (ast.FunctionDef,)), ("execute", _FUNCTIONS)):
        found = [node for node in skill.body if getattr(node, "name", "") == name]
        if len(found) != 1 or not isinstance(found[0], kinds):
            yield skill.lineno, f"the class of a skill defines the method {name} once"


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_main(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and any(
        isinstance(part, ast.Name) and part.id in ("__name__", "TYPE_CHECKING")
        for part in ast.walk(node.test)
    )


def _check_format(text: str) -> Iterator[str]:
    """Yield what is wrong with the text of a `format`: fields that reach private attributes."""
    try:
        fields = [
            (field or "") + (spec or "") for _, field, spec, _ in string.Formatter().parse(text)
        ]
    except ValueError:
        return  # raises where it runs
    for field in fields:
        if "._" in field or "[_" in field or REFUSED_ATTRIBUTES.search(field.partition(".")[2]):
            yield "it formats a text with a field that reaches into an object"


def _is_read(node: ast.Attribute | None) -> bool:
    return node is None or isinstance(node.ctx, ast.Load)


@cache
def _allowed_builtins() -> frozenset[str]:
    found = {name for name in dir(builtins) if not name.startswith("_")}
    return frozenset((found | {"__name__", "exit", "quit"}) - REFUSED_BUILTINS)


@cache
def _known_attributes(modules: frozenset[str]) -> frozenset[str]:
    """Return the public attributes of builtin types, and of the classes of some allowed modules."""
    owners: list[object] = list(_BUILTIN_TYPES)
    for module in modules & MODULES.keys():
        if module.partition(".")[0] not in ("__future__", "skillapi", "src"):
            loaded = import_module(module)
            found = [getattr(loaded, name, None) for name in MODULES[module]]
            owners += [value for value in found if value is not None]
    return frozenset(name for owner in owners for name in dir(owner) if not name.startswith("_"))
