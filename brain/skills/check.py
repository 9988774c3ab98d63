"""What is wrong with a skill: by the specification of agentskills.io, or to its clients.

The specification: https://agentskills.io/specification. Clients take more than it
allows: a readable name and description are enough for nearly all of them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

from .. import limits
from ..errors import InvalidInput, printable
from . import names, parts, scripts, version
from .fields import BLOCK_MAP, FLOW_MAP, NULL, SPECIFIED, TEXT, Field, Head
from .frontmatter import inspect, no_frontmatter
from .parts import Parts
from .text import first_hidden

ERROR = "error"
WARNING = "warning"
MAX_COMPATIBILITY = 500
MAX_BODY_LINES = 500
MAX_BODY_TOKENS = 5000
_LINE = re.compile(r"line ([0-9]+)")
_MARKS = (b"<<<<<<<", b">>>>>>>")
_CONFLICT = re.compile(rb"^(?:<{7}|>{7}) ", re.MULTILINE)


class Problem(NamedTuple):
    """A rule that is broken; `severity` is error or warning, `line` is 0 for the whole file."""

    code: str
    severity: str
    line: int
    message: str


class _Found(NamedTuple):
    """A problem before it is known who asks: `spec` if clients do not mind it."""

    code: str
    spec: bool
    line: int
    message: str


def check(path: str, content: bytes, folder_name: str | None, strict: bool) -> list[Problem]:
    """Return what is wrong with the skill at `path`, in the order of lines.

    `folder_name` is the folder that has to bear its name, None for a flat skill. With
    `strict` each broken rule of the specification is an error, else it is a warning
    unless clients need it.
    """
    try:
        cut = parts.split(content)
        if not cut.opening:
            raise no_frontmatter()
        head, flow = inspect(cut.head)
    except InvalidInput as error:
        found = _LINE.search(error.message)
        message = f"{error.message}; {error.hint}" if error.hint else error.message
        return [Problem(error.code, ERROR, int(found[1]) if found else 0, message)]
    problems = [
        Problem(item.code, ERROR if strict or not item.spec else WARNING, item.line, item.message)
        for item in _broken_rules(path, cut, head, folder_name, flow)
    ]
    if folder_name is None and not strict:
        problems = [item for item in problems if item.code != "no_folder"]
    problems.extend(_advice(cut, head))
    return sorted(problems, key=lambda item: (item.line, item.code))


def _broken_rules(
    path: str, cut: Parts, head: Head, folder_name: str | None, flow: int
) -> Iterator[_Found]:
    yield from _file_rules(path, cut, folder_name, flow)
    yield from _text_rules(head, "name", limits.MAX_SLUG)
    yield from _name_rules(head, folder_name)
    yield from _text_rules(head, "description", limits.MAX_DESCRIPTION_CHARS)
    yield from _other_rules(head)
    for field in head.versions():
        try:
            version.parse(head.raw(field), head.line(field))
        except InvalidInput as error:
            yield _Found(error.code, False, head.line(field), error.message)


def _file_rules(path: str, cut: Parts, folder_name: str | None, flow: int) -> Iterator[_Found]:
    file = path.rpartition("/")[2]
    if folder_name is None:
        yield _Found("no_folder", True, 0, "a skill is a folder with a SKILL.md")
    elif file not in ("SKILL.md", "skill.md"):
        yield _Found("file_name", True, 0, f"the file is not called SKILL.md: {printable(file)}")
    if cut.bom:
        yield _Found("byte_order_mark", True, 1, "the file starts with a byte order mark")
    if "---" in cut.head:
        line = cut.head.count("\n", 0, cut.head.index("---")) + 2
        yield _Found("dashes_in_head", True, line, "some readers end the front matter at any '---'")
    if flow:
        yield _Found("flow_style", True, flow, "some readers take no lists or maps in brackets")


def _text_rules(head: Head, key: str, most: int) -> Iterator[_Found]:
    field = head.fields.get(key)
    if field is None or field.kind == NULL or (field.kind == TEXT and not field.value.strip()):
        line = head.line(field) if field else 0
        yield _Found(f"no_{key}", False, line, f"the field {key} is missing or empty")
    elif field.kind != TEXT:
        yield _Found(
            "bad_type", False, head.line(field), f"{key} is not text; put quotes around it"
        )
    elif len(field.value) > most:
        message = f"{key} has {len(field.value)} characters; at most {most} are allowed"
        yield _Found(f"{key}_too_long", True, head.line(field), message)


def _name_rules(head: Head, folder_name: str | None) -> Iterator[_Found]:
    field = head.fields.get("name")
    if field is None or field.kind != TEXT or not field.value.strip():
        return
    line, name = head.line(field), _normal(field.value.strip())
    shown = printable(name)
    if name != name.lower() or not all(c.isalnum() or c == "-" for c in name):
        message = f"a name has lower-case letters, digits and hyphens only: {shown}"
        yield _Found("bad_name", True, line, message)
    elif name.startswith("-") or name.endswith("-") or "--" in name:
        message = f"hyphens stand alone and between other characters: {shown}"
        yield _Found("bad_name", True, line, message)
    if folder_name is not None and _normal(folder_name) != name:
        message = f"the name {shown} is not that of its folder, {printable(folder_name)}"
        yield _Found("name_mismatch", True, line, message)


def _normal(name: str) -> str:
    """Return the normal form of a name, as every Python knows it."""
    return unicodedata.normalize("NFKC", scripts.settled(name))


def _other_rules(head: Head) -> Iterator[_Found]:
    for key, field in head.fields.items():
        if key not in SPECIFIED:
            message = f"not a field of the specification: {printable(key)}"
            yield _Found("unknown_field", True, head.line(field), message)
    yield from _typed(head, "compatibility", (TEXT,))
    yield from _typed(head, "license", (TEXT, NULL))
    yield from _typed(head, "allowed-tools", (TEXT, NULL))
    yield from _typed(head, "metadata", (BLOCK_MAP, FLOW_MAP, NULL))
    compatibility = head.fields.get("compatibility")
    if compatibility and len(compatibility.value) > MAX_COMPATIBILITY:
        message = f"compatibility has more than {MAX_COMPATIBILITY} characters"
        yield _Found("compatibility_too_long", True, head.line(compatibility), message)
    for key, field in head.metadata.items():
        if field.kind != TEXT:
            message = f"metadata.{printable(key)} is not text; put quotes around it"
            yield _Found("metadata_not_text", True, head.line(field), message)


def _typed(head: Head, key: str, kinds: tuple[str, ...]) -> Iterator[_Found]:
    field = head.fields.get(key)
    if field is not None and field.kind not in kinds:
        yield _Found("bad_type", True, head.line(field), f"{key} has a value of another type")


def _advice(cut: Parts, head: Head) -> Iterator[Problem]:
    """Yield what breaks no rule, and yet somebody should look at."""
    name = head.fields.get("name")
    if name is not None and name.kind == TEXT:
        for code, message in names.doubts(name.value):
            yield Problem(code, WARNING, head.line(name), message)
    tools: Field | None = head.fields.get("allowed-tools")
    if tools is not None and tools.kind != NULL:
        message = f"asks for tools: {printable(head.raw(tools).strip())}"
        yield Problem("asks_for_tools", WARNING, head.line(tools), message)
    first = cut.head.count("\n") + 3
    lines = cut.body.count(b"\n")
    if lines > MAX_BODY_LINES or len(cut.body) > 4 * MAX_BODY_TOKENS:
        message = f"a body of {lines} lines and {len(cut.body)} bytes; references may hold details"
        yield Problem("long_body", WARNING, first, message)
    for text, start in ((cut.head, 2), (cut.body.decode(), first)):
        unseen = first_hidden(text.replace("\r\n", "\n"))
        if unseen:
            line = start + unseen.string.count("\n", 0, unseen.start())
            message = f"a hidden character: {printable(unseen[0])}"
            yield Problem("hidden_text", WARNING, line, message)
    conflict = any(mark in cut.body for mark in _MARKS) and _CONFLICT.search(cut.body)
    if conflict:
        line = first + cut.body.count(b"\n", 0, conflict.start())
        yield Problem("conflict_marker", WARNING, line, "a line of an unfinished merge")
