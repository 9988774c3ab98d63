"""Which snapshot made a check fail, found by halving.

Only the line of first parents is searched, by jumps; where a merge is what broke
it, the merge is the answer. Each candidate is laid out in a folder of its own,
where just the files that differ from the last one are written.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from ..errors import InvalidInput
from ..objects import bundle as bundles
from ..objects import lineage
from ..objects.bundle import Bundle
from ..results import Bisected, Tested
from ..session import Session
from . import files
from .redacted import left_out
from .revisions import resolve

Check = Callable[[Path, str], bool | None]
"""Gets the folder and the id of a snapshot; True is good, False bad, None cannot be told."""


class _Range(NamedTuple):
    """Depths on the line of first parents from `tip`: the good one and the bad one."""

    tip: bytes
    good: int
    bad: int


def bisect(session: Session, good: str, bad: str, check: Check) -> Bisected:
    """Find the first snapshot after `good`, up to `bad`, that fails a check.

    `bad` is taken to fail and `good` not to. Raises `InvalidInput` (`not_a_line`) if
    `good` is not on the line of first parents of `bad`.
    """
    start, tip = resolve(session, good), resolve(session, bad)
    depth = session.load(start).jump.depth
    if start == tip or lineage.ancestor_at(session.load, tip, depth) != start:
        raise InvalidInput(
            "the good snapshot is not before the bad one, along first parents",
            code="not_a_line",
            hint="see `brain log --graph`; the branch that was merged can be searched by itself",
        )
    span = _Range(tip, depth, session.load(tip).jump.depth)
    with tempfile.TemporaryDirectory(prefix="brain-bisect-") as folder:
        return _outcome(session, *_search(_Bench(session, Path(folder)), span, check))


class _Bench:
    """A folder that holds one snapshot after the other."""

    def __init__(self, session: Session, folder: Path) -> None:
        self.session = session
        self.folder = folder
        self._there: Bundle = bundles.EMPTY

    def lay_out(self, snapshot_id: bytes) -> None:
        """Make the folder what a snapshot holds."""
        target = self.session.bundle_of(snapshot_id)
        found = bundles.compare(self.session.nodes, self._there, target)
        writes = {path: now for path, _, now in found}
        writes.update(dict.fromkeys(left_out(self.session, writes.values())))
        files.lay_out(self.session, self.folder, writes)
        self._there = target


def _search(bench: _Bench, span: _Range, check: Check) -> tuple[_Range, list[Tested]]:
    """Return the range narrowed down as far as the verdicts go, and all verdicts."""
    tested: list[Tested] = []
    untold: set[int] = set()
    while (depth := _middle(span, untold)) is not None:
        here = lineage.ancestor_at(bench.session.load, span.tip, depth)
        assert here is not None
        bench.lay_out(here)
        good = check(bench.folder, here.hex())
        tested.append(Tested(here.hex(), {True: "good", False: "bad", None: "untold"}[good]))
        if good is None:
            untold.add(depth)
        else:
            span = span._replace(good=depth) if good else span._replace(bad=depth)
    return span, tested


def _middle(span: _Range, untold: set[int]) -> int | None:
    """Return the depth nearest to the middle that has not been tried, None if there is none."""
    middle = (span.good + span.bad) // 2
    for step in range(span.bad - span.good):
        for depth in (middle - step, middle + step):
            if span.good < depth < span.bad and depth not in untold:
                return depth
    return None


def _outcome(session: Session, span: _Range, tested: list[Tested]) -> Bisected:
    found = [
        lineage.ancestor_at(session.load, span.tip, depth)
        for depth in range(span.good, span.bad + 1)
    ]
    last_good, *suspects = [here.hex() for here in found if here]
    return Bisected(suspects[0] if len(suspects) == 1 else None, last_good, suspects, tested)
