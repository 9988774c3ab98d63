"""Recording the folder: status and snapshot."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing

from ..objects import bundle as bundles
from ..objects import operation
from ..objects.bundle import Bundle
from ..objects.entry import Entry
from ..objects.operation import Operation
from ..results import Notice, Recorded, Status
from ..session import Session
from ..worktree import stats
from . import folder, loading
from .announced import unwritten
from .files import Progress, no_progress
from .turn import Turn, locked, recording

SNAPSHOT = operation.snapshot()
UNWRITTEN = "unwritten"
"""The code of a notice of a file that is recorded but waits to be written."""

Edits = Mapping[str, Entry | None]
Words = Callable[[Session, Bundle, Edits], str]
"""Makes the message of a snapshot, of the bundle before it and what it changes."""


def status(session: Session, progress: Progress = no_progress) -> Status:
    """Compare the folder with the head; writes nothing."""
    from . import midst

    head = session.head()
    target = session.bundle_of(head)
    seen = folder.look(session, progress)
    found = folder.edits(session, seen, target, folder.hashed(session, seen.found.changed))
    there = {path: bundles.get(session.nodes, target, path) is not None for path in found}
    left = unwritten(session, session.reader.pending())
    names = sorted(path for path in found if path not in left)
    waiting = midst.load(session)
    return Status(
        session.brain_id().hex(),
        head.hex(),
        session.branch(),
        not names,
        [path for path in names if not there[path]],
        [path for path in names if there[path] and found[path] is not None],
        [path for path in names if found[path] is None],
        [*seen.found.notices, *map(_unwritten, _to_do(session, left))],
        waiting.name if waiting else None,
        midst.described(session, waiting.rows) if waiting else [],
    )


def _to_do(session: Session, left: Edits) -> list[str]:
    """Return the files that wait to be written; one that is gone as it should is none."""
    root = session.root
    return sorted(path for path, entry in left.items() if entry or stats.at(root / path))


def _unwritten(path: str) -> Notice:
    said = "recorded, but not yet written; the next command that writes does so"
    return Notice(UNWRITTEN, path, said)


def snapshot(
    session: Session,
    message: str = "",
    progress: Progress = no_progress,
    done: Operation = SNAPSHOT,
) -> Recorded:
    """Record the folder as it is, as the operation `done`. No change means no new snapshot."""
    return worded(session, lambda *_: message, message or done[0], progress, done)


def worded(
    session: Session,
    words: Words,
    description: str,
    progress: Progress = no_progress,
    done: Operation = SNAPSHOT,
) -> Recorded:
    """As `snapshot`, with a message that is made of what changed."""
    with locked(session):
        seen = folder.look(session, progress)
        size = sum(candidate.size for candidate in seen.found.changed)
        with recording(session, done[0], description, expected_bytes=size) as mine:
            before = mine.bundle
            with closing(
                loading.stored(session, mine.tx, before, seen.found.changed, seen.proven, progress)
            ) as entries:
                edits = folder.edits(session, seen, before, entries)
            if edits:
                mine.commit(edits, done, words(session, before, edits))
            outcome = recorded(mine, before, edits, seen.found.notices)
            del edits  # as large as what follows
        if seen.found.changed or seen.found.removed or seen.base is not mine.bundle:
            folder.remember(session, seen, mine.bundle)
    return outcome


def recorded(mine: Turn, before: Bundle, edits: Edits, notices: list[Notice]) -> Recorded:
    """Return the outcome of a snapshot that applied `edits` to `before`."""
    session = mine.session
    was = [bundles.get(session.nodes, before, path) is not None for path in edits]
    pairs = list(zip(edits.values(), was, strict=True))
    return Recorded(
        mine.head.hex(),
        bundles.bundle_id(mine.bundle).hex(),
        [parent.hex() for parent in session.load(mine.head).parents],
        bool(edits),
        sum(not was for _, was in pairs),
        sum(was and entry is not None for entry, was in pairs),
        sum(entry is None for entry, _ in pairs),
        [*notices, *_secrets(mine, edits), *_names(mine, before, edits)],
        None,
    )


def _names(mine: Turn, before: Bundle, edits: Edits) -> list[Notice]:
    if not any(path.startswith("skills/") for path in edits):
        return []
    from . import lookalikes

    return lookalikes.notices(mine.session, before, mine.bundle, edits)


def _secrets(mine: Turn, edits: Edits) -> list[Notice]:
    if not edits:
        return []
    from . import leaks

    found = leaks.notices(mine.session, mine.head, edits) if any(edits.values()) else []
    return [*leaks.in_message(mine.masked), *found]
