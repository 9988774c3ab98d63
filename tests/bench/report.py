"""The report: goals with met or not met, then every median, as Markdown."""

from __future__ import annotations

import resource
from collections.abc import Iterator, Mapping

from tests.bench.goals import KIB, MB, Results, Verdict, judge, reference
from tests.bench.timing import Series

_HEAD = """\
# Performance

Made by `make bench`; do not edit. Measured on {machine}.

Medians of {repeats} interleaved runs (three times as many for work of milliseconds, {count}
calls a run in-process), warm cache, whole processes unless it says in-process. A brain is
100 to 100,000 generated skills of about 5 KB and one memory file of {memory} MB. brain syncs
what it acknowledges; git does not sync loose objects and pygit2 syncs nothing and writes no
file. git's automatic gc is off; "git tuned" is git with uncompressed loose objects,
`feature.manyFiles` and the untracked cache. A peak memory below {floor:.0f} MB, that of the
benchmark itself, cannot be seen and reads as that. "processor" is the processor time of all
cores.
"""

_MEASURES = {"wall": "time", "stored": "stored", "rss": "peak memory"}
_BYTES = {
    "store": ("stored",),
    "append": ("wall", "stored"),
    "first-snapshot": ("wall", "rss"),
}


def report(results: Results, machine: str, repeats: int, memory: int, count: int) -> str:
    """Return the whole document."""
    floor = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / MB
    head = _HEAD.format(machine=machine, repeats=repeats, memory=memory, count=count, floor=floor)
    parts = [head, "## Goals\n", *_goals(judge(results))]
    for (layout, skills), rows in results.items():
        title = f"{skills:,} skills, layout {layout}" if skills else "Without a brain"
        parts += [f"\n## {title}\n", *_medians(rows)]
    return "\n".join(parts) + "\n"


def _goals(verdicts: list[Verdict]) -> Iterator[str]:
    yield "| work | skills | layout | against | measured | goal | | stretch | |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for verdict in verdicts:
        goal = verdict.goal
        measured = verdict.reason or "not measured"
        if verdict.figure is not None:
            measured = _number(verdict.figure, goal.unit_name)
        stretch, reached = "", ""
        if goal.stretch is not None:
            stretch = f"≤ {_number(goal.stretch, goal.unit_name)}"
            reached = "met" if verdict.stretched else "not met"
        cells = [
            *(
                goal.work,
                f"{verdict.skills:,}" if verdict.skills else "",
                verdict.layout,
                reference(goal),
                measured,
            ),
            f"≤ {_number(goal.goal, goal.unit_name)}",
            "**met**" if verdict.met else "**not met**",
            *(stretch, reached),
        ]
        yield _row(cells)
    yield _row(["clone and verify", "", "", "", "not there yet", "", "", "", ""])


def _medians(rows: Mapping[str, Mapping[str, Series]]) -> Iterator[str]:
    yield "| work | contestant | measure | median | brain / this | processor |"
    yield "|---|---|---|---|---|---|"
    for row, outcome in rows.items():
        for measure in _BYTES.get(row, ("wall",)):
            ours = outcome["brain"].median(measure) if "brain" in outcome else None
            for contestant, series in outcome.items():
                if measure == "rss" and not (series.median("rss") or series.failure):
                    continue
                yield _row([row, contestant, _MEASURES[measure], *_cells(series, measure, ours)])


def _cells(series: Series, measure: str, ours: float | None) -> tuple[str, str, str]:
    median = series.median(measure)
    if median is None:
        return f"failed: {series.failure}", "", ""
    ratio = f"{ours / median:.3g}" if ours is not None and median else ""
    busy = series.median("cpu") if measure == "wall" else None
    return _amount(median, measure), ratio, _amount(busy, "wall") if busy else ""


def _amount(value: float, measure: str) -> str:
    if measure == "wall":
        return f"{value * 1000:,.3g} ms" if value < 1 else f"{value * 1000:,.0f} ms"
    if value < 1 << 20:
        return f"{value / KIB:,.1f} KiB"
    return f"{value / MB:,.1f} MB"


def _number(value: float, unit: str) -> str:
    shown = f"{value:.3g}" if value < 1000 else f"{value:,.0f}"
    return f"{shown}×" if unit == "×" else f"{shown} {unit}"


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"
