"""A program: the exact bytes that are tried, admitted and run."""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from ..digest import blob_id, domain_hash
from ..encoding import pack
from ..errors import InvalidInput, printable_text
from . import PROGRAM_FILE, SCHEMA_FILE, TESTS_FOLDER
from .python_code import CodeFault, parse_code

program_id = domain_hash("brain v1 program")


def is_program_file(path: str) -> bool:
    """Tell whether a file of a skill, by its path in the skill's folder, is part of its program."""
    return path in (PROGRAM_FILE, SCHEMA_FILE) or path.startswith(TESTS_FOLDER)


def id_of_files(files: Iterable[tuple[str, bytes]]) -> bytes:
    """Return the id of a program from the path and the blob id of each file, sorted by path."""
    return program_id(pack(tuple((path, blob) for path, blob in files)))


@dataclass(frozen=True, kw_only=True)
class Program:
    """The program of the skill `slug`: `files` by their path in the folder of the skill.

    `resources` are modules and data that its needs name by content.
    """

    slug: str
    files: dict[str, bytes] = field(repr=False)
    resources: dict[str, bytes] = field(default_factory=dict, repr=False)

    @property
    def code(self) -> bytes:
        """The content of skill.py."""
        return self.files[PROGRAM_FILE]

    @cached_property
    def blobs(self) -> tuple[tuple[str, bytes], ...]:
        """The path and the blob id of each file, sorted by path."""
        return tuple((path, blob_id(self.files[path])) for path in sorted(self.files))

    @property
    def id(self) -> bytes:
        """The digest of `blobs`, 32 bytes; what is admitted, whatever the slug."""
        return id_of_files(self.blobs)


_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_KEYWORDS = frozenset(word.lower() for word in (*keyword.kwlist, *keyword.softkwlist, "type"))
"""In lower case; `type` is one since Python 3.12."""
BUILT_IN_TOOLS = frozenset(
    (
        *("brain_diff", "brain_log", "brain_snapshot", "brain_verify", "create_skill"),
        *("list_lessons", "manage_skills", "memory", "skill_manage", "skill_manager"),
        *("skill_view", "skills_list"),
    )
)
"""Names that no skill can have: those of the tools of the brain itself."""


def tool_name(slug: str) -> str:
    """Return the name of the tool of a skill."""
    return slug.replace("-", "_")


def slug_of_tool(name: str) -> str:
    """Return the slug of the skill whose tool has this name."""
    return name.replace("_", "-")


def check_tool_name(name: str) -> str:
    """Return the slug for a tool of that name.

    A name is an identifier of Python of at most 64 characters, no keyword and no tool of the brain
    itself; so is the name that the slug gives back. Raises `InvalidInput` (`bad_tool_name`).
    """
    if not _is_identifier(name):
        raise _bad_name(
            f"not a name for a tool: '{printable_text(name, 80)}'",
            "use up to 64 letters, digits and '_', not beginning with a digit, and no keyword",
        )
    slug = "-".join(filter(None, name.lower().split("_")))
    if not _is_identifier(tool_name(slug)):
        raise _bad_name(
            f"not a name for a tool: '{printable_text(name, 80)}'",
            "without '_' around it, and in lower case, it must still be a name and no keyword",
        )
    if tool_name(slug) in BUILT_IN_TOOLS:
        raise _bad_name(
            f"the name '{printable_text(name, 80)}' is taken by a tool of the brain itself",
            "choose another name, such as one that says what it is about",
        )
    return slug


def _is_identifier(name: str) -> bool:
    return _IDENTIFIER.fullmatch(name) is not None and name.lower() not in _KEYWORDS


def _bad_name(message: str, hint: str) -> InvalidInput:
    return InvalidInput(message, code="bad_tool_name", hint=hint)


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
