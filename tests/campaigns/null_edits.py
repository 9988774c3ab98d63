"""Measures the gate: how many useless edits it admits, and how many useful ones it finds.

    python -m tests.campaigns.null_edits [--attempts 2000] [--seed 1]

A scripted learner passes each case with a probability of its own. An edit changes the
probabilities, or does not; the gate sees outcomes alone. Every row of the first table is so many
attempts, each with 8, 12, 24 or 48 held-out cases. Ends with status 1 if more than 5 % of the
useless edits in a row are admitted, or of those that give these very cases nothing are admitted or
provisional, or of those that reword are admitted later.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from math import comb, sqrt
from pathlib import Path
from random import Random
from time import perf_counter

from brain.gating.decision import DEFAULT_RULES, CaseRow, GateRules, decide
from brain.gating.evidence import e_value

Probabilities = list[float]
Edit = Callable[[Random, Probabilities, float], Probabilities]

NOISES: dict[str, float] = {"none": 0.0, "low": 0.3, "middle": 1.0, "high": 5.0}
"""Of each level, the parameter of the beta distribution of a case's probability to pass.

Without noise a case always passes or always fails; with high noise most are near a half.
"""
CASE_COUNTS = (8, 12, 24, 48)
GAINS = (0.1, 0.2, 0.3)
MAX_SHARE = 0.05
PATIENT_RULES = GateRules(max_rounds=60)
"""Rules that look sixty times."""


def draw_probability(rng: Random, noise: float) -> float:
    """Return how often a case passes, one half in the mean."""
    return rng.betavariate(noise, noise) if noise else float(rng.random() < 0.5)


def _keep(rng: Random, before: Probabilities, noise: float) -> Probabilities:
    return before


def _reword(share: float) -> Edit:
    """Return an edit that gives a share of the cases a new probability from the same distribution.

    So does a rewording: it helps some tasks and harms others, and nothing in the mean.
    """

    def edit(rng: Random, before: Probabilities, noise: float) -> Probabilities:
        return [draw_probability(rng, noise) if rng.random() < share else p for p in before]

    return edit


def _blur(rng: Random, before: Probabilities, noise: float) -> Probabilities:
    """Move every probability half of the way to one half."""
    return [p / 2 + 0.25 for p in before]


def _trade(rng: Random, before: Probabilities, noise: float) -> Probabilities:
    """Give a case what another loses: the mean over these very cases stays."""
    after = list(before)
    order = rng.sample(range(len(after)), len(after))
    for one, other in zip(order[::2], order[1::2], strict=False):
        moved = rng.random() * min(1 - after[one], after[other])
        after[one] += moved
        after[other] -= moved
    return after


def _sacrifice(rng: Random, before: Probabilities, noise: float) -> Probabilities:
    """Make all cases but one a little better, and that one as much worse."""
    after = list(before)
    last = max(range(len(after)), key=after.__getitem__)
    for i, p in enumerate(after):
        moved = min(1 - p, before[last] / len(after)) if i != last else 0.0
        after[i] += moved
        after[last] -= moved
    return after


NULL_EDITS: dict[str, Edit] = {
    "no-op": _keep,
    "no-op, 60 looks": _keep,
    "rewording, 1 case in 10": _reword(0.1),
    "rewording, 3 cases in 10": _reword(0.3),
    "rewording of all": _reword(1.0),
    "added noise": _blur,
    "trade between cases": _trade,
    "one case for the others": _sacrifice,
}


def _gain_everywhere(gain: float) -> Edit:
    """Return an edit by which each case passes more often."""
    return lambda rng, before, noise: [p + gain for p in before]


def _gain_somewhere(gain: float) -> Edit:
    """Return an edit that solves a share of the cases, which failed before, for good."""
    return lambda rng, before, noise: [
        1.0 if i < round(gain * len(before)) else p for i, p in enumerate(before)
    ]


def draw_before(rng: Random, cases: int, noise: float, shape: str, gain: float) -> Probabilities:
    """Return probabilities that leave room for a gain of this shape."""
    drawn = [draw_probability(rng, noise) for _ in range(cases)]
    if shape == "everywhere":
        return [p * (1 - gain) for p in drawn]
    return [0.0 if i < round(gain * cases) else p for i, p in enumerate(drawn)]


@dataclass(frozen=True, slots=True, kw_only=True)
class RealEdit:
    """An edit of the skill of a small model, with how often each of the 24 cases is right."""

    kind: str
    is_useful: bool
    before: Probabilities
    after: Probabilities

    @property
    def is_null(self) -> bool:
        """Whether it is meant to be useless, and gives these very cases nothing."""
        return not self.is_useful and sum(self.after) <= sum(self.before) + 1e-9


@cache
def read_small_model() -> list[RealEdit]:
    """Return the 78 edits that docs/concepts/gate.md sums up."""
    found = json.loads(Path(__file__).with_name("small_model_shares.json").read_text())
    return [
        RealEdit(kind=kind, is_useful=is_useful, before=found[base], after=after)
        for kind, is_useful, base, after in found["edits"]
    ]


@dataclass(slots=True)
class ScriptedRuns:
    """Outcomes of cases before and after an edit, round by round."""

    rng: Random
    before: Probabilities
    after: Probabilities
    rows: list[CaseRow] = field(default_factory=list)

    def run_round(self) -> None:
        """Run every case once without the edit and once with it."""
        rows = self.rows or [CaseRow(name=str(i), before="", after="") for i in range(self.cases)]
        self.rows = [
            CaseRow(
                name=row.name, before=row.before + self._run(old), after=row.after + self._run(new)
            )
            for row, old, new in zip(rows, self.before, self.after, strict=True)
        ]

    @property
    def cases(self) -> int:
        """How many cases there are."""
        return len(self.before)

    def _run(self, probability: float) -> str:
        return "p" if self.rng.random() < probability else "f"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """How an attempt ended, after so many rounds and runs; `gain` is the true one, a case."""

    gate: str
    is_provisional: bool
    rounds: int
    runs: int
    gain: float

    @property
    def is_live(self) -> bool:
        """Whether the edit is admitted or provisional."""
        return self.gate == "admit" or self.is_provisional


def attempt_edit(runs: ScriptedRuns, rules: GateRules, repeats_itself: bool) -> Attempt:
    """Try an edit as the gate does."""
    is_final = False
    while not is_final:
        runs.run_round()
        decision = decide(runs.rows, rules, repeats_itself=repeats_itself)
        is_final = decision.is_final
    rounds = len(runs.rows[0].before)
    return Attempt(
        gate=decision.gate,
        is_provisional=decision.is_provisional,
        rounds=rounds,
        runs=2 * rounds * runs.cases,
        gain=(sum(runs.after) - sum(runs.before)) / runs.cases,
    )


@cache
def sign_test(wins: int, losses: int) -> float:
    """Return the one-sided p-value of the sign test."""
    n = wins + losses
    return sum(comb(n, i) for i in range(wins, n + 1)) / 2**n


def count_pairs(rows: Sequence[CaseRow]) -> tuple[int, int]:
    """Return the runs won and lost, whatever their case."""
    pairs = Counter(pair for row in rows for pair in zip(row.before, row.after, strict=True))
    return pairs["f", "p"], pairs["p", "f"]


def admits_by_mean(rows: Sequence[CaseRow]) -> bool:
    """Admit whatever has won more runs than it lost."""
    wins, losses = count_pairs(rows)
    return wins > losses


def admits_by_sign_test(rows: Sequence[CaseRow]) -> bool:
    """Admit at p <= 5 % of the sign test over runs."""
    return sign_test(*count_pairs(rows)) <= MAX_SHARE


def admits_by_runs(rows: Sequence[CaseRow]) -> bool:
    """Admit if the E-value reaches 20 when each run counts by itself."""
    return e_value(*count_pairs(rows)) >= DEFAULT_RULES.threshold


def admits_by_gate(rows: Sequence[CaseRow]) -> bool:
    """Admit as the gate does."""
    return decide(rows, repeats_itself=False).gate == "admit"


DESIGNS: dict[str, tuple[Callable[[Sequence[CaseRow]], bool], range]] = {
    "more wins than losses, after 5 rounds": (admits_by_mean, range(5, 6)),
    "sign test over runs, after 12 rounds": (admits_by_sign_test, range(12, 13)),
    "sign test over runs, after each round": (admits_by_sign_test, range(1, 13)),
    "E over runs, after each round from 5": (admits_by_runs, range(5, 13)),
    "the gate": (admits_by_gate, range(5, 13)),
}
"""Ways to decide, each with the rounds after which it looks."""


def find_admitting(runs: ScriptedRuns) -> set[str]:
    """Return the designs that admit an edit within twelve rounds."""
    found = set()
    for number in range(1, DEFAULT_RULES.max_rounds + 1):
        runs.run_round()
        found |= {
            name
            for name, (admits, looks) in DESIGNS.items()
            if name not in found and number in looks and admits(runs.rows)
        }
    return found


def wilson_interval(hits: int, count: int) -> tuple[float, float]:
    """Return the 95 % interval of a share (Wilson 1927)."""
    z = 1.959964
    share, spread = hits / count, z * z / count
    middle = (share + spread / 2) / (1 + spread)
    half = z * sqrt(share * (1 - share) / count + spread / (4 * count)) / (1 + spread)
    return max(middle - half, 0.0), min(middle + half, 1.0)


def _make_null(rng: Random, edit: Edit, noise: float, cases: int) -> ScriptedRuns:
    before = [draw_probability(rng, noise) for _ in range(cases)]
    return ScriptedRuns(rng, before, edit(rng, before, noise))


def measure_nulls(attempts: int, seed: int) -> Iterator[tuple[str, list[Attempt]]]:
    """Yield each kind of useless edit at each noise, with the attempts."""
    for kind, edit in NULL_EDITS.items():
        rules = PATIENT_RULES if "looks" in kind else DEFAULT_RULES
        for name, noise in NOISES.items():
            rng = Random(f"{seed} {kind} {name}")
            made = (_make_null(rng, edit, noise, rng.choice(CASE_COUNTS)) for _ in range(attempts))
            yield f"{kind} | {name}", [attempt_edit(runs, rules, False) for runs in made]
    for kind, edit in NULL_EDITS.items():
        if "rewording" in kind:
            rng = Random(f"{seed} {kind} program")
            made = (_make_null(rng, edit, 0.0, rng.choice(CASE_COUNTS)) for _ in range(attempts))
            yield f"{kind} | one round", [attempt_edit(runs, DEFAULT_RULES, True) for runs in made]


def measure_gains(attempts: int, seed: int) -> Iterator[tuple[str, list[list[Attempt]]]]:
    """Yield each gain by its shape and noise, with the attempts for each number of cases."""
    for gain in GAINS:
        for shape, make in (("everywhere", _gain_everywhere), ("somewhere", _gain_somewhere)):
            for name, noise in NOISES.items():
                columns = []
                for cases in CASE_COUNTS:
                    rng = Random(f"{seed} {gain} {shape} {name} {cases}")
                    columns.append(
                        [
                            _attempt_gain(rng, make, gain, noise, cases, shape)
                            for _ in range(attempts)
                        ]
                    )
                yield f"{100 * gain:.0f} {shape} | {name}", columns


def _attempt_gain(
    rng: Random, make: Callable[[float], Edit], gain: float, noise: float, cases: int, shape: str
) -> Attempt:
    before = draw_before(rng, cases, noise, shape, gain)
    runs = ScriptedRuns(rng, before, make(gain)(rng, before, noise))
    return attempt_edit(runs, DEFAULT_RULES, False)


def measure_designs(attempts: int, seed: int) -> Iterator[tuple[str, list[float]]]:
    """Yield how often each design admits a no-op, rewordings, and a gain of 20 points, 24 cases."""
    columns: list[Counter[str]] = []
    edits: list[tuple[Edit, float, float]] = [
        (_keep, 1.0, 0.0),
        (_reword(0.3), 0.0, 0.0),
        (_reword(0.3), 0.3, 0.0),
        (_trade, 1.0, 0.0),
        (_gain_everywhere(0.2), 1.0, 0.2),
    ]
    for number, (edit, noise, room) in enumerate(edits):
        rng, found = Random(f"{seed} design {number}"), Counter[str]()
        for _ in range(attempts):
            before = draw_before(rng, 24, noise, "everywhere", room)
            found.update(find_admitting(ScriptedRuns(rng, before, edit(rng, before, noise))))
        columns.append(found)
    for name in DESIGNS:
        yield name, [found[name] / attempts for found in columns]


def measure_broken(attempts: int, seed: int) -> Iterator[tuple[str, list[float]]]:
    """Yield how often a gain of 20 points is admitted that makes one of 48 cases worse."""
    for old, new in ((1.0, 0.0), (0.9, 0.1), (0.9, 0.4), (1.0, 0.5), (0.7, 0.4)):
        shares = []
        for name in ("low", "middle", "high"):
            rng, admitted = Random(f"{seed} broken {old} {new} {name}"), 0
            for _ in range(attempts):
                before = draw_before(rng, 48, NOISES[name], "everywhere", 0.2)
                after = [p + 0.2 for p in before]
                before[0], after[0] = old, new
                runs = ScriptedRuns(rng, before, after)
                admitted += attempt_edit(runs, DEFAULT_RULES, False).gate == "admit"
            shares.append(admitted / attempts)
        yield f"{100 * old:.0f} % to {100 * new:.0f} %", shares


LATER_CASES, MOST_LATER = 4, 32
"""Cases that a provisional edit gets at a time, and how many there are at the end."""


def go_on(runs: ScriptedRuns, rng: Random, edit: Edit, noise: float, room: float) -> str:
    """Try a provisional edit on cases that come later, until the gate says what it is."""
    word, rows = "undecided", runs.rows
    rounds = len(rows[0].before)
    while word == "undecided" and len(rows) < MOST_LATER:
        before = draw_before(rng, LATER_CASES, noise, "everywhere", room)
        new = ScriptedRuns(rng, before, edit(rng, before, noise))
        for _ in range(rounds):
            new.run_round()
        later = [
            CaseRow(name=f"{len(rows)} {row.name}", before=row.before, after=row.after)
            for row in new.rows
        ]
        rows = [*rows, *later]
        word = decide(rows, repeats_itself=False).gate
    return word


def measure_later(attempts: int, seed: int) -> Iterator[tuple[str, Counter[str]]]:
    """Yield what becomes of edits that 8 cases make provisional, as more cases come."""
    kinds = [("rewording of all", _reword(1.0), 0.0), ("rewording, 3 in 10", _reword(0.3), 0.0)]
    kinds += [("no-op", _keep, 0.0), ("20 everywhere", _gain_everywhere(0.2), 0.2)]
    for kind, edit, room in kinds:
        for name, noise in NOISES.items():
            rng, found = Random(f"{seed} later {kind} {name}"), Counter[str]()
            for _ in range(attempts):
                before = draw_before(rng, 8, noise, "everywhere", room)
                runs = ScriptedRuns(rng, before, edit(rng, before, noise))
                tried = attempt_edit(runs, DEFAULT_RULES, False)
                if tried.gate == "undecided" and tried.is_provisional:
                    found.update(["provisional", go_on(runs, rng, edit, noise, room)])
            yield f"{kind} | {name}", found


def report(attempts: int, seed: int) -> Iterator[str]:
    """Yield the tables, in Markdown; the last line says what was too many, if anything was."""
    began, count, too_many = perf_counter(), 0, []
    yield "| useless edit | noise | admitted | 95 % interval | undecided | rounds | live, no gain |"
    yield "|---|---|---|---|---|---|---|"
    for label, tried in measure_nulls(attempts, seed):
        admitted = sum(one.gate == "admit" for one in tried)
        undecided = sum(one.gate == "undecided" for one in tried)
        low, high = wilson_interval(admitted, len(tried))
        mean = sum(one.rounds for one in tried) / len(tried)
        count += len(tried)
        useless = [one for one in tried if one.gain <= 1e-9]
        live = sum(one.is_live for one in useless)
        bad = admitted > MAX_SHARE * len(tried) or live > MAX_SHARE * len(useless)
        too_many += [label] if bad else []
        cells = (
            f"{_percent(admitted / len(tried))} | {_percent(low)} to {_percent(high)} "
            f"| {_percent(undecided / len(tried))} | {mean:.1f} "
            f"| {_percent(live / max(len(useless), 1))} of {len(useless)}"
        )
        yield f"| {label} | {cells} |"
    took = (perf_counter() - began) / count * 1000
    yield f"\n{count} attempts, {took:.1f} ms each\n"
    few = max(attempts // 4, 1)
    yield f"| gain | noise | {' | '.join(f'{cases} cases' for cases in CASE_COUNTS)} |"
    yield "|---|---|" + "---|" * len(CASE_COUNTS)
    for label, columns in measure_gains(few, seed):
        yield f"| {label} | {' | '.join(map(_describe_gain, columns))} |"
    yield "\n| edit | noise | provisional | then admitted | taken back | still provisional |"
    yield "|---|---|---|---|---|---|"
    for label, found in measure_later(few, seed):
        words = ("provisional", "admit", "reject", "undecided")
        yield f"| {label} | {' | '.join(_percent(found[word] / few) for word in words)} |"
        is_useless = not label.startswith("20")
        too_many += [label] if is_useless and found["admit"] > max(MAX_SHARE * few, 1) else []
    yield "\n| design | no-op | rewording, no noise | rewording, low | trade | gain of 20 points |"
    yield "|---|---|---|---|---|---|"
    for name, shares in measure_designs(few, seed):
        yield f"| {name} | {' | '.join(map(_percent, shares))} |"
    yield "\n| one case goes from | low | middle | high |"
    yield "|---|---|---|---|"
    for name, shares in measure_broken(few, seed):
        yield f"| {name} | {' | '.join(map(_percent, shares))} |"
    yield f"\nToo many were admitted: {', '.join(too_many)}" if too_many else ""


def _describe_gain(tried: Sequence[Attempt]) -> str:
    admitted = sum(one.gate == "admit" for one in tried)
    runs = sum(one.runs for one in tried) / len(tried)
    live = sum(one.is_live for one in tried)
    shares = f"{100 * admitted / len(tried):.0f} %, {100 * live / len(tried):.0f} %"
    return f"{shares}, {runs:.0f} runs"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables; return 1 if too many useless edits were admitted."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--attempts", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    line = ""
    for line in report(options.attempts, options.seed):
        print(line, flush=True)
    return 1 if line else 0


if __name__ == "__main__":
    sys.exit(main())
