"""Which files are left out: the defaults, then the lines of `.brainignore`, last match wins.

`.brainignore` lies at the top of the brain and has gitignore's syntax
(https://git-scm.com/docs/gitignore). As with git, what lies in a folder that is left
out cannot be taken back in, since that folder is never looked into.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from typing import NamedTuple

from blake3 import blake3

from ..errors import InvalidInput, printable
from ..objects import paths
from . import defaults
from .folders import Root, opened, unreadable

NAME = ".brainignore"
MAX_BYTES = 64 << 10
"""Size of a `.brainignore` that is read."""

MAX_PATTERNS = 4096
"""Lines of a `.brainignore` that are patterns."""

_REMEMBERED = 8192
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Pattern(NamedTuple):
    """One line: where it stands, what it does, and whether it matches a path without end slash.

    A pattern without an inner slash gives the same answer for a name as for its path.
    """

    line: int
    leaves_out: bool
    folders_only: bool
    by_name: bool
    matches: Callable[[str], object]


class IgnoreRules:
    """Decides which files a brain leaves out.

    `fingerprint` (32 bytes) differs whenever another set of rules is in force.
    """

    def __init__(self, text: str = "") -> None:
        """Take the text of a `.brainignore`.

        Raises `InvalidInput` (`bad_ignore`) that names the line.
        """
        patterns = _parse(text)
        self.fingerprint = blake3(defaults.VERSION + b"\0" + text.encode()).digest()
        self._names = [pattern for pattern in patterns if pattern.by_name]
        self._paths = [pattern for pattern in patterns if not pattern.by_name]
        self._known: tuple[dict[str, Pattern], dict[str, Pattern]] = ({}, {})

    @classmethod
    def load(cls, root: Root) -> IgnoreRules:
        """Return the rules of the brain at `root`.

        Raises `InvalidInput` (`bad_ignore`, `unreadable`).
        """
        with opened(root) as root_fd:
            return cls.of(_read(root_fd))

    @classmethod
    def of(cls, data: bytes) -> IgnoreRules:
        """Return the rules that the content of a `.brainignore` states.

        Raises `InvalidInput` (`bad_ignore`).
        """
        if len(data) > MAX_BYTES:
            raise _bad(0, f"it is longer than {MAX_BYTES} bytes")
        try:
            return cls(data.decode("utf-8-sig"))
        except UnicodeDecodeError as error:
            raise _bad(data[: error.start].count(b"\n") + 1, "it is not UTF-8") from error

    def ignored(self, path: str, name: str, is_folder: bool) -> bool:
        """Tell whether the file or folder at `path`, whose last part is `name`, is left out."""
        known = self._known[is_folder]
        by_name = known.get(name)
        if by_name is None:
            if len(known) >= _REMEMBERED:
                known.clear()
            by_name = known[name] = self._decide_name(name, is_folder)
        if self._paths and by_name.line < _ALWAYS:
            return self._decide_path(path, is_folder, by_name).leaves_out
        return by_name.leaves_out

    def _decide_name(self, name: str, is_folder: bool) -> Pattern:
        if paths.is_own(name):
            return _RESERVED
        for pattern in reversed(self._names):
            if (is_folder or not pattern.folders_only) and pattern.matches(name):
                return pattern
        return _LEFT_OUT if defaults.left_out(name, is_folder) else _KEPT

    def _decide_path(self, path: str, is_folder: bool, by_name: Pattern) -> Pattern:
        for pattern in reversed(self._paths):
            if pattern.line < by_name.line:
                break
            if (is_folder or not pattern.folders_only) and pattern.matches(path):
                return pattern
        return by_name


def _fixed(line: int, leaves_out: bool) -> Pattern:
    return Pattern(line, leaves_out, False, True, bool)


_ALWAYS = 1 << 30
_RESERVED = _fixed(_ALWAYS, True)
_LEFT_OUT, _KEPT = _fixed(0, True), _fixed(0, False)


def _read(root_fd: int) -> bytes:
    """Return the start of the `.brainignore` below `root_fd`, nothing if there is none."""
    try:
        fd = os.open(
            NAME, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=root_fd
        )
    except FileNotFoundError:
        return b""
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise _bad(0, "it is a link") from error
        raise unreadable(NAME, error) from error
    try:
        with os.fdopen(fd, "rb") as file:
            return file.read(MAX_BYTES + 1)
    except OSError as error:
        raise unreadable(NAME, error) from error


def _parse(text: str) -> list[Pattern]:
    lines = ((number, _trimmed(line)) for number, line in enumerate(text.split("\n"), 1))
    wanted = [(number, line) for number, line in lines if line and not line.startswith("#")]
    return _compile(wanted) if wanted else []


def _trimmed(line: str) -> str:
    """Drop trailing blanks, which git ignores unless a backslash keeps the last one."""
    line = line.rstrip("\r")
    bare = line.rstrip(" \t")
    return bare + " " if bare.endswith("\\") and len(bare) < len(line) else bare


def _compile(lines: list[tuple[int, str]]) -> list[Pattern]:
    from .patterns import matcher

    if len(lines) > MAX_PATTERNS:
        raise _bad(lines[MAX_PATTERNS][0], f"more than {MAX_PATTERNS} patterns")
    patterns = []
    for number, line in lines:
        text = line.removeprefix("!")
        body = text.removesuffix("/")
        try:
            if not body:
                raise ValueError
            matches = matcher(body)
        except ValueError as error:
            raise _bad(number, f"not a pattern: {printable(line)}") from error
        patterns.append(Pattern(number, text == line, body != text, "/" not in body, matches))
    return patterns


def _bad(line: int, message: str) -> InvalidInput:
    where = f"{NAME}, line {line}" if line else NAME
    return InvalidInput(f"{where}: {message}", code="bad_ignore")
