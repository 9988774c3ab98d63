"""List the goals that fail: their scores, what would happen to them, and the counts of attempts."""

from __future__ import annotations

from ...results import FailedGoal, OpenGaps
from ...util.utc_time import utc_time
from .brain_protocol import GapStores
from .gap_limits import read_rate_use
from .gap_queue import IsProposed, describe_next
from .gap_score import format_score
from .open_gaps import GAPS, list_open_gaps


def list_gaps(
    stores: GapStores,
    *,
    brain: str,
    mode: str,
    periodic: bool,
    is_proposed: IsProposed,
    now: int,
) -> OpenGaps:
    """Return the open gaps of a brain, those that failed last first. Raises `StoreError`."""
    items = stores.store.list_work(GAPS)
    rates = read_rate_use(stores.store, brain, now)
    limit = next((rate.name for rate in rates if rate.used >= rate.most), "")
    return OpenGaps(
        gaps=[
            FailedGoal(
                key=gap.key,
                goal=gap.goal,
                tool=gap.tool,
                failures=gap.failures,
                score=format_score(gap.score.percent),
                since=utc_time(gap.since),
                last=utc_time(gap.last),
                error=gap.error,
                next=describe_next(gap, items, limit, is_proposed),
            )
            for gap in list_open_gaps(stores.store)
        ],
        rates=rates,
        mode=mode,
        periodic=periodic,
    )
