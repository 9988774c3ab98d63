"""What was learned from work that was done."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .ledgers import Committed, NotCommitted

Version = int | str


class Synthesized(NamedTuple):
    """What became of a run: `decision` is created, improved, nothing or not_hard.

    `trigger` says why the run was judged hard: tool_calls, recovery, or asked where it was
    not; "" for not_hard. `reason` is the model's own. Of the skill, `slug`, `description`
    and `body` are what the model wrote, "" if it wrote none; `version` and what follows are
    None as long as nothing is recorded, as in a dry run. `requests` counts calls of the model.
    """

    decision: str
    trigger: str
    reason: str
    slug: str
    description: str
    body: str
    version: Version | None
    previous_version: Version | None
    snapshot: str | None
    model: str
    requests: int
    tokens_in: int
    tokens_out: int
    commitment: Committed | NotCommitted | None
