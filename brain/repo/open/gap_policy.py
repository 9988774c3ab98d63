"""The settings `evolution.gaps` of manifest.yaml: how skills are learned from failed goals.

evolution:
  mode: propose
  gaps:
    periodic: true            # look for gaps every hour; the report of a failure stays without
    when_rates_fail: refuse   # or allow: attempt a gap though nobody can count attempts
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ...errors import InvalidInput

ALLOW, REFUSE = "allow", "refuse"


class GapPolicy(NamedTuple):
    """Whether gaps are looked for periodically, and what happens if attempts cannot be counted.

    By default nothing is attempted then: a gap can wait, and what is not counted costs money
    without a limit.
    """

    periodic: bool = True
    when_rates_fail: str = REFUSE


DEFAULT_GAPS = GapPolicy()


def parse_gap_policy(fields: Any, make_error: Callable[[str], InvalidInput]) -> GapPolicy:
    """Return the policy in the section `evolution`. Raises what `make_error` makes."""
    settings = fields.get("gaps") if isinstance(fields, Mapping) else None
    if settings is None:
        return DEFAULT_GAPS
    if not isinstance(settings, Mapping):
        raise make_error("evolution.gaps must hold settings, such as periodic")
    periodic = settings.get("periodic", DEFAULT_GAPS.periodic)
    if not isinstance(periodic, bool):
        raise make_error("evolution.gaps.periodic must be true or false")
    when_rates_fail = settings.get("when_rates_fail", DEFAULT_GAPS.when_rates_fail)
    if when_rates_fail not in (ALLOW, REFUSE):
        raise make_error(f"evolution.gaps.when_rates_fail must be {ALLOW} or {REFUSE}")
    return GapPolicy(periodic, when_rates_fail)
