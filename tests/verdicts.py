"""All that a store says of its blobs after reading them again."""

from __future__ import annotations

from brain.store.protocol import Checked, Reader


def verdicts(store: Reader) -> Checked:
    """Return the verdicts on all blobs at once."""
    whole = Checked([], [])
    with store.check_blobs() as parts:
        for part in parts:
            whole.sizes.extend(part.sizes)
            whole.faults.extend(part.faults)
    return whole
