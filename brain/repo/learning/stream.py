"""All attempts at a brain as one stream, with a bound of its own.

Each admission has an error of at most 5 % by itself, so a hundred useless attempts may bring five.
The stream is held to e-LOND (Xu and Ramdas, Online multiple testing with e-values, 2024): attempt t
is *upheld* if its E reaches 20 t (t + 1) / (1 + R), where R of the attempts before were upheld.
Then at most 5 % of those upheld are useless in the mean, however the attempts depend on one
another: the shares 1 / (t (t + 1)) of the error sum up to 1.

What counts is in the brain: the verdicts of gates in the lineage of the head, and those of the
attempts that are kept. Each verdict states its own number in `attempt`, so attempts that garbage
collection has dropped are not forgotten; older verdicts are counted by their time.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

from ...gating.decision import DEFAULT_RULES
from ...results import StreamStatus
from ...verdicts.verdict import Verdict
from ...verdicts.verdict_rules import ATTEMPT_NAME
from .. import lineage_cache
from ..derive import read_decision_verdict
from ..derived_db import skill_key
from ..lineage_cache import AncestorSet
from ..provisional import list_provisional
from ..session import Session, list_rejected_refs


class _Attempt(NamedTuple):
    number: int
    time: int
    version: str
    verdict: Verdict

    @property
    def key(self) -> tuple[int, str, bytes]:
        """What tells it from others; copies of a brain that were merged give a number twice."""
        return self.number, self.verdict.skill, self.verdict.text


def read_stream(session: Session) -> StreamStatus:
    """Return what all attempts at this brain come to, and what upholds the next one."""
    upheld = admitted = number = 0
    others: list[str] = []
    for one in _list_attempts(session):
        number = max(one.number, number + 1)
        verdict = one.verdict
        if (verdict.decision, verdict.decider, verdict.gate) != ("admit", "rule", "admit"):
            continue
        admitted += 1
        milli = dict(verdict.numbers).get("e_value_milli", 0)
        if milli >= 1000 * find_bar(number, upheld):
            upheld += 1
        else:
            others.append(f"{verdict.skill}@{one.version}")
    return StreamStatus(
        attempts=number,
        admitted=admitted,
        upheld=upheld,
        provisional=len(list_provisional(session, session.head())),
        not_upheld=others,
        next_e=-int(-find_bar(number + 1, upheld) // 1),
    )


def find_bar(number: int, upheld: int) -> Fraction:
    """Return the E that attempt `number`, from 1, needs after so many were upheld."""
    return Fraction(DEFAULT_RULES.threshold * number * (number + 1), 1 + upheld)


def _list_attempts(session: Session) -> list[_Attempt]:
    """Return the attempts that the brain knows, in their order; an accepted one once."""
    inside = AncestorSet(session, session.head())
    pattern = skill_key("*")
    facts = lineage_cache.query_cache(session, lambda cache: cache.list_facts(pattern))
    decided = {fact.snapshot for fact in facts if fact.snapshot in inside}
    kept = [snapshot for _, snapshot in list_rejected_refs(session)]
    found = sorted(_read(session, [*decided, *kept]))
    said: dict[tuple[int, str, bytes], _Attempt] = {}  # what goes on with one says the last of it
    for one in found:
        if one.key not in said or one.verdict.continues:
            said[one.key] = one
    return [one for one in found if not one.number or said[one.key] is one]


def _read(session: Session, snapshots: list[bytes]) -> Iterator[_Attempt]:
    for here in snapshots:
        snapshot = session.load_snapshot(here)
        verdict = read_decision_verdict(session, snapshot)
        if verdict is not None and verdict.gate:
            number = dict(verdict.numbers).get(ATTEMPT_NAME, 0)
            yield _Attempt(number, snapshot.time, snapshot.operation[3], verdict)
