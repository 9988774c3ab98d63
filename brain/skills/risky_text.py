"""Find text that tells its reader to run a program from the network, or to unlock one.

Only clear forms count: a download that goes straight into a shell or an interpreter, encoded
commands, and archives or programs offered together with a password, which virus scanners cannot
read. Every repetition has an upper bound, so the time is linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import islice
from typing import NamedTuple

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
_RULES = (
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


class RiskyText(NamedTuple):
    """What a line tells its reader to do; `line` counts from 0, `excerpt` is the line's part."""

    line: int
    risk: str
    excerpt: str


def find_risky_text(text: str) -> Iterator[RiskyText]:
    """Yield the first risky lines of a text, each line once for a risk."""
    text = text[:MAX_READ_CHARS]
    joined = text.replace("\\\r\n", "   ").replace("\\\n", "  ")  # as long as the text
    for risk, pattern in _compiled_rules():
        last = -1
        for match in islice(pattern.finditer(joined), MAX_RISKY_LINES):
            line = text.count("\n", 0, match.start())
            if line != last:
                last = line
                begin = max(text.rfind("\n", 0, match.start()) + 1, match.start() - _CONTEXT_CHARS)
                excerpt = " ".join(joined[begin : match.end()].split())
                yield RiskyText(line, risk, excerpt[-_MAX_EXCERPT_CHARS:])


@cache
def _compiled_rules() -> list[tuple[str, re.Pattern[str]]]:
    return [(risk, re.compile(pattern, re.IGNORECASE)) for risk, pattern in _RULES]
