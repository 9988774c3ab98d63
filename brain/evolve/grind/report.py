"""The report of a grind as one page of HTML: no script, no network, and always the same bytes."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from html import escape
from io import StringIO
from math import comb, isfinite
from pathlib import Path
from string import Template
from typing import Any

from ...errors import printable_text

Row = Mapping[str, Any]
_COUNTS = ("requests", "tokens_in", "tokens_out")
_MAX_CHARS = 2000
_SHOWN, _SHORT = 3, 40
_MAX_POINTS = 24
"""Of a curve; with more batches, a point is the mean of several."""
_BLUE, _ORANGE, _SOFT, _LINE = "#0b62a8", "#b04600", "#5a646e", "#dadee3"
_VARIABLES = {_BLUE: "blue", _ORANGE: "orange", _SOFT: "soft", _LINE: "line"}
"""Colours that are drawn in, and what of the page's style takes their place, light or dark."""
_SPLITS = {"holdout": "Held out for the gate", "test": "Kept for the comparison"}
_GOOD = {"admitted": True, "provisional": True, "rejected": False}
_LOOK = {
    "admitted": "brain show {snapshot:.12} --patch",
    "provisional": "brain show {snapshot:.12} --patch",
    "proposed": "brain proposal show {proposal}",
    "rejected": "brain evolve attempts {attempt}",
}


def render_report(report: Row) -> str:
    """Return the page; all texts of the report are escaped.

    Without matplotlib (the extra `report`) it has the tables alone.
    """
    settings = [{"name": name, "value": value} for name, value in report["settings"].items()]
    sections = {
        "Learning": _draw_curves(report) + _list_batches(report),
        "Tasks": "".join(_list_tasks(report["tasks"])) or "<p>None.</p>\n",
        "Steps of the evolver": _list_steps(report["steps"]),
        "Decisions of the gate": _list_decisions(report["batches"]),
        "Transfer": _show_transfer(report["transfer"]),
        "With and without what was learned": _compare(report["compare"]),
        "Cost": _list_cost(report),
        "Settings": _fold("All settings", _table("Setting name|Value value", settings)),
    }
    body = [f"<section>\n<h2>{title}</h2>\n{html}</section>\n" for title, html in sections.items()]
    return Template(Path(__file__).with_suffix(".html").read_text("utf-8")).substitute(
        title=f"Grind {_show(report['name'])}", body=_head(report) + "".join(body)
    )


def _head(report: Row) -> str:
    ground = [task for task in report["tasks"] if task["cycles"]]
    passed = sum(task["result"] == "passed" for task in ground)
    first = sum(task["cycles"][0]["passed"] for task in ground)
    cost, skills = report["cost"], [one["skills"] for one in report["batches"]]
    tiles = (
        ("Result", report["result"], report["reason"] or f"{len(skills)} batches"),
        ("Final score", report["final_score"], "mean of the tasks ground"),
        ("Passed", f"{passed} of {len(ground)}", f"{first} at the first try"),
        ("Skills", skills[-1] if skills else None, f"by {len(report['steps'])} steps of evolution"),
        ("EGL", report["egl"], "new skills per 1,000 solved tasks"),
        ("Converged", report["converged"], "whether new skills have ceased"),
        ("Tokens", cost["tokens_in"] + cost["tokens_out"], f"in {cost['requests']} requests"),
        ("Time", str(timedelta(seconds=round(cost["seconds"]))), "hours, minutes and seconds"),
    )
    cells = (
        f"<div><dt>{name}</dt><dd>{_show(value)}<small>{_show(about)}</small></dd></div>\n"
        for name, value, about in tiles
    )
    return (
        f"<header>\n<h1>Grind “{_show(report['name'])}”</h1>\n<p>Solved by"
        f" {_code(report['solver'])}, evolved by {_code(report['evolver'])} on the branch"
        f" {_code(report['branch'])}: see {_code('brain proposal show ' + report['name'])}.</p>\n"
        f"<dl class=tiles>\n{''.join(cells)}</dl>\n</header>\n"
    )


_Groups = Sequence[Sequence[Sequence[Row]]]
"""The points of a curve: for each its tasks, and their cycles up to then."""
_Lines = Mapping[str, tuple[Sequence[float], str, str]]


def _draw_curves(report: Row) -> str:
    """Return what was learned by batch and by cycle; no text of the report is drawn."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        return "<p>For curves: <code>pip install 'agent-brain[report]'</code></p>\n"
    tasks = {task["name"]: task["cycles"] for task in report["tasks"] if task["cycles"]}
    batches = report["batches"]
    if not tasks or not batches:
        return ""
    width = -(-len(batches) // _MAX_POINTS)
    groups = [batches[start : start + width] for start in range(0, len(batches), width)]
    ends = [group[-1]["number"] for group in groups]
    ground = [[tasks[name] for one in group for name in one["tasks"]] for group in groups]
    firsts = [[cycles[:1] for cycles in group] for group in ground]
    rounds = range(1, 1 + max(map(len, tasks.values())))
    tried = [[cycles[:upto] for cycles in tasks.values()] for upto in rounds]
    by_batch = {**_rates(ground), "passed at first try": (_passed(firsts), _ORANGE, "s--")}
    skills: _Lines = {"skills": ([group[-1]["skills"] for group in groups], _BLUE, "o-")}
    mean = f", {width} a point" if width > 1 else ""
    figures = (
        _draw("batch", f"By batch{mean}", ends, by_batch),
        _draw("cycle", "By cycle, over all tasks", rounds, _rates(tried)),
        _draw("skills", "Skills in the library", ends, skills),
    )
    return f"<div class=curves>\n{''.join(figures)}</div>\n"


def _passed(groups: _Groups) -> list[float]:
    return [_mean(any(one["passed"] for one in cycles) for cycles in tasks) for tasks in groups]


def _rates(groups: _Groups) -> _Lines:
    scores = [_mean(cycles[-1]["score"] for cycles in tasks) for tasks in groups]
    return {"passed": (_passed(groups), _BLUE, "o-"), "score": (scores, _SOFT, "^:")}


def _draw(key: str, title: str, x: Sequence[int], lines: _Lines) -> str:
    from matplotlib import style
    from matplotlib.figure import Figure

    out = StringIO()
    # Without a salt, the ids in it were drawn by chance.
    drawing = {"svg.fonttype": "none", "svg.hashsalt": "brain", "font.size": 11}
    with style.context(["default", drawing]):
        figure = Figure(figsize=(5, 3), layout="constrained")
        axes = figure.subplots()
        for label, (values, colour, marks) in lines.items():
            axes.plot(x, values, marks, color=colour, label=label, lw=2, ms=5)
        top = max(1, *(value for values, _, _ in lines.values() for value in values))
        axes.set_ylim(-0.03 * top, 1.05 * top)
        axes.locator_params(axis="y", integer=top > 1)
        axes.locator_params(axis="x", integer=True)
        axes.spines[:].set_visible(False)
        axes.grid(axis="y", color=_LINE)
        axes.tick_params(colors=_SOFT, length=0)
        axes.set_xlabel("cycle" if key == "cycle" else "batch", color=_SOFT)
        figure.legend(loc="outside upper left", ncols=len(lines), frameon=False, labelcolor=_SOFT)
        unsaid = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(out, format="svg", transparent=True, metadata=unsaid)
    svg = out.getvalue().partition("<svg ")[2].partition(">")[2]
    svg = re.sub(r'(\bid="|url\(#|href="#)', rf"\1{key}-", svg)  # other figures have such ids
    for colour, variable in _VARIABLES.items():
        svg = svg.replace(colour, f"var(--{variable})")
    said = (f"{label} from {one[0][0]:.2f} to {one[0][-1]:.2f}" for label, one in lines.items())
    return (
        f"<figure>\n<figcaption>{title}</figcaption>\n"
        f'<svg viewBox="0 0 360 216" role=img aria-labelledby={key}>\n'
        f"<title id={key}>{title}: {', '.join(said)}</title>{svg}</figure>\n"
    )


def _list_batches(report: Row) -> str:
    cycles = {task["name"]: task["cycles"] for task in report["tasks"]}
    rows = (
        {
            **one,
            "gate": one["gate"]["done"] if one["gate"] else "",
            "score": _mean(cycles[name][-1]["score"] for name in one["tasks"]),
            "tasks": len(one["tasks"]),
        }
        for one in report["batches"]
    )
    return _table(
        "Batch number|Tasks tasks|Passed passed|At first try first_passed|Score score"
        "|Skills skills|EGL egl|Gate gate|Went back to went_back_to",
        rows,
    )


def _list_tasks(tasks: Sequence[Row]) -> Iterable[str]:
    practice = [_show_task(task) for task in tasks if task["split"] == "practice"]
    if practice:
        yield "<p>Each try with its score; unfold a task for its history.</p>\n<div class=list>\n"
        yield from (*practice, "</div>\n")
    for split, use in _SPLITS.items():
        if names := [_code(task["name"]) for task in tasks if task["split"] == split]:
            yield _fold(f"{use}: {len(names)}", f"<p>{', '.join(names)}</p>")


def _show_task(task: Row) -> str:
    rows = (
        {
            **one,
            "result": _pip(one["passed"], "PASS" if one["passed"] else "FAIL"),
            "tests": f"{one['tests_passed']} of {one['tests']}" if one["tests"] else None,
            "snapshot": _code(one["snapshot"][:12]),
        }
        for one in task["cycles"]
    )
    table = _table(
        "Cycle cycle|Result result|Score score|Tests tests|Failure failure"
        "|Skills in front skills|Opened was_read|Seconds seconds|Snapshot snapshot",
        rows,
    )
    tries = [_pip(one["passed"], _show(one["score"])) for one in task["cycles"]]
    reason = f"<p>{_show(task['reason'])}</p>\n" if task["reason"] else ""
    more = f"<i class=tag>{_show(task['category'])}</i> {' '.join(tries) or task['result']}"
    return _fold(_show(task["name"]), reason + table, more)


def _list_steps(steps: Iterable[Row]) -> str:
    rows = (
        {
            **one,
            "step": _code(f"evo-{one['number']}"),
            "skills": f"{one['skills_before']} → {one['skills_after']}",
            "refused": "; ".join(f"{no['path']} {no['reason']}" for no in one["refused"]),
            "tokens": one["tokens_in"] + one["tokens_out"],
        }
        for one in steps
    )
    about = "<p>Look at step N with <code>brain diff pre-evo-N evo-N --patch</code>.</p>\n"
    return about + _table(
        "Step step|Batch batch|After kind|Tasks tasks|Skills skills|Added added"
        "|Changed changed|Refused refused|Error error|Tokens tokens",
        rows,
    )


def _list_decisions(batches: Iterable[Row]) -> str:
    rows = (
        {
            **gate,
            "number": one["number"],
            "done": _pip(_GOOD.get(gate["done"]), gate["done"]),
            "e_value": float(gate["e_value"]) if gate["e_value"] else None,
            "slug": f"{gate['slug']} {gate['version'] or ''}",
            "look": _code(_LOOK.get(gate["done"], "").format_map(gate)),
        }
        for one in batches
        if (gate := one["gate"])
    )
    return "<p>What the branch learned, tried on the tasks held out.</p>\n" + _table(
        "Batch number|Decision done|Skill slug|Wins wins|Losses losses|Ties ties|E e_value"
        "|Look at it look|Reason reason",
        rows,
    )


def _show_transfer(transfer: Sequence[Row]) -> str:
    columns = sorted({f" {one['category']}" for one in transfer})  # no name is that of a column
    skills: dict[str, dict[str, Any]] = defaultdict(lambda: dict.fromkeys(columns, ""))
    for one in transfer:
        share = 45 * one["first_passed"] // max(1, one["tasks"])
        home = " home" * (one["category"] == one["born_at"])
        counts = f"{one['first_passed']} of {one['tasks']}"
        cell = f'<span class="tag heat{home}" style="--share: {share}%">{counts}</span>'
        skills[one["skill"]] |= {**one, f" {one['category']}": _Html(cell)}
    table = _table("Skill skill|Born at born_at", skills.values(), columns)
    about = "First tries that passed with a skill in front; a ring marks where it was born."
    return f"<p>{about}</p>\n{table}"


def _compare(compare: Row | None) -> str:
    if compare is None:
        return "<p>Not compared: <code>--compare</code> was not given.</p>\n"
    groups: dict[str, list[Row]] = defaultdict(list)
    for task in compare["tasks"]:
        groups[task["category"]].append(task)
    rows = [_side(name, tasks) for name, tasks in sorted(groups.items())]
    each = [_side(task["name"], [task]) for task in compare["tasks"]]
    wins, losses = compare["wins"], compare["losses"]
    fewer = sum(comb(wins + losses, count) for count in range(min(wins, losses) + 1))
    chance = min(1.0, 2 * fewer / 2 ** (wins + losses))  # the sign test, two-sided
    columns = "{} name|Tasks tasks|Without before|With after|From 0 to 1 shown"
    return (
        f"<p>Each task of the {_show(compare['split'])} split without (○) and with (●) what was"
        f" learned: {wins} better, {losses} worse, {compare['ties']} the same. Chance alone would"
        f" differ as much with probability {chance:.2g}.</p>\n"
        + _table(columns.format("Category"), [*rows, _side("All", compare["tasks"])])
        + _fold("Each task", _table(columns.format("Task"), each))
    )


def _side(name: str, tasks: Sequence[Row]) -> Row:
    before, after = (_mean(one[key] for one in tasks) for key in ("before", "after"))
    kind = "yes" if after > before else "no" if after < before else ""
    dots = "".join(f'<i style="left: {100 * value:.1f}%"></i>' for value in (before, after))
    shown = _Html(f'<span class="pair {kind}" aria-hidden=true>{dots}</span>')
    return {"name": name, "tasks": len(tasks), "before": before, "after": after, "shown": shown}


def _list_cost(report: Row) -> str:
    spent = defaultdict(list, Solving=[one for task in report["tasks"] for one in task["cycles"]])
    for step in report["steps"]:
        spent[f"Evolution: {step['kind']}"].append(step)
    rows = [
        {"name": name, **{key: sum(one[key] for one in bills) for key in _COUNTS}}
        for name, bills in spent.items()
    ]
    total = {key: report["cost"][key] for key in _COUNTS}
    others = {key: total[key] - sum(row[key] for row in rows) for key in _COUNTS}
    rows += [{"name": "Gate and comparison", **others}, {"name": "All", **total}]
    return _table("For name|Requests requests|Tokens in tokens_in|Tokens out tokens_out", rows)


class _Html(str):
    """Text that is escaped already."""


def _show(value: object) -> _Html:
    """Return a value of the report as HTML: the place where all its texts are escaped."""
    if isinstance(value, _Html):
        return value
    if value is None or isinstance(value, bool):
        return _Html({None: "–", True: "yes", False: "no"}[value])
    if isinstance(value, int | float):
        return _Html(f"{value:,.{2 * isinstance(value, float)}f}" if isfinite(value) else "∞")
    if isinstance(value, list):
        shown = [_code(one) for one in value]
        more = _fold(f"{len(shown) - _SHOWN} more", "<br>".join(shown[_SHOWN:]))
        return _Html("<br>".join(shown[:_SHOWN]) + more * (len(shown) > _SHOWN))
    return _Html(escape(printable_text(value, _MAX_CHARS)))


def _code(text: str) -> _Html:
    return _Html(f"<code>{_show(text)}</code>" if text else "")


def _pip(is_good: bool | None, text: str) -> _Html:
    mark, kind = {True: ("✓ ", "yes"), False: ("✗ ", "no"), None: ("", "")}[is_good]
    return _Html(f'<span class="pip {kind}">{mark}{_show(text)}</span>')


def _mean(values: Iterable[float | None]) -> float:
    """Return the mean; what has no score counts as 0."""
    numbers = [float(value or 0) for value in values]
    return sum(numbers) / len(numbers) if numbers else 0.0


def _fold(title: str, html: str, more: str = "") -> str:
    return f"<details><summary><b>{title}</b> <span>{more}</span></summary>\n{html}</details>\n"


def _align(values: Sequence[object]) -> str:
    if all(isinstance(value, int | float | None) for value in values):
        return " class=n"
    texts = (one for one in values if isinstance(one, str) and not isinstance(one, _Html))
    return " class=long" * any(len(text) > _SHORT for text in texts)


def _table(spec: str, rows: Iterable[Row], more: Iterable[str] = ()) -> str:
    """Return a table; a column is its title and, as the last word, its key."""
    columns = [column.rpartition(" ")[::2] for column in spec.split("|")]
    columns += [(key, key) for key in more]
    if not (rows := list(rows)):
        return "<p>None.</p>\n"
    kinds = {key: _align([row[key] for row in rows]) for _, key in columns}
    heads = (f"<th scope=col{kinds[key]}>{_show(title)}</th>" for title, key in columns)
    lines = []
    for row in rows:
        (first, kind), *others = ((_show(row[key]), kind) for key, kind in kinds.items())
        cells = (f"<td{kind}>{cell}</td>" for cell, kind in others)
        lines.append(f"<tr><th scope=row{kind}>{first}</th>{''.join(cells)}</tr>\n")
    return (
        f'<div class=scroll tabindex=0 role=group aria-label="{columns[0][0]}"><table>\n'
        f"<thead><tr>{''.join(heads)}</tr></thead>\n<tbody>\n{''.join(lines)}</tbody></table></div>\n"
    )
