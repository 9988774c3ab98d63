"""Versions of skills, read from the text as written, not from its YAML value.

To YAML `1.10` is the number 1.1, `1:30` is 90 and `012` is 10. So a version is the
text of the scalar: an integer from 1 to 999,999,999, or two to four numbers with
dots between, with or without quotes and with or without a leading `v`. Later
numbers may be padded with zeros, as in the date 2026.01.30. The text form of a
version has neither quotes nor `v`.

`repo/skills/next_version.py` decides when a version is raised; `next_version` here counts.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ..errors import InvalidInput, printable_text
from ..util.lazy_regex import lazy_pattern

FIRST_VERSION = "1"
"""The version of a skill without one."""
MAX_VERSION_NUMBER = 999_999_999
"""Greatest number in a version."""
MAX_INITIAL_NUMBER = 99_999_999
"""Greatest number in the version of a new skill; later versions need room to rise."""

_MAX_NUMBER_DIGITS = len(str(MAX_VERSION_NUMBER))
_TEXT_FORM_PATTERN = r"[1-9][0-9]{0,8}|(?:0|[1-9][0-9]{0,8})(?:\.[0-9]{1,9}){1,3}"
_SCALAR_PATTERN = re.compile(
    rf"""(?P<quote>["']?)(?P<v>[vV]?)(?P<text>{_TEXT_FORM_PATTERN})(?P=quote)"""
)
_TEXT_FORM = lazy_pattern(_TEXT_FORM_PATTERN)
_TWO_NUMBERS = lazy_pattern(r"[0-9]+\.[0-9]+")
_FORM_HINT = "a version is an integer such as 2, or numbers such as 1.4.9"


class VersionForm(NamedTuple):
    """How a version is written: its quote or "", its `v` or "", its text form."""

    quote: str
    prefix: str
    text: str


def parse_version_form(raw: str, line: int = 0) -> VersionForm:
    """Parse the scalar `raw`.

    Raises `InvalidInput` with code `bad_version`; the message shows `raw` and,
    where given, the number of its line.
    """
    match = _SCALAR_PATTERN.fullmatch(raw)
    if match is None:
        raise _version_error(raw, line, _FORM_HINT)
    return VersionForm(match["quote"], match["v"], match["text"])


def parse_version(raw: str, line: int = 0) -> str:
    """Return the text form of the version written as `raw`; raises as `parse_version_form` does."""
    return parse_version_form(raw, line).text


def next_version(text: str, line: int = 0) -> str:
    """Return the text form of the version after `text`: its last number plus one.

    Raises `InvalidInput` (`bad_version`) if `text` is not a text form or cannot rise.
    """
    head, dot, last = text.rpartition(".")
    number = _parse_numbers(text)[-1] + 1
    if number > MAX_VERSION_NUMBER:
        hint = "this version has reached its maximum; write a lower one into the file"
        raise _version_error(text, line, hint)
    return f"{head}{dot}{number:0{len(last)}}"


def format_version(text: str, like: VersionForm | None = None) -> str:
    """Return the text form `text` as a YAML scalar, with the quotes and `v` of `like`."""
    quote, v = (like.quote, like.prefix) if like else ("", "")
    if not quote and not v and _TWO_NUMBERS().fullmatch(text):
        quote = '"'
    return f"{quote}{v}{text}{quote}"


def compare_versions(a: str, b: str) -> int:
    """Return -1, 0 or 1 for two text forms; a missing number counts as zero.

    Raises `InvalidInput` (`bad_version`) for anything else.
    """
    left, right = _parse_numbers(a), _parse_numbers(b)
    width = max(len(left), len(right))
    left += [0] * (width - len(left))
    right += [0] * (width - len(right))
    return (left > right) - (left < right)


def _parse_numbers(text: str) -> list[int]:
    if not _TEXT_FORM().fullmatch(text):
        raise _version_error(text, 0, _FORM_HINT)
    return [int(number) for number in text.split(".")]


def greatest_version(texts: list[str]) -> str:
    """Return the greatest of at least one text form."""
    best = texts[0]
    for text in texts[1:]:
        if compare_versions(text, best) > 0:
            best = text
    return best


def version_value(text: str) -> int | str:
    """Return a text form as an integer if it is one, else as text; results hold these."""
    is_integer = text.isascii() and text.isdigit() and len(text) <= _MAX_NUMBER_DIGITS
    return int(text) if is_integer else text


def check_initial_version(text: str, line: int = 0) -> str:
    """Return `text` if a new skill may start at that version.

    Raises `InvalidInput` with code `bad_version`.
    """
    if any(int(number) > MAX_INITIAL_NUMBER for number in text.split(".")):
        raise _version_error(text, line, f"a new skill starts at {MAX_INITIAL_NUMBER} or below")
    return text


def _version_error(raw: str, line: int, hint: str) -> InvalidInput:
    where = f" in line {line}" if line else ""
    return InvalidInput(
        f"{printable_text(raw)!r}{where} is not a version", code="bad_version", hint=hint
    )
