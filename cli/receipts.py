"""What commands about receipts share: where one comes from, and a run in words."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from .output import iso
from .reading import read
from .terminal import escape
from .text import columns, count, first_line, short

if TYPE_CHECKING:
    from brain.results import RunInfo

_TEXT = 70
"""Characters of a text of a step that are shown."""


def from_file(name: str) -> bytes | None:
    """Return the receipt in the file `name` ("-": standard input), None if there is no file."""
    from brain.limits import MAX_RECEIPT_BYTES

    return (
        read(name, MAX_RECEIPT_BYTES, "the receipt")
        if name == "-" or os.path.isfile(name)
        else None
    )


def lines(found: RunInfo) -> Iterator[str]:
    """Yield a run with its steps."""
    yield from columns(_head(found))
    yield ""
    yield from columns(
        ((str(number), *_step(step)) for number, step in enumerate(found.steps, 1)), limit=200
    )


def _head(found: RunInfo) -> Iterator[tuple[str, str]]:
    yield "task", first_line(found.task)
    yield "run", found.run
    for name in ("agent", "model"):
        if getattr(found, name):
            yield name, getattr(found, name)
    if found.started:
        yield "began", iso(found.started)
    if found.ended:
        yield "took", f"{(found.ended - found.started) / 1000:.1f} s"
    yield "outcome", ": ".join(filter(None, (found.outcome or "still open", found.reason)))
    if found.snapshots:
        yield "snapshots", " ".join(map(short, found.snapshots))
    for name, skills in (("loaded", found.skills_loaded), ("made", found.skills_created)):
        if skills:
            yield name, " ".join(skills)
    if found.tools:
        yield "tools", times(found.tools)
    if found.tokens_in or found.tokens_out:
        yield "tokens", f"{found.tokens_in} in, {found.tokens_out} out"
    if found.source is not None:
        yield "read from", source(found.source)


def source(told: Mapping[str, Any]) -> str:
    """Return what an imported receipt was read from."""
    unknown = told.get("unknown", 0)
    rest = f", {unknown} not understood" if unknown else ""
    return f"{told['format']}, {count(told['records'], 'record')}{rest}"


def times(counts: Mapping[str, int]) -> str:
    """Return how often each of some things was done."""
    return ", ".join(f"{name} {often}" if often > 1 else name for name, often in counts.items())


def _step(step: Mapping[str, Any]) -> tuple[str, str, str]:
    version = f"@{step['version']}" if step.get("version") else ""
    name = f"{step.get('name', '')}{version}"
    if step.get("error"):
        return step["kind"], name, f"failed: {_short(step['error'])}"
    writes = [write["path"] for write in step.get("writes", ())]
    if writes:
        more = len(writes) + step.get("omitted", 0) - 1
        return step["kind"], name, f"{writes[0]} and {more} more" if more else writes[0]
    said = [_short(step[side].get("excerpt", "")) for side in ("input", "output") if side in step]
    return step["kind"], name, " -> ".join(said)


def _short(text: str) -> str:
    line = first_line(escape(text[: 4 * _TEXT]))
    return line if len(line) <= _TEXT else f"{line[:_TEXT]}…"
