"""What a search for secrets returns."""

from __future__ import annotations

from typing import NamedTuple


class Leak(NamedTuple):
    """Something recorded that looks like a secret; it is not told itself.

    `path` is "" for one in the message of a snapshot, from which nothing can be redacted.

    `line` and `column` count from 1, the column in bytes. `id` names rule and secret;
    `snapshot` is the one it was found in.
    """

    path: str
    line: int
    column: int
    rule: str
    id: str
    snapshot: str


class Leaks(NamedTuple):
    """The outcome; `findings` are sorted, `accepted` counts those the manifest accepts."""

    ok: bool
    snapshot: str
    files: int
    findings: list[Leak]
    accepted: int
