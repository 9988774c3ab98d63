"""The life of a provisional change: its evidence goes on, until it is admitted or taken back.

1. Held-out cases that were added since run without the change and with it, each in as many rounds
   as the first ones. No run of the first ones is made again.
2. All cases together decide, by the rules of the gate. *Admit*: the change is admitted. *Reject*:
   it is taken back. *Undecided*: the verdict is recorded, so that no case counts twice.
3. After `TERM_DAYS`, or when its cases show no gain any more, a person is asked to take it back.

What a rule let live it takes back by itself; what a person accepted or pinned, it proposes to. Each
is one snapshot, whose verdict names the one it goes on with.
"""

from __future__ import annotations

from contextlib import suppress
from typing import NamedTuple

from ...digest import blob_id
from ...errors import BrainError, Conflict, InvalidInput
from ...gating.case_files import Case
from ...gating.held_out import hash_input
from ...limits import MAX_VERDICT_HELD_OUT
from ...objects import lineage
from ...objects.operation import evidence_blob
from ...ops.proposals import open_proposal
from ...receipts import Receipt, decode_receipt
from ...receipts.receipt import own_sources
from ...results import Decided, GateOutcome
from ...skills.skill_version import version_value
from ...verdicts.standing_cases import StandingCases
from ...verdicts.verdict import Verdict
from ...verdicts.verdict_rules import GateVerdict
from .. import provisional
from ..derive import verdict_id
from ..find_skill import Skills
from ..manifest import load_manifest
from ..session import BrainState, Session
from ..transaction import WriteTransaction
from . import record
from .cases import read_held_out, refuse_same_inputs
from .change import SkillEdit, plan_change
from .retire import Decider, is_pinned, reinstate_by, retire_by

TERM_DAYS = 30
"""How long a change stays provisional before a person is asked to take it back."""
TERM_RULE = "end of the term of a provisional change"
_DAY_MS = 86_400_000


class Provisional(NamedTuple):
    """A skill as a provisional change made it, with the last `verdict` about it, of id `blob`.

    `first` is the snapshot that made the change, and `since` its time in ms. `before` and `after`
    are the states without it and with it; `base_version` is "" for a skill that it made.
    `is_by_rule`: no person has accepted or pinned it.
    """

    slug: str
    path: str
    version: str
    verdict: Verdict
    blob: bytes
    first: bytes
    since: int
    before: BrainState
    after: BrainState
    base_version: str
    is_by_rule: bool

    @property
    def e_value(self) -> str:
        """E so far, with one decimal."""
        milli = dict(self.verdict.numbers).get("e_value_milli", 0)
        return f"{milli // 1000}.{milli % 1000 // 100}"

    @property
    def outcome(self) -> GateOutcome:
        """What became of the change while nothing is decided."""
        version = version_value(self.version)
        return GateOutcome("", "", "", self.slug, version, version, evolver="provisional")

    @property
    def proposal_to_take_back(self) -> str:
        """The name of the proposal that asks a person to take it back."""
        return f"evolve-{self.slug}-back-{blob_id(self.verdict.text).hex()[:6]}"

    @property
    def ends(self) -> int:
        """When its term ends, in ms; at once if its cases show no gain any more."""
        return self.since + TERM_DAYS * _DAY_MS if self.verdict.provisional == "yes" else self.since


def list_provisional(session: Session) -> list[Provisional]:
    """Return the skills that are as a provisional change made them, by slug.

    `Gate.go_on` tries one of them on the cases that were added since.
    """
    head = session.head()
    try:
        pinned = load_manifest(session).pinned
    except InvalidInput:  # nothing may be taken back then
        pinned = None
    found = []
    for row, verdict, path in provisional.list_provisional(session, head):
        if verdict.changes:  # a rule cannot take back other files
            continue
        skill = Skills(session.state_of(head)).load(path)
        first = provisional.find_first(session, row.snapshot, verdict)
        snapshot = session.load_snapshot(first)
        own = lineage.find_ancestor_at(session.load_snapshot, head, snapshot.jump.depth)
        found.append(
            Provisional(
                slug=row.slug,
                path=path,
                version=row.version,
                verdict=verdict,
                blob=evidence_blob(session.load_snapshot(row.snapshot).operation),
                first=first,
                since=snapshot.time,
                before=session.parent_state(snapshot),
                after=session.state_of(first),
                base_version=str(snapshot.operation[2]),
                is_by_rule=own == first and pinned is not None and not is_pinned(pinned, skill),
            )
        )
    return found


def find_new_cases(session: Session, live: Provisional) -> list[Case]:
    """Return the held-out cases that its verdict does not count yet, in the order they are tried.

    An input that counts already is none, nor one of the run that the change was learned from.
    Raises `InvalidInput` (`bad_case`) for two of one input.
    """
    receipt = _read_receipt(session, live)
    seen = own_sources(receipt) if receipt else set()
    standing = StandingCases(session.reader)
    counted = [one for one in live.verdict.gate_cases if one.kind == "held_out"]
    known = {standing.hash_input(one.name, one.document) for one in counted}
    documents = {one.document for one in live.verdict.gate_cases}
    names = {one.name for one in live.verdict.cases}
    new: list[Case] = []
    cases = read_held_out(session, session.head(), live.path)
    for case in sorted(cases, key=lambda case: (case.blob, case.path)):
        key = hash_input(case.input)
        is_counted = key in known or case.blob in documents or case.path in names
        if not is_counted and case.source not in seen:
            new.append(case)
    refuse_same_inputs(new)
    return new[: MAX_VERDICT_HELD_OUT - len(counted)]


def _read_receipt(session: Session, live: Provisional) -> Receipt | None:
    receipt = session.load_snapshot(live.first).receipt
    with suppress(BrainError):  # redacted, which `verify` allows for too
        return decode_receipt(session.reader.read_blob(receipt)) if receipt else None
    return None


def keep_live(session: Session, live: Provisional, built: GateVerdict) -> Decided:
    """Record what all cases say of a change that stays: that it is admitted, or goes on."""
    planned = plan_change(session, SkillEdit(name=live.path))
    _refuse_edited(planned.head, planned.before, live)
    said = "Admit" if built.verdict.gate == "admit" else "Go on with"
    decided = record.TriedChange(  # without its program, which may run already
        planned=planned,
        verdict=built.verdict,
        contents=built.contents,
        message=f"{said} the provisional change of {live.slug}",
        receipt=_read_receipt(session, live),  # which says what cases were not to be tried
    )
    return record.record_change(session, decided)


def _refuse_edited(head: bytes, state: BrainState, live: Provisional) -> None:
    skill = Skills(state).find_or_none(live.path)
    row = provisional.find_last_decision(state.session, head, live.slug)
    is_last = row is not None and verdict_id(state.session, row.snapshot) == live.blob
    if not (row and skill and is_last and provisional.is_as_decided(state, row, skill)):
        raise Conflict(
            f"{live.slug} was changed while its cases were tried",
            code="stale_base",
            hint="it is provisional no more; try the change again",
        )


def take_back(
    session: Session, live: Provisional, rule: str, reason: str, built: GateVerdict | None = None
) -> Decided:
    """Bring back what was there before the change; retire a skill that it made.

    Raises `Conflict` (`stale_base`) if it was edited or decided about since.
    """
    decider = Decider("rule", rule, reason)
    if built is not None:
        decider = decider._replace(tried=built.verdict, contents=built.contents)
    message = f"Take back the provisional change of {live.slug}"

    def check(txn: WriteTransaction) -> None:
        _refuse_edited(txn.head, txn.state, live)
        if built is not None:
            record.refuse_changed_cases(txn, built.verdict, _read_receipt(session, live))

    if not live.base_version:
        return retire_by(session, live.path, decider, message, check)
    version = live.base_version
    return reinstate_by(session, live.path, version, decider, message, check, live.before)


def propose_to_take_back(
    session: Session, live: Provisional, rule: str, reason: str, built: GateVerdict | None = None
) -> GateOutcome:
    """Take a change back in a proposal, for a person to accept."""
    name = live.proposal_to_take_back
    proposal = open_proposal(session, name, "brain evolve (provisional)")
    try:
        done = take_back(proposal, live, rule, reason, built)
    finally:
        proposal.close()
    verdict = built.verdict if built else None
    outcome = live.outcome._replace(proposal=name)
    return record.describe_outcome(outcome, "proposed", reason, verdict, done)


def describe(live: Provisional) -> str:
    """Return a change in a few words: the skill, its version, and its evidence."""
    cases = live.verdict.count_cases("held_out")
    return f"{live.slug}@{version_value(live.version)}: E {live.e_value} of 20 over {cases} cases"
