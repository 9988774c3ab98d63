"""Versions of skills, read from the text as written, not from its YAML value.

To YAML `1.10` is the number 1.1, `1:30` is 90 and `012` is 10. So a version is the
text of the scalar, with or without quotes and with or without a leading `v`; its text form has
neither. It is

- numbers: an integer from 1 to 999,999,999, or two to four numbers with dots between;
- numbers, then `-` and the identifiers of a pre-release, or `+` and those of a build, or both,
  as semver.org has them;
- a date such as 2026-08-20, also with a dot and a number.

Later numbers may be padded with zeros, as in 2026.01.30. docs/format/frontmatter.md says what is
next.

`ops/write_skill.py` decides when a version is raised; `next_version` here counts.
"""

from __future__ import annotations

import re

from ..errors import InvalidInput, printable_text
from ..named_tuple import NamedTuple
from ..util.text import lazy_pattern

FIRST_VERSION = "1"
"""The version of a skill without one."""
MAX_VERSION_NUMBER = 999_999_999
"""Greatest number in a version."""
MAX_INITIAL_NUMBER = 99_999_999
"""Greatest number in the version of a new skill; later versions need room to rise."""

_MAX_NUMBER_DIGITS = len(str(MAX_VERSION_NUMBER))
_NUMBERS = r"[1-9][0-9]{0,8}|(?:0|[1-9][0-9]{0,8})(?:\.[0-9]{1,9}){1,3}"
_DATE = r"[0-9]{4}-[01][0-9]-[0-3][0-9](?:\.[1-9][0-9]{0,8})?"
_IDENTIFIERS = r"[0-9A-Za-z-]{1,32}(?:\.[0-9A-Za-z-]{1,32}){0,7}"
_TEXT_FORM_PATTERN = rf"{_DATE}|(?:{_NUMBERS})(?:-{_IDENTIFIERS})?(?:\+{_IDENTIFIERS})?"
_SCALAR_PATTERN = re.compile(
    rf"""(?P<quote>["']?)(?P<v>[vV]?)(?P<text>{_TEXT_FORM_PATTERN})(?P=quote)"""
)
_TEXT_FORM = lazy_pattern(_TEXT_FORM_PATTERN)
_ONLY_NUMBERS = lazy_pattern(_NUMBERS)
_ONLY_DATE = lazy_pattern(_DATE)
_LAST_DIGITS = lazy_pattern(r"(?s)(.*?)([0-9]{0,18})")
_TWO_NUMBERS = lazy_pattern(r"[0-9]+\.[0-9]+")
_FORM_HINT = "a version is an integer such as 2, numbers such as 1.4.9, or as 1.0.0-rc.1"


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


def is_countable(text: str) -> bool:
    """Tell whether `text` is a text form, which has a next version below its maximum."""
    return _TEXT_FORM().fullmatch(text) is not None


def recorded_version(text: str) -> str:
    """Return what operations state for a version: format 1 knows numbers, and else 1."""
    return text if _ONLY_NUMBERS().fullmatch(text) else FIRST_VERSION


def next_version(text: str) -> str:
    """Return the version after `text`, or `text` itself if there is none."""
    if _ONLY_DATE().fullmatch(text):
        return _next_date(text)
    if not is_countable(text):
        return text
    release, dash, identifiers = text.partition("+")[0].partition("-")
    digits = _LAST_DIGITS().fullmatch(identifiers)
    if dash and digits and digits[2]:
        return f"{release}-{digits[1]}{int(digits[2]) + 1:0{len(digits[2])}}"
    head, dot, last = release.rpartition(".")
    number = int(last) + 1
    return text if number > MAX_VERSION_NUMBER else f"{head}{dot}{number:0{len(last)}}"


def _next_date(text: str) -> str:
    from datetime import UTC, datetime

    day, _, number = text.partition(".")
    today = datetime.now(UTC).date().isoformat()
    return today if today > day else f"{day}.{int(number or 0) + 1}"


def format_version(text: str, like: VersionForm | None = None) -> str:
    """Return the text form `text` as a YAML scalar, with the quotes and `v` of `like`."""
    quote, v = (like.quote, like.prefix) if like else ("", "")
    if not quote and not v and (_TWO_NUMBERS().fullmatch(text) or not (like or text.isdigit())):
        quote = '"'
    return f"{quote}{v}{text}{quote}"


def compare_versions(a: str, b: str) -> int:
    """Return -1, 0 or 1 for two versions; a missing number counts as zero.

    A pre-release is before its release; a text that is no text form is before all others.
    """
    left, right = _sort_key(a), _sort_key(b)
    return (left > right) - (left < right)


def _sort_key(text: str) -> tuple[list[int], bool, list[tuple[str, int]]]:
    if not is_countable(text):
        return [], False, []
    if _ONLY_DATE().fullmatch(text):
        text = text.replace("-", ".")
    release, dash, pre_release = text.partition("+")[0].partition("-")
    numbers = [int(number) for number in release.split(".")]
    parts = [match for one in pre_release.split(".") if (match := _LAST_DIGITS().fullmatch(one))]
    identifiers = [(part[1], int(part[2] or -1)) for part in parts]
    return numbers + [0] * (4 - len(numbers)), not dash, identifiers


def stated_of(texts: list[str]) -> str:
    """Return which of the versions that one document states counts.

    It is the greatest, but one that is not numbers counts first: for format 1 the document is
    then at version 1.
    """
    others = [text for text in texts if not _ONLY_NUMBERS().fullmatch(text)]
    return greatest_version(others or texts)


def greatest_version(texts: list[str]) -> str:
    """Return the greatest of at least one version."""
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
    if not is_countable(text):
        raise _version_error(text, line, _FORM_HINT)
    release = re.split("[-+]", text)[0]
    if any(int(number) > MAX_INITIAL_NUMBER for number in release.split(".")):
        raise _version_error(text, line, f"a new skill starts at {MAX_INITIAL_NUMBER} or below")
    return text


def _version_error(raw: str, line: int, hint: str) -> InvalidInput:
    where = f" in line {line}" if line else ""
    return InvalidInput(
        f"'{printable_text(raw)}'{where} is not a version", code="bad_version", hint=hint
    )
