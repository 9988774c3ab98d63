"""Verdicts in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from .human_format import align_columns, first_line, pluralize

if TYPE_CHECKING:
    from brain.results import SkillDecision


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
