"""Bisect: find the snapshot that made a check fail, by binary search along first parents.

Only the line of first parents is searched, so the result may be a merge. The two ends are
checked first: a check that passes on the bad one, or fails on the good one, finds nothing.
Each candidate is checked out in a temporary folder; only files that differ from the last one
are written.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from ...errors import InvalidInput
from ...objects import bundle as bundles
from ...objects import lineage
from ...objects.bundle import Bundle
from ...results import Bisected, BisectTest
from ..core import working_copy
from ..core.working_copy import find_redacted_paths
from ..open.session import Session
from ..read.revisions import resolve_revision

BisectCheck = Callable[[Path, str], bool | None]
"""Checks the folder and id of a snapshot: True is good, False bad, None undecided."""


_VERDICTS = {True: "good", False: "bad", None: "untold"}


class _DepthRange(NamedTuple):
    tip: bytes
    good: int
    bad: int


def bisect(session: Session, good: str, bad: str, check: BisectCheck) -> Bisected:
    """Find the first snapshot after `good`, up to `bad`, that fails a check.

    Raises `InvalidInput`: `not_a_line` if `good` is not on the first-parent line of `bad`,
    `wrong_end` if `bad` does not fail or `good` does not pass.
    """
    start, tip = resolve_revision(session, good), resolve_revision(session, bad)
    depth = session.load_snapshot(start).jump.depth
    if start == tip:
        raise _same_ends_error(session, tip)
    if lineage.find_ancestor_at(session.load_snapshot, tip, depth) != start:
        raise InvalidInput(
            f"the good snapshot, {start.hex()[:12]}, is not on the first-parent line of the bad"
            f" one, {tip.hex()[:12]}",
            code="not_a_line",
            hint="`brain log --graph` shows the line; bisect a merged branch by itself",
        )
    span = _DepthRange(tip, depth, session.load_snapshot(tip).jump.depth)
    with tempfile.TemporaryDirectory(prefix="brain-bisect-") as folder:
        candidates = _Candidates(_CheckoutFolder(session, Path(folder)), check)
        _require_ends(candidates, start, tip)
        return _build_bisect_result(session, _narrow_range(candidates, span), candidates.tested)


def _same_ends_error(session: Session, tip: bytes) -> InvalidInput:
    shown = tip.hex()[:12]
    if not session.load_snapshot(tip).parents:
        return InvalidInput(
            f"{shown} is the first snapshot, so there is none before it to search",
            code="not_a_line",
            hint="record a change with `brain snapshot`: bisect needs two snapshots or more",
        )
    return InvalidInput(
        f"the good and the bad snapshot are the same, {shown}",
        code="not_a_line",
        hint="name an earlier one with --good: `brain log` lists them",
    )


class _CheckoutFolder:
    def __init__(self, session: Session, folder: Path) -> None:
        self.session = session
        self.folder = folder
        self._current: Bundle = bundles.EMPTY_BUNDLE

    def checkout(self, snapshot_id: bytes) -> None:
        """Write the files of a snapshot to the folder."""
        target = self.session.bundle_of(snapshot_id)
        differences = bundles.diff_bundles(self.session.nodes, self._current, target)
        writes = {path: now for path, _, now in differences}
        writes.update(dict.fromkeys(find_redacted_paths(self.session, writes.values())))
        working_copy.write_files(self.session, writes, root=self.folder)
        self._current = target


class _Candidates:
    """Checks snapshots, and keeps the verdicts in `tested`."""

    def __init__(self, checkout_folder: _CheckoutFolder, check: BisectCheck) -> None:
        self.session = checkout_folder.session
        self.tested: list[BisectTest] = []
        self._checkout_folder = checkout_folder
        self._check = check

    def test(self, snapshot_id: bytes) -> bool | None:
        """Check a snapshot: True is good, False bad, None undecided."""
        self._checkout_folder.checkout(snapshot_id)
        good = self._check(self._checkout_folder.folder, snapshot_id.hex())
        self.tested.append(BisectTest(snapshot_id.hex(), _VERDICTS[good]))
        return good


def _require_ends(candidates: _Candidates, good: bytes, bad: bytes) -> None:
    """Check both ends. Raises `InvalidInput` (`wrong_end`)."""
    for snapshot_id, name, wanted in ((bad, "bad", False), (good, "good", True)):
        found = candidates.test(snapshot_id)
        if found is not wanted:
            words = {True: "passes the check", False: "fails the check", None: "cannot be tested"}
            raise InvalidInput(
                f"the {name} snapshot, {snapshot_id.hex()[:12]}, {words[found]}",
                code="wrong_end",
                hint=f"name another one with --{name}, or see whether the check is right",
            )


def _narrow_range(candidates: _Candidates, span: _DepthRange) -> _DepthRange:
    undecided: set[int] = set()
    while (depth := _pick_middle(span, undecided)) is not None:
        load = candidates.session.load_snapshot
        snapshot_id = lineage.find_ancestor_at(load, span.tip, depth)
        assert snapshot_id is not None
        good = candidates.test(snapshot_id)
        if good is None:
            undecided.add(depth)
        else:
            span = span._replace(good=depth) if good else span._replace(bad=depth)
    return span


def _pick_middle(span: _DepthRange, undecided: set[int]) -> int | None:
    middle = (span.good + span.bad) // 2
    for step in range(span.bad - span.good):
        for depth in (middle - step, middle + step):
            if span.good < depth < span.bad and depth not in undecided:
                return depth
    return None


def _build_bisect_result(session: Session, span: _DepthRange, tested: list[BisectTest]) -> Bisected:
    span_ids = [
        lineage.find_ancestor_at(session.load_snapshot, span.tip, depth)
        for depth in range(span.good, span.bad + 1)
    ]
    last_good, *suspects = [snapshot_id.hex() for snapshot_id in span_ids if snapshot_id]
    return Bisected(suspects[0] if len(suspects) == 1 else None, last_good, suspects, tested)
