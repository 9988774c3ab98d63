"""Skill names that deceive: hidden characters, mixed scripts, names confusable with another."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from ..errors import printable_text
from . import unicode_scripts
from .slug import skill_identity
from .visible_text import hidden_pattern

HIDDEN_NAME = "hidden_name"
MIXED_SCRIPTS = "mixed_scripts"
UNASSIGNED_CHARACTERS = "unassigned_characters"
_MAX_LISTED_LETTERS = 8
"""Letters that a message lists."""
_JOINERS = "\u200c\u200d"
_VARIATION_SELECTOR = "\ufe0f"
_SCRIPTS_WITHOUT_JOINERS = {unicode_scripts.LATIN_SCRIPT, "Grek", "Cyrl", "Armn"}


def find_name_problems(name: str) -> Iterator[tuple[str, str]]:
    """Yield the deceptive features of a name as written in its skill, as code and message."""
    if name.isascii() and name.isprintable():
        return
    if has_hidden_characters(name):
        yield HIDDEN_NAME, hidden_name_message(name)
    plain = hidden_pattern().sub("", name)
    foreign_letters = unicode_scripts.find_mixed_letters(plain)
    if foreign_letters:
        yield (
            MIXED_SCRIPTS,
            f"the name {printable_text(name)} mixes scripts: it has"
            f" {_describe_letters(foreign_letters)}",
        )
    unassigned = [
        char
        for char in plain
        if unicode_scripts.script_code(char) == unicode_scripts.UNKNOWN_SCRIPT
    ]
    if unassigned:
        code_points = dict.fromkeys(map(_format_code_point, unassigned[:_MAX_LISTED_LETTERS]))
        yield (
            UNASSIGNED_CHARACTERS,
            f"the name {printable_text(name)} has unassigned code points: {', '.join(code_points)}",
        )


def hidden_name_message(name: str) -> str:
    """Return the message for a name with hidden characters."""
    return f"the name {printable_text(name)} has hidden characters"


def has_hidden_characters(name: str) -> bool:
    """Tell whether a name has hidden characters that its script does not need.

    Emoji need variation selectors, and many scripts joiners, but not Latin, Greek,
    Cyrillic and Armenian.
    """
    before = " "
    for char in name:
        if hidden_pattern().match(char):
            styled = char == _VARIATION_SELECTOR and not before.isalpha()
            joined = char in _JOINERS and not before.isascii()
            if not styled and not (
                joined and unicode_scripts.script_code(before) not in _SCRIPTS_WITHOUT_JOINERS
            ):
                return True
        before = char
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
    named: dict[str, list[str]] = {}
    for char in foreign_letters[:_MAX_LISTED_LETTERS]:
        named.setdefault(unicode_scripts.script_name(unicode_scripts.script_code(char)), []).append(
            f"{printable_text(char)} ({_format_code_point(char)})"
        )
    return ", ".join(f"{script} {', '.join(some)}" for script, some in named.items())


def _format_code_point(char: str) -> str:
    return f"U+{ord(char):04X}"
