"""A verdict in one line, after the name of its skill."""

from __future__ import annotations

from collections.abc import Iterator

from ..errors import printable_text
from .verdict_types import Verdict


def summarize_verdict(verdict: Verdict, to_version: str) -> str:
    """Return what was decided: "admitted by its tests: 2 cases, 8 unseen payloads, …".

    `to_version` is that of the skill afterwards, "" if it is gone.
    """
    reason = printable_text(verdict.reason)
    if verdict.decision == "admit":
        who = "its tests" if verdict.cases else printable_text(verdict.decided_by)
        return _with_reason(f"admitted by {who}", ", ".join(_describe_trial(verdict)) or reason)
    if verdict.decision == "reject":
        found = [*(case.name for case in verdict.failed_cases), *verdict.findings]
        return _with_reason("rejected", reason or printable_text("".join(found[:1])))
    if verdict.decision == "retire":
        return _with_reason("retired", reason)
    return _with_reason(
        f"reinstated as version {to_version}" if to_version else "reinstated", reason
    )


def _with_reason(words: str, reason: str) -> str:
    return f"{words}: {reason}" if reason else words


def _describe_trial(verdict: Verdict) -> Iterator[str]:
    for kind, one, many in (
        ("author", "case", "cases"),
        ("unseen", "unseen payload", "unseen payloads"),
        ("stub", "stub killed", "stubs killed"),
    ):
        if count := verdict.count_cases(kind):
            yield f"{count} {one if count == 1 else many}"
    if verdict.sandbox:
        yield printable_text(verdict.sandbox)
    for name, version in verdict.versions:
        if name == "python":
            yield f"Python {printable_text('.'.join(version.split('.')[:2]))}"
