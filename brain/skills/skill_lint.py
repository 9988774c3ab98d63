"""Checks a skill against the agentskills.io specification and against what clients need.

The specification: https://agentskills.io/specification. Clients accept more than it
allows: nearly all need only a readable name and description.

Also here: text that tells its reader to run a program from the network, or to unlock one. Only
clear forms count: a download that goes straight into a shell or an interpreter, encoded commands,
and archives or programs offered together with a password, which virus scanners cannot read. Every
repetition has an upper bound, so the time is linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from .. import limits
from ..errors import InvalidInput, printable_text
from ..util.text import lazy_pattern
from . import document_parts, skill_version, slug
from .document_parts import DocumentParts
from .frontmatter import (
    BLOCK_MAP_KIND,
    FLOW_MAP_KIND,
    NULL_KIND,
    SPEC_FIELDS,
    TEXT_KIND,
    FrontMatter,
    FrontMatterField,
    first_flow_line,
    no_front_matter_error,
    parse_front_matter,
)
from .skill_metadata import REFUSED_BY_YAML
from .visible_text import find_hidden
from .yaml_scalar import quote_scalar

MAX_READ_CHARS = 1 << 20
"""The rest of a longer text is not read."""
MAX_RISKY_LINES = 20
"""The most lines that are reported of one text, for each risk."""
_CONTEXT_CHARS = 50
_MAX_EXCERPT_CHARS = 160

_SUDO = r"(?:sudo\s{1,4}(?:-\w{1,20}\s{1,4}){0,3})?(?:/(?:usr/)?bin/)?"
_SHELL = r"(?:ba|z|da|k|fi)?sh\b(?![.:/])"
_INTERPRETER = r"(?:python[23]?|node|perl|ruby|php)\b(?!\s{1,4}-[a-z])"
_DOWNLOAD = r"\b(?:curl|wget)\s"
_WEB_REQUEST = r"\b(?:iwr|irm|invoke-webrequest|invoke-restmethod|downloadstring)\b"
_PACKED_PROGRAM = r"\.(?:exe|msi|dmg|pkg|scr|zip|rar|7z)\b"
_RISKS = (
    (
        "runs what it downloads",
        rf"{_DOWNLOAD}[^\n|]{{1,300}}\|\s{{0,4}}{_SUDO}(?:{_SHELL}|{_INTERPRETER})"
        rf"|\b(?:(?:ba|z|da)?sh|source|eval|python3?)\s{{1,4}}(?:-\w{{1,4}}\s{{1,4}}){{0,2}}"
        rf"[\"']?(?:<\(|\$\(|`)\s{{0,4}}{_DOWNLOAD}"
        rf"|{_WEB_REQUEST}[^\n|]{{1,300}}\|\s{{0,4}}(?:iex|invoke-expression)\b"
        rf"|\b(?:iex|invoke-expression)\b[^\n|]{{0,100}}{_WEB_REQUEST}"
        r"|\b(?:npx|bunx|pnpm dlx|yarn dlx|deno run)\s{1,4}(?:-{1,2}[\w-]{1,30}\s{1,4}){0,4}"
        r"(?:https?://|git\+https?://|github:)",
    ),
    (
        "runs what it decodes",
        rf"\bbase64\s{{1,4}}(?:-d|-D|--decode)\b[^\n|]{{0,80}}\|\s{{0,4}}{_SUDO}"
        rf"(?:{_SHELL}|{_INTERPRETER})"
        r"|\b(?:powershell|pwsh)(?:\.exe)?\b[^\n|]{0,80}\s-e(?:nc|ncodedcommand)?\s{1,4}"
        r"[A-Za-z0-9+/=]{40}",
    ),
    (
        "offers a program or an archive with a password",
        rf"{_PACKED_PROGRAM}[^\n]{{0,120}}(?:\n[^\n]{{0,40}})?\bpass(?:word|wd)?\b[*_]{{0,2}}"
        r"\s{0,2}[:=]\s{0,2}[`\"'*]{0,3}\w{1,40}",
    ),
)
_RULES = [(risk, lazy_pattern(pattern, re.IGNORECASE)) for risk, pattern in _RISKS]


class RiskyText(NamedTuple):
    """What a line tells its reader to do; `line` counts from 0, `excerpt` is the line's part."""

    line: int
    risk: str
    excerpt: str


def find_risky_text(text: str) -> Iterator[RiskyText]:
    """Yield the first risky lines of a text, each line once for a risk."""
    text = text[:MAX_READ_CHARS]
    joined = text.replace("\\\r\n", "   ").replace("\\\n", "  ")  # as long as the text
    for risk, pattern in _RULES:
        last = -1
        for match in islice(pattern().finditer(joined), MAX_RISKY_LINES):
            line = text.count("\n", 0, match.start())
            if line != last:
                last = line
                begin = max(text.rfind("\n", 0, match.start()) + 1, match.start() - _CONTEXT_CHARS)
                excerpt = " ".join(joined[begin : match.end()].split())
                yield RiskyText(line, risk, excerpt[-_MAX_EXCERPT_CHARS:])


ERROR = "error"
WARNING = "warning"
MAX_COMPATIBILITY_CHARS = 500
MAX_BODY_LINES = 500
MAX_BODY_TOKENS = 5000
MAX_FIX_CHARS = 200
"""Characters of a line that a message proposes."""
_LINE_NUMBER = re.compile(r"line ([0-9]+)")
_CONFLICT_MARKERS = (b"<<<<<<<", b">>>>>>>")
_CONFLICT_LINE = re.compile(rb"^(?:<{7}|>{7}) ", re.MULTILINE)


class Problem(NamedTuple):
    """A broken rule; `severity` is error or warning, `line` is 0 for the whole file."""

    code: str
    severity: str
    line: int
    message: str


def check_skill(path: str, content: bytes, folder_name: str | None, strict: bool) -> list[Problem]:
    """Return the problems of the skill at `path`, in the order of lines.

    `folder_name` is the folder that must have its name, None for a flat skill. With
    `strict` each broken rule of the specification is an error, else a warning unless
    clients need it.
    """
    try:
        document = document_parts.split_document(content)
        if not document.opening:
            raise no_front_matter_error()
        front_matter = parse_front_matter(document.front_matter)
    except InvalidInput as error:
        line = _LINE_NUMBER.search(error.message)
        message = f"{error.message}; {error.hint}" if error.hint else error.message
        return [Problem(error.code, ERROR, int(line[1]) if line else 0, message)]
    problems = list(_check_rules(path, document, front_matter, folder_name))
    if strict:
        problems = [problem._replace(severity=ERROR) for problem in problems]
    elif folder_name is None:
        problems = [problem for problem in problems if problem.code != "no_folder"]
    problems.extend(_collect_advice(document, front_matter))
    blank_lines = document.opening.count(b"\n") - 1
    if blank_lines > 0:
        problems = [
            item._replace(line=item.line + blank_lines if item.line > 1 else item.line)
            for item in problems
        ]
    return sorted(problems, key=lambda item: (item.line, item.code))


def find_refusal(path: str, content: bytes) -> Problem | None:
    """Return the first problem of a skill whose front matter YAML refuses."""
    problems = check_skill(path, content, None, False)
    return next((one for one in problems if one.code in REFUSED_BY_YAML), None)


def _check_rules(
    path: str,
    document: DocumentParts,
    front_matter: FrontMatter,
    folder_name: str | None,
) -> Iterator[Problem]:
    yield from _check_file(path, document, folder_name)
    if flow := first_flow_line(front_matter):
        yield Problem(
            "flow_style", WARNING, flow, "some readers do not support lists or maps in brackets"
        )
    if front_matter.problem is not None:
        yield _recovery_problem(front_matter, front_matter.problem)
    yield from _check_text_field(front_matter, "name", limits.MAX_SLUG_CHARS)
    yield from _check_name(front_matter, folder_name)
    yield from _check_text_field(front_matter, "description", limits.MAX_DESCRIPTION_CHARS)
    yield from _check_other_fields(front_matter)
    for field in front_matter.version_fields():
        line = front_matter.line_number(field)
        try:
            skill_version.parse_version(front_matter.raw_value(field), line)
        except InvalidInput as error:
            yield Problem(error.code, ERROR, line, error.message)


def _check_file(path: str, document: DocumentParts, folder_name: str | None) -> Iterator[Problem]:
    file = path.rpartition("/")[2]
    if folder_name is None:
        yield Problem("no_folder", WARNING, 0, "a skill is a folder with a SKILL.md")
    elif file not in ("SKILL.md", "skill.md"):
        yield Problem(
            "file_name", WARNING, 0, f"the file is not called SKILL.md: {printable_text(file)}"
        )
    if document.bom:
        yield Problem("byte_order_mark", WARNING, 1, "the file starts with a byte order mark")
    if not document.opening.startswith(b"---"):
        message = "blank lines before the front matter; some clients then see none; remove them"
        yield Problem("blank_before_frontmatter", WARNING, 1, message)
    if document.earlier_head is not None:
        message = (
            "two front matters; many clients read this one alone; move its fields into the second"
        )
        yield Problem("two_frontmatters", WARNING, 1, message)
    if not document.is_closed:
        line = document.front_matter.count("\n") + 2
        message = "the front matter is not closed; end it with a line '---'"
        yield Problem("unclosed_frontmatter", WARNING, line, message)
    if "---" in document.front_matter:
        line = document.front_matter.count("\n", 0, document.front_matter.index("---")) + 2
        yield Problem(
            "dashes_in_head", WARNING, line, "some readers end the front matter at any '---'"
        )


def _recovery_problem(front_matter: FrontMatter, error: InvalidInput) -> Problem:
    """Return the problem of front matter that YAML refuses, with a line that mends it."""
    line = _LINE_NUMBER.search(error.message)
    number = int(line[1]) if line else 0
    reason = error.message.removeprefix(f"line {number}: ")
    mend = "mend or remove this line"
    if front_matter.refused:
        field = min(
            front_matter.refused, key=lambda item: abs(front_matter.line_number(item) - number)
        )
        number = front_matter.line_number(field)
        key = front_matter.text[field.key_start : field.start].rstrip(" \t:")
        written = f"{key}: {quote_scalar(field.value)}"
        is_short = len(written) <= MAX_FIX_CHARS
        mend = f"write {written}" if is_short else f"put quotes around the value of {key}"
    message = f"YAML refuses this ({reason}), and agents read it as text; {mend}"
    return Problem(error.code, WARNING, number, printable_text(message, 2 * MAX_FIX_CHARS))


def _check_text_field(front_matter: FrontMatter, key: str, most: int) -> Iterator[Problem]:
    field = front_matter.fields.get(key)
    if (
        field is None
        or field.kind == NULL_KIND
        or (field.kind == TEXT_KIND and not field.value.strip())
    ):
        line = front_matter.line_number(field) if field else 0
        yield Problem(f"no_{key}", ERROR, line, f"the field {key} is missing or empty")
    elif field.kind != TEXT_KIND:
        yield Problem(
            "bad_type",
            ERROR,
            front_matter.line_number(field),
            f"{key} is not text; put quotes around it",
        )
    elif len(field.value) > most:
        message = f"{key} has {len(field.value)} characters; at most {most} are allowed"
        yield Problem(f"{key}_too_long", WARNING, front_matter.line_number(field), message)


def _check_name(front_matter: FrontMatter, folder_name: str | None) -> Iterator[Problem]:
    field = front_matter.fields.get("name")
    if field is None or field.kind != TEXT_KIND or not field.value.strip():
        return
    line, name = front_matter.line_number(field), slug.normalize_name(field.value.strip())
    printable_name = printable_text(name)
    if fault := slug.find_name_fault(name):
        yield Problem("bad_name", WARNING, line, f"{fault}: {printable_name}")
    if folder_name is not None and slug.normalize_name(folder_name) != name:
        message = (
            f"the name {printable_name} is not that of its folder, {printable_text(folder_name)}"
        )
        yield Problem("name_mismatch", WARNING, line, message)


def _check_other_fields(front_matter: FrontMatter) -> Iterator[Problem]:
    for key, field in front_matter.fields.items():
        if key not in SPEC_FIELDS:
            message = f"not a field of the specification: {printable_text(key)}"
            if key == "version":
                message = f"{message}; its place there is metadata.version"
            yield Problem("unknown_field", WARNING, front_matter.line_number(field), message)
    yield from _check_kind(front_matter, "compatibility", (TEXT_KIND,))
    yield from _check_kind(front_matter, "license", (TEXT_KIND, NULL_KIND))
    yield from _check_kind(front_matter, "allowed-tools", (TEXT_KIND, NULL_KIND))
    yield from _check_kind(front_matter, "metadata", (BLOCK_MAP_KIND, FLOW_MAP_KIND, NULL_KIND))
    compatibility = front_matter.fields.get("compatibility")
    if compatibility and len(compatibility.value) > MAX_COMPATIBILITY_CHARS:
        message = f"compatibility has more than {MAX_COMPATIBILITY_CHARS} characters"
        yield Problem(
            "compatibility_too_long", WARNING, front_matter.line_number(compatibility), message
        )
    for key, field in front_matter.metadata.items():
        if field.kind != TEXT_KIND:
            message = f"metadata.{printable_text(key)} is not text; put quotes around it"
            yield Problem("metadata_not_text", WARNING, front_matter.line_number(field), message)


def _check_kind(front_matter: FrontMatter, key: str, kinds: tuple[str, ...]) -> Iterator[Problem]:
    field = front_matter.fields.get(key)
    if field is not None and field.kind not in kinds:
        yield Problem(
            "bad_type",
            WARNING,
            front_matter.line_number(field),
            f"{key} has a value of another type",
        )


def _collect_advice(document: DocumentParts, front_matter: FrontMatter) -> Iterator[Problem]:
    """Yield warnings about what breaks no rule but deserves a look."""
    name = front_matter.fields.get("name")
    if name is not None and name.kind == TEXT_KIND:
        for code, message in slug.find_name_problems(name.value):
            yield Problem(code, WARNING, front_matter.line_number(name), message)
    tools: FrontMatterField | None = front_matter.fields.get("allowed-tools")
    if tools is not None and tools.kind != NULL_KIND:
        message = f"asks for tools: {printable_text(front_matter.raw_value(tools).strip())}"
        yield Problem("asks_for_tools", WARNING, front_matter.line_number(tools), message)
    first = document.front_matter.count("\n") + 3
    lines = document.body.count(b"\n")
    if lines > MAX_BODY_LINES or len(document.body) > 4 * MAX_BODY_TOKENS:
        message = (
            f"a body of {lines} lines and {len(document.body)} bytes; references may hold details"
        )
        yield Problem("long_body", WARNING, first, message)
    for text, start in ((document.front_matter, 2), (document.body.decode(), first)):
        hidden = find_hidden(text.replace("\r\n", "\n"))
        if hidden:
            line = start + hidden.string.count("\n", 0, hidden.start())
            message = f"a hidden character: {printable_text(hidden[0])}"
            yield Problem("hidden_text", WARNING, line, message)
        for found in find_risky_text(text):
            message = f"the text {found.risk}: {printable_text(found.excerpt)}"
            yield Problem("risky_text", WARNING, start + found.line, message)
    conflict = any(mark in document.body for mark in _CONFLICT_MARKERS) and _CONFLICT_LINE.search(
        document.body
    )
    if conflict:
        line = first + document.body.count(b"\n", 0, conflict.start())
        yield Problem("conflict_marker", WARNING, line, "a conflict marker of an unfinished merge")
