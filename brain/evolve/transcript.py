"""The transcript of a run as a model reads it: bounded, without secrets, and marked as quoted."""

from __future__ import annotations

from collections.abc import Iterator

from ..receipts import Receipt, Step, Text
from ..secrets import masked
from ..skills.text import clean

MAX_CHARS = 48_000
"""Characters of a transcript that are shown; of a longer one the middle is left out."""
_MAX_TEXT = 1_200
"""Characters of one text of a step."""
_FIRST = 3
"""One in so many of the shown characters is of the beginning, the others are of the end."""
_GAP = " […] "


def shown(receipt: Receipt) -> str:
    """Return what is shown of a run: its task, its steps, how it ended; secrets are masked."""
    head = [f"Task: {_short(receipt.task) or '(not told)'}"]
    end = [f"Outcome: {receipt.outcome or 'not told'}. {_short(receipt.reason)}".rstrip(". ")]
    told = [_step(number, step) for number, step in enumerate(receipt.steps, 1)]
    return without_secrets("\n".join([*head, *_fitting(told), *end]))


def quoted(text: str) -> str:
    """Return foreign text with a mark before every line, so that it cannot end where it likes."""
    return "\n".join(f"> {line}" for line in clean(text).splitlines())


def without_secrets(text: str) -> str:
    """Return a text with what looks like a secret taken out."""
    return masked(text.encode())[0].decode("utf-8", "replace")


def _fitting(told: list[str]) -> Iterator[str]:
    """Yield as many steps as may be shown, from both ends."""
    first: list[str] = []
    last: list[str] = []
    left = MAX_CHARS
    budget = MAX_CHARS // _FIRST
    for text in told:
        if len(text) > budget:
            break
        first.append(text)
        budget -= len(text)
        left -= len(text)
    for text in reversed(told[len(first) :]):
        if len(text) > left:
            break
        last.append(text)
        left -= len(text)
    yield from first
    omitted = len(told) - len(first) - len(last)
    if omitted:
        yield f"[{omitted} steps left out]"
    yield from reversed(last)


def _step(number: int, step: Step) -> str:
    lines = [f"{number}. {step.kind} {_short(step.name)}".rstrip()]
    for label, text in (("in", step.input), ("out", step.output)):
        if text is not None and text.excerpt:
            lines.append(f"   {label}: {_text(text)}")
    if step.error:
        lines.append(f"   ERROR: {_short(step.error)}")
    return "\n".join(lines)


def _text(text: Text) -> str:
    return _short(text.excerpt).replace("\n", "\n      ")


def _short(text: str) -> str:
    """Return a text, or its two ends."""
    text = without_secrets(text).strip()
    if len(text) <= _MAX_TEXT:
        return text
    half = (_MAX_TEXT - len(_GAP)) // 2
    return f"{text[:half]}{_GAP}{text[-half:]}"
