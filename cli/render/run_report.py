"""Runs and their receipts, and the verdicts behind versions, in words."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from brain.errors import BrainError, NoBrain

from ..context import App
from ..terminal import escape
from ..user_files import read_input
from .human_format import align_columns, first_line, pluralize, short_id

if TYPE_CHECKING:
    from brain.receipts import Receipt
    from brain.results import RunInfo, SkillDecision

    from ..context import App


_MAX_STEP_CHARS = 70
"""Characters of a text of a step that are printed."""


def read_receipt_file(name: str, any_file: bool = True) -> bytes | None:
    """Return the bytes of the file `name` ("-": standard input), None for any other name.

    Without `any_file`, a file that does not name the format of receipts counts as no file.
    """
    from brain.limits import MAX_RECEIPT_BYTES

    if name != "-" and not os.path.isfile(name):
        return None
    if name != "-" and not any_file:
        with open(name, "rb") as file:
            if b'"brain v1 receipt"' not in file.read(MAX_RECEIPT_BYTES):
                return None
    return read_input(name, MAX_RECEIPT_BYTES, "the receipt")


def read_named_run(app: App, source: str) -> Receipt:
    """Return the run of a receipt or transcript in the file `source`, else of that revision."""
    data, receipts = read_receipt_file(source), app.brain.receipts
    return receipts.read_run(source) if data is None else receipts.read_run_file(data)


def run_lines(found: RunInfo) -> Iterator[str]:
    """Yield a run with its steps."""
    yield from align_columns(_run_header(found))
    yield ""
    yield from align_columns(
        ((str(number), *_step_row(step)) for number, step in enumerate(found.steps, 1)), limit=200
    )


def _run_header(found: RunInfo) -> Iterator[tuple[str, str]]:
    from brain.util.utc_time import iso_time, utc_time

    yield "task", first_line(found.task)
    yield "run", found.run
    for name in ("agent", "model"):
        if getattr(found, name):
            yield name, getattr(found, name)
    if found.started:
        yield "began", iso_time(utc_time(found.started))
    if found.ended:
        yield "took", f"{(found.ended - found.started) / 1000:.1f} s"
    yield "outcome", ": ".join(filter(None, (found.outcome or "still open", found.reason)))
    if found.snapshots:
        yield "snapshots", " ".join(map(short_id, found.snapshots))
    for name, skills in (("loaded", found.skills_loaded), ("made", found.skills_created)):
        if skills:
            yield name, " ".join(skills)
    if found.tools:
        yield "tools", counts_text(found.tools)
    if found.tokens_in or found.tokens_out:
        yield "tokens", f"{found.tokens_in} in, {found.tokens_out} out"
    if found.source is not None:
        yield "read from", source_text(found.source)


def source_text(source_fields: Mapping[str, Any]) -> str:
    """Describe the source of an imported receipt."""
    unknown = source_fields.get("unknown", 0)
    rest = f", {unknown} not understood" if unknown else ""
    return f"{source_fields['format']}, {pluralize(source_fields['records'], 'record')}{rest}"


def counts_text(counts: Mapping[str, int]) -> str:
    """Return the names with their counts."""
    return ", ".join(f"{name} {often}" if often > 1 else name for name, often in counts.items())


def _step_row(step: Mapping[str, Any]) -> tuple[str, str, str]:
    version = f"@{step['version']}" if step.get("version") else ""
    name = f"{step.get('name', '')}{version}"
    if step.get("error"):
        return step["kind"], name, f"failed: {_shorten(step['error'])}"
    writes = [write["path"] for write in step.get("writes", ())]
    if writes:
        more = len(writes) + step.get("omitted", 0) - 1
        return step["kind"], name, f"{writes[0]} and {more} more" if more else writes[0]
    excerpts = [
        _shorten(step[side].get("excerpt", "")) for side in ("input", "output") if side in step
    ]
    return step["kind"], name, " -> ".join(excerpts)


def _shorten(text: str) -> str:
    line = first_line(escape(text[: 4 * _MAX_STEP_CHARS]))
    return line if len(line) <= _MAX_STEP_CHARS else f"{line[:_MAX_STEP_CHARS]}…"


def verdict_lines(decision: SkillDecision) -> Iterator[str]:
    """Yield who decided, with what, and each case with its outcome; nothing without a verdict."""
    if decision.verdict is not None:
        yield from align_columns(_verdict_rows(decision.verdict), limit=200)


def _verdict_rows(verdict: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    yield "decided by", f"{verdict['decided_by']} ({verdict['decider']})"
    for name in ("gate", "runner", "base", "text", "sandbox", "code_check", "seed"):
        if name in verdict:
            yield name.replace("_", " "), str(verdict[name])
    for name in ("versions", "limits", "numbers"):
        if name in verdict:
            yield name, ", ".join(f"{key} {value}" for key, value in verdict[name].items())
    if "gate" in verdict and "reason" in verdict:
        yield "reason", first_line(verdict["reason"])
    for finding in verdict.get("findings", ()):
        yield "finding", first_line(finding)
    if files := verdict.get("files"):
        yield "tried", pluralize(len(files), "file")
    for case in verdict.get("cases", ()):
        took = f"{case['took']} ms" if "took" in case else ""
        rounds = f"{case['before']} before, {case['after']} after" if "before" in case else ""
        detail = first_line(case.get("detail", ""))
        yield (
            first_line(case["name"]),
            ", ".join(filter(None, (case["outcome"], rounds, took, detail))),
        )


def record_for_patterns(app: App, receipts: Iterable[Receipt]) -> None:
    """Record the runs in the brain of the current folder, if there is one; each counts once.

    What goes wrong is a note: the command itself did its work.
    """
    try:
        for receipt in receipts:
            app.brain.patterns.record_run(receipt)
    except NoBrain:
        return
    except BrainError as error:
        app.print_note(f"Note: the runs are not counted for patterns: {error.message}")
