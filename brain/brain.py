"""The façade: a brain, opened, with everything one can do with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .facade.importing import Importing
from .facade.keys import Keys
from .facade.leaks import Secrets
from .facade.learning import Learning
from .facade.lineage import Lineage
from .facade.opened import given, told
from .facade.proposals import Proposals
from .facade.proving import Proving
from .facade.reading import Reading
from .facade.selecting import Selecting
from .facade.tasks import Tasks
from .facade.trust import Trust
from .facade.watching import Watching
from .session import CONTROL, Session, find

if TYPE_CHECKING:
    from . import results
    from .actions.duty import Open as OpenLedger
    from .actions.files import Progress
    from .selection.embedding.protocol import OpenEmbedder
    from .session import PinnedRoots, SignWith

__all__ = ["Brain", "find"]


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
        sign_with: SignWith | None = None,
    ) -> Brain:
        """Make a brain in a folder, new or not; `layout` is that of new skills.

        `sign_with` is as for `open`.
        Raises `InvalidInput` (`brain_exists`, `not_a_folder`, `bad_manifest`).
        """
        from .actions.create import create

        session, _ = told(create, Path(path), name, layout, author, sign_with)
        return cls(session)

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        author: str = "",
        sign_with: SignWith | None = None,
        ledgers: OpenLedger | None = None,
        embedder: OpenEmbedder | None = None,
        progress: Progress | None = None,
        roots: PinnedRoots | None = None,
    ) -> Brain:
        """Open the brain whose folder is `path`; see `find` for looking upwards.

        With `sign_with`, which returns a private key (32 bytes) when one is needed, each
        snapshot is signed in the transaction that records it. With `ledgers`, which opens
        a ledger by its name, what the manifest says of commitments is followed. With
        `embedder`, which opens one, skills are selected by meaning, too. `progress` is told
        of long work on the user's cache: making it anew for a large brain takes seconds.
        With `roots`, which returns the root keys that the user has pinned for the brain of an
        id, `verify` asks for them, and prompts say of a snapshot whether rights that lead to
        them signed it; `brain.trust.roots` keeps such keys in a file.

        Where the store cannot be written, everything that only reads works. Raises
        `NoBrain`, or `StoreError` for a store that cannot be used.
        """
        from .errors import NoBrain, printable
        from .store.opening import open_as_allowed

        root = Path(path).absolute()
        if not (root / CONTROL / "store.db").is_file():
            raise NoBrain(f"no brain in {printable(root)}", hint="make one with `brain init`")
        session = Session(root, told(open_as_allowed, root / CONTROL), author)
        session.sign_with = sign_with
        session.open_embedder = embedder
        session.progress = progress
        session.roots = roots
        opened = cls(session)
        opened.open_ledger = ledgers
        return opened

    # Recording

    def status(self, progress: Progress | None = None) -> results.Status:
        """Compare the folder with the head."""
        from .actions import record

        return self._do(record.status, *given(progress))

    def snapshot(
        self, message: str = "", paths: Sequence[str] = (), progress: Progress | None = None
    ) -> results.Recorded:
        """Record the folder as it is; without changes there is no new snapshot.

        With `paths` only the files at or below them are looked at and recorded. Raises
        `NotFound` (`no_path`) for one that neither the folder nor the head has.
        """
        if paths:
            from .actions import partly

            done = self._do(partly.snapshot_of, message, list(paths), *given(progress))
        else:
            from .actions import record

            done = self._do(record.snapshot, message, *given(progress))
        return self._committing(done)

    # Looking back

    def log(
        self, rev: str = "@", limit: int | None = None, skill: str | None = None
    ) -> Iterator[results.SnapshotInfo]:
        """Yield a revision and its ancestors, newest first; with `skill`, those that changed it."""
        from .actions import history

        if skill is not None:
            return self._each(history.log_of_skill, skill, rev, limit)
        return self._each(history.log, rev, limit)

    def blame(self, slug: str, rev: str = "@") -> list[results.BlameLine]:
        """Return which snapshot wrote each line of a skill. Raises `NotFound` (`no_skill`)."""
        from .actions import blame

        return self._do(blame.blame, slug, rev)

    def bisect(
        self, good: str, check: Callable[[Path, str], bool | None], bad: str = "@"
    ) -> results.Bisected:
        """Find the first snapshot after `good` that fails a check, along first parents.

        `check` gets a folder that holds a snapshot, and the snapshot's id; it returns
        True for good, False for bad, None if it cannot tell. Raises `InvalidInput`.
        """
        from .actions import bisect

        return self._do(bisect.bisect, good, bad, check)

    def show(self, rev: str = "@") -> results.Shown:
        """Return one snapshot with its counts and sections."""
        from .actions import history

        return self._do(history.show, rev)

    def diff(self, from_: str | None = None, to: str | None = None) -> results.Diff:
        """Compare two revisions, or one (by default the head) with the folder."""
        from .actions import diffs

        if to is None:
            return self._do(diffs.with_folder, from_)
        return self._do(diffs.between, from_ or "@", to)

    def patch(self, diff: results.Diff) -> Iterator[str]:
        """Yield a diff as unified text, a piece per file; binary files are named only."""
        from .actions import texts

        return self._each(texts.patch, diff)

    def unshown(self, diff: results.Diff) -> list[results.Unshown]:
        """Return the files that differ between two snapshots and that `patch` does not show."""
        from .actions import unshown

        return self._do(unshown.unshown, diff)

    def stat(self, diff: results.Diff) -> list[results.Stat]:
        """Return the lines each file of a diff gained and lost."""
        from .actions import texts

        return self._do(texts.stat, diff)

    # Going back

    def restore(
        self, rev: str, paths: Sequence[str] = (), progress: Progress | None = None
    ) -> results.Restored:
        """Make files, all or those at or below `paths`, as they were at a revision.

        What would be overwritten unrecorded is recorded first.
        """
        from .actions import restore

        return self._do(restore.restore, rev, list(paths), *given(progress))

    def undo(self) -> results.Restored:
        """Take the last operation back. Raises `NotFound` or `Conflict`."""
        from .actions import undo

        return self._do(undo.undo)

    def redo(self) -> results.Restored:
        """Do again what the last undo took back. Raises `NotFound` or `Conflict`."""
        from .actions import undo

        return self._do(undo.redo)

    def operations(self, limit: int | None = None) -> list[results.Operation]:
        """Return the operation log, newest first."""
        from .actions import undo

        return self._do(undo.operations, limit)
