"""Refusing states that no folder can hold, before they are recorded or written."""

from __future__ import annotations

from collections.abc import Mapping

from ..errors import NotFound
from ..objects import bundle as bundles
from ..objects import holding
from ..objects.bundle import Bundle
from ..objects.entry import Entry
from ..objects.links import MAX_TARGET_BYTES
from ..session import Session


def refuse_unholdable(
    session: Session, before: Bundle, after: Bundle, edits: Mapping[str, Entry | None]
) -> None:
    """Refuse what no folder can hold of `after`, to which `edits` lead from `before`.

    Raises `InvalidInput`: `case_collision`, `path_conflict`, `link_outside`, `too_many`,
    `too_large`, or as `paths.check`.
    """
    holding.refuse(session.nodes, before, after, edits, lambda blob: read_target(session, blob))


def refuse_target(session: Session, before: Bundle, after: Bundle) -> None:
    """Refuse to go on from `before` with a recorded bundle. Raises as `refuse_unholdable`."""
    found = bundles.compare(session.nodes, before, after)
    refuse_unholdable(session, before, after, {path: now for path, _, now in found})


def read_target(session: Session, blob: bytes) -> bytes | None:
    """Return the text of a link, or what is too long for one; None where it was redacted."""
    try:
        if session.reader.blob_size(blob) > MAX_TARGET_BYTES:
            return b""
        return session.reader.read_blob(blob)
    except NotFound:
        return None
