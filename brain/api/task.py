"""`Brain.task`, a recorded run, and `brain.receipts`, the records of runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from ..errors import BrainError
from ..programs.program import slug_of_tool
from ..receipts.receipt import CALLED_BY
from ..repo.current_run import LoadedSkill
from ..repo.part import LockedSession, Part, lazy, reads
from ..repo.receipts import runs
from ..repo.receipts.run_end import are_skills_disabled, may_have_failures, note_run_end
from ..util.checked_calls import check_calls

if TYPE_CHECKING:
    from .. import results
    from ..receipts import Receipt
    from ..repo import manifest, read_receipts
    from ..repo.current_run import Run
    from ..verify import receipt_check
else:
    lazy(globals(), "repo", "manifest read_receipts")
    lazy(globals(), "verify", "receipt_check")


MAX_REPORTED_CALLS = 16
"""Skills whose calls are reported at the end of a run with an unknown outcome."""


@check_calls
class Task:
    """A recorded run; `Brain.task` starts one. Texts are kept as excerpts, without secrets.

    Durations (`took`) are in ms. Every step raises `InvalidInput` once the task has ended
    (`task_ended`), or after too many steps (`too_many_steps`).
    """

    def __init__(
        self,
        locked: LockedSession,
        run: Run,
        on_success: Callable[[Task], object] | None = None,
        *,
        chat: str = "",
    ) -> None:
        self._locked = locked
        self._chat = chat or run.header.agent or run.header.run
        self._run = run
        self._on_success = on_success
        self._outcome = ""
        self._reason = ""
        self._scope: AbstractContextManager[None] | None = None
        self._last_error = ""
        self._reflections: list[str] = []
        self._skill_errors: dict[str, str] = {}
        self.snapshot: str | None = None
        """The last snapshot of the run, once it has ended."""
        self.health_changes: list[results.HealthChange] = []
        """The skills that were rolled back or retired after this run failed."""
        self.usage_error: BrainError | None = None
        """Why the uses of skills in this run could not be counted, None if they were."""
        self.learning_error: BrainError | None = None
        """Why what the run leaves to learn from could not be noted, None if it was."""
        self._is_learned = False

    @property
    def id(self) -> str:
        """The id of the run."""
        return self._run.header.run

    def build_receipt(self) -> Receipt:
        """Return the run up to now, with all its steps, as one receipt."""
        return self._locked.run(runs.read_open_run, self._run)

    def record_model_call(
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
        """Record a call of a model, by default the model of the task."""
        runs.record_step(
            self._run,
            "llm",
            model or self._run.header.model,
            input,
            output,
            error,
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            took=took,
        )

    def record_tool_call(
        self,
        name: str,
        input: object = "",
        output: object = "",
        *,
        took: int = 0,
        error: str = "",
        version: str = "",
    ) -> None:
        """Record a call of a tool. Values other than text are kept as JSON.

        `version` is that of the skill whose program ran, "" for other tools.
        """
        self._last_error = error or self._last_error
        runs.record_step(self._run, "tool", name, input, output, error, took=took, version=version)
        if version and not error:
            self._run.add_use(slug_of_tool(name), took)

    def record_inner_call(
        self, name: str, caller: str, *, took: int = 0, error: str = "", version: str = ""
    ) -> None:
        """Record what the program of the tool `caller` called or fetched.

        It is a step, and no call of the agent: it makes no run hard, and no pattern.
        """
        runs.record_step(
            self._run, "tool", name, CALLED_BY + caller, error=error, took=took, version=version
        )

    def record_skill_load(self, slug: str, version: str | int = "", *, path: str = "") -> None:
        """Record that a skill was read, by default at its version in the head.

        `path` names the skill where several share its slug. The end of the run counts as a use
        of each skill that was read: see `brain.programs.stats`.
        """
        found = str(version) or self._locked.run(runs.find_version_at_head, slug)
        runs.record_step(self._run, "skill_load", slug, version=found)
        self._run.loaded_skills[LoadedSkill(path or slug, found)] = None
        self._run.add_use(slug)

    def record_memory_read(self, path: str, output: object = "") -> None:
        """Record that a memory was read."""
        runs.record_step(self._run, "memory_read", path, output=output)

    def reflect(self, text: str) -> None:
        """Note what the agent says of its work, such as that it lacks a tool.

        If the task fails, this is a signal to learn from: see `brain.gaps`. It is no step.
        """
        self._reflections.append(text)

    def note_skill_call(self, tool: str, error: str = "") -> None:
        """Note how the call of a skill that runs ended, or of a tool that there is not.

        If the run ends with an unknown outcome, the last error of each is reported to
        `brain.gaps`. It is no step.
        """
        self._skill_errors[tool] = error

    def upsert_skill(
        self,
        name: str,
        body: str | bytes | None = None,
        *,
        description: str | None = None,
        message: str = "",
        base: str | int = "",
    ) -> results.Upserted:
        """Write a skill as a step of this run; as `brain.skills.upsert`."""
        from .skills import SkillsPart

        with self.activate():
            return SkillsPart(self._locked).upsert(
                name, body, description=description, message=message, base=base
            )

    def write_file(self, path: str, text: str, *, message: str = "") -> results.Recorded:
        """Write a file as a step of this run; as `brain.files.write`."""
        from .files import FilesPart

        with self.activate():
            return FilesPart(self._locked).write(path, text, message=message)

    @contextmanager
    def activate(self) -> Iterator[Self]:
        """Let the writes of this thread, or task of asyncio, belong to the run meanwhile."""
        with self._run.activate():
            yield self

    def set_outcome(self, outcome: str, reason: str = "") -> None:
        """Set the outcome of the run: success, failure, cancelled or unknown; and the reason.

        By default the outcome is success, or failure with the exception that ended the block.
        Raises `InvalidInput` (`bad_outcome`).
        """
        self._outcome, self._reason = runs.check_outcome(outcome), reason

    def close(self) -> str | None:
        """End the run; return the snapshot with its last receipt, None for a run without steps.

        If that fails, for instance while another writer holds the lock, nothing is recorded
        and `close` can be called again. Raises `InvalidInput` (`task_ended`).
        """
        outcome = self._outcome or "success"
        self.snapshot = self._locked.run(runs.close_run, self._run, outcome, self._reason)
        self._learn(outcome, () if outcome == "unknown" else self._goals(outcome))
        return self.snapshot

    def abandon(self, reason: str = "") -> str | None:
        """End the run with the outcome unknown, as `close`.

        A run that no snapshot carries yet leaves nothing; a run that has ended stays as it is.
        """
        if not self._run.closed:
            self.snapshot = self._locked.run(runs.abandon_run, self._run, reason)
            self._learn("unknown", self._goals("unknown"))
        return self.snapshot

    def mark_learned(self) -> None:
        """Note that a model has learned from this run, so that it is not queued for one."""
        self._is_learned = True

    def _learn(self, outcome: str, goals: Iterable[dict[str, Any]]) -> None:
        """Count what the ended run used, and note the rest in the background; neither fails it."""
        if self._run.loaded_skills:
            from ..repo.learning import health

            try:
                count, loaded = health.count_ended_run, self._run.loaded_skills
                used = self._locked.run(count, self._run.header, loaded, outcome, self._reason)
                self.health_changes = used.changes
            except BrainError as error:
                self.usage_error = error
        at = self._locked.session.timestamp_ms()
        reports = [
            {**goal, "at": at}
            for goal in (() if are_skills_disabled() else goals)
            if not goal.get("succeeded") or may_have_failures(self._locked)
        ]
        try:
            note_run_end(
                self._locked,
                self._run,
                chat=self._chat,
                outcome=outcome,
                snapshot=self.snapshot,
                may_be_hard=not self._is_learned,
                reports=reports,
                fail=partial(setattr, self, "learning_error"),
            )
        except BrainError as error:
            self.learning_error = error

    def _goals(self, outcome: str) -> Iterator[dict[str, Any]]:
        """Yield the goal of the run if it failed or succeeded, with the fields of a `GapReport`.

        Nobody says whether a run with an unknown outcome reached its goal; the skills that were
        called are reported instead, by how the last call ended, which is a fact.
        """
        if outcome == "unknown":
            for tool, error in [*self._skill_errors.items()][:MAX_REPORTED_CALLS]:
                goal = {"goal": f"Call the tool {tool}", "tool": tool, "error": error}
                yield {**goal, "succeeded": not error}
        elif goal_text := self._run.header.task:
            if outcome == "success":
                yield {"goal": goal_text, "succeeded": True}
            elif outcome == "failure":
                error = "\n".join(filter(None, (self._reason, self._last_error)))
                reflections = tuple(self._reflections)
                yield {"goal": goal_text, "error": error, "reflections": reflections}

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
            if error is None and self._on_success is not None and not self._run.closed:
                self._on_success(self)
        except BaseException as callback_error:
            self._leave_block(callback_error)
            raise
        self._leave_block(error)

    def _leave_block(self, error: BaseException | None) -> None:
        """End the scope of the run, and record its outcome."""
        if self._scope is not None:
            self._scope.__exit__(None, None, None)
        if self._run.closed:
            return
        if error is None:
            self.close()
            return
        if not self._outcome:
            outcome = "failure" if isinstance(error, Exception) else "cancelled"
            self.set_outcome(outcome, f"{type(error).__name__}: {error}")
        try:
            self.close()
        except BrainError as failure:
            error.add_note(f"The task could not be recorded: {failure}")


class ReceiptsPart(Part):
    """Receipts that snapshots carry, and receipts in files. `Brain.task` records one."""

    show = reads(lambda: read_receipts.show_run)
    read = reads(lambda: read_receipts.read_receipt_bytes)
    read_run = reads(lambda: runs.read_whole_run)
    verify = reads(lambda: receipt_check.verify_receipt)
    verify_file = reads(lambda: receipt_check.verify_receipt_file)
    read_synthesis_policy = reads(lambda: manifest.read_synthesis_policy)

    @staticmethod
    def show_file(data: bytes) -> results.RunInfo:
        """Return the run of a receipt file. Raises `FormatError`."""
        from ..repo.read_receipts import show_receipt_file

        return show_receipt_file(data)

    @staticmethod
    def import_transcript(data: bytes, form: str = "") -> Receipt:
        """Return a transcript of another program as a receipt; `form` names the program.

        Raises `InvalidInput`, also (`many_runs`) for a file with several runs.
        """
        from ..receipts.transcripts import read_transcript

        return read_transcript(data, form)

    @staticmethod
    def import_transcripts(data: bytes, form: str = "") -> list[Receipt]:
        """Return the receipt of each run in a transcript. Raises `InvalidInput`."""
        from ..receipts.transcripts import read_transcripts

        return read_transcripts(data, form)

    @staticmethod
    def read_run_file(data: bytes) -> Receipt:
        """Return the run of a file: a receipt, or a transcript of another program.

        Raises `FormatError` or `InvalidInput`.
        """
        found = _decode_if_receipt(data)
        return found or ReceiptsPart.import_transcript(data)

    @staticmethod
    def read_run_files(data: bytes) -> list[Receipt]:
        """Return all runs of a file, as `read_run_file` returns a single one."""
        found = _decode_if_receipt(data)
        return [found] if found else ReceiptsPart.import_transcripts(data)


def _decode_if_receipt(data: bytes) -> Receipt | None:
    from ..receipts import decode_receipt
    from ..receipts.receipt import RECEIPT_FORMAT

    return decode_receipt(data) if RECEIPT_FORMAT.name.encode() in data else None
