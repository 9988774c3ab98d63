"""brain_snapshot, brain_diff, brain_log and brain_verify."""

from __future__ import annotations

import time
from collections.abc import Iterable
from itertools import chain
from typing import TYPE_CHECKING, Any

from ...errors import printable
from ...results import words
from ...skills.text import seen
from .failing import without_paths
from .tool import MOST_SAID, Answer, note

if TYPE_CHECKING:
    from ...brain import Brain
    from ...results import Change, SkillChange, SnapshotInfo

Given = dict[str, Any]

MOST_CHANGES = 500
"""Changed files that are named."""
MOST_PATCH = 60_000
"""Characters of a patch that are shown."""
USUAL_LOG = 10
"""Snapshots that are listed where no number is given."""
MOST_FINDINGS = 50
MOST_NOTICES = 20


def brain_snapshot(brain: Brain, given: Given) -> Answer:
    """Record the folder as it is."""
    done = brain.snapshot(given.get("message", ""))
    noticed = done.notices[:MOST_NOTICES]
    data = {
        "snapshot": done.snapshot,
        "bundle": done.bundle,
        "changed": done.changed,
        "added": done.added,
        "modified": done.modified,
        "removed": done.removed,
        "notices": [{"path": one.path, "message": one.message} for one in noticed],
    }
    notes = [note(one) for one in noticed]
    if not done.changed:
        text = f"Nothing has changed since {words.short(done.snapshot)}."
        return Answer("\n".join([text, *notes]), data, False)
    counts = f"{done.added} added, {done.modified} modified, {done.removed} removed"
    text = f"Recorded {words.short(done.snapshot)}: {counts}."
    return Answer("\n".join([text, *notes]), data, True)


def brain_diff(brain: Brain, given: Given) -> Answer:
    """Say what differs between two states, or since the last snapshot."""
    found = brain.diff(given.get("from"), given.get("to"))
    changes = found.changes[:MOST_CHANGES]
    skills = found.skills[:MOST_CHANGES]
    data: dict[str, Any] = {
        "from": found.from_,
        "to": found.to,
        "changes": [_change(change) for change in changes],
        "skills": [_skill(change) for change in skills],
        "count": len(found.changes),
    }
    lines = [printable(words.skill_change(change), MOST_SAID) for change in skills]
    lines += [printable(words.path_change(change), MOST_SAID) for change in changes]
    if len(found.changes) > len(changes):
        lines.append(f"({len(changes)} of {len(found.changes)} files are named.)")
    if given.get("patch"):
        data["patch"] = _patch(brain.patch(found._replace(changes=changes)))
        lines += ["", data["patch"]]
    return Answer("\n".join(lines) or "No differences.", data, False)


def brain_log(brain: Brain, given: Given) -> Answer:
    """List snapshots, newest first."""
    limit = given.get("limit", USUAL_LOG)
    found = list(brain.log(limit=limit, skill=given.get("skill")))
    lines = [_line(info) for info in found]
    return Answer("\n".join(lines), {"snapshots": [_snapshot(info) for info in found]}, False)


def brain_verify(brain: Brain, given: Given) -> Answer:
    """Check the lineage back to its first snapshot."""
    done = brain.verify(bool(given.get("deep")))
    findings = [
        {**finding._asdict(), "message": without_paths(finding.message, brain.root)}
        for finding in done.findings[:MOST_FINDINGS]
    ]
    data = {
        "ok": done.ok,
        "brain": done.brain,
        "head": done.head,
        "snapshots": done.snapshots,
        "objects": done.objects,
        "trust_level": done.trust_level,
        "findings": findings,
    }
    verdict = "The lineage is whole" if done.ok else "VERIFICATION FAILED"
    lines = [
        f"{verdict}: {done.snapshots} snapshots, {done.objects} objects, "
        f"head {words.short(done.head)}, trust level {done.trust_level}."
    ]
    lines += [
        f"{finding['severity']}: {finding['code']}: {printable(finding['message'], MOST_SAID)}"
        for finding in findings
    ]
    if len(done.findings) > len(findings):
        lines.append(f"({len(findings)} of {len(done.findings)} findings are shown.)")
    return Answer("\n".join(lines), data, False)


def _change(change: Change) -> dict[str, Any]:
    return {"path": change.path, "change": change.change, "from_path": change.from_path}


def _skill(change: SkillChange) -> dict[str, Any]:
    return change._asdict()


def _line(info: SnapshotInfo) -> str:
    author = printable(info.author, 80)
    what = printable(info.message or words.operation(info.operation), MOST_SAID)
    return f"{words.short(info.snapshot)}  {_iso(info.time)}  {author}  {what}"


def _iso(milliseconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(milliseconds // 1000))


def _snapshot(info: SnapshotInfo) -> dict[str, Any]:
    return {
        "snapshot": info.snapshot,
        "bundle": info.bundle,
        "parents": info.parents,
        "author": info.author,
        "time": _iso(info.time),
        "message": info.message[:MOST_SAID],
        "operation": info.operation,
    }


def _patch(pieces: Iterable[str]) -> str:
    room, shown = MOST_PATCH, []
    for raw in pieces:
        piece = seen(raw)  # no path and no text makes a line of its own
        shown.append(piece[:room])
        room -= len(piece)
        if room < 0:
            return "".join(chain(shown, [f"\n(cut after {MOST_PATCH} characters)\n"]))
    return "".join(shown)
