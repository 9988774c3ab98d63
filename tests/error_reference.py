"""Write docs/errors.md, the table of errors, from the places that raise them.

python -m tests.error_reference docs/errors.md
"""

import ast
import functools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from brain import errors

PROJECT = Path(__file__).parents[1]
SOURCES = ("brain", "cli")
_HEAD = """# Errors

Every error has a code, which does not change between releases, a message, and mostly a hint that
says what to do. With `--json` they are `{"error": {"code", "message", "hint"}}` on standard error;
in Python they are `code`, `message` and `hint` of a `BrainError`. In the table … stands for a name,
a path or a number. This page is generated (`make docs`).

| code | exit status | message | what to do |
|---|---|---|---|
"""


class ErrorRow(NamedTuple):
    """One place that raises an error: its code, exit status, message and hint."""

    code: str
    status: int
    message: str
    hint: str


@functools.cache
def list_errors() -> list[ErrorRow]:
    """Return the errors whose code and message are written out, sorted, each once."""
    rows = {
        row
        for folder in SOURCES
        for path in (PROJECT / folder).rglob("*.py")
        for row in _errors_of_module(path)
    }
    return sorted(rows)


def render_table() -> str:
    """Return the page."""
    lines = [
        f"| `{row.code}` | {row.status} | {_cell(row.message)} | {_cell(row.hint)} |\n"
        for row in list_errors()
    ]
    return _HEAD + "".join(lines)


def _errors_of_module(path: Path) -> Iterator[ErrorRow]:
    module = ast.parse(path.read_text("utf-8"))
    constants = _text_constants(module)
    for node in ast.walk(module):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or not node.args:
            continue
        kind = getattr(errors, node.func.id, None)
        if not isinstance(kind, type) or not issubclass(kind, errors.BrainError):
            continue
        given = {keyword.arg: keyword.value for keyword in node.keywords}
        code = _text(given["code"]) if "code" in given else kind.code
        message = _text(node.args[0])
        if code and message and "…" not in code:
            hint = _hint(given["hint"], constants) if "hint" in given else kind.usual_hint
            yield ErrorRow(code, kind.exit_status, message, hint)


def _text_constants(module: ast.Module) -> dict[str, str]:
    """Return the texts of a module's constants by name."""
    return {
        target.id: _text(node.value)
        for node in module.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def _hint(node: ast.expr, constants: dict[str, str]) -> str:
    """Return a hint: a text, a constant of some module of ours, or one of two texts."""
    if isinstance(node, ast.IfExp):
        return f"{_hint(node.body, constants)}; or: {_hint(node.orelse, constants)}"
    if isinstance(node, ast.Name | ast.Attribute):
        name = node.id if isinstance(node, ast.Name) else node.attr
        return constants.get(name) or _shared_hints().get(name, "")
    return _text(node)


def _text(node: ast.expr) -> str:
    """Return a text of the source with … for each value in it; "" if it is none."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        text = "".join(
            str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values
        )
        return text if text.strip("… :") else ""
    return ""


@functools.cache
def _shared_hints() -> dict[str, str]:
    """Return the hints that modules share, by the name of their constant."""
    return {
        name: text
        for folder in SOURCES
        for path in sorted((PROJECT / folder).rglob("*.py"))
        for name, text in _text_constants(ast.parse(path.read_text("utf-8"))).items()
        if name.endswith("_HINT")
    }


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(render_table(), "utf-8")
