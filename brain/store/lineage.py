"""What a store promises beside objects: signatures, merges, and what is taken out of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Protocol
else:  # see `protocol`
    Protocol = object

Named = Callable[[set[bytes]], set[bytes]]
"""Tells which of some blobs are the content of anything by themselves."""


class LineageReader(Protocol):
    """The part of `Reader` that deals with snapshots as such, and with what is gone."""

    def signatures(self, snapshot: bytes) -> list[tuple[bytes, bytes]]:
        """Return the signatures of a snapshot as (key, signature), by key; unverified."""

    def all_signatures(self) -> Iterator[tuple[bytes, bytes, bytes]]:
        """Stream (snapshot, key, signature) of everything that is signed, sorted."""

    def redacted(self, blobs: Sequence[bytes]) -> dict[bytes, bytes]:
        """Return those of `blobs` that were redacted, each with the snapshot that says so.

        A ref leads to that snapshot, or will once this transaction ends.
        """

    def all_redacted(self) -> dict[bytes, bytes]:
        """Return all blobs that are noted as redacted, sorted, each with a snapshot.

        Whether that snapshot says so, `redacted` tells.
        """

    def has_traces(self) -> bool:
        """Tell whether old pages may still hold what was redacted, until `Store.compact`."""

    def epoch(self) -> int:
        """Return how often something was taken out of the store."""


class LineageWriter(Protocol):
    """The part of `Transaction` that deals with snapshots as such, and with what is to go."""

    def put_signature(self, snapshot: bytes, key: bytes, signature: bytes) -> None:
        """Keep a signature, which was verified, in place of any other of that key."""

    def redact(self, blob: bytes, snapshot: bytes, named: Named) -> None:
        """Destroy the content of a blob, if it is here, and refuse it from now on.

        `snapshot` says who did so and why. `named` tells which of some other blobs are
        content of their own; chunks of a large blob that nothing else needs go with it.
        """

    def sweep(self, kept: set[bytes], most: int) -> int:
        """Remove at most `most` objects not in `kept` nor part of one, and what is noted of them.

        Returns how many were removed; if fewer than `most`, all are. Raises `StoreError`
        (`incomplete`) if a part of a large blob is missing.
        """
