"""What the store in memory is made of."""

from __future__ import annotations

from .protocol import OperationRow, PendingWrite


class MemoryState:
    """Everything a store holds."""

    def __init__(self) -> None:
        self.objects: dict[bytes, tuple[int, bytes]] = {}
        self.blobs: dict[bytes, bytes] = {}
        self.facts: dict[str, bytes] = {}
        self.operations: tuple[OperationRow, ...] = ()
        self.signatures: dict[tuple[bytes, bytes], bytes] = {}
        self.pending: dict[str, PendingWrite] = {}
        self.redactions: dict[bytes, bytes] = {}

    def copy(self) -> MemoryState:
        """Return a state of its own; what it holds is immutable."""
        twin = MemoryState()
        for name, value in vars(self).items():
            setattr(twin, name, value if isinstance(value, tuple) else dict(value))
        return twin
