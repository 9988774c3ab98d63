"""Read the verdicts that snapshots name."""

from __future__ import annotations

from .. import limits
from ..digest import NO_DIGEST
from ..errors import BrainError, FormatError
from ..store.reader import StoreReader
from .verdict_json import decode_verdict
from .verdict_types import Verdict, VerdictCase


def read_verdict(reader: StoreReader, blob: bytes) -> Verdict:
    """Return the verdict in a blob.

    Raises `FormatError` for another content, `NotFound` for none, and `StoreError`.
    """
    size = reader.blob_size(blob)
    if size > limits.MAX_VERDICT_BYTES:
        raise FormatError(
            f"the verdict has {size} bytes, more than {limits.MAX_VERDICT_BYTES}",
            code="too_large",
            hint="another program wrote it; see `brain verify`",
        )
    return decode_verdict(reader.read_blob(blob))


def read_verdict_state(reader: StoreReader, blob: bytes) -> tuple[str, Verdict | None]:
    """Return the state of a verdict, and the verdict if it can be read.

    The state is "kept", "redacted", "foreign" for another content, or "missing".
    """
    if reader.find_redactions([blob]):
        return "redacted", None
    try:
        return "kept", read_verdict(reader, blob)
    except FormatError:
        return "foreign", None
    except BrainError:
        return "missing", None


def read_verdict_blobs(reader: StoreReader, blob: bytes) -> set[bytes]:
    """Return all blobs that a verdict names; none if it cannot be read."""
    try:
        verdict = read_verdict(reader, blob)
    except BrainError:  # reported by `brain verify`
        return set()
    named = {blob for case in verdict.cases for blob in blobs_of_case(case)}
    named.update((verdict.base, verdict.text, *(file.blob for file in verdict.files)))
    return named - {NO_DIGEST}


def blobs_of_case(case: VerdictCase) -> set[bytes]:
    """Return the blobs that a case names: its payload or document, and what came out."""
    return {case.payload, case.output, case.document, *case.outputs} - {NO_DIGEST}
