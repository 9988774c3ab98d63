"""How much of its texts and steps a receipt keeps: excerpts, and a size budget for a run."""

from __future__ import annotations

from .. import limits
from ..digest import blob_id
from ..limits import MAX_EXCERPT_BYTES
from .receipt_json import encoded_step_size
from .receipt_types import KeptText, RunStep

_EXCERPT_GAP = " … "
_TAIL_BYTES = MAX_EXCERPT_BYTES // 4
_HEAD_BYTES = MAX_EXCERPT_BYTES - _TAIL_BYTES - len(_EXCERPT_GAP.encode())


def keep_text(text: str) -> KeptText | None:
    """Return what a receipt keeps of `text`, nothing of an empty one.

    Secrets are taken out first. Of a long text the excerpt is its beginning and its end,
    where errors tend to say what they are.
    """
    if not text:
        return None
    data, redacted = _remove_secrets(text)
    return KeptText(blob_id(data), len(data), make_excerpt(data), redacted)


def _remove_secrets(text: str) -> tuple[bytes, int]:
    from ..secrets import mask_secrets

    data, redacted = mask_secrets(replace_surrogates(text).encode())
    return (data.decode(errors="replace").encode(), redacted) if redacted else (data, 0)


def make_excerpt(data: bytes) -> str:
    """Return `data`, UTF-8, if it is short, else its two ends."""
    if len(data) <= MAX_EXCERPT_BYTES:
        return data.decode()
    head, tail = data[:_HEAD_BYTES], data[-_TAIL_BYTES:]
    return head.decode(errors="ignore") + _EXCERPT_GAP + tail.decode(errors="ignore")


def shorten_without_secrets(text: str, most: int) -> str:
    """Return `text` without secrets, cut to `most` bytes of UTF-8 with a mark at the cut."""
    data, _ = _remove_secrets(text)
    if len(data) <= most:
        return data.decode()
    return data[: most - len("…".encode())].decode(errors="ignore") + "…"


def replace_surrogates(text: str) -> str:
    """Return `text` with halves of characters, which JSON can smuggle in, replaced."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


MAX_RUN_BYTES = limits.MAX_RECEIPT_BYTES * 3 // 4
"""Bytes of the steps of a run in one receipt; the rest is for what a snapshot wrote."""
MAX_RUN_STEPS = limits.MAX_RECEIPT_STEPS - limits.MAX_RECEIPT_WRITES
"""Steps of a run in one receipt."""
_MAX_SHORT_ERROR_BYTES = 100
"""Bytes of an error that is kept when there is little room left."""


class SizeBudget:
    """Counts the bytes of steps. When half is used up, texts keep their digests alone."""

    def __init__(self) -> None:
        self.steps = 0
        self.bytes = 0

    def add_step(self, step: RunStep) -> RunStep | None:
        """Return a step as there is room for it, None if there is none.

        Raises `FormatError` for what is no step.
        """
        size = encoded_step_size(step)
        if self.bytes + size > MAX_RUN_BYTES // 2:
            step = _strip_texts(step)
            size = encoded_step_size(step)
        if self.steps >= MAX_RUN_STEPS or self.bytes + size > MAX_RUN_BYTES:
            return None
        self.steps += 1
        self.bytes += size
        return step


def _strip_texts(step: RunStep) -> RunStep:
    texts = _drop_excerpt(step.input), _drop_excerpt(step.output)
    return step._replace(
        input=texts[0],
        output=texts[1],
        error=shorten_without_secrets(step.error, _MAX_SHORT_ERROR_BYTES),
    )


def _drop_excerpt(text: KeptText | None) -> KeptText | None:
    return text and text._replace(excerpt="")
