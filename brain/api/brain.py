"""The façade: a brain, opened, with everything one can do with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..repo.open.session import CONTROL_FOLDER, Session, find_brain
from .importing import Importing
from .keys import Keys
from .leaks import Secrets
from .learning import Learning
from .lineage import Lineage
from .opened import given, told
from .proposals import Proposals
from .proving import Proving
from .reading import Reading
from .selecting import Selecting
from .tasks import Tasks
from .trust import Trust
from .watching import Watching

if TYPE_CHECKING:
    from .. import results
    from ..repo.core.checkout import Progress
    from ..repo.ledgers.commit_policy import OpenLedger
    from ..repo.open.session import PinnedRootsProvider, SigningKeyProvider
    from ..search.embedding.embedder import OpenEmbedder

__all__ = ["Brain", "find_brain"]


class Brain(
    Tasks,
    Learning,
    Reading,
    Selecting,
    Lineage,
    Proposals,
    Importing,
    Secrets,
    Proving,
    Keys,
    Trust,
    Watching,
):
    """A folder of skills, memory and prompts under version control.

    Open one with `Brain.open`, make one with `Brain.init`. Ids are hex text, times
    milliseconds since 1970 in UTC, paths relative to the brain. A revision is an
    id, a unique prefix of six or more digits, a branch, `@` for the head, or one
    of these followed by `~N`. Reading never writes. Instances may be shared by
    threads; writers of any process take turns. Every error is a `BrainError`.
    """

    @classmethod
    def init(
        cls,
        path: str | Path,
        *,
        name: str = "",
        layout: str = "directory",
        author: str = "",
        sign_with: SigningKeyProvider | None = None,
    ) -> Brain:
        """Make a brain in a folder, new or not; `layout` is that of new skills.

        `sign_with` is as for `open`.
        Raises `InvalidInput` (`brain_exists`, `not_a_folder`, `bad_manifest`).
        """
        from ..repo.maintenance.create import create_brain

        session, _ = told(create_brain, Path(path), name, layout, author, sign_with)
        return cls(session)

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        author: str = "",
        sign_with: SigningKeyProvider | None = None,
        ledgers: OpenLedger | None = None,
        embedder: OpenEmbedder | None = None,
        progress: Progress | None = None,
        roots: PinnedRootsProvider | None = None,
    ) -> Brain:
        """Open the brain whose folder is `path`; see `find` for looking upwards.

        With `sign_with`, which returns a private key (32 bytes) when one is needed, each
        snapshot is signed in the transaction that records it. With `ledgers`, which opens
        a ledger by its name, what the manifest says of commitments is followed. With
        `embedder`, which opens one, skills are selected by meaning, too. `progress` is told
        of long work on the user's cache: making it anew for a large brain takes seconds.
        With `roots`, which returns the root keys that the user has pinned for the brain of an
        id, `verify` asks for them, and prompts say of a snapshot whether rights that lead to
        them signed it; `brain.trust.pinned_roots` keeps such keys in a file.

        Where the store cannot be written, everything that only reads works. Raises
        `NoBrain`, or `StoreError` for a store that cannot be used.
        """
        from ..errors import NoBrain, printable_text
        from ..store.sqlite_store import open_store_or_readonly

        root = Path(path).absolute()
        if not (root / CONTROL_FOLDER / "store.db").is_file():
            raise NoBrain(f"no brain in {printable_text(root)}", hint="make one with `brain init`")
        session = Session(root, told(open_store_or_readonly, root / CONTROL_FOLDER), author)
        session.sign_with = sign_with
        session.open_embedder = embedder
        session.progress = progress
        session.pinned_roots_provider = roots
        opened = cls(session)
        opened.open_ledger = ledgers
        return opened

    # Recording

    def status(self, progress: Progress | None = None) -> results.Status:
        """Compare the folder with the head."""
        from ..repo.changes import snapshot_folder

        return self._do(snapshot_folder.read_status, *given(progress))

    def snapshot(
        self, message: str = "", paths: Sequence[str] = (), progress: Progress | None = None
    ) -> results.Recorded:
        """Record the folder as it is; without changes there is no new snapshot.

        With `paths` only the files at or below them are looked at and recorded. Raises
        `NotFound` (`no_path`) for one that neither the folder nor the head has.
        """
        if paths:
            from ..repo.changes import snapshot_paths

            done = self._do(snapshot_paths.snapshot_paths, message, list(paths), *given(progress))
        else:
            from ..repo.changes import snapshot_folder

            done = self._do(snapshot_folder.snapshot_folder, message, *given(progress))
        return self._committing(done)

    # Looking back

    def log(
        self, rev: str = "@", limit: int | None = None, skill: str | None = None
    ) -> Iterator[results.SnapshotInfo]:
        """Yield a revision and its ancestors, newest first; with `skill`, those that changed it."""
        from ..repo.history import log

        if skill is not None:
            return self._each(log.list_skill_snapshots, skill, rev, limit)
        return self._each(log.read_log, rev, limit)

    def blame(self, slug: str, rev: str = "@") -> list[results.BlameLine]:
        """Return which snapshot wrote each line of a skill. Raises `NotFound` (`no_skill`)."""
        from ..repo.history import blame

        return self._do(blame.blame, slug, rev)

    def bisect(
        self, good: str, check: Callable[[Path, str], bool | None], bad: str = "@"
    ) -> results.Bisected:
        """Find the first snapshot after `good` that fails a check, along first parents.

        `check` gets a folder that holds a snapshot, and the snapshot's id; it returns
        True for good, False for bad, None if it cannot tell. Raises `InvalidInput`.
        """
        from ..repo.history import bisect

        return self._do(bisect.bisect, good, bad, check)

    def show(self, rev: str = "@") -> results.SnapshotDetails:
        """Return one snapshot with its counts and sections."""
        from ..repo.history import log

        return self._do(log.show_snapshot, rev)

    def diff(self, from_: str | None = None, to: str | None = None) -> results.Diff:
        """Compare two revisions, or one (by default the head) with the folder."""
        from ..repo.history import diff

        if to is None:
            return self._do(diff.diff_with_folder, from_)
        return self._do(diff.diff_revisions, from_ or "@", to)

    def patch(self, diff: results.Diff) -> Iterator[str]:
        """Yield a diff as unified text, a piece per file; binary files are named only."""
        from ..repo.history import unified_diff

        return self._each(unified_diff.render_patch, diff)

    def unshown(self, diff: results.Diff) -> list[results.UndiffableFile]:
        """Return the files that differ between two snapshots and that `patch` does not show."""
        from ..repo.history import unified_diff

        return self._do(unified_diff.find_undiffable, diff)

    def stat(self, diff: results.Diff) -> list[results.DiffStat]:
        """Return the lines each file of a diff gained and lost."""
        from ..repo.history import unified_diff

        return self._do(unified_diff.build_diff_stats, diff)

    # Going back

    def restore(
        self, rev: str, paths: Sequence[str] = (), progress: Progress | None = None
    ) -> results.Restored:
        """Make files, all or those at or below `paths`, as they were at a revision.

        What would be overwritten unrecorded is recorded first.
        """
        from ..repo.changes import restore

        return self._do(restore.restore_files, rev, list(paths), *given(progress))

    def undo(self) -> results.Restored:
        """Take the last operation back. Raises `NotFound` or `Conflict`."""
        from ..repo.changes import undo

        return self._do(undo.undo_operation)

    def redo(self) -> results.Restored:
        """Do again what the last undo took back. Raises `NotFound` or `Conflict`."""
        from ..repo.changes import undo

        return self._do(undo.redo_operation)

    def operations(self, limit: int | None = None) -> list[results.Operation]:
        """Return the operation log, newest first."""
        from ..repo.changes import undo

        return self._do(undo.list_operations, limit)
