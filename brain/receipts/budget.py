"""The size limits of receipts: excerpts of texts, and a size budget for the steps of a run."""

from __future__ import annotations

from .. import limits
from ..digest import blob_id
from ..limits import MAX_EXCERPT_BYTES
from .receipt import RunStep, TextExcerpt, encoded_step_size

_CUT = "…"
_MAX_CHAR_BYTES = 4
_EXCERPT_GAP = f" {_CUT} "
_TAIL_BYTES = MAX_EXCERPT_BYTES // 4
_HEAD_BYTES = MAX_EXCERPT_BYTES - _TAIL_BYTES - len(_EXCERPT_GAP.encode())


def keep_text(text: str) -> TextExcerpt | None:
    """Return the record of `text` for a receipt, None for an empty text.

    Secrets are removed first. The excerpt of a long text is its beginning and its end, where
    error messages usually are.
    """
    if not text:
        return None
    data, redacted = _remove_secrets(text)
    if len(data) <= MAX_EXCERPT_BYTES:
        excerpt = data.decode()
    else:
        head, tail = data[:_HEAD_BYTES], data[-_TAIL_BYTES:]
        excerpt = head.decode(errors="ignore") + _EXCERPT_GAP + tail.decode(errors="ignore")
    return TextExcerpt(blob_id(data), len(data), excerpt, redacted)


def _remove_secrets(text: str) -> tuple[bytes, int]:
    from ..secrets import mask_secrets

    if not text.isascii():  # lone surrogates, which JSON escapes can produce, are replaced
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    data, redacted = mask_secrets(text.encode())
    return (data.decode(errors="replace").encode(), redacted) if redacted else (data, 0)


def shorten_without_secrets(text: str, max_bytes: int) -> str:
    """Return `text` without secrets, cut to `max_bytes` bytes of UTF-8 with an ellipsis."""
    data, _ = _remove_secrets(text)
    if len(data) <= max_bytes:
        return data.decode()
    return data[: max_bytes - len(_CUT.encode())].decode(errors="ignore") + _CUT


def is_shortened(text: str, max_bytes: int) -> bool:
    """Tell whether `shorten_without_secrets` may have cut a text to `max_bytes`."""
    return text.endswith(_CUT) and len(text.encode()) > max_bytes - _MAX_CHAR_BYTES


MAX_RUN_BYTES = limits.MAX_RECEIPT_BYTES * 3 // 4
"""The most bytes for the steps of a run in one receipt; the rest is for a snapshot's writes."""
MAX_RUN_STEPS = limits.MAX_RECEIPT_STEPS - limits.MAX_RECEIPT_WRITES
"""The most steps of a run in one receipt."""
_MAX_SHORT_ERROR_BYTES = 100
"""The most bytes of an error once half of the budget is used."""


class SizeBudget:
    """The size budget of a run's steps; past half of it, excerpts are dropped."""

    def __init__(self) -> None:
        self.steps = 0
        self.bytes = 0

    def add_step(self, step: RunStep) -> RunStep | None:
        """Count a step; return it, perhaps without excerpts, or None if the budget is used up.

        Raises `FormatError` for a step with invalid fields.
        """
        size = encoded_step_size(step)
        if self.bytes + size > MAX_RUN_BYTES // 2:
            step = step._replace(
                input=step.input and step.input._replace(excerpt=""),
                output=step.output and step.output._replace(excerpt=""),
                error=shorten_without_secrets(step.error, _MAX_SHORT_ERROR_BYTES),
            )
            size = encoded_step_size(step)
        if self.steps >= MAX_RUN_STEPS or self.bytes + size > MAX_RUN_BYTES:
            return None
        self.steps += 1
        self.bytes += size
        return step
