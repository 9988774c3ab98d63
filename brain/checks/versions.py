"""Whether the versions of skills rise along an edge, as the snapshot says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple, Self

from ..actions import derived
from ..errors import BrainError
from ..objects import paths
from ..objects.bundle import Bundle
from ..objects.compare import Difference
from ..objects.entry import LINK, Entry
from ..objects.node import Line
from ..objects.snapshot import Snapshot
from ..results import Finding
from ..session import Session
from ..skills.card import Card
from ..skills.version import compare as compare_versions
from .changes import Edge, fits, text_name
from .trees import Change

_BY_HAND = ("snapshot", "merge")
"""What may have changed skills without their versions; what was imported keeps its own."""
_SAYING = ("upsert", "absorb", "delete")
"""What says a version of the skill that it wrote or removed."""
_KEPT = 4096
"""Cards kept, since most skills change more than once."""


class Rise(NamedTuple):
    """An edge on which versions had to rise; `changed` are the changes of what may be skills."""

    name: str
    snapshot: Snapshot
    before: Bundle
    after: Bundle
    changed: list[Difference]

    @classmethod
    def of(
        cls,
        name: str,
        snapshot: Snapshot,
        before: Bundle,
        after: Bundle,
        changes: Iterable[Change],
        edge: Edge | None,
    ) -> Self | None:
        """Return what has to be looked at on an edge, None for nothing.

        `edge` is the same by paths, where the operation limits what it may have changed.
        """
        kind = snapshot.operation[0]
        if edge and kind in _SAYING:
            slug = snapshot.operation[1]
            texts = (path for path in edge.changed if fits(text_name(path), slug))
            changed = [Difference(p, edge.gone.get(p), edge.fresh.get(p)) for p in texts]
        elif kind in _BY_HAND and derived.SECTION in before:
            changed = [
                difference
                for change in changes
                if change.section == derived.SECTION
                for difference in _differences(change)
                if difference.before and difference.after and difference.after.kind != LINK
            ]
        else:
            return None  # nothing was there whose version could rise
        return cls(name, snapshot, before, after, changed)

    @property
    def blobs(self) -> list[bytes]:
        """The contents that have to be read."""
        return [entry.blob for _, *both in self.changed for entry in both if entry]


def _differences(change: Change) -> Iterator[Difference]:
    """Yield what came and what changed, of what may be a skill."""
    was = {line[0]: line for line in change.gone}
    for line in change.fresh:
        path = paths.join(change.section, line[0])
        if derived.may_be_skill(path):
            old: Line | None = was.get(line[0])
            yield Difference(path, old and Entry(path, *old[1:]), Entry(path, *line[1:]))


class Versions:
    """Checks edges; what several of them need is read once."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._cards: dict[bytes, Card] = {}

    def prepare(self, rises: Iterable[Rise]) -> None:
        """Read what some edges need. What fails is met again by the edge whose it is."""
        if len(self._cards) >= _KEPT:
            self._cards.clear()
        with suppress(BrainError):
            self._read([blob for rise in rises for blob in rise.blobs])

    def check(self, rise: Rise) -> Iterator[Finding]:
        """Yield what is wrong with the versions on an edge."""
        try:
            cards = self._read(rise.blobs)
            kind = rise.snapshot.operation[0]
            if kind == "delete":
                yield from _deleted(rise, cards)
            elif kind in _SAYING:
                yield from _upserted(rise, cards)
            else:
                yield from self._edited(rise, cards)
        except BrainError as error:
            yield Finding(error.code, "error", rise.name, "", error.message)

    def _read(self, blobs: Sequence[bytes]) -> dict[bytes, Card]:
        """Return the cards at hand, those of `blobs` among them."""
        unknown = [blob for blob in dict.fromkeys(blobs) if blob not in self._cards]
        if unknown:
            self._cards.update(derived.read_cards(self._session, unknown))
        return self._cards

    def _edited(self, rise: Rise, cards: dict[bytes, Card]) -> Iterator[Finding]:
        """A skill changed by hand ought to have a higher version, but need not."""
        if not rise.changed:
            return
        was_skill = derived.classifier(self._session, rise.before, rise.changed)
        is_skill = derived.classifier(self._session, rise.after, rise.changed)
        for path, was, now in rise.changed:
            if not (was and now and was_skill(path) and is_skill(path)):
                continue
            old, new = cards[was.blob], cards[now.blob]
            if "redacted" in (old.flags, new.flags):
                continue
            if compare_versions(new.version, old.version) <= 0:
                both = f"{old.version} → {new.version}"
                message = f"changed by hand without a higher version ({both})"
                yield Finding("version_not_raised", "warning", rise.name, path, message)


def _upserted(rise: Rise, cards: dict[bytes, Card]) -> Iterator[Finding]:
    """A skill was written, from and to the versions that are said, upwards."""
    slug, from_version, to_version = rise.snapshot.operation[1:4]
    if from_version and compare_versions(to_version, from_version) <= 0:
        message = f"{slug} does not rise: {from_version} → {to_version}"
        yield Finding("version_not_raised", "error", rise.name, "", message)
    if any(cards[blob].flags == "redacted" for blob in rise.blobs):
        return  # of the versions in it nothing can be said any more
    if not any(d.after and cards[d.after.blob].version == to_version for d in rise.changed):
        message = f"says {slug} became {to_version}, which its text does not"
        yield Finding("version_mismatch", "error", rise.name, "", message)
    for path, was, now in rise.changed:
        if was and now and compare_versions(cards[now.blob].version, cards[was.blob].version) <= 0:
            message = f"{cards[was.blob].version} → {cards[now.blob].version} is no rise"
            yield Finding("version_not_raised", "error", rise.name, path, message)


def _deleted(rise: Rise, cards: dict[bytes, Card]) -> Iterator[Finding]:
    """A skill was removed at the version that is said."""
    _, slug, version = rise.snapshot.operation
    gone = [cards[d.before.blob] for d in rise.changed if d.before and not d.after]
    if any(card.flags == "redacted" or card.version == version for card in gone):
        return
    message = f"says {slug} was removed at {version}, which its text was not"
    yield Finding("version_mismatch", "error", rise.name, "", message)
