"""The transcript of a run as a model reads it: bounded, masked, quoted."""

from __future__ import annotations

from collections.abc import Iterator

from ..receipts import TextExcerpt, Receipt, RunStep
from ..secrets import mask_secrets
from ..skills.visible_text import clean_text

MAX_CHARS = 48_000
"""Characters of a transcript that are shown; of a longer one the middle is left out."""
_MAX_TEXT_CHARS = 1_200
"""Characters of one text of a step."""
_HEAD_SHARE = 3
"""One in so many of the shown characters is of the beginning, the others are of the end."""
_GAP = " […] "


def render_transcript(receipt: Receipt) -> str:
    """Return what is shown of a run: its task, its steps, how it ended; secrets are masked."""
    head = [f"Task: {_truncate(receipt.task) or '(not told)'}"]
    end = [f"Outcome: {receipt.outcome or 'not told'}. {_truncate(receipt.reason)}".rstrip(". ")]
    rendered_steps = [_render_step(number, step) for number, step in enumerate(receipt.steps, 1)]
    return mask_text("\n".join([*head, *_fit_steps(rendered_steps), *end]))


def quote_lines(text: str) -> str:
    """Return foreign text with a mark before every line, so that it cannot end where it likes."""
    return "\n".join(f"> {line}" for line in clean_text(text).splitlines())


def mask_text(text: str) -> str:
    """Return a text with what looks like a secret taken out."""
    return mask_secrets(text.encode())[0].decode("utf-8", "replace")


def _fit_steps(rendered_steps: list[str]) -> Iterator[str]:
    """Yield as many steps as may be shown, from both ends."""
    first: list[str] = []
    last: list[str] = []
    left = MAX_CHARS
    budget = MAX_CHARS // _HEAD_SHARE
    for text in rendered_steps:
        if len(text) > budget:
            break
        first.append(text)
        budget -= len(text)
        left -= len(text)
    for text in reversed(rendered_steps[len(first) :]):
        if len(text) > left:
            break
        last.append(text)
        left -= len(text)
    yield from first
    omitted = len(rendered_steps) - len(first) - len(last)
    if omitted:
        yield f"[{omitted} steps left out]"
    yield from reversed(last)


def _render_step(number: int, step: RunStep) -> str:
    lines = [f"{number}. {step.kind} {_truncate(step.name)}".rstrip()]
    for label, text in (("in", step.input), ("out", step.output)):
        if text is not None and text.excerpt:
            lines.append(f"   {label}: {_render_text(text)}")
    if step.error:
        lines.append(f"   ERROR: {_truncate(step.error)}")
    return "\n".join(lines)


def _render_text(text: TextExcerpt) -> str:
    return _truncate(text.excerpt).replace("\n", "\n      ")


def _truncate(text: str) -> str:
    """Return a text, or its two ends."""
    text = mask_text(text).strip()
    if len(text) <= _MAX_TEXT_CHARS:
        return text
    half = (_MAX_TEXT_CHARS - len(_GAP)) // 2
    return f"{text[:half]}{_GAP}{text[-half:]}"
