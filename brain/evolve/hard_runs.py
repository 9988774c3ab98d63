"""Learn from hard runs: queue them as they end, and work them off with a model, one at a time.

1. An item is started, and counted under the limits.
2. Each answer of the model is stored before it is used.
3. The drafted change is stored before the gate gets it. An attempt that was killed goes on there:
   the gate knows a change that it has recorded already.
4. The item is finished with what became of the change.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import (
    BrainError,
    Conflict,
    FormatError,
    InvalidInput,
    ModelError,
    NotFound,
    printable_text,
)
from ..experience.run_end import SYNTHESIS, queue_receipt
from ..experience.store import AuditEvent, Item, RateLimit
from ..limits import MAX_TRANSCRIPT_BYTES
from ..receipts import Receipt, decode_receipt, encode_receipt
from ..receipts.transcripts import read_transcripts
from ..repo.learning.change import ProposedChange
from ..repo.manifest import OFF
from ..repo.receipts.runs import LEARNED_OUTCOMES, find_trigger
from ..results import GateOutcome, ScheduledStep
from .budget import Interrupted, now_ms
from .evolver import DONE, FAILED, WAITING, AttemptOver, Evolver, make_step
from .synthesis import EVOLVER, SkillDrafting

if TYPE_CHECKING:
    from ..api.brain import Brain
    from ..models import Model

SYNTHESIS_LIMITS = (RateLimit("hour", 3600, 6), RateLimit("day", 86_400, 24))
"""Runs that a brain learns from in an hour and a day."""
MAX_FAILURES = 5
MAX_BAD_ANSWERS = 2
"""Attempts at one item with a model that gives no acceptable answer; each has several requests."""
_FINAL_FAULTS = ("answer_cut", "answer_too_large", "model_limit", "too_long")
"""Codes of failures that an equal request would meet again, so none is made."""
_MAX_REASON_CHARS = 400
_DRAFT = "draft"


def queue_run(brain: Brain, run: Receipt) -> bool:
    """Queue an imported run to learn from, if it is hard; tell whether it was queued.

    A run is queued once. Raises `StoreError`, or `InvalidInput` (`bad_manifest`).
    """
    trigger = find_trigger(run.steps, brain.receipts.read_synthesis_policy())
    if brain.gate.read_mode() == OFF or not trigger or run.outcome not in LEARNED_OUTCOMES:
        return False
    return queue_receipt(brain.gaps.open_store(), run, trigger, now_ms())


def take_no_model_notice(brain: Brain) -> bool:
    """Tell whether to say that runs wait for a model; True once for a brain, if they do."""
    name, store = "no model notice", brain.gaps.open_store()
    if store.fact(name) or not store.waiting(SYNTHESIS):
        return False
    store.change(name, lambda _: {"said": True})
    return True


class _Ended(NamedTuple):
    """How an attempt ended; without a `result` its item waits for another one."""

    step: ScheduledStep
    result: str = ""
    phase: str = ""
    reason: str = ""


class RunAttempt(SkillDrafting, Evolver[_Ended]):
    """One attempt at one queued run."""

    def __init__(self, brain: Brain, model: Model, item: Item, now: int) -> None:
        super().__init__(brain, model, item, now)
        self._slug = self._trigger = ""
        self._is_drafted = False

    def give_up(self, reason: str) -> _Ended:
        """Return the end of an item that nobody can learn from."""
        self._slug = self._trigger = ""
        return _Ended(self._step(FAILED, f"given up: {reason}"), "failed", "failed", reason)

    def begin(self) -> _Ended | None:
        """Count the attempt, or let it wait until the limit is over."""
        limit = self.item.count(SYNTHESIS_LIMITS, self.now)
        if limit is None:
            return None
        self.item.wait()
        return _Ended(self._step(WAITING, f"the limit of attempts per {limit.name} is reached"))

    def draft(self) -> ProposedChange:
        """Return the change that was drafted, at this or an earlier attempt."""
        kept = json.loads(self.item.once(_DRAFT, self._ask_for_draft))
        change, self._slug, reason, self._trigger = kept
        self._is_drafted = True
        if change is None:
            raise AttemptOver(self._describe("nothing", reason))
        return _decode_change(change)

    def _ask_for_draft(self) -> bytes:
        from .drafts import SkillDraft

        data = self.item.data
        document = data.get("receipt")
        run = (
            decode_receipt(document.encode())
            if document
            else self.brain.receipts.read_run(data["snapshot"])
        )
        draft = self.draft_skill(run)
        change = None
        if isinstance(draft, SkillDraft):
            change = _encode_change(self.build_change(draft))
        return json.dumps([change, draft.slug, draft.reason, data["trigger"]]).encode()

    def conclude(self, outcome: GateOutcome) -> _Ended:
        """Return what became of the change."""
        return self._describe(outcome.done, outcome.reason)

    def _describe(self, done: str, reason: str) -> _Ended:
        result = {
            **dict.fromkeys(("admitted", "provisional", "proposed"), "success"),
            "nothing": "skipped",
        }.get(done, "rejected")
        text = f"{done}: {reason}" if reason else done
        return _Ended(self._step(DONE, text), result, done, reason)

    def fail(self, error: BrainError) -> _Ended | None:
        """Count a failure, after which the model is not asked for a while; or give up."""
        if isinstance(error, ModelError):
            self.model_error = error
            if self._is_drafted:  # the model failed at a case, which does not count
                self.item.wait()
                return _Ended(self._step(WAITING, error.message))
            if error.code in _FINAL_FAULTS:
                return self.give_up(error.message)
            if error.code == "bad_answer":
                return self._count_failure(error, MAX_BAD_ANSWERS, begins_anew=True)
            return self._count_failure(error, MAX_FAILURES, begins_anew=False)
        if isinstance(error, Interrupted):
            self.item.wait(self.now, error.until)
            return _Ended(self._step(FAILED if error.until else WAITING, error.message))
        if isinstance(error, Conflict):
            return self._count_failure(error, MAX_FAILURES, begins_anew=True)
        if isinstance(error, (FormatError, InvalidInput, NotFound)):
            return self.give_up(error.message)
        return None

    def _count_failure(self, error: BrainError, most: int, *, begins_anew: bool) -> _Ended:
        """Count a failure; the next attempt uses the answers so far, unless it begins anew."""
        failures = self.add_failure(begins_anew=begins_anew)
        if failures >= most:
            return self.give_up(error.message)
        self.item.wait()
        self._slug = ""
        return _Ended(self._step(FAILED, f"{error.message} (attempt {failures} of {most})"))

    def finish(self, ended: _Ended) -> None:
        """End the item, with what became of it in the audit, unless it waits."""
        if not ended.result:
            return
        short = printable_text(ended.reason, _MAX_REASON_CHARS)
        why = f"{self._trigger},run={self.item.key},reason={short}".lstrip(",")
        event = AuditEvent(*(self.now, SYNTHESIS, self._slug, why, ended.phase, ended.result))
        result = {"result": ended.result, "slug": self._slug, "reason": short}
        self.item.finish(result, event)

    def _step(self, result: str, reason: str) -> ScheduledStep:
        slug = self._slug if result == DONE else ""
        return make_step(
            *(SYNTHESIS, result, reason), key=self.item.key, slug=slug, outcome=self.outcome
        )


def _encode_change(change: ProposedChange) -> dict[str, Any]:
    body = change.body.decode() if isinstance(change.body, bytes) else change.body
    return {
        "name": change.name,
        "description": change.description,
        "body": body,
        "base": change.base,
        "message": change.message,
        "receipt": encode_receipt(change.receipt).decode() if change.receipt else None,
    }


def _decode_change(fields: dict[str, Any]) -> ProposedChange:
    receipt = fields.pop("receipt")
    return ProposedChange(
        **fields,
        evolver=EVOLVER,
        receipt=decode_receipt(receipt.encode()) if receipt else None,
    )


# Transcripts of other programs

QUIET_MS = 120_000
"""A session whose file was not written for so long has ended, or rests."""
MAX_WATCHED_FILES = 50_000
"""Files that are looked at; further ones are left out."""
_ENDINGS = (".jsonl", ".json")
_NOTE = "transcripts"


class ImportedTranscript(NamedTuple):
    """A transcript that ended: its file, and the runs that were queued."""

    file: str
    queued: list[str]


class TranscriptFolders:
    """Queues hard runs of transcripts in folders, at any depth, whenever it is polled.

    Only files that are written after this was first used on a brain are read: earlier sessions
    would cost without having been asked for.
    """

    def __init__(
        self,
        brain: Brain,
        folders: Sequence[Path],
        now: Callable[[], int] = now_ms,
    ) -> None:
        self._brain = brain
        self._folders = folders
        self._store = brain.gaps.open_store()
        self._now = now
        self._seen: dict[str, tuple[int, int]] = {}

    def poll(self) -> Iterator[ImportedTranscript]:
        """Read the transcripts that ended since the last call. Raises `StoreError`."""
        now = self._now()
        since: int = self._store.change(_NOTE, lambda old: old or {"since": now})["since"]
        pending = now
        for path, stat in self._iter_files():
            changed = stat.st_mtime_ns // 1_000_000
            key = (stat.st_size, stat.st_mtime_ns)
            if changed < since or self._seen.get(path) == key:
                continue
            if changed > now - QUIET_MS:
                pending = min(pending, changed)
                continue
            self._seen[path] = key
            queued = self._import_file(path, stat.st_size)
            if queued:
                yield ImportedTranscript(path, queued)
        mark = max(since, min(pending, now - QUIET_MS))
        self._store.change(_NOTE, lambda _: {"since": mark})

    def _import_file(self, path: str, size: int) -> list[str]:
        """Queue the hard runs of a file; a file that is no transcript has none."""
        if size > MAX_TRANSCRIPT_BYTES:
            return []
        try:
            receipts = read_transcripts(Path(path).read_bytes(), "")
        except (BrainError, OSError):
            return []
        return [receipt.run for receipt in receipts if queue_run(self._brain, receipt)]

    def _iter_files(self) -> Iterator[tuple[str, os.stat_result]]:
        left = MAX_WATCHED_FILES
        for folder in self._folders:
            for parent, _, names in os.walk(folder):
                for name in names:
                    if not name.endswith(_ENDINGS):
                        continue
                    left -= 1
                    if left < 0:
                        return
                    path = os.path.join(parent, name)
                    try:
                        yield path, os.stat(path, follow_symlinks=False)
                    except OSError:  # it was removed meanwhile
                        continue
