"""Deciding what both sides changed, with the content at hand.

What merging makes is kept in memory until a merge is recorded, so that the merge
of bases, which criss-cross histories need, leaves nothing behind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from .. import limits
from ..digest import blob_id
from ..errors import InvalidInput
from ..merging import contents, trees
from ..merging.contents import BOTH, CHOICES, OURS, THEIRS, Draft, Sides
from ..merging.trees import Contest, Edits, State
from ..objects import ancestry
from ..objects import bundle as bundles
from ..objects.entry import LINK, Entry
from ..session import Session
from ..skills.document import set_version
from ..trust.policy import PATH as TRUST
from ..trust.policy import is_trust
from . import appended, derived
from .appended import Grown

MOST_BASES = 8
"""Bases of one merge that are put together; criss-cross histories have two."""
DEEPEST = 8
"""Merges of bases of bases; what lies deeper counts as one base."""


class Clash(NamedTuple):
    """A contest that nobody decided; `draft` is the text as far as it goes."""

    contest: Contest
    reason: str
    draft: Draft | None


class Outcome(NamedTuple):
    """What a merge does to our side.

    `skills` are (slug, version of ours, of theirs, merged version) by slug; `decided`
    are the contests that a choice settled; `added` are the paths that one side alone added.
    """

    edits: Edits
    skills: list[tuple[str, str, str, str]]
    clashes: list[Clash]
    decided: list[tuple[Contest, str | bytes]]
    added: list[str]


Choose = Callable[[Contest], "str | bytes | None"]
"""Says OURS, THEIRS or BOTH, gives the content itself, or leaves a contest open."""


def undecided(contest: Contest) -> None:
    """Leave a contest open."""


class Merger:
    """Merges states of one brain.

    `made` and `grown` are the blobs it made, by id: whole, and as what follows another.
    """

    def __init__(self, session: Session) -> None:
        self.made: dict[bytes, bytes] = {}
        self.grown: dict[bytes, Grown] = {}
        self._session = session

    def merge(self, base: State, ours: State, theirs: State, choose: Choose) -> Outcome:
        """Merge `theirs` into `ours`."""
        found = trees.merge(self._session.nodes, base, ours, theirs)
        edits = found.edits
        skills: list[tuple[str, str, str, str]] = []
        clashes: list[Clash] = []
        decided: list[tuple[Contest, str | bytes]] = []
        for contest in found.contests:
            choice = choose(contest)
            clash = self._decide(contest, ours, choice, edits, skills)
            if clash is not None:
                clashes.append(clash)
            elif choice is not None:
                decided.append((contest, choice))
        for pair in found.collisions:
            collision = self._collision(*pair, ours, edits)
            if collision is None:
                continue
            choice = choose(collision)
            if choice not in CHOICES:
                clashes.append(Clash(collision, "collides", None))
            else:
                _part(pair[0], collision, choice, edits)
                decided.append((collision, choice))
        clashes.sort(key=lambda clash: clash.contest.path)
        return Outcome(edits, sorted(skills), clashes, decided, found.added)

    def base(
        self, bases: Sequence[bytes], merges: Sequence[tuple[bytes, int]], depth: int = 0
    ) -> State:
        """Return what a merge starts from: the merge of all best common ancestors.

        Sorted by id, so that both sides see the same; what cannot be merged is as it
        was before.
        """
        session = self._session
        if not bases:
            return State(bundles.EMPTY, {})
        first, *rest = sorted(bases)[:MOST_BASES]
        out = State(session.bundle_of(first), {})
        if depth == DEEPEST:
            return out
        for other in rest:
            below = ancestry.merge_bases(session.load, merges, first, other)
            base = self.base(below, merges, depth + 1)
            done = self.merge(base, out, State(session.bundle_of(other), {}), undecided)
            older = {clash.contest.path: clash.contest.base for clash in done.clashes}
            out = State(out.bundle, {**out.edits, **done.edits, **older})
        return out

    def _decide(
        self,
        contest: Contest,
        ours: State,
        choice: str | bytes | None,
        edits: Edits,
        skills: list[tuple[str, str, str, str]],
    ) -> Clash | None:
        path, base, a, b = contest
        if a is None or b is None:
            return _one_sided(contest, choice, edits)
        kind = _kind(base, a, b)
        if kind is None or LINK in (a.kind, b.kind):
            return self._whole(contest, "kind", choice, edits)
        if a.blob == b.blob:
            edits[path] = a._replace(kind=kind)
            return None
        grown = appended.unite(self._session, contest) if choice is None else None
        if grown is not None:
            self.grown[grown.blob] = grown
            edits[path] = Entry(path, kind, grown.blob, grown.size)
            return None
        if max(e.size for e in (base or a, a, b)) > limits.MAX_MERGED_BYTES:
            return self._whole(contest, "too_large", choice, edits)
        slug = self._slug(path, ours)
        draft = contents.draft(path, self._sides(contest), slug)
        if draft is None:
            return self._whole(contest, "unreadable_skill" if slug else "binary", choice, edits)
        if isinstance(choice, bytes):
            content: bytes | None = _at_version(choice, draft, slug)
        else:
            content = contents.finished(draft, choice)
        if content is None:
            return Clash(contest, "content", draft)
        if path == TRUST and not is_trust(content):
            return self._whole(contest, "broken_trust", choice, edits)
        edits[path] = self.make(path, kind, content)
        if draft.skill:
            skills.append((slug, draft.skill.ours, draft.skill.theirs, draft.skill.version))
        return None

    def _whole(
        self, contest: Contest, reason: str, choice: str | bytes | None, edits: Edits
    ) -> Clash | None:
        """Decide what is not merged: one side, or both under two names."""
        path, _, a, b = contest
        assert a is not None and b is not None
        if choice == OURS:
            edits.pop(path, None)
        elif choice == THEIRS:
            edits[path] = b
        elif choice == BOTH:
            edits[beside(path, b.blob)] = b._replace(path=beside(path, b.blob))
        elif isinstance(choice, bytes):
            edits[path] = self.make(path, a.kind, choice)
        else:
            return Clash(contest, reason, None)
        return None

    def _collision(self, mine: str, other: str, ours: State, edits: Edits) -> Contest | None:
        """Return two paths that no folder holds together as a contest about theirs."""
        here = ours.edits.get(mine) or bundles.get(self._session.nodes, ours.bundle, mine)
        there = edits.get(other)
        gone = mine in edits and edits[mine] is None
        return Contest(other, None, here, there) if here and there and not gone else None

    def _sides(self, contest: Contest) -> Sides:
        known = contest.base and not self._session.reader.redacted([contest.base.blob])
        base = self.read(contest.base.blob) if contest.base and known else None
        assert contest.ours and contest.theirs
        return Sides(base, self.read(contest.ours.blob), self.read(contest.theirs.blob))

    def read(self, blob: bytes) -> bytes:
        """Return the content of a blob, made here or stored."""
        made = self.made.get(blob)
        return self._session.reader.read_blob(blob) if made is None else made

    def make(self, path: str, kind: int, content: bytes) -> Entry:
        """Return the entry of a content that is kept here until the merge is recorded."""
        blob = blob_id(content)
        self.made[blob] = content
        return Entry(path, kind, blob, len(content))

    def _slug(self, path: str, ours: State) -> str:
        if derived.is_skill(self._session, ours.bundle, path):
            return derived.place_of(path)
        return ""


def _part(mine: str, collision: Contest, choice: str | bytes, edits: Edits) -> None:
    """Take one of two paths, or both, theirs under another name."""
    other, _, _, there = collision
    assert there is not None
    if choice == THEIRS:
        edits[mine] = None
        return
    del edits[other]
    if choice == BOTH:
        name = beside(other, there.blob)
        edits[name] = there._replace(path=name)


def beside(path: str, blob: bytes) -> str:
    """Return the name a second file gets beside `path`."""
    folder, slash, name = path.rpartition("/")
    stem, dot, suffix = name.rpartition(".")
    mark = "~" + blob.hex()[:8]
    return folder + slash + (f"{stem}{mark}{dot}{suffix}" if stem else name + mark)


def paths_of(outcome: Outcome) -> Iterable[str]:
    """Return every path that a merge would write or asks about."""
    return sorted({*outcome.edits, *(clash.contest.path for clash in outcome.clashes)})


def _kind(base: Entry | None, a: Entry, b: Entry) -> int | None:
    if a.kind == b.kind:
        return a.kind
    if base is None:
        return None
    return b.kind if a.kind == base.kind else a.kind


def _one_sided(contest: Contest, choice: str | bytes | None, edits: Edits) -> Clash | None:
    path, _, a, b = contest
    kept = a or b
    if choice == THEIRS:
        edits[path] = b
    elif choice == BOTH and a is None:
        edits[path] = kept
    elif choice not in (OURS, BOTH):
        return Clash(contest, "deleted_by_theirs" if b is None else "deleted_by_ours", None)
    return None


def _at_version(content: bytes, draft: Draft, slug: str) -> bytes | None:
    """Return a text that somebody gave, at the version of the merge where it is a skill."""
    if draft.skill is None:
        return content
    try:
        return set_version(content, draft.skill.version, slug)
    except InvalidInput:
        return None
