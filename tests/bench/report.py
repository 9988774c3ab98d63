"""The report: each goal met, not met or not run, then every median, as Markdown."""

import resource
from collections.abc import Iterator, Mapping

from tests.bench.goals import KIB, MB, NOT_RUN, Verdict, judge, reference
from tests.bench.record import Record, Row
from tests.bench.timing import Series

_HEAD = """\
# Performance

Made by `make bench`; do not edit. Measured on {machine}.

Medians of {repeats} interleaved runs (three times as many for work of milliseconds, {count}
calls a run in-process), warm cache, whole processes unless it says in-process. A brain is
100 to 100,000 generated skills of about 5 KB and one memory file of {memory} MB. A row that was
not run under these conditions says so; it is neither met nor missed. brain syncs
what it acknowledges; git does not sync loose objects and pygit2 syncs nothing and writes no
file. git's automatic gc is off; "git tuned" is git with uncompressed loose objects,
`feature.manyFiles` and the untracked cache. A peak memory below {floor:.0f} MB, that of the
benchmark itself, cannot be seen and reads as that. "processor" is the processor time of all
cores.
"""

_MEASURES = {"wall": "time", "stored": "stored", "rss": "peak memory"}
_BYTES = {"store": ("stored",), "append": ("wall", "stored"), "first-snapshot": ("wall", "rss")}


def report(record: Record, calls: int) -> str:
    """Return the whole document; `calls` is how many an in-process run makes."""
    floor = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / MB
    head = _HEAD.format(
        machine=record.conditions.machine,
        repeats=_repeats(record),
        memory=record.conditions.memory_mb,
        count=calls,
        floor=floor,
    )
    parts = [head, "## Goals\n", *_goals(judge(record.results()))]
    for (layout, skills), rows in sorted(record.rows.items(), key=lambda item: item[0][::-1]):
        title = f"{skills:,} skills, layout {layout}" if skills else "Without a brain"
        parts += [f"\n## {title}\n", *_medians(rows)]
    return "\n".join(parts) + "\n"


def _repeats(record: Record) -> str:
    """Say how often rows were run: one number, or the least and the greatest."""
    numbers = {row.repeats for rows in record.rows.values() for row in rows.values()}
    least, most = min(numbers), max(numbers)
    return str(least) if least == most else f"{least} to {most}"


def _goals(verdicts: list[Verdict]) -> Iterator[str]:
    yield "| work | skills | layout | against | measured | goal | | stretch | |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for verdict in verdicts:
        goal = verdict.goal
        measured = "" if verdict.reason == NOT_RUN else verdict.reason
        if verdict.figure is not None:
            measured = _number(verdict.figure, goal.unit_name)
        stretch, reached = "", ""
        if goal.stretch is not None:
            stretch = f"≤ {_number(goal.stretch, goal.unit_name)}"
            if verdict.figure is not None:
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
            verdict.outcome if verdict.figure is None else f"**{verdict.outcome}**",
            *(stretch, reached),
        ]
        yield _row(cells)


def _medians(rows: Mapping[str, Row]) -> Iterator[str]:
    yield "| work | contestant | measure | median | brain / this | processor |"
    yield "|---|---|---|---|---|---|"
    for row, outcome in ((name, rows[name].contestants) for name in sorted(rows)):
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
