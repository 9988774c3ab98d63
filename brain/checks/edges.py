"""Checks of what a snapshot changed against its first parent: tree, blobs, versions."""

from __future__ import annotations

from collections.abc import Iterator

from ..actions import derived
from ..errors import BrainError
from ..objects import bundle as bundles
from ..objects import paths
from ..objects.bundle import Bundle
from ..objects.compare import Difference
from ..objects.entry import LINK
from ..objects.node import Line
from ..objects.snapshot import Snapshot
from ..results import Finding
from ..session import Session
from ..skills.layout import slug_of
from ..skills.version import compare as compare_versions
from . import trees
from .sizes import Sizes


def check(
    session: Session, here: bytes, snapshot: Snapshot, sizes: Sizes | None
) -> Iterator[Finding]:
    """Check one edge of the lineage; a genesis is checked against nothing.

    `sizes` takes what entries say of blobs, if blobs are read too.
    """
    name = here.hex()
    try:
        after = session.bundle(snapshot.bundle)
        before = session.bundle_of(snapshot.parents[0]) if snapshot.parents else bundles.EMPTY
        fresh = list(trees.check_bundles(session.nodes, before, after))
    except BrainError as error:
        yield Finding(error.code, "error", name, "", error.message)
        return
    lost = session.reader.missing(line[2] for _, lines in fresh for line in lines)
    redacted = session.reader.redacted(list(lost))
    true: dict[bytes, int] = {}
    if sizes is not None:
        for _, lines in fresh:
            sizes.note(lines)
        true = sizes.true
    if lost or true:
        for section, lines in fresh:
            yield from _unfit(name, section, lines, lost, redacted, true)
    if snapshot.parents:
        yield from _versions(session, name, snapshot, before, after)


def _unfit(
    name: str,
    section: str,
    lines: list[Line],
    lost: set[bytes],
    redacted: dict[bytes, bytes],
    true: dict[bytes, int],
) -> Iterator[Finding]:
    """Tell which new entries of a section name a blob that is missing or of another size."""
    for inner, _, blob, size in lines:
        path = paths.join(section, inner)
        if blob in redacted:
            message = f"redacted by snapshot {redacted[blob].hex()[:12]}; its id stays"
            yield Finding("redacted", "note", name, path, message)
        elif blob in lost:
            message = f"blob {blob.hex()} is missing"
            yield Finding("missing_object", "error", name, path, message)
        elif true.get(blob, size) != size:
            message = f"has {true[blob]} bytes, not {size}"
            yield Finding("bad_size", "error", name, path, message)


def _versions(
    session: Session, name: str, snapshot: Snapshot, before: Bundle, after: Bundle
) -> Iterator[Finding]:
    if derived.SECTION not in before and snapshot.operation[0] != "upsert":
        return  # nothing was there whose version could rise
    try:
        found = list(bundles.compare(session.nodes, before, after))
        changed = [d for d in found if derived.may_be_skill(d.path)]
        yield from _upserted(session, name, snapshot, changed)
        yield from _edited(session, name, snapshot, before, after, changed)
    except BrainError as error:
        yield Finding(error.code, "error", name, "", error.message)


def _upserted(
    session: Session, name: str, snapshot: Snapshot, changed: list[Difference]
) -> Iterator[Finding]:
    """An upsert changes one skill, from and to the versions it says, upwards."""
    kind, *fields = snapshot.operation
    if kind != "upsert":
        return
    slug, from_version, to_version = fields
    if from_version and compare_versions(to_version, from_version) <= 0:
        message = f"{slug} does not rise: {from_version} → {to_version}"
        yield Finding("version_not_raised", "error", name, "", message)
    mine = [d for d in changed if d.after and slug_of(paths.split(d.path)[1]) == slug]
    blobs = [entry.blob for d in mine for entry in (d.before, d.after) if entry]
    cards = derived.read_cards(session, blobs)
    if any(cards[blob].flags == "redacted" for blob in blobs):
        return  # of the versions in it nothing can be said any more
    if not any(d.after and cards[d.after.blob].version == to_version for d in mine):
        message = f"says {slug} became {to_version}, which its text does not"
        yield Finding("version_mismatch", "error", name, "", message)
    for path, was, now in mine:
        if was and now and compare_versions(cards[now.blob].version, cards[was.blob].version) <= 0:
            message = f"{cards[was.blob].version} → {cards[now.blob].version} is no rise"
            yield Finding("version_not_raised", "error", name, path, message)


def _edited(
    session: Session,
    name: str,
    snapshot: Snapshot,
    before: Bundle,
    after: Bundle,
    changed: list[Difference],
) -> Iterator[Finding]:
    """A skill changed by hand ought to have a higher version, but need not."""
    if snapshot.operation[0] not in ("snapshot", "merge", "import"):
        return
    pairs = [(path, was, now) for path, was, now in changed if was and now and now.kind != LINK]
    if not pairs:
        return
    was_skill = derived.classifier(session, before, changed)
    is_skill = derived.classifier(session, after, changed)
    cards = derived.read_cards(session, [entry.blob for _, *both in pairs for entry in both])
    for path, was, now in pairs:
        if not (was_skill(path) and is_skill(path)):
            continue
        old, new = cards[was.blob].version, cards[now.blob].version
        if "redacted" in (cards[was.blob].flags, cards[now.blob].flags):
            continue
        if compare_versions(new, old) <= 0:
            message = f"changed by hand without a higher version ({old} → {new})"
            yield Finding("version_not_raised", "warning", name, path, message)
