"""`brain.history`, `brain.proofs`, `brain.imports` and `brain.secrets`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..repo.part import Part, lazy, reads, streams

if TYPE_CHECKING:
    from io import RawIOBase

    from ..ops import blame, diff, grep, import_states, log, undo, why
    from ..repo import prove, secrets, session
    from ..results import Proof
else:
    lazy(globals(), "ops", "blame diff grep import_states log undo why")
    lazy(globals(), "repo", "prove secrets session")


class HistoryPart(Part):
    """Snapshots, differences between them, and the operation log."""

    log = streams(lambda: log.log)
    show = reads(lambda: log.show)
    has = reads(lambda: session.has_snapshot)
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


class ProofsPart(Part):
    """Proofs about the snapshot of a revision, which anybody can check without the brain.

    They are JSON documents (docs/FORMAT.md).
    """

    prove_file = reads(lambda: prove.prove_file)
    prove_section = reads(lambda: prove.prove_section)
    prove_descent = reads(lambda: prove.prove_descent)

    def check(
        self, data: bytes, *, content: RawIOBase | None = None, brain: str = "", snapshot: str = ""
    ) -> Proof:
        """Check a proof; return what it shows.

        `content` is the file that it is about; `brain` and `snapshot` are the ids it must be
        about. It is `ok` as in `check_proof`, also if this brain holds the snapshot. Raises
        `ProofError`, or `InvalidInput` (`bad_id`, `no_content`).
        """
        from ..proofs.check import check_proof

        return check_proof(
            data,
            content=content,
            brain=brain,
            snapshot=snapshot,
            in_store=lambda id: self._locked.run(session.has_snapshot, id),
        )


class ImportsPart(Part):
    """The state of another program's files, recorded; `brain.adopting` reads the sources."""

    record_state = reads(lambda: import_states.record_state)
    record_folder = reads(lambda: import_states.record_folder)
    is_redacted = reads(lambda: import_states.is_redacted)


class SecretsPart(Part):
    """Text that looks like a password, key or token."""

    scan = reads(lambda: secrets.scan)
    scan_text = reads(lambda: secrets.scan_text)
