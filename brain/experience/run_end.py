"""The record of the end of a run: its skills in order, a hard run, goals that failed.

No text of a message is stored of a sequence, only its hash.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from ..digest import blob_id
from ..programs.program import slug_of_tool
from ..receipts import Receipt, encode_receipt
from ..receipts.uses import UsedSkill
from .gaps import GapReport, note_report
from .patterns import DEFAULT_PATTERN_RULES, is_enabled
from .store import SkillSequence, Store

SYNTHESIS = "synthesis"
"""The evolver of hard runs, and the kind of their work; its key is the id of the run."""
MAX_RECORDED_STEPS = 1_000
"""Skills of one message that are recorded, the first ones."""
_MAX_RECEIPT_BYTES = 200_000
_MAX_NAME_CHARS = 120


class RunEnd(NamedTuple):
    """A run that ended at `now` (ms since 1970).

    `trigger` says why it was hard, "" if it was not; `snapshot` carries its last receipt, None for
    a run that is in no snapshot, whose `receipt` has its steps then.
    """

    receipt: Receipt
    uses: Sequence[UsedSkill]
    chat: str
    trigger: str
    snapshot: str | None
    reports: Sequence[GapReport]
    now: int


def note_run_end(store: Store, run: RunEnd) -> bool:
    """Note what a run leaves, in one transaction; tell whether a gap is due.

    Raises `StoreError`.
    """

    def note() -> bool:
        if is_enabled():
            store.record(split_uses(run.uses, run.chat, run.receipt))
        if run.trigger and run.snapshot is not None:
            data = {"trigger": run.trigger, "snapshot": run.snapshot}
            store.add(SYNTHESIS, run.receipt.run, run.now, data)
        elif run.trigger:
            queue_receipt(store, run.receipt, run.trigger, run.now)
        due = [note_report(store, report) for report in run.reports]
        return any(due)

    return store.atomically(note)


def queue_receipt(store: Store, receipt: Receipt, trigger: str, now: int) -> bool:
    """Queue a run that no snapshot carries; of a long one only the last steps are stored."""
    document = encode_receipt(receipt)
    while len(document) > _MAX_RECEIPT_BYTES and receipt.steps:
        receipt = receipt._replace(steps=receipt.steps[len(receipt.steps) // 2 + 1 :])
        document = encode_receipt(receipt)
    data = {"trigger": trigger, "receipt": document.decode()}
    return store.add(SYNTHESIS, receipt.run, now, data)


def split_uses(uses: Sequence[UsedSkill], chat: str, run: Receipt) -> list[SkillSequence]:
    """Return the sequences of a run: what lies further apart than messages do is another one."""
    gap = DEFAULT_PATTERN_RULES.gap_ms
    cuts = [n for n, (a, b) in enumerate(pairwise(uses), 1) if not -gap <= b.at - a.at <= gap]
    bounds = pairwise([0, *cuts, len(uses)])
    return [
        make_sequence(chat, [use.slug for use in part], part[-1].at, run.task, run.run)
        for part in (uses[begin:end] for begin, end in bounds)
        if part
    ]


def make_sequence(
    chat: str, skills: Sequence[str], at: int, text: str, run: str = ""
) -> SkillSequence:
    """Return the sequence of a message with a text."""
    return SkillSequence(
        chat=_shorten(chat),
        at=max(at, 0),
        skills=tuple(_shorten(slug_of_tool(name)) for name in skills[:MAX_RECORDED_STEPS]),
        context_hash=blob_id(text.encode("utf-8", "surrogatepass")).hex() if text else "",
        run=_shorten(run),
    )


def _shorten(name: str) -> str:
    return name.replace("\0", "")[:_MAX_NAME_CHARS].encode("utf-8", "replace").decode()
