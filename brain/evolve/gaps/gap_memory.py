"""The memory of what an agent learned to do for a gap: one record, shown in later prompts."""

from __future__ import annotations

import json
from dataclasses import replace

from ...experience.gaps import OpenGap, format_time
from ...receipts.budget import shorten_without_secrets
from ...skills.visible_text import fold_to_line
from .brain_protocol import GapBrain

META_TARGET = "meta.jsonl"
"""The memory of these records: the file in memory/."""
META_SOURCE = "capability_evolution_engine"
MAX_CONTEXT_BYTES = 300
_TAGS = ("generated_skill", "capability_evolution")


def build_meta_record(gap: OpenGap, name: str, at: int) -> str:
    """Return the record as one line of JSON, with the fields of the seed."""
    record = {
        "capability_name": name,
        "gap_score": gap.score.percent / 100,
        "task_context": shorten_without_secrets(fold_to_line(gap.goal), MAX_CONTEXT_BYTES),
        "timestamp": format_time(at),
        "source": META_SOURCE,
        "tags": [*_TAGS, name],
    }
    return json.dumps(record, ensure_ascii=False)


def remember_capability(brain: GapBrain, gap: OpenGap, name: str, at: int) -> None:
    """Add the record to the memory of a brain; an equal one is not added twice.

    A goal that repeats the input of a held-out case is left out of it.
    Raises `NotFound` (`no_memory`) where there is no place for it, or as `brain.memory.add`.
    """
    if brain.gate.read_held_out_filter().hides(gap.goal):  # a case that was added since
        gap = replace(gap, goal="")
    record = build_meta_record(gap, name, at)
    brain.memory.add(META_TARGET, record, message=f"Remember the capability {name}")
