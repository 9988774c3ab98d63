"""What the end of a run leaves to learn from: its skills in order, and the run if it was hard.

No text of a message is stored of a sequence, only its hash.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from ..digest import blob_id
from ..programs.program import slug_of_tool
from ..receipts import Receipt, encode_receipt
from ..receipts.uses import UsedSkill
from .patterns import DEFAULT_PATTERN_RULES
from .store import SkillSequence, Store, storable_text

SYNTHESIS = "synthesis"
"""The evolver of hard runs, and the kind of their work; its key is the id of the run."""
MAX_RECORDED_STEPS = 1_000
"""Skills of one message that are recorded, the first ones."""
_MAX_RECEIPT_BYTES = 200_000
_MAX_NAME_CHARS = 120


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
    return storable_text(name, _MAX_NAME_CHARS)
