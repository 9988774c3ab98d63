"""Names of skills: the slug of one, which is the name of its folder, and names that deceive.

A slug is lower-case ASCII letters and digits with single hyphens between, at most 64
characters. A name that resembles a path, an option or a reserved file, or has hidden
characters, is refused before and after compatibility normalisation, so that no
dangerous form reaches the file system.

The slug of a name is the same under every Python: code points that Unicode 14 has not
assigned are replaced (`replace_unassigned`), the normal form of the rest never changes,
and letters become ASCII by the fixed table of text-unidecode 1.3. Scripts of letters are looked up
in built-in tables. The scripts that one word may mix follow UTS 39 ("highly restrictive"): one
script, or Latin with the scripts of Chinese, Japanese or Korean.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from functools import cache

from ..errors import InvalidInput, printable_text
from ..limits import MAX_FILE_NAME_BYTES, MAX_SKILL_NAME_CHARS, MAX_SLUG_CHARS
from ..util.text import lazy_pattern
from .visible_text import hidden_code_point_pattern, hidden_pattern

_SLUG_PATTERN = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_NON_SLUG_RUNS = lazy_pattern(r"[^a-z0-9]+")
_CONTROL_CHARACTERS = lazy_pattern(r"[\x00-\x1f]")
_SEPARATORS = lazy_pattern(r"[ _-]+")
_PATH_LIKE = lazy_pattern(r"[/\\:]")
_RESERVED_NAMES = lazy_pattern(r"\.(?:brain|git)|(?:brain|git)~[0-9]+")
_WINDOWS_DEVICES = frozenset(
    ("con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10)))
)
MAX_COMBINING_MARKS = 4
"""Combining marks on one letter; no living script needs more."""


def slugify(name: str) -> str:
    """Return the slug of `name`.

    Raises `InvalidInput` with code `bad_type` (not a str), `name_too_long`,
    `bad_char` (control or hidden code points, too many combining marks), `bad_name`
    (resembles a path or an option, or has no letters or digits) or `reserved_name`.
    """
    if not isinstance(name, str):
        raise InvalidInput(
            f"the name of a skill is not text but {type(name).__name__}",
            code="bad_type",
            hint="put quotes around it",
        )
    if len(name) > MAX_SKILL_NAME_CHARS:
        raise InvalidInput(
            f"the name {printable_text(name, 40)} has {len(name)} characters",
            code="name_too_long",
            hint=f"names have at most {MAX_SKILL_NAME_CHARS} characters",
        )
    if len(name) <= MAX_SLUG_CHARS and _SLUG_PATTERN.fullmatch(name):
        slug = name
    else:
        _check_name(name)
        slug = fold_to_slug(name)
    if not slug:
        raise _name_error(name, "bad_name", "it has no letters or digits")
    if slug in _WINDOWS_DEVICES:
        raise _name_error(name, "reserved_name", "it is the name of a device on Windows")
    return slug


def fold_to_slug(name: str) -> str:
    """Return the slug form of any text, "" without letters and digits; checks nothing."""
    if not name.isascii():
        from text_unidecode import unidecode

        plain = unicodedata.normalize("NFKD", replace_unassigned(name))
        name = unidecode(plain.replace("'", "-")).replace("'", "")
    return _NON_SLUG_RUNS().sub("-", name.lower()).strip("-")[:MAX_SLUG_CHARS].rstrip("-")


def is_slug(text: str) -> bool:
    """Tell whether `text` already has the form of a slug."""
    return len(text) <= MAX_SLUG_CHARS and _SLUG_PATTERN.fullmatch(text) is not None


def is_valid_name(name: str) -> bool:
    """Tell whether agentskills.io allows a name, in any script, and a folder may have it."""
    if name.isascii():
        return is_slug(name) and name not in _WINDOWS_DEVICES
    form = normalize_name(name)
    return (
        len(form) <= MAX_SLUG_CHARS
        and find_name_fault(form) == ""
        and len(name.encode()) <= MAX_FILE_NAME_BYTES
        and form not in _WINDOWS_DEVICES
    )


def find_name_fault(form: str) -> str:
    """Return the rule of agentskills.io that a normal form breaks, apart from its length, or ""."""
    if form != form.lower() or not all(c.isalnum() or c == "-" for c in form):
        return "a name has lower-case letters, digits and hyphens only"
    if form.startswith("-") or form.endswith("-") or "--" in form:
        return "hyphens stand alone and between other characters"
    return ""


def normalize_name(name: str) -> str:
    """Return the NFKC form of a name, the same under every version of Python."""
    return name if name.isascii() else unicodedata.normalize("NFKC", replace_unassigned(name))


def is_windows_device(slug: str) -> bool:
    """Tell whether a file of this name is a device on Windows."""
    return slug in _WINDOWS_DEVICES


def is_same_skill(name_a: str, name_b: str) -> bool:
    """Tell whether two names differ at most in case, spaces and separators.

    Everything else is compared by code points: two normal forms, a ligature, or "C++"
    and "C#" are different names even if their slugs are equal.
    """
    return name_a == name_b or skill_identity(name_a) == skill_identity(name_b)


def skill_identity(name: str) -> str:
    """Return a key that the names of one skill share.

    Case is folded only where it is one to one, so that the Kelvin sign is not a k.
    """
    lower = name.lower()
    if not name.isascii():
        known = replace_unassigned(name)
        pairs = zip(name, known, strict=True)
        lower = "".join(k.lower() if k.lower().upper() == k == c else c for c, k in pairs)
    return _SEPARATORS().sub("-", lower).strip("-")


def _check_name(name: str) -> None:
    normal = unicodedata.normalize("NFKC", replace_unassigned(name))
    if _RESERVED_NAMES().fullmatch(_remove_disguise(name)):
        raise _name_error(name, "reserved_name", "it is reserved")
    if _CONTROL_CHARACTERS().search(name) or hidden_code_point_pattern().search(name):
        raise _name_error(name, "bad_char", "it has a control or hidden character")
    if hidden_code_point_pattern().search(normal) or _has_stacked_marks(name):
        reason = "it has too many combining marks, or hidden characters once normalised"
        raise _name_error(name, "bad_char", reason)
    for form in (name, normal):
        if _PATH_LIKE().search(form) or form[:1] in ("-", "~") or form in (".", ".."):
            raise _name_error(name, "bad_name", "it resembles a path or an option")
        if form[:1] == " " or form[-1:] in (" ", "."):
            reason = "it starts with a space, or ends with a space or dot"
            raise _name_error(name, "bad_name", reason)


def _remove_disguise(name: str) -> str:
    """Return the file name that a lenient file system could read `name` as."""
    known = replace_unassigned(hidden_code_point_pattern().sub("", name))
    seen = hidden_code_point_pattern().sub("", unicodedata.normalize("NFKD", known))
    bare = "".join(c for c in seen if not unicodedata.combining(c)).casefold()
    return re.split(r"[:/\\]", bare, maxsplit=1)[0].rstrip(" .\t\r\n").lstrip()


def _has_stacked_marks(name: str) -> bool:
    if name.isascii():
        return False
    run = 0
    for char in unicodedata.normalize("NFD", replace_unassigned(name)):
        run = run + 1 if _is_in_ranges("marks", char) else 0
        if run > MAX_COMBINING_MARKS:
            return True
    return False


def _name_error(name: str, code: str, reason: str) -> InvalidInput:
    return InvalidInput(
        f"'{name}' cannot name a skill: {reason}",
        code=code,
        hint="use letters, digits, spaces and hyphens",
    )


UNKNOWN_SCRIPT = "Zzzz"
COMMON_SCRIPT = "Zyyy"
INHERITED_SCRIPT = "Zinh"
LATIN_SCRIPT = "Latn"
_ALLOWED_COMBINATIONS = (
    frozenset((LATIN_SCRIPT, "Hani", "Hira", "Kana")),
    frozenset((LATIN_SCRIPT, "Hani", "Bopo")),
    frozenset((LATIN_SCRIPT, "Hani", "Hang")),
)
_ENGLISH_NAMES = (
    "Latn Latin Grek Greek Cyrl Cyrillic Armn Armenian Hebr Hebrew Arab Arabic Cher Cherokee "
    "Deva Devanagari Geor Georgian Copt Coptic Ethi Ethiopic Thai Thai Lisu Lisu "
    "Hani Han Hira Hiragana Kana Katakana Hang Hangul Bopo Bopomofo"
).split()
_NAME_BY_CODE = dict(zip(_ENGLISH_NAMES[::2], _ENGLISH_NAMES[1::2], strict=True))
_LATIN_CONFUSABLE_PAIRS = (
    "аaсcԁdеeһhіiјjӏlоoрpԛqѕsѵvԝwхxуyүyАAВBЕEЅSІIЈJКKМMНHОOРPСCТTХXУYҮYҺhԌGԚQԜWӀI"
    "αaγyιiκkνvοoρpσoτtυuχxϲcϳjΑAΒBΕEΖZΗHΙIΚKΜMΝNΟOΡPΤTΥYΧXϹCͿJ"
    "ոnօoսuցgհhքpՕOՏSԼLᎪAᏴBᏟCᎠDᎬEᏀGᎻHᎫJᏦKᏞLᎷMᏢPᏚSᎢTᏙVᎳWᏃZⲟoⲢPꓮAꓐBꓚCꓓDꓰEꓳOꓑPꓢSꓔT"
)
"""Letters of other scripts, each with the Latin one that it resembles (from UTS 39)."""


def script_code(char: str) -> str:
    """Return the ISO 15924 code of a character's script; `UNKNOWN_SCRIPT` if unassigned."""
    starts, scripts = _script_table()
    return scripts[bisect_right(starts, ord(char)) - 1]


def replace_unassigned(text: str) -> str:
    """Return `text` with U+FFFD for code points that Unicode 14 has not assigned.

    The others have one decomposition and one case in every later version of Unicode, by
    its stability policy, and so under every Python.
    """
    if text.isascii():
        return text
    return "".join(
        "\ufffd"
        if script_code(char) == UNKNOWN_SCRIPT or _is_in_ranges("since_unicode_14", char)
        else char
        for char in text
    )


def find_mixed_letters(text: str) -> list[str]:
    """Return the letters of a foreign script in each word, without duplicates.

    A word has one script, or those of one written language. Words of other scripts may
    occur next to Latin ones, unless all their letters resemble Latin letters.
    """
    if text.isascii():
        return []
    found: list[str] = []
    words = _split_letter_runs(text)
    every = [(char, script_code(char)) for word in words for char in word]
    for word in words:
        scripts = {script_code(char) for char in word} - {INHERITED_SCRIPT}
        if len(scripts) > 1 and not any(scripts <= some for some in _ALLOWED_COMBINATIONS):
            found += _find_foreign_letters(word)
    others = [char for char, code in every if code not in (LATIN_SCRIPT, INHERITED_SCRIPT)]
    if len(others) < len(every) and all(char in _latin_confusables() for char in others):
        found += others
    return list(dict.fromkeys(found))


def map_confusables_to_latin(text: str) -> str:
    """Return `text` with each letter that resembles a Latin one replaced by it."""
    if text.isascii():
        return text
    return "".join(_latin_confusables().get(char, char) for char in text)


def _find_foreign_letters(word: str) -> list[str]:
    """Return the letters that are not Latin, or not in the most frequent script."""
    codes = [code for code in map(script_code, word) if code != INHERITED_SCRIPT]
    home = LATIN_SCRIPT if LATIN_SCRIPT in codes else Counter(codes).most_common(1)[0][0]
    return [char for char in word if script_code(char) not in (home, INHERITED_SCRIPT)]


def _split_letter_runs(text: str) -> list[str]:
    """Return the runs of letters with their marks; digits may be among them."""
    no_letters = (COMMON_SCRIPT, UNKNOWN_SCRIPT)
    return "".join(char if script_code(char) not in no_letters else " " for char in text).split(" ")


def _is_in_ranges(table: str, char: str) -> bool:
    firsts, lasts = _load_ranges(table)
    at = bisect_right(firsts, ord(char)) - 1
    return at >= 0 and ord(char) <= lasts[at]


@cache
def _load_tables() -> dict[str, str]:
    """Return the tables in `unicode_tables.json`, which only names beyond ASCII need.

    `scripts` are the first code points of runs of one script, `since_unicode_14` the ranges
    that were assigned after Unicode 14, and `marks` the nonspacing and enclosing marks of it.
    """
    import json
    from pathlib import Path

    tables: dict[str, str] = json.loads(
        Path(__file__).with_name("unicode_tables.json").read_bytes()
    )
    return tables


@cache
def _script_table() -> tuple[list[int], list[str]]:
    runs = _load_tables()["scripts"].split()
    return [int(run[:-4], 16) for run in runs], [run[-4:] for run in runs]


@cache
def _load_ranges(table: str) -> tuple[list[int], list[int]]:
    pairs = [text.partition("-") for text in _load_tables()[table].split()]
    return [int(first, 16) for first, _, _ in pairs], [int(last, 16) for _, _, last in pairs]


@cache
def _latin_confusables() -> dict[str, str]:
    return dict(zip(_LATIN_CONFUSABLE_PAIRS[::2], _LATIN_CONFUSABLE_PAIRS[1::2], strict=True))


HIDDEN_NAME = "hidden_name"
MIXED_SCRIPTS = "mixed_scripts"
UNASSIGNED_CHARACTERS = "unassigned_characters"
_MAX_LISTED_LETTERS = 8
"""Letters that a message lists."""
_JOINERS = "\u200c\u200d"
_SCRIPTS_WITHOUT_JOINERS = {LATIN_SCRIPT, "Grek", "Cyrl", "Armn"}


def find_name_problems(name: str) -> Iterator[tuple[str, str]]:
    """Yield the deceptive features of a name as written in its skill, as code and message."""
    if name.isascii() and name.isprintable():
        return
    if has_hidden_characters(name):
        yield HIDDEN_NAME, hidden_name_message(name)
    plain = hidden_code_point_pattern().sub("", name)
    shown = printable_text(name)
    foreign_letters = find_mixed_letters(plain)
    if foreign_letters:
        letters = _describe_letters(foreign_letters)
        yield MIXED_SCRIPTS, f"the name {shown} mixes scripts: it has {letters}"
    unassigned = [char for char in plain if script_code(char) == UNKNOWN_SCRIPT]
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
        if not is_joiner or script_code(before) in _SCRIPTS_WITHOUT_JOINERS:
            return True
    return False


def name_skeleton(name: str) -> str:
    """Return a key that names share which differ in case, separators and lookalike letters."""
    if not name.isascii():
        name = map_confusables_to_latin(unicodedata.normalize("NFKC", replace_unassigned(name)))
    return skill_identity(name)


def _describe_letters(foreign_letters: list[str]) -> str:
    by_script: dict[str, list[str]] = {}
    for char in foreign_letters[:_MAX_LISTED_LETTERS]:
        code = script_code(char)
        script = _NAME_BY_CODE.get(code, code)
        letter = f"{printable_text(char)} ({_format_code_point(char)})"
        by_script.setdefault(script, []).append(letter)
    return ", ".join(f"{script} {', '.join(letters)}" for script, letters in by_script.items())


def _format_code_point(char: str) -> str:
    return f"U+{ord(char):04X}"
