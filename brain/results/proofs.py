"""What a proof shows."""

from __future__ import annotations

from typing import NamedTuple


class Proof(NamedTuple):
    """What a proof shows of `snapshot`; None is what its kind does not speak of.

    `path`: `path` is a file there of this `type` ("file", "executable", "link"), with
    the content `blob` of `size` bytes. `absence`: no file is at `path`. `section`: the
    tree `root` of `files` files, `size` bytes, is the section `section`. `descent`: the
    snapshot is `ancestor`, of the brain `ancestor_brain`, or descends from it. `ok` is
    true: a proof that does not hold is an error.
    """

    ok: bool
    kind: str
    brain: str
    snapshot: str
    bundle: str | None
    path: str | None
    type: str | None
    blob: str | None
    size: int | None
    section: str | None
    root: str | None
    files: int | None
    ancestor: str | None
    ancestor_brain: str | None
