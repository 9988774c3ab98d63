"""Search the lines of the text files of a revision for a pattern."""

from __future__ import annotations

import io
import time
import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ..errors import InvalidInput
from ..merging import lines
from ..objects.paths import is_at_or_below
from ..objects.tree_node import LINK, TreeEntry
from ..repo.session import Session
from ..results import GrepMatch

if TYPE_CHECKING:
    import regex

MAX_PATTERN_CHARS = 4096
MAX_SEARCHED_BYTES = 32 << 20
"""The largest file that is searched; a larger one is passed over, as a binary one is."""
SECONDS_PER_FILE = 2.0
"""How long a pattern may take for one file. Some take time exponential in the length of a line."""


def grep(
    session: Session,
    pattern: str,
    rev: str = "@",
    *,
    ignore_case: bool = False,
    fixed: bool = False,
    paths: Sequence[str] = (),
) -> Iterator[GrepMatch]:
    """Yield the lines of text files at a revision that match a regular expression.

    With `fixed`, `pattern` is plain text; with `paths`, only files at or below them are
    searched. Raises `InvalidInput`: `bad_pattern`, or `slow_pattern` if a file takes too long.
    """
    compiled = _compile_pattern(pattern, ignore_case, fixed)
    entries = [
        entry
        for entry in session.at(rev).walk()
        if entry.kind != LINK and entry.size <= MAX_SEARCHED_BYTES
        if not paths or is_at_or_below(entry.path, paths)
    ]
    return _search_entries(session, entries, compiled)


def _compile_pattern(pattern: str, ignore_case: bool, fixed: bool) -> regex.Pattern[str]:
    """Compile with the module `regex`: unlike `re`, it stops at a time limit in any thread."""
    import regex

    if len(pattern) > MAX_PATTERN_CHARS:
        raise InvalidInput(
            f"the pattern has {len(pattern)} characters; {MAX_PATTERN_CHARS} are allowed",
            code="bad_pattern",
            hint="search for a part of it",
        )
    text = regex.escape(pattern) if fixed else pattern
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of syntax that may change its meaning one day
            return regex.compile(text, regex.IGNORECASE if ignore_case else 0)
    except (regex.error, OverflowError, RecursionError) as error:
        raise InvalidInput(
            f"the pattern is not a regular expression: {error!s}",
            code="bad_pattern",
            hint="search for plain text with -F",
        ) from None


def _search_entries(
    session: Session, entries: list[TreeEntry], pattern: regex.Pattern[str]
) -> Iterator[GrepMatch]:
    redacted = session.reader.find_redactions([entry.blob for entry in entries])
    for entry in entries:
        if entry.blob in redacted:
            continue
        content = session.reader.read_blob(entry.blob, entry.size)
        if lines.is_binary(content):
            continue
        deadline = time.monotonic() + SECONDS_PER_FILE
        try:
            for number, line in enumerate(io.StringIO(content.decode(), newline="\n"), 1):
                text = line.removesuffix("\n").removesuffix("\r")
                if pattern.search(text, timeout=max(deadline - time.monotonic(), 0.0)):
                    yield GrepMatch(entry.path, number, text)
                    deadline = max(deadline, time.monotonic() + SECONDS_PER_FILE)
        except TimeoutError:
            raise InvalidInput(
                f"searching {entry.path} for this pattern takes too long",
                code="slow_pattern",
                hint="repetitions inside of repetitions, such as (a+)+, are slow; simplify it",
            ) from None
