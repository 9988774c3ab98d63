"""Protocol of a store for signatures, redactions and removals."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Protocol
else:  # see `protocol`
    Protocol = object

FindStandalone = Callable[[set[bytes]], set[bytes]]
"""Tells which of some blobs are the content of anything by themselves."""


class AnnotationReader(Protocol):
    """The part of `Reader` that deals with snapshots as such, and with what is gone."""

    def list_signatures(self, snapshot: bytes) -> list[tuple[bytes, bytes]]:
        """Return the signatures of a snapshot as (key, signature), by key; unverified."""

    def stream_signatures(self) -> Iterator[tuple[bytes, bytes, bytes]]:
        """Stream (snapshot, key, signature) of everything that is signed, sorted."""

    def find_redactions(self, blobs: Sequence[bytes]) -> dict[bytes, bytes]:
        """Return those of `blobs` that were redacted, each with the snapshot that says so.

        A ref leads to that snapshot, or will once this transaction ends.
        """

    def list_redaction_rows(self) -> dict[bytes, bytes]:
        """Return all blobs that are noted as redacted, sorted, each with a snapshot.

        Whether that snapshot says so, `redacted` tells.
        """

    def needs_compaction(self) -> bool:
        """Tell whether old pages may still hold what was redacted, until `Store.compact`."""

    def removal_epoch(self) -> int:
        """Return how often something was taken out of the store."""


class AnnotationWriter(Protocol):
    """The part of `Transaction` that deals with snapshots as such, and with what is to go."""

    def put_signature(self, snapshot: bytes, key: bytes, signature: bytes) -> None:
        """Keep a signature, which was verified, in place of any other of that key."""

    def redact_blob(self, blob: bytes, snapshot: bytes, named: FindStandalone) -> None:
        """Destroy the content of a blob, if it is here, and refuse it from now on.

        `snapshot` says who did so and why. `named` tells which of some other blobs are
        content of their own; chunks of a large blob that nothing else needs go with it.
        """

    def sweep_objects(self, kept: set[bytes], most: int) -> int:
        """Remove at most `most` objects not in `kept` nor part of one, and what is noted of them.

        Returns how many were removed; if fewer than `most`, all are. Raises `StoreError`
        (`incomplete`) if a part of a large blob is missing.
        """
