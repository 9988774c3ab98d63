"""The code of a program: parsed from exactly the bytes that run, repaired, and read."""

from __future__ import annotations

import ast
import html
import re
import textwrap
import warnings
from collections.abc import Callable
from threading import Lock
from typing import Literal

from ..errors import InvalidInput, printable_text

MAX_CODE_BYTES = 256 << 10

_BOM = b"\xef\xbb\xbf"
_COOKIE = re.compile(rb"[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_UTF8_NAMES = ("utf-8", "utf8", "utf_8")
_DEEP = re.compile(r"(?:(?:not\b|lambda\s*:|[-+~(\[{])\s*){100}")
"""A hundred openings one after the other: no person writes them, and a parser recurses on each."""
_warnings_lock = Lock()


class CodeFault(InvalidInput):
    """Bytes that are not the code of a program; `line` is 0 if the fault is of the whole."""

    code = "bad_python"

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(
            f"line {line}: {reason}" if line else reason,
            hint="write the program as plain Python in UTF-8",
        )
        self.line = line


def parse_code(code: bytes) -> ast.Module:
    """Return the syntax tree of a program. Raises `CodeFault`.

    Only what every reader of the bytes reads alike is accepted: UTF-8 without a byte order mark,
    without NUL, and without a comment that names another encoding.
    """
    if len(code) > MAX_CODE_BYTES:
        raise CodeFault(0, f"it has {len(code)} bytes, more than {MAX_CODE_BYTES}")
    if code.startswith(_BOM):
        raise CodeFault(1, "it begins with a byte order mark; save it as UTF-8 without one")
    if b"\0" in code:
        raise CodeFault(_line_at(code, code.index(b"\0")), "it holds a NUL byte")
    for number, line in enumerate(re.split(rb"\r\n?|\n", code, maxsplit=2)[:2], 1):
        cookie = _COOKIE.match(line)
        if cookie and cookie[1].decode("ascii", "replace").lower() not in _UTF8_NAMES:
            raise CodeFault(number, f"it names the encoding {printable_text(cookie[1], 40)}")
    try:
        text = code.decode()
    except UnicodeDecodeError as error:
        raise CodeFault(_line_at(code, error.start), "it is not UTF-8") from error
    return parse_text(text)


def parse_text(text: str) -> ast.Module:
    """Return the syntax tree of Python that is text already. Raises `CodeFault`."""
    deep = _DEEP.search(text)
    if deep:
        raise CodeFault(text.count("\n", 0, deep.start()) + 1, "it is nested too deeply")
    try:
        with _warnings_lock, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of escapes in texts, which are the author's
            return ast.parse(text)
    except SyntaxError as error:
        raise CodeFault(error.lineno or 0, f"it is not Python: {error.msg}") from error
    except (RecursionError, MemoryError) as error:
        raise CodeFault(0, "it is nested too deeply") from error
    except ValueError as error:  # a NUL, or half a surrogate pair
        raise CodeFault(0, f"it is not Python: {printable_text(error)}") from error


def _line_at(code: bytes, index: int) -> int:
    return code.count(b"\n", 0, index) + 1


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
        if isinstance(node, ast.ClassDef)
        and any(
            "SkillBase" in (getattr(base, "id", ""), getattr(base, "attr", ""))
            for base in node.bases
        )
    ]


_CALL = "call"
"""The function of `skillapi` by which a program calls a skill."""
_NAME = re.compile(r"[^\W\d]\w*")


def find_called_names(code: bytes) -> frozenset[str]:
    """Return the names by which a program calls skills.

    If a call takes its name from elsewhere, these are all names in texts of the program. A name
    that comes with the input, or is put together, is not found.
    """
    if _CALL.encode() not in code:
        return frozenset()
    try:
        tree = parse_code(code)
    except CodeFault:
        return frozenset(_NAME.findall(code.decode("utf-8", "replace")))
    nodes = list(ast.walk(tree))
    uses = sum(map(_is_use, nodes))
    names = [
        node.args[0].value
        for node in nodes
        if isinstance(node, ast.Call)
        and _is_use(node.func)
        and node.args
        and isinstance(node.args[0], ast.Constant)
        and isinstance(node.args[0].value, str)
    ]
    if len(names) == uses:
        return frozenset(names)
    texts = " ".join(str(node.value) for node in nodes if isinstance(node, ast.Constant))
    return frozenset(_NAME.findall(texts))


def _is_use(node: ast.AST) -> bool:
    """Tell whether a node stands for the function, also under another name from there on."""
    return (
        (isinstance(node, ast.Name) and node.id == _CALL)
        or (isinstance(node, ast.Attribute) and node.attr == _CALL)
        or (isinstance(node, ast.alias) and node.name == _CALL and node.asname is not None)
    )


_CDATA_BEGIN = re.compile(r"\s*<!\[CDATA\[")
_ENVELOPE_ENDS = ("]]>", "</parameter>", "</python_code>", "</code>", ">")
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})[ \t]*[\w+.-]*[ \t]*\r?\n?")
_ENTITY = re.compile(r"&(?:lt|gt|amp|quot|apos|nbsp|#\d{1,7}|#x[0-9a-fA-F]{1,6});")
_ESCAPES = {r"\n": "\n", r"\t": "\t", r"\"": '"', r"\r": "", r"\\": "\\", r"\/": "/"}
_ESCAPE = re.compile(r"\\[nt\"r\\/]")
_CAUSES = (
    "usual causes: a CDATA envelope or an unclosed tag around it, HTML entities such as &lt;, a "
    "text that was cut off, or line ends written as \\n in JSON twice"
)


def normalize_source(text: str) -> str:
    """Return the text of a program as Python.

    Raises `InvalidInput` (`bad_python`) that names the usual causes if no repair helps, and
    (`too_large`).
    """
    if len(text) > 2 * MAX_CODE_BYTES:
        raise InvalidInput(
            f"the code has {len(text)} characters, more than {2 * MAX_CODE_BYTES}",
            code="too_large",
            hint="write a smaller program",
        )
    fault = _find_fault(text)
    if fault is None:
        return text
    tried = [text]
    for repair in _REPAIRS:
        for known in list(tried):
            repaired = repair(known)
            if repaired in tried:
                continue
            if repaired.strip() and _find_fault(repaired) is None:
                return repaired
            tried.append(repaired)
    raise InvalidInput(
        f"the code does not parse: {fault.message}",
        code="bad_python",
        hint=f"send the whole program again as plain text; {_CAUSES}",
    )


def _find_fault(text: str) -> CodeFault | None:
    try:
        parse_text(text)
    except CodeFault as fault:
        return fault
    return None


def _strip_envelope(text: str) -> str:
    """Return what a CDATA envelope contains, also if only its beginning or its end is left."""
    begin = _CDATA_BEGIN.match(text)
    inner = text[begin.end() :] if begin else text
    for _ in range(len(_ENVELOPE_ENDS)):
        stripped = inner.rstrip()
        end = next(filter(stripped.endswith, _ENVELOPE_ENDS), "")
        if end:
            inner = stripped.removesuffix(end)
    return inner


def _strip_fence(text: str) -> str:
    """Return the longest block of code in Markdown fences; the last may have no end."""
    blocks: list[list[str]] = []
    fence = ""
    for line in text.splitlines(keepends=True):
        mark = _FENCE.fullmatch(line)
        if mark and not fence:
            fence = mark[1]
            blocks.append([])
        elif mark and line.strip() == fence:
            fence = ""
        elif fence:
            blocks[-1].append(line)
    return max(map("".join, blocks), key=len, default=text)


def _decode_escapes(text: str) -> str:
    """Return a text of one line, whose line ends were written as in JSON, with real ones."""
    if "\n" in text.strip():
        return text
    return _ESCAPE.sub(lambda match: _ESCAPES[match[0]], text.strip()) + "\n"


_REPAIRS: tuple[Callable[[str], str], ...] = (
    _strip_envelope,
    _strip_fence,
    lambda text: _ENTITY.sub(lambda match: html.unescape(match[0]), text),
    _decode_escapes,
    lambda text: textwrap.dedent(text.removeprefix("\ufeff")),
)
