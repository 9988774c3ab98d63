"""Skill names that deceive: hidden characters, mixed scripts, names confusable with another."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from ..errors import printable_text
from . import unicode_scripts
from .slug import skill_identity
from .visible_text import hidden_code_point_pattern, hidden_pattern

HIDDEN_NAME = "hidden_name"
MIXED_SCRIPTS = "mixed_scripts"
UNASSIGNED_CHARACTERS = "unassigned_characters"
_MAX_LISTED_LETTERS = 8
"""Letters that a message lists."""
_JOINERS = "\u200c\u200d"
_SCRIPTS_WITHOUT_JOINERS = {unicode_scripts.LATIN_SCRIPT, "Grek", "Cyrl", "Armn"}


def find_name_problems(name: str) -> Iterator[tuple[str, str]]:
    """Yield the deceptive features of a name as written in its skill, as code and message."""
    if name.isascii() and name.isprintable():
        return
    if has_hidden_characters(name):
        yield HIDDEN_NAME, hidden_name_message(name)
    plain = hidden_code_point_pattern().sub("", name)
    shown = printable_text(name)
    foreign_letters = unicode_scripts.find_mixed_letters(plain)
    if foreign_letters:
        letters = _describe_letters(foreign_letters)
        yield MIXED_SCRIPTS, f"the name {shown} mixes scripts: it has {letters}"
    script_code, unknown = unicode_scripts.script_code, unicode_scripts.UNKNOWN_SCRIPT
    unassigned = [char for char in plain if script_code(char) == unknown]
    if unassigned:
        listed = dict.fromkeys(map(_format_code_point, unassigned[:_MAX_LISTED_LETTERS]))
        message = f"the name {shown} has unassigned code points: {', '.join(listed)}"
        yield UNASSIGNED_CHARACTERS, message


def hidden_name_message(name: str) -> str:
    """Return the message for a name with hidden characters."""
    return f"the name {printable_text(name)} has hidden characters"


def has_hidden_characters(name: str) -> bool:
    """Tell whether a name has hidden characters that its script does not need.

    Many scripts need joiners, but not Latin, Greek, Cyrillic and Armenian.
    """
    for match in hidden_pattern().finditer(name):
        before = name[match.start() - 1 : match.start()] if match.start() else " "
        is_joiner = match[0] in _JOINERS and before.isalpha() and not before.isascii()
        if not is_joiner or unicode_scripts.script_code(before) in _SCRIPTS_WITHOUT_JOINERS:
            return True
    return False


def is_confusable(name: str, other: str) -> bool:
    """Tell whether two names are equal but for case, separators and lookalike letters."""
    return name_skeleton(name) == name_skeleton(other)


def name_skeleton(name: str) -> str:
    """Return a key that confusable names share."""
    if not name.isascii():
        name = unicode_scripts.map_confusables_to_latin(
            unicodedata.normalize("NFKC", unicode_scripts.replace_unassigned(name))
        )
    return skill_identity(name)


def _describe_letters(foreign_letters: list[str]) -> str:
    by_script: dict[str, list[str]] = {}
    for char in foreign_letters[:_MAX_LISTED_LETTERS]:
        script = unicode_scripts.script_name(unicode_scripts.script_code(char))
        letter = f"{printable_text(char)} ({_format_code_point(char)})"
        by_script.setdefault(script, []).append(letter)
    return ", ".join(f"{script} {', '.join(letters)}" for script, letters in by_script.items())


def _format_code_point(char: str) -> str:
    return f"U+{ord(char):04X}"
