"""Compile gitignore patterns to regular expressions that match in bounded time.

In the regular expression of a pattern, each `*` or `**` before another one is in an atomic group:
the first place where the next part matches is as good as any later one, so there is no
backtracking.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

MAX_PATTERN_CHARS = 4096
"""Characters in one pattern."""

_STAR, _SLASH = "*", "/"
_CHARACTER_CLASSES = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "blank": r"\x20\x09",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": r"\x21-\x7e",
    "lower": "a-z",
    "print": r"\x20-\x7e",
    "punct": r"\x21-\x2f\x3a-\x40\x5b-\x60\x7b-\x7e",
    "space": r"\x09-\x0d\x20",
    "upper": "A-Z",
    "xdigit": "0-9A-Fa-f",
}


def compile_pattern(pattern: str) -> Callable[[str], object]:
    """Return a function that matches a path, or a name for a pattern without a slash.

    A slash at the start is ignored. Raises `ValueError` for an invalid pattern: longer than
    MAX_PATTERN_CHARS, an open bracket, an escape at the end, a descending range, an unknown
    class.
    """
    if len(pattern) > MAX_PATTERN_CHARS:
        raise ValueError
    return re.compile(
        _translate_pattern(list(_tokenize_pattern(pattern.removeprefix("/")))), re.DOTALL
    ).fullmatch


def _translate_pattern(tokens: Sequence[str]) -> str:
    """Return the expression of a pattern: groups of segments, with `**` between them."""
    groups: list[list[str]] = [[]]
    for segment in _split_tokens(tokens, _SLASH):
        if len(segment) > 1 and set(segment) == {_STAR}:
            groups.append([])
        else:
            groups[-1].append(_translate_segment(segment))
    first, *others = map("/".join, groups)
    if not others:
        return first
    last = others.pop()
    start = f"{first}/" if first else ""
    middle = (f"(?>(?:[^/]++/)*?{group}/)" for group in others if group)
    return start + "".join(middle) + (f"(?:[^/]++/)*?{last}" if last else ".+")


def _translate_segment(tokens: Sequence[str]) -> str:
    """Return the expression of the part between two slashes, or up to the end."""
    first, *others = map("".join, _split_tokens(tokens, _STAR))
    if not others:
        return first
    last = others.pop()
    middle = "".join(f"(?>[^/]*?{run})" for run in others if run)
    return f"(?>{first}{middle}[^/]*{last}(?![^/]))"


def _split_tokens(tokens: Sequence[str], at: str) -> Iterator[list[str]]:
    run: list[str] = []
    for token in tokens:
        if token == at:
            yield run
            run = []
        else:
            run.append(token)
    yield run


def _tokenize_pattern(pattern: str) -> Iterator[str]:
    """Yield slashes, stars, and expressions of one character."""
    place = 0
    while place < len(pattern):
        char = pattern[place]
        place += 1
        if char == "[":
            expression, place = _parse_bracket(pattern, place)
            yield expression
        elif char == "\\":
            yield _translate_literal(pattern[place : place + 1])
            place += 1
        else:
            yield {_STAR: _STAR, "?": "[^/]"}.get(char) or _translate_literal(char)


def _translate_literal(char: str) -> str:
    return char if char == _SLASH else _escape_character(char)


def _escape_character(char: str) -> str:
    """Return a character escaped for an expression. Raises `ValueError` for ""."""
    if not char:
        raise ValueError
    return char if char.isalnum() else f"\\U{ord(char):08x}"


def _parse_bracket(pattern: str, place: int) -> tuple[str, int]:
    """Return the expression of a set that begins before `place`, and the place after it."""
    negated = pattern[place : place + 1] in ("!", "^")
    place += negated
    items: list[str] = []
    start = ""
    first = True
    while first or pattern[place : place + 1] != "]":
        first = False
        name = re.compile(r"\[:([^]]*):\]").match(pattern, place)
        if name:
            if name[1] not in _CHARACTER_CLASSES:
                raise ValueError
            items.append(_CHARACTER_CLASSES[name[1]])
            place, start = name.end(), ""
            continue
        following = pattern[place + 1 : place + 2]
        is_range = pattern.startswith("-", place) and following not in ("", "]")
        char, place = _parse_bracket_character(pattern, place)
        if is_range and start:
            end, place = _parse_bracket_character(pattern, place)
            if end < start:
                raise ValueError
            items.append(f"{_escape_character(start)}-{_escape_character(end)}")
            start = ""
        else:
            items.append(_escape_character(char))
            start = char
    inside = "".join(items)
    return f"[^/{inside}]" if negated else f"(?!/)[{inside}]", place + 1


def _parse_bracket_character(pattern: str, place: int) -> tuple[str, int]:
    place += pattern[place : place + 1] == "\\"
    char = pattern[place : place + 1]
    if not char:
        raise ValueError
    return char, place + 1
