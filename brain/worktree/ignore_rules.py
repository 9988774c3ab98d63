"""Ignore rules: the defaults, then the lines of `.brainignore`; the last match wins.

The defaults in gitignore syntax, with names compared in lower case:

    .brain/  .brain.new/  .git/  .brain-tmp-*     cannot be included
    .env*  .DS_Store  Thumbs.db                   files and folders
    *.pem  *.key  *.p12  *.pfx  *.p8  *.ppk  *.jks  *.keystore  *.kdbx
    id_rsa*  id_dsa*  id_ecdsa*  id_ed25519*  .netrc  .pypirc  .npmrc  .git-credentials
    *-wal  *-shm  *-journal                       files of databases
    *.swp  *.swo  *.swx  *~  .#*  #*#  *.pyc      files only, as the two lines above
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
from collections.abc import Callable
from typing import NamedTuple

from blake3 import blake3

from ..errors import InvalidInput, printable_text
from ..objects import paths
from ..util.secret_names import KEY_PREFIXES, KEY_SUFFIXES, SECRET_FILES
from .dirfd import RootPath, open_root, unreadable_error

DEFAULT_RULES_VERSION = b"2"
"""Part of the fingerprint of the rules; raised when a list here or in `secret_names` changes."""

_IGNORED_NAMES = frozenset({".ds_store", "thumbs.db"})
_IGNORED_FOLDERS = frozenset(
    "__pycache__ node_modules .venv .cache .mypy_cache .pytest_cache .ruff_cache .tox .nox"
    " .hypothesis .ipynb_checkpoints".split()
)
_IGNORED_PREFIXES = (*KEY_PREFIXES, ".#", ".~lock.", ".goutputstream-")
_IGNORED_SUFFIXES = (
    *KEY_SUFFIXES,
    *("-wal", "-shm", "-journal"),
    *(".swp", ".swo", ".swx", "~", ".pyc", ".kate-swp", "___jb_tmp___", "___jb_old___"),
)


def is_ignored_by_default(name: str, is_folder: bool) -> bool:
    """Tell whether the default rules exclude a file or folder called `name`."""
    low = name.lower()
    if low.startswith(".env") or low in _IGNORED_NAMES:
        return True
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
_OPEN_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class IgnorePattern(NamedTuple):
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
        patterns = _parse_ignore_file(text)
        self.fingerprint = blake3(DEFAULT_RULES_VERSION + b"\0" + text.encode()).digest()
        self._name_patterns = [pattern for pattern in patterns if pattern.by_name]
        self._path_patterns = [pattern for pattern in patterns if not pattern.by_name]
        self._name_cache: tuple[dict[str, IgnorePattern], dict[str, IgnorePattern]] = ({}, {})

    @classmethod
    def load(cls, root: RootPath) -> IgnoreRules:
        """Return the rules of the brain at `root`.

        Raises `InvalidInput` (`bad_ignore`, `unreadable`).
        """
        with open_root(root) as root_fd:
            return cls.parse(_read_ignore_file(root_fd))

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
        known = self._name_cache[is_folder]
        by_name = known.get(name)
        if by_name is None:
            if len(known) >= _NAME_CACHE_SIZE:
                known.clear()
            by_name = known[name] = self._decide_name(name, is_folder)
        if self._path_patterns and by_name.line < _RESERVED_LINE:
            return self._decide_path(path, is_folder, by_name).ignores
        return by_name.ignores

    def _decide_name(self, name: str, is_folder: bool) -> IgnorePattern:
        if paths.is_vcs_name(name):
            return _RESERVED_PATTERN
        for pattern in reversed(self._name_patterns):
            if (is_folder or not pattern.folders_only) and pattern.matches(name):
                return pattern
        return _IGNORE_PATTERN if is_ignored_by_default(name, is_folder) else _INCLUDE_PATTERN

    def _decide_path(self, path: str, is_folder: bool, by_name: IgnorePattern) -> IgnorePattern:
        for pattern in reversed(self._path_patterns):
            if pattern.line < by_name.line:
                break
            if (is_folder or not pattern.folders_only) and pattern.matches(path):
                return pattern
        return by_name


def _constant_pattern(line: int, ignores: bool) -> IgnorePattern:
    return IgnorePattern(line, ignores, False, True, bool)


_RESERVED_LINE = 1 << 30
_RESERVED_PATTERN = _constant_pattern(_RESERVED_LINE, True)
_IGNORE_PATTERN, _INCLUDE_PATTERN = _constant_pattern(0, True), _constant_pattern(0, False)


def _read_ignore_file(root_fd: int) -> bytes:
    """Return the start of the `.brainignore` below `root_fd`, b"" if it is missing."""
    try:
        fd = os.open(IGNORE_FILE_NAME, _OPEN_FLAGS, dir_fd=root_fd)
    except FileNotFoundError:
        return b""
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise _bad_ignore_error(0, "it must be a file, and is a link") from error
        raise unreadable_error(IGNORE_FILE_NAME, error) from error
    try:
        with os.fdopen(fd, "rb") as file:
            return file.read(MAX_IGNORE_FILE_BYTES + 1)
    except OSError as error:
        raise unreadable_error(IGNORE_FILE_NAME, error) from error


def _parse_ignore_file(text: str) -> list[IgnorePattern]:
    lines = ((number, _trim_line(line)) for number, line in enumerate(text.split("\n"), 1))
    patterns = [(number, line) for number, line in lines if line and not line.startswith("#")]
    return _compile_lines(patterns) if patterns else []


def _trim_line(line: str) -> str:
    """Drop trailing blanks, which git ignores unless a backslash escapes the last one."""
    line = line.rstrip("\r")
    bare = line.rstrip(" \t")
    return bare + " " if bare.endswith("\\") and len(bare) < len(line) else bare


def _compile_lines(lines: list[tuple[int, str]]) -> list[IgnorePattern]:
    from .gitignore_patterns import compile_pattern

    if len(lines) > MAX_IGNORE_PATTERNS:
        raise _bad_ignore_error(
            lines[MAX_IGNORE_PATTERNS][0], f"there are more than {MAX_IGNORE_PATTERNS} patterns"
        )
    patterns = []
    for number, line in lines:
        text = line.removeprefix("!")
        body = text.removesuffix("/")
        try:
            if not body:
                raise ValueError
            matches = compile_pattern(body)
        except ValueError as error:
            raise _bad_ignore_error(number, f"{printable_text(line)} is not a pattern") from error
        patterns.append(IgnorePattern(number, text == line, body != text, "/" not in body, matches))
    return patterns


def _bad_ignore_error(line: int, message: str) -> InvalidInput:
    where = f"{IGNORE_FILE_NAME}, line {line}" if line else IGNORE_FILE_NAME
    return InvalidInput(
        f"{where}: {message}",
        code="bad_ignore",
        hint=f"correct {IGNORE_FILE_NAME}: one pattern a line, as in .gitignore",
    )
