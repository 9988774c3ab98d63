"""Queue hard runs as they end, for a model to learn from later."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from ...errors import FormatError
from ...experience.experience_protocol import WorkItem
from ...receipts import Receipt, decode_receipt, encode_receipt
from ...repo.open.manifest import OFF, load_learning_policy
from ..triggers import LEARNED_OUTCOMES, find_trigger
from .job_types import SYNTHESIS

if TYPE_CHECKING:
    from ...experience.experience_protocol import ClaimedWork, ExperienceStore
    from ...repo.core.current_run import Run
    from ...repo.open.session import Session

_MAX_RECEIPT_BYTES = 200_000
_NOTICE = "no model notice"


class HardRun(NamedTuple):
    """A queued run: why it is hard, and where it is recorded.

    `snapshot` carries its last receipt, "" for a run that is in no snapshot, whose receipt is
    then in `receipt`.
    """

    trigger: str
    snapshot: str
    receipt: Receipt | None


def queue_ended_run(store: ExperienceStore, run: Run, trigger: str, snapshot: str | None) -> None:
    """Queue a run that ended; `snapshot` carries its last receipt, if one does.

    Raises `StoreError`.
    """
    now = run.session.timestamp_ms()
    if snapshot is None:
        receipt = run.header._replace(steps=run.pending_steps(0), outcome="unknown", ended=now)
        queue_receipt(store, receipt, trigger, now)
        return
    data = json.dumps({"trigger": trigger, "snapshot": snapshot})
    store.add_work(WorkItem(kind=SYNTHESIS, key=run.header.run, at=now, data=data))


def queue_receipt(store: ExperienceStore, receipt: Receipt, trigger: str, now: int) -> bool:
    """Queue a run that no snapshot carries; of a long one only the last steps are kept."""
    document = encode_receipt(receipt)
    while len(document) > _MAX_RECEIPT_BYTES and receipt.steps:
        receipt = receipt._replace(steps=receipt.steps[len(receipt.steps) // 2 + 1 :])
        document = encode_receipt(receipt)
    data = json.dumps({"trigger": trigger, "receipt": document.decode()}, ensure_ascii=False)
    return store.add_work(WorkItem(kind=SYNTHESIS, key=receipt.run, at=now, data=data))


def queue_if_hard(session: Session, store: ExperienceStore, receipt: Receipt, now: int) -> bool:
    """Queue an imported run if it is hard and was not queued before; tell whether it was queued."""
    policy, mode = load_learning_policy(session)
    trigger = find_trigger(receipt.steps, policy)
    if mode == OFF or not trigger or receipt.outcome not in LEARNED_OUTCOMES:
        return False
    return queue_receipt(store, receipt, trigger, now)


def take_no_model_notice(store: ExperienceStore) -> bool:
    """Tell whether runs wait, and that was not said before."""
    if store.read_note(_NOTICE) or store.newest_work(SYNTHESIS) is None:
        return False
    return store.write_note(_NOTICE, None, "said")


def parse_hard_run(work: ClaimedWork) -> HardRun:
    """Return the run of an item. Raises `FormatError` for one that nobody queued so."""
    try:
        fields = json.loads(work.item.data)
        document = fields.get("receipt")
        receipt = decode_receipt(document.encode()) if document else None
        found = HardRun(str(fields["trigger"]), str(fields.get("snapshot", "")), receipt)
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise _bad_item_error() from error
    if found.receipt is None and not found.snapshot:
        raise _bad_item_error()
    return found


def _bad_item_error() -> FormatError:
    return FormatError(
        "the item names no run",
        code="bad_work",
        hint="delete .brain/evolution.db: it holds only what there is to learn from",
    )
