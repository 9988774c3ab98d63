"""Names of skills that deceive: not what they look like, or like the name of another one."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from ..errors import printable
from . import scripts
from .slug import identity
from .text import hidden

HIDDEN = "hidden_name"
MIXED = "mixed_scripts"
UNASSIGNED = "unassigned_characters"
_MOST = 8
"""Letters that are named one by one."""
_JOINERS = "\u200c\u200d"
_STYLE = "\ufe0f"
_UNJOINED = {scripts.LATIN, "Grek", "Cyrl", "Armn"}


def doubts(name: str) -> Iterator[tuple[str, str]]:
    """Yield what may deceive in a name as its skill states it, as code and message."""
    if name.isascii() and name.isprintable():
        return
    if has_unseen(name):
        yield HIDDEN, said_hidden(name)
    plain = hidden().sub("", name)
    strangers = scripts.mixed(plain)
    if strangers:
        yield MIXED, f"the name {printable(name)} mixes scripts: it has {_letters(strangers)}"
    unknown = [char for char in plain if scripts.script(char) == scripts.UNKNOWN]
    if unknown:
        what = ", ".join(dict.fromkeys(map(_point, unknown[:_MOST])))
        yield UNASSIGNED, f"the name {printable(name)} has what is no character: {what}"


def said_hidden(name: str) -> str:
    """Return what is said of a name with characters that nobody sees."""
    return f"the name {printable(name)} has characters that nobody sees"


def has_unseen(name: str) -> bool:
    """Tell whether a name has hidden characters that no writing needs.

    Emoji are put together with some, and so are words of many scripts, but not those of
    Latin, Greek, Cyrillic and Armenian ones.
    """
    before = " "
    for char in name:
        if hidden().match(char):
            styled = char == _STYLE and not before.isalpha()
            joined = char in _JOINERS and not before.isascii()
            if not styled and not (joined and scripts.script(before) not in _UNJOINED):
                return True
        before = char
    return False


def look_alike(name: str, other: str) -> bool:
    """Tell whether people may take two names for one: case, separators and lookalikes aside."""
    return seen_as(name) == seen_as(other)


def seen_as(name: str) -> str:
    """Return what two names that people may take for one have in common."""
    if not name.isascii():
        name = scripts.as_latin(unicodedata.normalize("NFKC", scripts.settled(name)))
    return identity(name)


def _letters(strangers: list[str]) -> str:
    named: dict[str, list[str]] = {}
    for char in strangers[:_MOST]:
        named.setdefault(scripts.named(scripts.script(char)), []).append(
            f"{printable(char)} ({_point(char)})"
        )
    return ", ".join(f"{script} {', '.join(some)}" for script, some in named.items())


def _point(char: str) -> str:
    return f"U+{ord(char):04X}"
