"""Format changes and operations as one line of text, not yet escaped for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .changes import PathChange, SkillChange
    from .trust import Verified

SHORT_ID_DIGITS = 12
"""Hex digits of an id as people see it."""
_MAX_SIGNERS = 20
_MAX_UNCOVERED = 5
CHANGE_LETTERS = {"added": "A", "modified": "M", "removed": "D", "renamed": "R"}


def short_id(identity: str | None) -> str:
    """Return the short form of an id; "-" for none."""
    return identity[:SHORT_ID_DIGITS] if identity else "-"


def format_skill_change(change: SkillChange) -> str:
    """Describe the change of a skill: "oracle-manipulation upgraded 1 → 2"."""
    match change.change:
        case "upgraded":
            words = f"upgraded {change.from_version} → {change.to_version}"
        case "added":
            words = f"added at version {change.to_version}"
        case "removed":
            words = f"removed at version {change.from_version}"
        case "renamed":
            rises = change.from_version != change.to_version
            versions = f", {change.from_version} → {change.to_version}" if rises else ""
            return f"{change.from_slug} renamed to {change.slug}{versions}"
        case _:
            words = f"changed, still at version {change.to_version}"
    return f"{change.slug} {words}"


def format_path_change(change: PathChange) -> str:
    """Return a changed path with its letter: A, M, D, or R with both names."""
    path = f"{change.from_path} → {change.path}" if change.from_path else change.path
    return f"{CHANGE_LETTERS[change.change]} {path}"


def changes_outside_skills(
    changes: Iterable[PathChange], skills: Iterable[SkillChange]
) -> list[PathChange]:
    """Return the changes that those of `skills` do not explain: not in `skills`, nor in theirs."""
    folders = {skill.path.rpartition("/")[0] for skill in skills}
    return [
        change
        for change in changes
        if change.section != "skills" and folders.isdisjoint(_folders_above(change.path))
    ]


def _folders_above(path: str) -> Iterator[str]:
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path


DECISION_WORDS = {
    "admit": "admitted",
    "reject": "rejected",
    "retire": "retired",
    "reinstate": "reinstated",
}
"""Decisions about a skill in words."""
_BINDING_WORDS = {"bind": "bound to", "unbind": "no longer bound to"}


def format_snapshot(message: str, fields: dict[str, Any]) -> str:
    """Describe a snapshot by its message, and a change of a skill by that too: "csv 1 → 2: Why"."""
    match fields if message else None:
        case None:
            return format_operation(fields)
        case {"kind": "upsert", "slug": slug, "from_version": old, "to_version": new}:
            subject = f"{slug} {old} → {new}" if old not in ("", new) else f"{slug} {new}"
        case {"kind": "delete", "slug": slug}:
            subject = f"{slug} removed"
        case _:
            return message
    return f"{subject}: {message}"


def format_operation(fields: dict[str, Any]) -> str:
    """Describe the operation of a snapshot; `fields` are those of `SnapshotInfo.operation`."""
    match fields:
        case {"kind": "genesis", "origin": str(origin)} if origin:
            words = f"brain forked from {short_id(origin)}"
        case {"kind": "genesis"}:
            words = "brain created"
        case {"kind": "snapshot"}:
            words = "folder recorded"
        case {"kind": "restore", "source": str(source)}:
            words = f"restored from {short_id(source)}"
        case {"kind": "merge", "skills": list(skills)}:
            words = ", ".join(["merged", *(f"{s['slug']} → {s['version']}" for s in skills)])
        case {"kind": "redact", "path": path}:
            words = f"{path} redacted"
        case {"kind": "import", "origin": origin, "name": name}:
            words = f"imported from {origin} {name}"
        case {"kind": "task", "outcome": outcome}:
            words = f"task ended: {outcome}"
        case _:
            words = _format_skill_operation(fields)
    return words


def _format_skill_operation(fields: dict[str, Any]) -> str:
    match fields:
        case {"kind": "upsert", "slug": slug, "from_version": "", "to_version": new}:
            words = f"{slug} added at version {new}"
        case {"kind": "upsert", "slug": slug, "from_version": old, "to_version": new}:
            words = f"{slug} upgraded {old} → {new}"
        case {"kind": "delete", "slug": slug, "version": version}:
            words = f"{slug} removed at version {version}"
        case {"kind": "absorb", "slug": slug, "from_version": "", "absorbed": other}:
            old, new = fields["absorbed_version"], fields["to_version"]
            words = f"{other} renamed to {slug}, {old} → {new}"
        case {"kind": "absorb", "slug": slug, "to_version": new, "absorbed": other}:
            words = f"{slug} absorbed {other} → {new}"
        case {"slug": slug, "summary": str(summary)}:
            words = f"{slug} {summary}"
        case {"kind": str(kind), "slug": slug, "verdict": str(verdict)}:
            words = f"{slug} {DECISION_WORDS[kind]}, by verdict {short_id(verdict)}"
        case {"kind": str(kind), "account": account, "key": str(key)}:
            words = f"key {short_id(key)} {_BINDING_WORDS[kind]} {account}"
        case _:
            words = str(fields.get("kind", "unknown"))
    return words


def coverage_lines(found: Verified) -> Iterator[str]:
    """Say who signed what was verified, what that is worth, and what in the folder is not covered.

    The lines have names and paths as they are.
    """
    for one in found.signers[:_MAX_SIGNERS]:
        called = f"called {one.name} in the trust file" if one.name else "in no trust file"
        called += ", which revokes it" if one.revoked else ""
        yield f"Signed by {one.key}, {called}: {_count(one.snapshots, 'snapshot')}"
    if (more := len(found.signers) - _MAX_SIGNERS) > 0:
        yield f"and by {_count(more, 'key')} more; --json lists them"
    if found.roots:
        yield f"Root keys that you pinned or named: {', '.join(found.roots)}"
    elif found.signers:
        yield "No root key is pinned: anybody could have made these signatures."
    elif found.ok:
        yield "No snapshot is signed: nothing shows who made them."
    if found.uncovered and found.uncovered.error:
        yield f"The folder was not compared with the head: {found.uncovered.error}"
    elif found.uncovered and found.uncovered.files:
        named = found.uncovered.paths[:_MAX_UNCOVERED]
        rest = f" and {left:,} more" if (left := found.uncovered.files - len(named)) else ""
        yield (
            f"Not covered: {_count(found.uncovered.files, 'file')} of the folder that the head does"
            f" not have, or has otherwise: {', '.join(named)}{rest}"
        )


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
