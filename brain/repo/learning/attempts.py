"""Attempts at skills that were not admitted: each is a snapshot on a ref, which nothing merges.

People see all of one. Evolvers may know the edit, the reason and the counts; which held-out cases
there are, what they hold and what came out stays hidden from them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...errors import BrainError, NotFound
from ...gating.case_files import Case
from ...gating.case_paths import slug_of_case
from ...objects.snapshot import Snapshot
from ...ops.proposals import list_open_tips
from ...programs import SCHEMA_FILE
from ...results import Attempt, AttemptView, EarlierAttempt, GateNumbers
from ...util.utc_time import utc_time
from ...verdicts.verdict import ProgramFile, Verdict
from ...verdicts.verdict_rules import find_max_rounds
from ..derive import read_decision_verdict
from ..find_skill import Skills
from ..session import REJECTED_REF_PREFIX, Session, list_rejected_refs
from .change import PlannedChange


def list_attempts(session: Session, slug: str = "") -> list[Attempt]:
    """Return the rejected attempts that are kept, at one skill or all, newest first."""
    return [_describe(session, *row)[0] for row in list_rejected_refs(session, slug)]


def read_attempt(session: Session, attempt: str) -> AttemptView:
    """Return a rejected attempt with its files and verdict. Raises `NotFound` (`no_attempt`)."""
    from ...verdicts.verdict import verdict_to_json

    snapshot_id = find_attempt(session, attempt, "rejected attempt")
    summary, verdict = _describe(session, REJECTED_REF_PREFIX + attempt, snapshot_id)
    return AttemptView(
        *summary[:-1],
        verdict={} if verdict is None else verdict_to_json(verdict),
        files=_read_files(session, snapshot_id, summary.slug),
    )


def find_attempt(session: Session, attempt: str, noun: str = "attempt") -> bytes:
    """Return the snapshot of an attempt. Raises `NotFound` (`no_attempt`)."""
    snapshot_id = session.reader.read_ref(REJECTED_REF_PREFIX + attempt)
    if snapshot_id is None:
        raise NotFound(
            f"there is no {noun} {attempt}",
            code="no_attempt",
            hint="only the newest ones are kept; `brain evolve attempts` lists them",
        )
    return snapshot_id


def _describe(session: Session, ref: str, snapshot_id: bytes) -> tuple[Attempt, Verdict | None]:
    snapshot = session.load_snapshot(snapshot_id)
    verdict = read_decision_verdict(session, snapshot)
    summary = Attempt(
        attempt=ref.removeprefix(REJECTED_REF_PREFIX),
        slug=snapshot.operation[1],
        snapshot=snapshot_id.hex(),
        time=utc_time(snapshot.time),
        author=snapshot.author,
        reason=verdict.reason if verdict else "",
        failed=[case.name for case in verdict.cases if case.outcome == "fail"] if verdict else [],
    )
    return summary, verdict


def _read_files(session: Session, snapshot_id: bytes, slug: str) -> dict[str, bytes]:
    state = session.state_of(snapshot_id)
    skill = Skills(state).find(slug)
    start = len(skill.folder or skill.path.rpartition("/")[0] + "/")
    entries = [entry for entry in Skills(state).entries(skill) if not slug_of_case(entry.path)]
    redacted = session.reader.find_redactions([entry.blob for entry in entries])
    return {
        entry.path[start:]: session.reader.read_blob(entry.blob, entry.size)
        for entry in entries
        if entry.blob not in redacted
    }


MAX_EDIT_CHARS = 20_000
"""Characters of an edit that are shown."""
EVOLVER_TRAILER = "Evolver: "
"""Begins the last line of the message of a change, which names who proposed it."""
_EVOLVER = re.compile(rf"^{EVOLVER_TRAILER}([a-z]{{1,32}})$", re.MULTILINE)


def list_earlier_attempts(session: Session, slug: str) -> list[EarlierAttempt]:
    """Return what evolvers may know of attempts at a skill that were not admitted, newest first."""
    found = []
    for ref, snapshot_id in list_rejected_refs(session, slug):
        verdict = read_decision_verdict(session, session.load_snapshot(snapshot_id))
        if verdict is not None:
            found.append(_describe_earlier(session, ref, snapshot_id, verdict))
    return found


def find_same_attempt(
    session: Session, planned: PlannedChange, runner: str, cases: Sequence[Case]
) -> tuple[EarlierAttempt, str] | None:
    """Return an attempt at the same change on the same cases, None if there is none.

    It is kept, or waits as the proposal that is named beside it, "" if none does. An attempt in
    which a model gave nothing but errors is none: it says nothing of the change. Only
    attempts with this text are read.
    """
    files = [ProgramFile(*row) for row in planned.program.blobs] if planned.program else []
    has_own = any(file.path == SCHEMA_FILE for file in files)  # else a class gets one
    documents = sorted((case.skill == planned.slug, case.blob) for case in cases)
    texts = planned.base_blob, planned.text_blob
    wanted = *texts, planned.changes, runner, files, documents
    waiting = list_open_tips(session)
    for name, here in [*list_rejected_refs(session, planned.slug), *waiting.items()]:
        entry = session.state_of(here).get(planned.path)
        if entry is None or entry.blob != planned.text_blob:
            continue
        verdict = read_decision_verdict(session, session.load_snapshot(here))
        if verdict is None:
            continue
        tried = sorted((one.kind == "held_out", one.document) for one in verdict.gate_cases)
        same = [one for one in verdict.files if has_own or one.path != SCHEMA_FILE]
        what = verdict.base, verdict.text, verdict.changes, verdict.runner, same, tried
        letters = "".join(case.before + case.after for case in verdict.gate_cases)
        if what == wanted and (find_max_rounds(verdict) == 1 or letters.strip("e")):
            ref, proposal = ("", name) if name in waiting else (name, "")
            return _describe_earlier(session, ref, here, verdict), proposal
    return None


def read_numbers(verdict: Verdict) -> GateNumbers | None:
    """Return what a gate counted, None if nothing was tried."""
    if not verdict.gate:
        return None
    numbers = dict(verdict.numbers)
    milli = numbers.get("e_value_milli", 0)
    return GateNumbers(
        cases=numbers.get("cases", 0),
        rounds=numbers.get("rounds", 0),
        wins=numbers.get("wins", 0),
        losses=numbers.get("losses", 0),
        ties=numbers.get("ties", 0),
        e_value=_in_text(milli),
        worse=[case.name for case in verdict.gate_cases if case.outcome == "fail"],
        more_cases=numbers.get("more_cases", 0),
        runner=verdict.runner,
        provisional=verdict.provisional,
        e_of_runs=_in_text(numbers.get("e_of_runs_milli")),
        read_cases=numbers.get("read_cases"),
    )


def _in_text(milli: int | None) -> str:
    return "" if milli is None else f"{milli // 1000}.{milli % 1000:03}"


def _describe_earlier(
    session: Session, ref: str, snapshot_id: bytes, verdict: Verdict
) -> EarlierAttempt:
    snapshot = session.load_snapshot(snapshot_id)
    numbers, reason = read_numbers(verdict), verdict.reason
    for case in verdict.gate_cases:
        reason = reason.replace(case.name, "a held-out case")
    found = _EVOLVER.search(snapshot.message)
    return EarlierAttempt(
        attempt=ref.removeprefix(REJECTED_REF_PREFIX),
        slug=verdict.skill,
        time=utc_time(snapshot.time),
        evolver=found[1] if found else "",
        gate=verdict.gate,
        reason=reason,
        numbers=numbers._replace(worse=()) if numbers else None,
        cases_worse=len(numbers.worse) if numbers else 0,
        edit=_render_edit(session, snapshot_id, snapshot),
    )


def _render_edit(session: Session, snapshot_id: bytes, snapshot: Snapshot) -> str:
    from ...ops import diff

    try:
        found = diff.diff(session, snapshot.parents[0].hex(), snapshot_id.hex())
        patch = "".join(diff.patch(session, found))
    except BrainError:  # redacted since
        return ""
    if len(patch) <= MAX_EDIT_CHARS:
        return patch
    return patch[:MAX_EDIT_CHARS] + f"\n(cut after {MAX_EDIT_CHARS} characters)\n"
