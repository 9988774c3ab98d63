"""Say in one line why a program failed, from what it printed; never fails itself."""

from __future__ import annotations

import ast
import re

from ..errors import printable_text
from .python_parse import CodeFault, parse_code

MAX_SUMMARY_CHARS = 200
NO_OUTPUT = "it exited 0 but printed nothing"
CALL_HINT = 'it printed nothing: call it under if __name__ == "__main__"'
_MAX_READ_BYTES = 256 << 10
"""Of each output: the first half and the last half of these."""
_TRACEBACK = "Traceback (most recent call last):"
_ERROR_LINE = re.compile(r"[A-Za-z_][\w.]*(?:: .*)?")
_BARE_ERROR_LINE = re.compile(r"[A-Za-z_][\w.]*(?:Error|Exception|Exit|Interrupt)(?:: .*)?")
_SYSTEM_LINE = re.compile(r".*(?:Syntax Error Detected|SYSTEM ERROR):.*")


def summarize_failure(stderr: bytes, stdout: bytes) -> str:
    """Return the cause in at most 200 characters.

    The last error line of a traceback; else a line that tells of a syntax or system error; else
    that nothing was printed; else the first line that says anything.
    """
    errors = _read_lines(stderr)
    lines = [line.strip() for line in [*errors, *_read_lines(stdout)]]
    found = _find_error_line(errors) or next(filter(_SYSTEM_LINE.fullmatch, lines), "")
    return fit_summary(found or next(filter(None, lines), NO_OUTPUT))


def explain_silence(code: bytes) -> str:
    """Return why a program that exited 0 printed nothing, as far as its code tells."""
    try:
        tree = parse_code(code)
    except CodeFault:
        return NO_OUTPUT
    defines = any(isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) for node in tree.body)
    has_main = any(
        isinstance(node, ast.Constant) and node.value == "__main__" for node in ast.walk(tree)
    )
    return CALL_HINT if defines and not has_main else NO_OUTPUT


def fit_summary(text: object) -> str:
    """Return a text as a line of at most 200 printing characters."""
    shown = printable_text(text, MAX_SUMMARY_CHARS)
    return shown if len(shown) <= MAX_SUMMARY_CHARS else shown[: MAX_SUMMARY_CHARS - 1] + "…"


def _read_lines(data: bytes) -> list[str]:
    half = _MAX_READ_BYTES // 2
    if len(data) > _MAX_READ_BYTES:
        data = data[:half] + b"\n" + data[-half:]
    return data.decode(errors="replace").split("\n")


def _find_error_line(lines: list[str]) -> str:
    """Return the line that names the last exception, "" if there is none."""
    last = max((at for at, line in enumerate(lines) if line.startswith(_TRACEBACK)), default=None)
    if last is not None:
        named = [
            line.rstrip() for line in lines[last + 1 :] if _ERROR_LINE.fullmatch(line.rstrip())
        ]
        if named:
            return named[0]
    bare = [line.strip() for line in lines if _BARE_ERROR_LINE.fullmatch(line.strip())]
    return bare[-1] if bare else ""
