"""Parse a git commit object: tree, author, time and message."""

from __future__ import annotations

import codecs
import re
from typing import NamedTuple

from ... import limits
from ...skills.visible_text import fold_to_line

_TIME = re.compile(rb" (-?[0-9]{1,18})(?: |$)")
_CONTROLS = re.compile("[\0-\x08\x0b-\x1f\x7f]")
_TRUNCATION_MARK = " […]"


class GitCommit(NamedTuple):
    """A commit: its tree, author, time (ms, UTC; may be negative) and message.

    The author has no hidden characters and the message no control characters; both fit the
    limits of a snapshot.
    """

    tree: str
    author: str
    time: int
    message: str


def parse_commit(data: bytes) -> GitCommit:
    """Parse the content of a commit object. Raises `ValueError` if it has no tree."""
    head, _, body = data.partition(b"\n\n")
    fields: dict[bytes, bytes] = {}
    for line in head.split(b"\n"):
        key, _, value = line.partition(b" ")
        fields.setdefault(key, value)
    tree = fields.get(b"tree", b"").decode("ascii", "replace")
    if not re.fullmatch("[0-9a-f]{40}|[0-9a-f]{64}", tree):
        raise ValueError("a commit without a tree")
    charset = fields.get(b"encoding", b"utf-8")
    author = _parse_person(fields.get(b"author", b""))
    committer = _parse_person(fields.get(b"committer", b""))
    times = (person.seconds for person in (author, committer) if person.seconds is not None)
    message = _CONTROLS.sub("", _decode_text(body, charset).replace("\r\n", "\n")).strip("\n")
    return GitCommit(
        tree,
        _truncate(_format_author(author, charset), limits.MAX_AUTHOR_BYTES),
        next(times, 0) * 1000,
        _truncate(message, limits.MAX_MESSAGE_BYTES),
    )


class _Person(NamedTuple):
    name: bytes
    address: bytes
    seconds: int | None


def _parse_person(line: bytes) -> _Person:
    """Parse an author line: a name, an address in brackets, seconds since 1970."""
    name, _, rest = line.partition(b"<")
    address, closed, rest = rest.partition(b">")
    if not closed:
        return _Person(b"", b"", None)
    time = _TIME.match(rest)
    return _Person(name, address, int(time[1]) if time else None)


def _format_author(person: _Person, charset: bytes) -> str:
    name, address = (fold_to_line(_decode_text(part, charset)).strip() for part in person[:2])
    return f"{name} <{address}>".strip() if address else name


def _decode_text(data: bytes, charset: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        pass
    try:
        name = codecs.lookup(charset.decode("ascii")).name
        if name.startswith(("iso8859", "cp125", "koi8", "shift_jis", "euc_", "gb", "big5")):
            return data.decode(name, "replace")
    except (LookupError, UnicodeDecodeError, ValueError):
        pass
    return data.decode("utf-8", "replace")


def _truncate(text: str, max_bytes: int) -> str:
    data = text.encode()
    if len(data) <= max_bytes:
        return text
    return (
        data[: max_bytes - len(_TRUNCATION_MARK.encode())].decode("utf-8", "ignore")
        + _TRUNCATION_MARK
    )
