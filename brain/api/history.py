"""`brain.history`: snapshots, differences between them, and the operation log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..repo.part import Part, lazy, reads, streams

if TYPE_CHECKING:
    from ..ops import blame, diff, grep, log, prove, undo, why
    from ..repo import revisions
else:
    blame = lazy("brain.ops.blame")
    diff = lazy("brain.ops.diff")
    grep = lazy("brain.ops.grep")
    log = lazy("brain.ops.log")
    prove = lazy("brain.ops.prove")
    revisions = lazy("brain.repo.revisions")
    undo = lazy("brain.ops.undo")
    why = lazy("brain.ops.why")


class HistoryPart(Part):
    """Read snapshots and compare revisions."""

    log = streams(lambda: log.log)
    show = reads(lambda: log.show)
    has = reads(lambda: revisions.has_snapshot)
    resolve = reads(lambda: log.resolve)
    diff = reads(lambda: diff.diff)
    diff_with_parent = reads(lambda: diff.diff_with_parent)
    patch = streams(lambda: diff.patch)
    diff_stat = reads(lambda: diff.diff_stat)
    find_undiffable = reads(lambda: diff.find_undiffable)
    grep = streams(lambda: grep.grep)
    blame = reads(lambda: blame.blame)
    why = reads(lambda: why.why)
    list_operations = reads(lambda: undo.list_operations)
    check_ancestry = reads(lambda: prove.check_ancestry)
