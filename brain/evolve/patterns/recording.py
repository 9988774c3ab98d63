"""Record which skills a message used, in order, for the patterns in them.

A message is a run of an agent. No text of it is stored, only its hash. A run does not fail and
does not wait because this fails: after a store did not answer, nothing is recorded for a while.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from ...digest import blob_id
from ...errors import BrainError, StoreError
from ...experience.experience_protocol import SkillSequence, WorkItem
from ...programs.program import slug_of_tool
from ...receipts.uses import UsedSkill, list_used_skills
from ...repo.open.manifest import OFF, load_learning_policy
from .miner import DEFAULT_PATTERN_RULES
from .settings import is_enabled

if TYPE_CHECKING:
    from ...receipts import Receipt
    from ...repo.open.session import Session

MAX_RECORDED_STEPS = 1_000
"""Skills of one message that are recorded, the first ones."""
IMPORTED_RUN = "patterns-import"
"""The kind of the work items that say which runs of other programs were recorded."""
PAUSE_SECONDS = 60.0
"""How long nothing is recorded by itself after the store did not answer."""
_MAX_NAME_CHARS = 120

_paused_until: WeakKeyDictionary[Session, float] = WeakKeyDictionary()
_lost_messages: WeakKeyDictionary[Session, int] = WeakKeyDictionary()


def record_sequence(
    session: Session, chat: str, skills: Sequence[str], *, at: int, context: str, run: str = ""
) -> bool:
    """Record the skills of a message; tell whether this brain learns.

    Raises `StoreError`, or `InvalidInput` (`bad_manifest`, `bad_experience`).
    """
    if not skills or not _may_record(session):
        return False
    session.experience.store.record_sequences([_make_sequence(chat, skills, at, context, run)])
    return True


def try_to_record_run(
    session: Session, header: Receipt, uses: Sequence[UsedSkill], chat: str
) -> BrainError | None:
    """Record the skills that an ended run used; return why that failed, None if it did not."""
    sequences = _split(uses, chat, header.task, header.run)
    try:
        if sequences and _may_record(session):
            _store_unless_paused(session, sequences)
    except BrainError as error:
        _lost_messages[session] = count_lost(session) + len(sequences)
        if isinstance(error, StoreError):
            _paused_until[session] = time.monotonic() + PAUSE_SECONDS
        return error
    return None


def record_imported_run(session: Session, receipt: Receipt, tools: Collection[str]) -> int:
    """Record a run of another program once; return how many messages it had, 0 if known.

    `tools` are the names of the tools of this brain that are skills. Raises as `record_sequence`.
    """
    uses = list_used_skills(receipt.steps, tools)
    sequences = _split(uses, receipt.agent or "agent", receipt.task, receipt.run)
    if not sequences or not _may_record(session):
        return 0
    store, now = session.experience.store, session.timestamp_ms()
    known = WorkItem(kind=IMPORTED_RUN, key=receipt.run, at=now, data="")
    if not store.add_work(known):
        return 0
    store.record_sequences(sequences)
    return len(sequences)


def count_lost(session: Session) -> int:
    """Return how many messages of this process could not be recorded."""
    return _lost_messages.get(session, 0)


def _may_record(session: Session) -> bool:
    return is_enabled() and load_learning_policy(session)[1] != OFF


def _store_unless_paused(session: Session, sequences: Sequence[SkillSequence]) -> None:
    if time.monotonic() < _paused_until.get(session, 0.0):
        _lost_messages[session] = count_lost(session) + len(sequences)
        return
    session.experience.store.record_sequences(sequences)


def _split(uses: Sequence[UsedSkill], chat: str, text: str, run: str) -> list[SkillSequence]:
    """Return the sequences of a run: what lies further apart than messages do is another one."""
    gap = DEFAULT_PATTERN_RULES.gap_ms
    cuts = [n for n, (a, b) in enumerate(pairwise(uses), 1) if not -gap <= b.at - a.at <= gap]
    bounds = pairwise([0, *cuts, len(uses)])
    return [
        _make_sequence(chat, [use.slug for use in part], part[-1].at, text, run)
        for part in (uses[begin:end] for begin, end in bounds)
        if part
    ]


def _make_sequence(chat: str, skills: Sequence[str], at: int, text: str, run: str) -> SkillSequence:
    return SkillSequence(
        chat=_shorten(chat),
        at=max(at, 0),
        skills=tuple(_shorten(slug_of_tool(name)) for name in skills[:MAX_RECORDED_STEPS]),
        context_hash=blob_id(text.encode("utf-8", "surrogatepass")).hex() if text else "",
        run=_shorten(run),
    )


def _shorten(name: str) -> str:
    return name.replace("\0", "")[:_MAX_NAME_CHARS].encode("utf-8", "replace").decode()
