"""A change of one skill that an evolver proposes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ...receipts import Receipt


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedChange:
    """A new skill, or a new text or program of one.

    `evolver` is who proposes it: synthesis, patterns, gaps, grind or person. `body` and
    `description` are as for an upsert; None keeps them. `files` are the whole new program, by
    path in the folder of the skill; empty keeps the program. `base` is the version that the
    evolver has read, "" for the present one. `receipt` is the run in which it was made. `category`
    is the folder below skills/ for a new skill. `fault` is what the evolver has against its own
    program: it is kept as a rejected attempt, and never run.
    """

    name: str
    evolver: str
    description: str | None = None
    body: str | bytes | None = None
    files: Mapping[str, bytes] = field(default_factory=dict)
    base: str | int = ""
    message: str = ""
    receipt: Receipt | None = None
    category: str = ""
    fault: str = ""
