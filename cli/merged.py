"""What came of a merge, for every command that merges."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from brain.errors import Conflict

from .context import App
from .ledgers import outcome, refuse
from .output import emit
from .terminal import escape
from .text import count, short
from .words import conflict, merged_skill

if TYPE_CHECKING:
    from brain.results import Merged


def report(app: App, done: Merged) -> None:
    """Print what a merge did. Raises `Conflict` (`merge_conflict`) for what is to decide."""
    emit(app, done, _lines(done))
    if done.conflicts:
        left = sum(row.choice is None for row in done.conflicts)
        raise Conflict(
            f"{count(left, 'conflict')} to decide; nothing was merged yet",
            code="merge_conflict",
            hint="decide with `brain resolve`, then `brain merge --continue`, or `--abort`",
        )
    refuse(done.commitment)


def _lines(done: Merged) -> Iterator[str]:
    for row in done.conflicts:
        yield conflict(row)
    if done.conflicts:
        return
    for skill in done.skills:
        yield merged_skill(skill)
    if not done.changed:
        yield f"Nothing to merge: the head, {short(done.snapshot)}, has it all"
        return
    files = f"{done.added} added, {done.modified} modified, {done.removed} removed"
    how = "Went forward to" if done.fast_forward else "Merged as"
    yield f"{how} {short(done.snapshot)}; {escape(files)}"
    yield from outcome(done.commitment)
