"""Render the transcript of a run for a model: bounded, with secrets masked, quoted."""

from __future__ import annotations

from collections.abc import Iterator

from ..receipts import Receipt, RunStep, TextExcerpt
from ..secrets import mask_secrets
from ..skills.visible_text import clean_text

MAX_CHARS = 48_000
"""Characters of a transcript; a longer one is shown without its middle."""
_MAX_TEXT_CHARS = 1_200
"""Characters of one text of a step."""
_HEAD_SHARE = 3
"""The beginning gets one in so many of the characters, the end gets the others."""
_GAP = " […] "


def render_transcript(receipt: Receipt) -> str:
    """Return the task, the steps and the outcome of a run as text, with secrets masked."""
    head = [f"Task: {_truncate(receipt.task) or '(not stated)'}"]
    end = [f"Outcome: {receipt.outcome or 'not stated'}. {_truncate(receipt.reason)}".rstrip(". ")]
    rendered_steps = [_render_step(number, step) for number, step in enumerate(receipt.steps, 1)]
    return mask_text("\n".join([*head, *_fit_steps(rendered_steps), *end]))


def quote_lines(text: str) -> str:
    """Return untrusted text with "> " before every line, so that it cannot leave the quotation."""
    return "\n".join(f"> {line}" for line in clean_text(text).splitlines())


def mask_text(text: str) -> str:
    """Return a text with its secrets masked."""
    return mask_secrets(text.encode())[0].decode("utf-8", "replace")


def _fit_steps(rendered_steps: list[str]) -> Iterator[str]:
    """Yield as many steps as fit, from both ends."""
    first: list[str] = []
    last: list[str] = []
    remaining_chars = MAX_CHARS
    head_chars = MAX_CHARS // _HEAD_SHARE
    for text in rendered_steps:
        if len(text) > head_chars:
            break
        first.append(text)
        head_chars -= len(text)
        remaining_chars -= len(text)
    for text in reversed(rendered_steps[len(first) :]):
        if len(text) > remaining_chars:
            break
        last.append(text)
        remaining_chars -= len(text)
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
    """Return a text with secrets masked; of a long one only its two ends."""
    text = mask_text(text).strip()
    if len(text) <= _MAX_TEXT_CHARS:
        return text
    half = (_MAX_TEXT_CHARS - len(_GAP)) // 2
    return f"{text[:half]}{_GAP}{text[-half:]}"
