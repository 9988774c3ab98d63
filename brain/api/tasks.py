"""Runs of an agent, recorded as receipts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from ..errors import BrainError
from .files import Files
from .skills import Skills

if TYPE_CHECKING:
    from .. import results
    from ..receipts import Receipt
    from ..repo.receipts.runs import Run


class Tasks(Skills, Files):
    """The work behind the changes."""

    def task(
        self,
        task: str,
        *,
        agent: str = "",
        model: str = "",
        run: str = "",
        at_end: Callable[[Task], object] | None = None,
    ) -> Task:
        """Begin to record a run: `with brain.task("Audit the vault") as task: …`.

        What this thread, or task of asyncio, writes with this brain inside of the block
        belongs to the run: each snapshot carries a receipt of the steps that led to it. At
        the end a last snapshot says how the run ended; a run without steps leaves nothing.
        Outside of a `with`, use `task.going_on()` around what belongs to it, and
        `task.close()`. `run` is an id of the run if it has one already. `at_end` is called
        at the end of a block that raised nothing, as the last of the run: it may learn from
        the run, as `brain.evolve.Learner` does.
        """
        from ..repo.receipts import runs

        return Task(self, self._do(runs.begin_run, task, agent, model, run), at_end)

    def receipt(self, rev: str = "@") -> results.RunInfo:
        """Return the run that a revision carries the receipt of, up to there.

        Raises `NotFound` (`no_receipt`, `redacted`), or `FormatError` for another record.
        """
        from ..repo.read import read_receipts

        return self._do(read_receipts.show_run, rev)

    def receipt_bytes(self, rev: str = "@") -> bytes:
        """Return the receipt that a revision carries, as it is kept. Raises as `receipt`."""
        from ..repo.read import read_receipts

        return self._do(read_receipts.read_receipt_bytes, rev)

    def verify_receipt(self, rev: str = "@") -> results.ReceiptVerified:
        """Check a receipt, and those before it, against the lineage. Raises as `receipt`."""
        from ..verify import receipt_verification

        return self._do(receipt_verification.verify_receipt, rev)

    def verify_receipt_file(self, data: bytes) -> results.ReceiptVerified:
        """Check a receipt that came as a file. Raises `FormatError` if it is none."""
        from ..verify import receipt_verification

        return self._do(receipt_verification.verify_receipt_file, data)

    def why(self, slug: str) -> results.SkillReasons:
        """Tell which work made each version of a skill; `slug` may be SLUG@VERSION.

        Raises `NotFound` (`no_skill`, `no_version`).
        """
        from ..repo.history import why

        return self._do(why.explain_skill, slug)


class Task:
    """A run that is recorded. Texts are kept as excerpts, without secrets.

    Times are in ms. Every step raises `InvalidInput` once the task has ended
    (`task_ended`), or after too many steps (`too_many_steps`).
    """

    def __init__(
        self, brain: Tasks, run: Run, at_end: Callable[[Task], object] | None = None
    ) -> None:
        self._brain = brain
        self._run = run
        self._at_end = at_end
        self._outcome = ""
        self._reason = ""
        self._scope: AbstractContextManager[None] | None = None
        self.snapshot: str | None = None
        """The last snapshot, which carries the whole chain, once the task has ended."""

    @property
    def id(self) -> str:
        """The id of the run."""
        return self._run.header.run

    @property
    def so_far(self) -> Receipt:
        """The run so far, with all its steps, as if it was one receipt."""
        from ..repo.receipts import runs

        return self._brain._do(runs.read_open_run, self._run)

    def llm(
        self,
        model: str = "",
        input: object = "",
        output: object = "",
        *,
        tokens_in: int = 0,
        tokens_out: int = 0,
        took: int = 0,
        error: str = "",
    ) -> None:
        """Note a call of a model; `model` is that of the task if it is not given."""
        counts = {"tokens_in": tokens_in, "tokens_out": tokens_out, "took": took}
        self._note("llm", model or self._run.header.model, input, output, error, **counts)

    def tool(
        self, name: str, input: object = "", output: object = "", *, took: int = 0, error: str = ""
    ) -> None:
        """Note a call of a tool. What is not text is kept as JSON."""
        self._note("tool", name, input, output, error, took=took)

    def skill_load(self, slug: str, version: str | int = "") -> None:
        """Note that a skill was read; its version is that of the head if it is not given."""
        self._note("skill_load", slug, version=str(version) or self._version(slug))

    def memory_read(self, path: str, output: object = "") -> None:
        """Note that a memory was read."""
        self._note("memory_read", path, output=output)

    def skill_create(
        self,
        name: str,
        body: str | bytes | None = None,
        *,
        description: str | None = None,
        message: str = "",
        base: str | int = "",
    ) -> results.Upserted:
        """Write a skill, as `Brain.upsert_skill` does, as a step of this run."""
        with self.going_on():
            return self._brain.upsert_skill(
                name, body, description=description, message=message, base=base
            )

    upsert_skill = skill_create

    def memory_write(self, path: str, text: str, *, message: str = "") -> results.Recorded:
        """Write a file of the brain, as `Brain.edit_file` does, as a step of this run."""
        with self.going_on():
            return self._brain.edit_file(path, lambda _: text.encode(), message=message)

    @contextmanager
    def going_on(self) -> Iterator[Self]:
        """Let what this thread, or task of asyncio, writes meanwhile belong to the run."""
        with self._run.activate():
            yield self

    def end(self, outcome: str, reason: str = "") -> None:
        """Say how the run ends: success, failure, cancelled or unknown, and why.

        Without this it ends with success, or with what was raised.
        Raises `InvalidInput` (`bad_outcome`).
        """
        from ..repo.receipts import runs

        self._outcome, self._reason = runs.check_outcome(outcome), reason

    def close(self) -> str | None:
        """End the run; return the snapshot that carries its last receipt, if anything happened.

        If that fails, for instance because another writer holds the brain, nothing is
        recorded and it can be tried again. Raises `InvalidInput` (`task_ended`).
        """
        from ..repo.receipts import runs

        ending = self._outcome or "success", self._reason
        self.snapshot = self._brain._do(runs.close_run, self._run, *ending)
        return self.snapshot

    def leave(self, reason: str = "") -> str | None:
        """End a run of which nobody says how it went: its outcome is unknown.

        As `close`, but one that no snapshot carries so far leaves nothing, and one that has
        ended is left alone.
        """
        from ..repo.receipts import runs

        if not self._run.closed:
            self.snapshot = self._brain._do(runs.abandon_run, self._run, reason)
        return self.snapshot

    def __enter__(self) -> Self:
        self._scope = self._run.activate()
        self._scope.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if error is None and self._at_end is not None and not self._run.closed:
                self._at_end(self)
        except BaseException as problem:
            self._finish(problem)
            raise
        self._finish(error)

    def _finish(self, error: BaseException | None) -> None:
        """Leave the block; record how it ended."""
        if self._scope is not None:
            self._scope.__exit__(None, None, None)
        if self._run.closed:
            return
        if error is None:
            self.close()
            return
        if not self._outcome:
            stopped = not isinstance(error, Exception)
            self.end("cancelled" if stopped else "failure", f"{type(error).__name__}: {error}")
        try:
            self.close()
        except BrainError as failure:
            error.add_note(f"The task could not be recorded: {failure}")

    def _note(
        self,
        kind: str,
        name: str,
        input: object = "",
        output: object = "",
        error: str = "",
        **more: Any,
    ) -> None:
        from ..repo.receipts import runs

        runs.record_step(self._run, kind, name, input, output, error, **more)

    def _version(self, slug: str) -> str:
        from ..repo.receipts import runs

        return self._brain._do(runs.find_version_at_head, slug)
