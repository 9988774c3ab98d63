"""The goals, as data: what is to be reached, against whom, and whether it was."""

from collections.abc import Mapping
from typing import NamedTuple

from tests.bench.timing import Series

Results = Mapping[tuple[str, int], Mapping[str, Mapping[str, Series]]]
"""Layout and number of skills, to row, to contestant, to its runs."""

MS = 1 / 1000
KIB = 1 << 10
MB = 1_000_000


class Goal(NamedTuple):
    """One line of the table.

    `measure` is a field of `Sample`. The figure is divided by the median of `against`
    (row, contestant), if given, else by `unit`; `smaller` is a number of skills at which
    the same row is the reference. `sizes` are numbers of skills, none meaning all;
    `stretch` None means there is none.
    """

    work: str
    row: str
    sizes: tuple[int, ...]
    goal: float
    stretch: float | None
    against: tuple[str, str] | None = None
    contestant: str = "brain"
    measure: str = "wall"
    unit: float = 1.0
    unit_name: str = "×"
    smaller: int = 0


B1, B2, B3 = 100, 10_000, 100_000
NO_BRAIN = 0
"""The number of skills under which work stands that needs no brain."""

GOALS = (
    Goal("first snapshot", "first-snapshot", (B2, B3), 0.35, 0.22, ("first-snapshot", "git")),
    Goal("unchanged status", "status", (B3,), 1.5, 0.2, ("status", "git")),
    Goal("upsert in-process", "upsert-in-process", (B3,), 0.01, None, ("upsert", "git")),
    Goal(
        *("upsert in-process", "upsert-in-process", (B3,), 0.4, 0.15),
        ("upsert-in-process", "pygit2"),
    ),
    Goal("upsert in-process", "upsert-in-process", (B3,), 1.7, None, smaller=B1),
    Goal("upsert by command", "upsert", (B3,), 0.35, 0.10, ("upsert", "git tuned")),
    Goal(
        *("diff of 10 changes in-process", "diff", (B3,), 2, 0.5),
        contestant="brain in-process",
        unit=MS,
        unit_name="ms",
    ),
    Goal("append 1 KB to the memory", "append", (), 0.08, 0.03, ("append", "git")),
    Goal(
        *("append 1 KB: stored", "append", (), 128, 8), measure="stored", unit=KIB, unit_name="KiB"
    ),
    Goal("verify --deep", "verify", (B3,), 0.35, 0.13, ("verify", "git after gc")),
    Goal("verify as many snapshots", "verify-lineage", (B3,), 20, None, unit_name="s"),
    Goal(*("peak memory of that", "verify-lineage", (B3,), 1.2, None), measure="rss", smaller=B2),
    Goal("verify as many signed ones", "verify-signed-lineage", (B3,), 20, None, unit_name="s"),
    Goal("restore", "restore", (B3,), 1.3, 0.8, ("restore", "git after gc")),
    Goal("store", "store", (B3,), 1.2, 0.85, ("store", "git after gc"), measure="stored"),
    Goal(
        *("peak memory of the first snapshot", "first-snapshot", (B3,), 150, 80),
        measure="rss",
        unit=MB,
        unit_name="MB",
    ),
    Goal("`brain --version`", "start-up", (NO_BRAIN,), 2.5, 1.6, ("start-up", "python")),
    Goal("`brain log` of 1,000", "log", (B2,), 120, 60, unit=MS, unit_name="ms"),
    Goal("merge of 2 × 50 changes in-process", "merge", (B3,), 20, None, unit=MS, unit_name="ms"),
    Goal("merge base in-process", "merge-base", (B3,), 200, None, unit=MS, unit_name="ms"),
    Goal("prove in-process", "prove", (B3,), 5, None, unit=MS, unit_name="ms"),
    Goal(
        *("check a proof in-process", "prove", (B3,), 1, None),
        contestant="brain checks",
        unit=MS,
        unit_name="ms",
    ),
    Goal("every brain opened in one commitment", "ledger-batch", (B3,), 3, None, unit_name="s"),
    Goal(
        *("a commitment to a log of as many", "ledger-commit", (B3,), 5, None),
        unit=MS,
        unit_name="ms",
    ),
    Goal(
        *("one of a hundred in one go", "ledger-commit", (B3,), 0.5, None),
        contestant="brain by the hundred",
        unit=MS,
        unit_name="ms",
    ),
    Goal("its evidence, made", "ledger-evidence", (B3,), 1, None, unit=MS, unit_name="ms"),
    Goal(
        *("its evidence, checked", "ledger-evidence", (B3,), 1, None),
        contestant="brain checks",
        unit=MS,
        unit_name="ms",
    ),
    Goal(
        *("`brain verify` of anchored evidence", "check-evidence", (NO_BRAIN,), 150, None),
        unit=MS,
        unit_name="ms",
    ),
    Goal("a step of a session", "session-step", (NO_BRAIN,), 10, 2, unit=MS, unit_name="ms"),
    Goal("`brain index`", "index", (B2,), 120, 60, unit=MS, unit_name="ms"),
    Goal("`brain index`", "index", (B3,), 150, None, unit=MS, unit_name="ms"),
    Goal(
        *("selection for a task in-process", "select-bm25", (B2,), 20, None),
        contestant="brain in-process",
        unit=MS,
        unit_name="ms",
    ),
    Goal(
        "an attempt at a skill, 12 cases", "gate-attempt", (B1,), 50, None, unit=MS, unit_name="ms"
    ),
    Goal("`skill_manage` over MCP", "mcp-skill-manage", (B2,), 15, None, unit=MS, unit_name="ms"),
)


NOT_RUN = "not run"


class Verdict(NamedTuple):
    """A goal at one layout and size.

    `figure` is None where there is nothing to judge by: `reason` is then `NOT_RUN`, or says
    why the run failed.
    """

    goal: Goal
    layout: str
    skills: int
    figure: float | None
    reason: str

    @property
    def outcome(self) -> str:
        """`met`, `not met`, `failed` or `not run`."""
        if self.figure is None:
            return NOT_RUN if self.reason == NOT_RUN else "failed"
        return "met" if self.met else "not met"

    @property
    def met(self) -> bool:
        """Whether the goal was reached."""
        return self.figure is not None and self.figure <= self.goal.goal

    @property
    def stretched(self) -> bool:
        """Whether the stretch was reached too."""
        stretch = self.goal.stretch
        return self.figure is not None and stretch is not None and self.figure <= stretch


def judge(results: Results) -> list[Verdict]:
    """Hold the results against every goal whose size was asked for."""
    return [
        Verdict(goal, layout, skills, *_figure(goal, results, layout, skills))
        for goal in GOALS
        for layout, skills in results
        if (skills in goal.sizes if goal.sizes else skills != NO_BRAIN)
    ]


def _figure(goal: Goal, results: Results, layout: str, skills: int) -> tuple[float | None, str]:
    here = results[layout, skills]
    value, reason = _median(here, goal.row, goal.contestant, goal.measure)
    below: float | None = goal.unit
    if goal.smaller:
        there = results.get((layout, goal.smaller), {})
        below, missing = _median(there, goal.row, goal.contestant, goal.measure)
        reason = reason or missing
    elif goal.against:
        below, missing = _median(here, *goal.against, goal.measure)
        reason = reason or missing
    if value is None or not below:
        return None, reason
    return value / below, ""


def _median(
    rows: Mapping[str, Mapping[str, Series]], row: str, contestant: str, measure: str
) -> tuple[float | None, str]:
    series = rows.get(row, {}).get(contestant)
    if series is None:
        return None, NOT_RUN
    return series.median(measure), series.failure


def reference(goal: Goal) -> str:
    """Say in words what the figure is compared with."""
    if goal.smaller:
        return f"at {goal.smaller:,} skills"
    if goal.against is None:
        return ""
    row, contestant = goal.against
    return contestant if row == goal.row else f"{contestant}, {row}"
