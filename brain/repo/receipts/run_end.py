"""Gather at the end of a run all that one may learn from, and note it in the background."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ...errors import BrainError
from ...experience.recorder import Note, Recorder

if TYPE_CHECKING:
    from ...experience.store import Store
    from ..current_run import Run
    from ..part import LockedSession
    from ..session import Session


SKILLS_ENABLED_VARIABLE = "SKILLS_ENABLED"
"""Turns learning from gaps off in the environment, if it is false, 0, no or off."""
_FALSE_WORDS = ("false", "0", "no", "off")
_EXPERIENCE_FILE = "evolution.db"
_EXPERIENCE_URL_VARIABLE = "BRAIN_EXPERIENCE_URL"
"""As in `brain.experience`, which the thread of the agent does not load."""


def open_recorder(locked: LockedSession) -> Recorder:
    """Return what notes the ends of runs of an open brain."""
    if locked.recorder is None:
        session = locked.session
        folder, brain = session.control_folder, session.brain_id().hex()
        load_settings = session.load_experience_settings

        def open_store() -> Store:
            from ...experience.store import open_store

            return open_store(folder, brain, load_settings and load_settings())

        locked.recorder = Recorder(open_store)
    return locked.recorder


def are_skills_disabled() -> bool:
    """Tell whether the environment turns learning from gaps off."""
    return os.environ.get(SKILLS_ENABLED_VARIABLE, "").strip().lower() in _FALSE_WORDS


def may_have_failures(locked: LockedSession) -> bool:
    """Tell, without opening it, whether the store of experience may hold failures."""
    session = locked.session
    is_elsewhere = (
        session.load_experience_settings is not None or _EXPERIENCE_URL_VARIABLE in os.environ
    )
    return is_elsewhere or os.path.exists(session.control_folder / _EXPERIENCE_FILE)


def submit_report(locked: LockedSession, **report: Any) -> None:
    """Report a goal with the fields of a `GapReport`; return at once, and never raise."""
    try:
        if not (are_skills_disabled() or locked.run(_is_off)):
            open_recorder(locked).put(Note(partial(_write_report, report)))
    except Exception as error:  # noqa: BLE001  the agent goes on whatever happens here
        import logging  # loading it takes longer than all of a report

        logging.getLogger(__name__).warning("a goal is not noted: %s", error)


def _is_off(session: Session) -> bool:
    """Tell whether the manifest turns evolution off; one that cannot be read does not."""
    from .. import manifest

    try:
        return manifest.load_mode(session) == manifest.OFF
    except BrainError:
        return False


def _write_report(report: dict[str, Any], store: Store) -> bool:
    from ...experience.gaps import GapReport, note_report

    return note_report(store, GapReport(**report))


def note_run_end(
    locked: LockedSession,
    run: Run,
    *,
    chat: str,
    outcome: str,
    snapshot: str | None,
    may_be_hard: bool,
    reports: Sequence[dict[str, Any]],
    fail: Callable[[BrainError], object],
) -> None:
    """Note what an ended run leaves; with a brain that learns nothing, or nothing to note, nothing.

    Raises `InvalidInput` (`bad_manifest`).
    """
    counts = run.tool_calls if may_be_hard and run.tool_calls.calls else None
    if not (run.used_skills or counts or reports):
        return
    from .. import manifest

    policy, mode = locked.run(manifest.load_learning_policy)
    if mode == manifest.OFF:
        return
    trigger = ""
    if counts is not None:
        from .runs import LEARNED_OUTCOMES, find_trigger

        if outcome in LEARNED_OUTCOMES:
            trigger = find_trigger(counts, policy)
    if not (run.used_skills or trigger or reports):
        return
    now, receipt = locked.session.timestamp_ms(), run.header
    if trigger and snapshot is None:
        receipt = receipt._replace(steps=run.read_chain_state()[2], outcome="unknown", ended=now)

    def write(store: Store) -> bool:
        from ...experience.patterns import is_enabled
        from ...experience.run_end import SYNTHESIS, queue_receipt, split_uses

        with store.transaction():
            if is_enabled():
                store.record(split_uses(run.used_skills, chat, receipt))
            if trigger and snapshot is not None:
                data = {"trigger": trigger, "snapshot": snapshot}
                store.add(SYNTHESIS, receipt.run, now, data)
            elif trigger:
                queue_receipt(store, receipt, trigger, now)
            due = [_write_report(report, store) for report in reports]
        return any(due)

    open_recorder(locked).put(Note(write, bool(reports), fail))
