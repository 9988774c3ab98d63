"""What a snapshot that is being recorded adds to the cache, once it is stored."""

from __future__ import annotations

from typing import NamedTuple

from ..objects.bundle import Bundle
from ..objects.compare import Difference
from .cache import Learned


class Staged(NamedTuple):
    """What is to be learned of a snapshot, and how its skills changed from `before` to `after`."""

    learned: Learned
    before: Bundle
    after: Bundle
    changed: list[Difference]
