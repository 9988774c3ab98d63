"""Find the modules, other names, and attributes of its own classes that a program binds."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from .generated_profile import MODULES

_FIELD_MAKERS = ("namedtuple", "NamedTuple", "TypedDict", "Enum", "IntEnum", "StrEnum", "Flag")
"""Functions that make attributes from texts."""


@dataclass(slots=True, kw_only=True)
class Bindings:
    """The names that a program binds, in whatever scope."""

    modules: dict[str, str] = field(default_factory=dict)
    """The module that each of these names stands for."""
    imported: set[str] = field(default_factory=set)
    """All modules that the program imports, or imports from."""
    names: dict[str, int] = field(default_factory=dict)
    """The other names, each with a line where it is bound."""
    attributes: set[str] = field(default_factory=set)
    texts: dict[str, str] = field(default_factory=dict)
    """Names that are bound once, to a text that stands in the code."""

    def rebound_modules(self) -> Iterator[tuple[str, int]]:
        """Yield each name that stands for a module and for something else, with the line."""
        for name in self.modules.keys() & self.names.keys():
            yield name, self.names[name]

    def text_of(self, node: ast.expr) -> str | None:
        """Return the text that an expression is, if it stands in the code."""
        if isinstance(node, ast.Name):
            return self.texts.get(node.id)
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return node.value
        return None


def find_bindings(nodes: Iterable[ast.AST]) -> Bindings:
    """Return what the nodes of a program bind."""
    found = Bindings()
    counts: Counter[str] = Counter()
    texts: dict[str, str] = {}
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            _add_import(found, node)
        for name in _bound_names(node):
            found.names.setdefault(name, getattr(node, "lineno", 1))
            counts[name] += 1
        found.attributes.update(_made_attributes(node))
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=str(text))):
                texts[name] = text
    found.texts = {name: text for name, text in texts.items() if counts[name] == 1}
    return found


def _add_import(found: Bindings, node: ast.Import | ast.ImportFrom) -> None:
    for alias in node.names:
        if isinstance(node, ast.Import):
            found.imported.add(alias.name)
            bound = alias.asname or alias.name.partition(".")[0]
            module = alias.name if alias.asname else bound
        else:
            found.imported.add(node.module or "")
            bound, module = alias.asname or alias.name, f"{node.module}.{alias.name}"
        if isinstance(node, ast.Import) or module in MODULES:
            if found.modules.setdefault(bound, module) != module:
                found.names.setdefault(bound, node.lineno)
        else:
            found.names.setdefault(bound, node.lineno)


def _bound_names(node: ast.AST) -> list[str]:
    """Return the names that a node itself binds; imports apart."""
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            return [name]
        case (
            ast.FunctionDef(name=name)
            | ast.AsyncFunctionDef(name=name)
            | ast.ClassDef(name=name)
            | ast.arg(arg=name)
            | ast.ExceptHandler(name=str(name))
            | ast.MatchAs(name=str(name))
            | ast.MatchStar(name=str(name))
            | ast.MatchMapping(rest=str(name))
        ):
            return [name]
    return []


def _made_attributes(node: ast.AST) -> list[str]:
    """Return the names of attributes that a node makes."""
    match node:
        case ast.Attribute(attr=name, ctx=ast.Store()):
            return [name]
        case ast.ClassDef():
            return [name for part in node.body for name in _class_names(part)]
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in _FIELD_MAKERS:
            texts = [
                part.value
                for argument in node.args
                for part in ast.walk(argument)
                if isinstance(part, ast.Constant) and isinstance(part.value, str)
            ]
            return [word for text in texts for word in text.replace(",", " ").split()]
    return []


def _class_names(node: ast.stmt) -> list[str]:
    """Return the names that a statement in the body of a class binds."""
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AnnAssign):
        targets = [node.target]
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    return [
        part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)
    ]
