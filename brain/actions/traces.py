"""What a snapshot wrote, as the steps of a receipt; the same whoever asks, and when.

The files of a skill are one `skill_create` step, all other files one `memory_write`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .. import limits
from ..digest import EMPTY
from ..objects import bundle as bundles
from ..objects import paths
from ..objects.bundle import Bundle
from ..objects.compare import Difference
from ..objects.entry import LINK, Entry
from ..objects.operation import Operation
from ..receipts import Receipt, Step, Write, encode
from ..session import Session
from ..skills.layout import SKILL_FILES
from . import derived


def written(
    session: Session,
    before: Bundle,
    after: Bundle,
    edits: Mapping[str, Entry | None],
    done: Operation,
) -> tuple[Step, ...]:
    """Return the steps that the edits of a snapshot are, which did `done`."""
    changes = (
        Difference(path, bundles.get(session.nodes, before, path), edits[path])
        for path in sorted(edits)
    )
    return steps(session, before, after, changes, done, session.time())


def extended(
    session: Session,
    receipt: Receipt,
    before: Bundle,
    after: Bundle,
    edits: Mapping[str, Entry | None],
    done: Operation,
) -> bytes:
    """Return the text of a receipt that was made elsewhere, with the steps of a snapshot.

    It says between which bundles the snapshot lies that will carry it.
    """
    more = written(session, before, after, edits, done)
    return encode(
        receipt._replace(steps=receipt.steps + more, bundle_after=bundles.bundle_id(after))
    )


def steps(
    session: Session,
    before: Bundle,
    after: Bundle,
    changes: Iterable[Difference],
    done: Operation,
    at: int = 0,
) -> tuple[Step, ...]:
    """Return the steps that differences, sorted by path, are."""
    groups: dict[str, list[Difference]] = {}
    omitted = count = 0
    for change in changes:
        if change.before == change.after:
            continue
        count += 1
        if count > limits.MAX_WRITES:
            omitted += 1
            continue
        home = _home(session, before, after, change.path)
        groups.setdefault(home, []).append(change)
    rest = groups.pop("", [])
    out = []
    for home in sorted(groups):
        slug, writes = derived.place_of(home), _writes(groups[home])
        old, new = _versions(session, before, after, home, done)
        out.append(Step("skill_create", at, slug, new, old, writes=writes))
    if rest or omitted:
        name = rest[0].path if len(rest) == 1 and not omitted else done[0]
        out.append(Step("memory_write", at, name, writes=_writes(rest), omitted=omitted))
    return tuple(out)


def _writes(changes: list[Difference]) -> tuple[Write, ...]:
    return tuple(Write(path, now.blob if now else EMPTY) for path, _, now in changes)


def _home(session: Session, before: Bundle, after: Bundle, path: str) -> str:
    """Return where the skill lies that a file is, or belongs to; "" if to none."""
    if not path.startswith(f"{derived.SECTION}/"):
        return ""
    found = (place for place in _candidates(path) if _is_skill(session, before, after, place))
    return next(found, "")


def _is_skill(session: Session, before: Bundle, after: Bundle, path: str) -> bool:
    """Tell whether a path is a skill on either side."""
    return any(
        bundles.get(session.nodes, bundle, path) is not None
        and derived.is_skill(session, bundle, path)
        for bundle in (after, before)
    )


def _versions(
    session: Session, before: Bundle, after: Bundle, home: str, done: Operation
) -> tuple[str, str]:
    """Return the versions of a skill before and after, as the operation says or the files do."""
    if done[0] == "upsert" and done[1] == derived.place_of(home):
        return done[2], done[3]
    return _version(session, before, home), _version(session, after, home)


def _candidates(path: str) -> Iterable[str]:
    """Yield where the skill may lie that a file belongs to: there, or in a folder above."""
    yield path
    section, inner = paths.split(path)
    while "/" in inner:
        inner = inner.rpartition("/")[0]
        yield from (paths.join(section, f"{inner}/{name}") for name in SKILL_FILES)


def _version(session: Session, bundle: Bundle, path: str) -> str:
    entry = bundles.get(session.nodes, bundle, path)
    if entry is None or entry.kind == LINK or not derived.is_skill(session, bundle, path):
        return ""
    return derived.cards(session, [entry.blob])[entry.blob].version
