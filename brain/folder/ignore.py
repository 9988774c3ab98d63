"""Ignore rules: the defaults, then the lines of `.brainignore`; the last match wins.

The defaults in gitignore syntax, with names compared in lower case:

    .brain/  .brain.new/  .git/  .brain-tmp-*     cannot be included
    .env*  .DS_Store  Thumbs.db                   files and folders, but .env.example and its kin
    *.pem  *.key  *.p12  *.pfx  *.p8  *.ppk  *.jks  *.keystore  *.kdbx
    id_rsa*  id_dsa*  id_ecdsa*  id_ed25519*  .netrc  .pypirc  .npmrc  .git-credentials
    *-wal  *-shm  *-journal                       files of databases
    *.swp  *.swo  *.swx  *~  ._*  .#*  #*#  *.pyc  files only, as the two lines above
    .~lock.*  .goutputstream-*  *.kate-swp  *___jb_tmp___  *___jb_old___
    __pycache__/  node_modules/  .venv/  .cache/  .mypy_cache/  .pytest_cache/
    .ruff_cache/  .tox/  .nox/  .hypothesis/  .ipynb_checkpoints/

`.brainignore` is at the top of the brain and has gitignore's syntax
(https://git-scm.com/docs/gitignore). As with git, files in an excluded folder cannot be included
again, since that folder is not listed.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

from blake3 import blake3

from ..errors import InvalidInput, printable_text
from ..named_tuple import NamedTuple
from ..objects import paths
from ..util.files import KEY_PREFIXES, KEY_SUFFIXES, SECRET_FILES
from ..util.text import lazy_pattern
from .handles import RootPath, open_root, unreadable_error

DEFAULT_RULES_VERSION = b"3"
"""Part of the fingerprint of the rules; raised when a list here or in `secret_names` changes."""

_IGNORED_NAMES = frozenset({".ds_store", "thumbs.db"})
_TEMPLATE_WORDS = frozenset("example sample template dist tmpl tpl default defaults schema".split())
"""Parts of the name of an `.env` file that shows what to fill in, and is text."""
_IGNORED_FOLDERS = frozenset(
    "__pycache__ node_modules .venv .cache .mypy_cache .pytest_cache .ruff_cache .tox .nox"
    " .hypothesis .ipynb_checkpoints".split()
)
_IGNORED_PREFIXES = (*KEY_PREFIXES, "._", ".#", ".~lock.", ".goutputstream-")
_IGNORED_SUFFIXES = (
    *KEY_SUFFIXES,
    *("-wal", "-shm", "-journal"),
    *(".swp", ".swo", ".swx", "~", ".pyc", ".kate-swp", "___jb_tmp___", "___jb_old___"),
)


def is_ignored_by_default(name: str, is_folder: bool) -> bool:
    """Tell whether the default rules exclude a file or folder called `name`."""
    low = name.lower()
    if low in _IGNORED_NAMES:
        return True
    if low.startswith(".env"):
        return _TEMPLATE_WORDS.isdisjoint(re.split("[._-]", low))
    if is_folder:
        return low in _IGNORED_FOLDERS
    if low in SECRET_FILES or (low[0] == low[-1] == "#" and len(low) > 1):
        return True
    return low.startswith(_IGNORED_PREFIXES) or low.endswith(_IGNORED_SUFFIXES)


IGNORE_FILE_NAME = ".brainignore"
MAX_IGNORE_FILE_BYTES = 64 << 10
"""Size of a `.brainignore` that is read."""

MAX_IGNORE_PATTERNS = 4096
"""Patterns in a `.brainignore`."""

_NAME_CACHE_SIZE = 8192
_RESERVED_LINE = 1 << 30
"""After all lines: no pattern includes what is never recorded."""
_OPEN_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class _IgnorePattern(NamedTuple):
    """One line; `matches` gets a path without a final slash, or its name if `by_name`.

    A pattern without an inner slash is matched by name.
    """

    line: int
    ignores: bool
    folders_only: bool
    by_name: bool
    matches: Callable[[str], object]


class IgnoreRules:
    """Decides which files a brain excludes, by the text of a `.brainignore`.

    `fingerprint` (32 bytes) is different for each set of rules. The constructor raises
    `InvalidInput` (`bad_ignore`), which names the line.
    """

    def __init__(self, text: str = "") -> None:
        patterns = _parse_patterns(text)[::-1]  # the last match wins
        self.fingerprint = blake3(DEFAULT_RULES_VERSION + b"\0" + text.encode()).digest()
        self._name_patterns = [pattern for pattern in patterns if pattern.by_name]
        self._path_patterns = [pattern for pattern in patterns if not pattern.by_name]
        self._decide_name = lru_cache(_NAME_CACHE_SIZE)(self._decide_name_anew)

    @classmethod
    def load(cls, root: RootPath) -> IgnoreRules:
        """Return the rules of the brain at `root`.

        Raises `InvalidInput` (`bad_ignore`, `unreadable`).
        """
        with open_root(root) as root_fd:
            try:
                fd = os.open(IGNORE_FILE_NAME, _OPEN_FLAGS, dir_fd=root_fd)
                with os.fdopen(fd, "rb") as file:
                    return cls.parse(file.read(MAX_IGNORE_FILE_BYTES + 1))
            except FileNotFoundError:
                return cls()
            except OSError as error:
                if error.errno == errno.ELOOP:
                    raise _bad_ignore_error(0, "it must be a file, and is a link") from error
                raise unreadable_error(IGNORE_FILE_NAME, error) from error

    @classmethod
    def parse(cls, data: bytes) -> IgnoreRules:
        """Return the rules in the content of a `.brainignore`.

        Raises `InvalidInput` (`bad_ignore`).
        """
        if len(data) > MAX_IGNORE_FILE_BYTES:
            raise _bad_ignore_error(0, f"it is longer than {MAX_IGNORE_FILE_BYTES} bytes")
        try:
            return cls(data.decode("utf-8-sig"))
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            raise _bad_ignore_error(line, "it is not UTF-8") from error

    def is_ignored(self, path: str, name: str, is_folder: bool) -> bool:
        """Tell whether the file or folder at `path`, whose last part is `name`, is excluded."""
        line, ignores = self._decide_name(name, is_folder)
        for pattern in self._path_patterns:
            if pattern.line < line:
                break
            if (is_folder or not pattern.folders_only) and pattern.matches(path):
                return pattern.ignores
        return ignores

    def excludes_above(self, path: str) -> bool:
        """Tell whether a folder above `path` is excluded, and so all paths below that folder."""
        parts = path.split("/")[:-1]
        above = ["/".join(parts[: depth + 1]) for depth in range(len(parts))]
        return any(self.is_ignored(*pair, True) for pair in zip(above, parts, strict=True))

    def excludes(self, path: str) -> bool:
        """Tell whether a file at `path` is excluded, or a folder above it."""
        name = path.rpartition("/")[2]
        return self.excludes_above(path) or self.is_ignored(path, name, False)

    def _decide_name_anew(self, name: str, is_folder: bool) -> tuple[int, bool]:
        """Return the line that decides by name alone, 0 for the defaults, and what it says."""
        if paths.is_vcs_name(name):
            return _RESERVED_LINE, True
        for pattern in self._name_patterns:
            if (is_folder or not pattern.folders_only) and pattern.matches(name):
                return pattern.line, pattern.ignores
        return 0, is_ignored_by_default(name, is_folder)


def _parse_patterns(text: str) -> list[_IgnorePattern]:
    patterns: list[_IgnorePattern] = []
    for number, raw in enumerate(text.split("\n"), 1):
        written = raw.rstrip("\r")
        line = written.rstrip(" \t")
        if line.endswith("\\") and len(line) < len(written):
            line += " "  # the backslash escapes the first of the blanks at the end
        if not line or line.startswith("#"):
            continue
        if len(patterns) == MAX_IGNORE_PATTERNS:
            raise _bad_ignore_error(number, f"there are more than {MAX_IGNORE_PATTERNS} patterns")
        text = line.removeprefix("!")
        body = text.removesuffix("/")
        try:
            matches = compile_pattern(body)
        except ValueError as error:
            raise _bad_ignore_error(number, f"{printable_text(line)} is not a pattern") from error
        patterns.append(
            _IgnorePattern(number, text == line, body != text, "/" not in body, matches)
        )
    return patterns


def _bad_ignore_error(line: int, message: str) -> InvalidInput:
    where = f"{IGNORE_FILE_NAME}, line {line}" if line else IGNORE_FILE_NAME
    return InvalidInput(
        f"{where}: {message}",
        code="bad_ignore",
        hint=f"correct {IGNORE_FILE_NAME}: one pattern a line, as in .gitignore",
    )


MAX_PATTERN_CHARS = 4096
"""Characters in one pattern."""

_STAR, _SLASH = "*", "/"
_CLASS, _CHAR = r"\[:[^]]*:\]", r"(?:\\.|[^]\\])"
_FIRST_ITEM = rf"(?>{_CLASS}|(?:\\.|[^\\])(?:-{_CHAR})?+)"
_SET = rf"\[([!^]?+)({_FIRST_ITEM}(?:{_CLASS}|{_CHAR}(?:-{_CHAR})?+)*+)\]"
_TOKEN = lazy_pattern(rf"({_SET}|\\?.)", re.DOTALL)
_ITEM = lazy_pattern(r"\[:([^]]*):\]|\\?(.)(?:-\\?(.))?", re.DOTALL)
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

    A slash at the start is ignored. Raises `ValueError` for an invalid pattern: empty or longer
    than MAX_PATTERN_CHARS, an open bracket, an escape at the end, a descending range, an unknown
    class.
    """
    if not 0 < len(pattern) <= MAX_PATTERN_CHARS:
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
    # Atomic, here and below: the first place where the next part matches is as good as any later
    # one, so that nothing is tried twice, whatever the pattern (docs/decisions.md, 13).
    middle = (f"(?>(?:[^/]++/)*?{group}/)" for group in others if group)
    return start + "".join(middle) + (f"(?:[^/]++/)*?{last}" if last else ".+")


def _translate_segment(tokens: Sequence[str]) -> str:
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
    for match in _TOKEN().finditer(pattern):
        token, negation, items = match.groups()
        if items:
            inside = "".join(_translate_items(items))
            yield f"[^/{inside}]" if negation else f"(?!/)[{inside}]"
        elif token in ("[", "\\"):  # open, or an escape at the end
            raise ValueError
        elif token in (_STAR, _SLASH, "\\/"):
            yield token[-1]
        else:
            yield "[^/]" if token == "?" else _escape_character(token[-1])


def _translate_items(items: str) -> Iterator[str]:
    for name, start, end in _ITEM().findall(items):
        if name not in ("", *_CHARACTER_CLASSES) or (end and end < start):
            raise ValueError
        if name or not start:
            yield _CHARACTER_CLASSES[name]
        else:
            yield _escape_character(start) + (end and f"-{_escape_character(end)}")


def _escape_character(char: str) -> str:
    return char if char.isalnum() else f"\\U{ord(char):08x}"
