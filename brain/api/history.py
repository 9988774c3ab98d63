"""`brain.history`: snapshots, differences between them, and the operation log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ..repo.part import Part, lazy, reads, streams

if TYPE_CHECKING:
    from .. import results
    from ..ops import blame, diff, log, why
    from ..repo import revisions
else:
    blame = lazy("brain.ops.blame")
    log = lazy("brain.ops.log")
    revisions = lazy("brain.repo.revisions")
    diff = lazy("brain.ops.diff")
    why = lazy("brain.ops.why")


class HistoryPart(Part):
    """Read snapshots and compare revisions."""

    def log(
        self,
        rev: str = "@",
        limit: int | None = None,
        skill: str | None = None,
        *,
        paths: Sequence[str] = (),
    ) -> Iterator[results.SnapshotInfo]:
        """Yield a revision and its ancestors, newest first.

        `rev` may be a range `A..B`: then only B and its ancestors without those of A. With
        `skill`, only snapshots that changed it; with `paths`, only those that changed
        something at or below them.
        """
        if skill is not None:
            return self._locked.iterate(log.list_skill_snapshots, skill, rev, limit)
        return self._locked.iterate(log.read_log, rev, limit, list(paths))

    show = reads(lambda: log.show_snapshot)

    has = reads(lambda: revisions.has_snapshot)

    def resolve(self, rev: str) -> str:
        """Return the id of the snapshot that `rev` names. Raises `InvalidInput` or `NotFound`."""
        return self._locked.run(revisions.resolve_revision, rev).hex()

    def diff(
        self, from_: str | None = None, to: str | None = None, *, paths: Sequence[str] = ()
    ) -> results.Diff:
        """Compare two revisions; without `to`, a revision (by default the head) with the folder.

        With `paths`, only what is at or below them.
        """
        if to is None:
            return self._locked.run(diff.diff_with_folder, from_, list(paths))
        return self._locked.run(diff.diff_revisions, from_ or "@", to, list(paths))

    def diff_with_parent(self, rev: str = "@", *, paths: Sequence[str] = ()) -> results.Diff:
        """Compare a snapshot with its first parent, a genesis with nothing; as `diff`."""
        return self._locked.run(diff.diff_with_parent, rev, list(paths))

    patch = streams(lambda: diff.render_patch)

    diff_stat = reads(lambda: diff.build_diff_stats)

    find_undiffable = reads(lambda: diff.find_undiffable)

    def grep(
        self,
        pattern: str,
        rev: str = "@",
        *,
        ignore_case: bool = False,
        fixed: bool = False,
        paths: Sequence[str] = (),
    ) -> Iterator[results.GrepMatch]:
        """Yield the lines of text files at a revision that match a regular expression.

        With `fixed`, `pattern` is plain text; with `paths`, only files at or below them are
        searched. Raises `InvalidInput` (`bad_pattern`, `slow_pattern`).
        """
        from ..ops import grep

        request = grep.GrepRequest(
            pattern=pattern, revision=rev, ignore_case=ignore_case, is_fixed=fixed, paths=paths
        )
        return self._locked.iterate(grep.grep, request)

    blame = reads(lambda: blame.blame)

    why = reads(lambda: why.explain_skill)

    def list_operations(self, limit: int | None = None) -> list[results.Operation]:
        """Return the operation log, newest first."""
        from ..ops import undo

        return self._locked.run(undo.list_operations, limit)

    def check_ancestry(self, old: str, new: str = "@") -> results.Ancestry:
        """Return whether `new` descends from `old`, also across forks, and by which path."""
        from ..ops import prove

        return self._locked.run(prove.find_descent, old, new)
