"""What of a diff no patch shows: content that is no text, too large, or redacted."""

from __future__ import annotations

from ..errors import InvalidInput, printable
from ..objects import bundle as bundles
from ..objects.bundle import Bundle
from ..results import Content, Diff, Unshown
from ..session import Session
from . import texts

_TYPES = ("file", "executable", "link")
_NAMED = 5
"""Files that an error names."""


def unshown(session: Session, diff: Diff) -> list[Unshown]:
    """Return the changed files between two snapshots whose content `texts.patch` leaves out."""
    before, after = (session.bundle_of(bytes.fromhex(side)) for side in (diff.from_, diff.to))
    found = []
    for change in diff.changes:
        reason = texts.sides(session, change, stored=True)
        if isinstance(reason, str) and change.before != change.after:
            source = change.from_path or change.path
            old = _content(session, before, source) if change.before else None
            new = _content(session, after, change.path) if change.after else None
            found.append(Unshown(change.path, change.from_path, reason, old, new))
    return found


def refuse(session: Session, diff: Diff) -> None:
    """Raise `InvalidInput` (`not_shown`) if a patch leaves out content that comes in."""
    coming = [one.path for one in unshown(session, diff) if one.after is not None]
    if coming:
        more = f" and {len(coming) - _NAMED} more" if len(coming) > _NAMED else ""
        raise InvalidInput(
            f"not shown as text: {', '.join(map(printable, coming[:_NAMED]))}{more}",
            code="not_shown",
            hint="`brain proposal show` tells what they are; accept them, too, with --unshown",
        )


def _content(session: Session, bundle: Bundle, path: str) -> Content | None:
    entry = bundles.get(session.nodes, bundle, path)
    return Content(_TYPES[entry.kind], entry.size, entry.blob.hex()) if entry else None
