"""Uses of skills, and what is counted of them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..digest import NO_DIGEST, blob_id
from ..errors import printable_text

MAX_FAILURE_CHARS = 200
"""Characters of the text that is kept of the last failure."""
RECENT_INPUTS = 32
"""Inputs whose last outcome is kept, of those that a version was used with last."""
_KEY_BYTES = 8


def input_key(text: str) -> bytes:
    """Return what tells one input of a skill from others: 8 bytes, none for an empty one."""
    return blob_id(text.encode("utf-8", "surrogatepass"))[:_KEY_BYTES] if text else NO_DIGEST


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillUse:
    """One use of a version of a skill.

    `path` is the full path of its SKILL.md, and `version` "" if unknown. `program` is the id of
    the program that ran, 32 bytes, empty if the skill was only read. `at` is the time of the end
    in ms since 1970, UTC; `took` is the duration in ms, None if it was not measured. `failure`
    says in a line what failed. `outcome` is success, failure or unknown, which counts as a use, and
    as neither. `input` is the `input_key` of what it was used with; uses without
    one are each taken for a use with another input.
    """

    path: str
    version: str
    program: bytes = NO_DIGEST
    outcome: str
    at: int
    took: int | None = None
    failure: str = ""
    input: bytes = NO_DIGEST


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageCounts:
    """What is counted of one version of a skill, with one program.

    Times are in ms since 1970, UTC, durations in ms. `consecutive_failures` are those since the
    last success. `recent` has the inputs that were used last, at most RECENT_INPUTS, oldest
    first, 9 bytes each: the key, and 1 if the last use with it succeeded, else 0. `timed` uses
    were measured: `took_total` and `took_max` are of these. `failed_at` and `failure` are of the
    last failure, 0 and "" without one.
    """

    path: str
    version: str
    program: bytes = NO_DIGEST
    uses: int = 0
    successes: int = 0
    failures: int = 0
    consecutive_failures: int = 0
    timed: int = 0
    took_total: int = 0
    took_max: int = 0
    failed_at: int = 0
    failure: str = ""
    first_use: int = 0
    last_use: int = 0
    recent: bytes = b""

    @property
    def trials(self) -> tuple[int, int]:
        """How many of the recent inputs succeeded and failed, however often each was used.

        What was counted before inputs were kept is counted by its uses.
        """
        if not self.recent:
            return self.successes, self.failures
        succeeded = sum(self.recent[_KEY_BYTES :: _KEY_BYTES + 1])
        return succeeded, len(self.recent) // (_KEY_BYTES + 1) - succeeded

    @property
    def mean(self) -> int:
        """The mean duration in ms, 0 if none was measured."""
        return round(self.took_total / self.timed) if self.timed else 0


def add_use(counts: UsageCounts, use: SkillUse) -> UsageCounts:
    """Return the counts with one more use."""
    failed, succeeded = use.outcome == "failure", use.outcome == "success"
    counted = replace(
        counts,
        uses=counts.uses + 1,
        successes=counts.successes + succeeded,
        failures=counts.failures + failed,
        consecutive_failures=0 if succeeded else counts.consecutive_failures + failed,
        first_use=min(counts.first_use, use.at) if counts.uses else use.at,
        last_use=max(counts.last_use, use.at),
    )
    if failed or succeeded:
        counted = replace(counted, recent=_add_input(counts, use.input, succeeded))
    if failed:
        text = printable_text(" ".join(use.failure.split()), MAX_FAILURE_CHARS - 1)
        counted = replace(counted, failed_at=use.at, failure=text[:MAX_FAILURE_CHARS])
    if use.took is None:
        return counted
    took = max(use.took, 0)
    return replace(
        counted,
        timed=counts.timed + 1,
        took_total=counts.took_total + took,
        took_max=max(counts.took_max, took),
    )


def _add_input(counts: UsageCounts, key: bytes, succeeded: bool) -> bytes:
    rows = [
        counts.recent[at : at + _KEY_BYTES + 1]
        for at in range(0, len(counts.recent), _KEY_BYTES + 1)
    ]
    if not rows:  # of earlier uses without inputs, failures may all have had the same
        known = min(counts.successes, RECENT_INPUTS)
        rows = [number.to_bytes(_KEY_BYTES, "big") + b"\1" for number in range(known)]
    key = key or (counts.uses + RECENT_INPUTS).to_bytes(_KEY_BYTES, "big")
    others = [row for row in rows if row[:_KEY_BYTES] != key]
    return b"".join([*others, key + bytes([succeeded])][-RECENT_INPUTS:])
