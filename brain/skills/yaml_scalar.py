"""One-line YAML scalars: which text may be plain, and how to write text.

The rules are a strict subset of YAML 1.1 as PyYAML reads it, so every reader of YAML
1.1 and 1.2 reads the result alike.
"""

from __future__ import annotations

import re

AMBIGUOUS_WORDS = frozenset(
    word
    for lower in ("y", "n", "yes", "no", "true", "false", "on", "off", "null")
    for word in (lower, lower.capitalize(), lower.upper())
)
"""Plain words that some version of YAML reads as a boolean or a null."""

_INDICATOR_CHARACTERS = frozenset("-?:,[]{}#&*!|>'\"%@` ")
_MAX_INTEGER_DIGITS = 18
_NUMBER_LIKE_STARTS = frozenset("+-.0123456789<=~")


def is_valid_plain(text: str) -> bool:
    """Tell whether `text` may follow `key: ` unquoted, whatever type it then has."""
    return not (
        text[:1] in _INDICATOR_CHARACTERS
        or text[-1] in " :"
        or ": " in text
        or " #" in text
        or not text.isprintable()
    )


def is_certain_text(plain: str) -> bool:
    """Tell whether every version of YAML reads the plain scalar `plain` as text."""
    return plain[0] not in _NUMBER_LIKE_STARTS and plain not in AMBIGUOUS_WORDS


def is_plain_integer(plain: str) -> bool:
    """Tell whether every version of YAML reads `plain` as a decimal integer of few digits."""
    digits = plain.removeprefix("-")
    return (
        len(digits) <= _MAX_INTEGER_DIGITS
        and digits.isascii()
        and digits.isdigit()
        and (digits[0] != "0" or digits == "0")
    )


def unquote_simple(raw: str) -> str | None:
    """Return the text of a quoted scalar without escapes on one line, else None."""
    quote, inner = raw[:1], raw[1:-1]
    if len(raw) < 2 or raw[-1] != quote or not raw.isprintable():
        return None
    if quote == '"' and '"' not in inner and "\\" not in inner:
        return inner
    if quote == "'" and "'" not in inner.replace("''", ""):
        return inner.replace("''", "'")
    return None


def write_scalar(text: str) -> str:
    """Return `text` as a YAML scalar on one line, quoted where needed."""
    if text and is_valid_plain(text) and is_certain_text(text):
        return text
    return quote_scalar(text)


def quote_scalar(text: str) -> str:
    """Return `text` in double quotes, as both YAML and JSON read it."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    if not escaped.isprintable():
        escaped = re.sub(r"[^ -~]", _escape_character, escaped)
    return f'"{escaped}"'


def _escape_character(match: re.Match[str]) -> str:
    char = match[0]
    if char.isprintable():
        return char
    short = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(char)
    if short:
        return short
    code = ord(char)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
