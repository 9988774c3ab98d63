"""Reading a transcript as a receipt: which program wrote it, and what it tells.

Transcripts are foreign: how long they are is known before they are taken apart, records
that are no JSON or not understood are counted and passed over, and secrets in their texts
are not kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any

from ... import limits
from ...digest import blob_id
from ...errors import InvalidInput, printable
from ..receipt import Receipt
from . import claude, codex, openai, otel
from .loose import Record, lines, parse, record, records
from .story import Story

FORMATS = ("otel", "claude", "codex", "openai")
"""Formats that are read: OpenTelemetry, Claude Code, Codex, OpenAI."""

_IS_ONE: dict[str, Callable[[Record], bool]] = {
    "otel": otel.is_one,
    "codex": codex.is_one,
    "claude": claude.is_one,
    "openai": openai.is_one,
}
Tell = Callable[[Story, Iterable[Any]], None]
_LOOKED_AT = 20
"""Records by which the format is told."""


def read(data: bytes, form: str = "") -> Receipt:
    """Return the receipt that a transcript tells; `form` is one of FORMATS, or found out.

    Raises `InvalidInput` (`too_large`, `no_transcript`, `bad_format`), or `FormatError`
    (`too_many`) for one of very many steps.
    """
    if len(data) > limits.MAX_TRANSCRIPT_BYTES:
        raise InvalidInput(f"a transcript of {len(data)} bytes", code="too_large")
    if form and form not in FORMATS:
        raise InvalidInput(f"no format {printable(form, 80)!r}", code="bad_format")
    whole = _whole(data)
    form = form or _form(data, whole)
    story = Story()
    _TELL[form](story, [whole] if whole is not None else map(parse, lines(data)))
    if story.is_empty:
        raise _unreadable(form)
    return story.receipt(form, blob_id(data))


def _whole(data: bytes) -> Any:
    """Return the value of a file that is one text of JSON, None of any other."""
    first = next(lines(data), b"")
    if first[:1] not in (b"{", b"[") or (parse(first) is not None and first != data.strip()):
        return None
    return parse(data)


def _form(data: bytes, whole: Any) -> str:
    if whole is not None:
        found = records(whole)[:_LOOKED_AT] if isinstance(whole, list) else [record(whole)]
    else:
        found = [record(parse(line)) for line in islice(lines(data), _LOOKED_AT)]
    for one in found:
        for form, is_one in _IS_ONE.items():
            if is_one(one):
                return form
    raise _unreadable("")


def _unreadable(form: str) -> InvalidInput:
    return InvalidInput(
        f"nothing of a transcript{f' of {form}' if form else ''} in this file",
        code="no_transcript",
        hint=f"it is read as one of {', '.join(FORMATS)}; name another with --from",
    )


def _by_line(take: Callable[[Story, Record], None]) -> Tell:
    def tell(story: Story, values: Iterable[Any]) -> None:
        for value in values:
            story.records += 1
            if isinstance(value, dict):
                take(story, value)
            else:
                story.unknown += 1

    return tell


def _chat(story: Story, values: Iterable[Any]) -> None:
    chat = openai.Chat()
    for value in values:
        chat.take(story, value)


def _trace(story: Story, values: Iterable[Any]) -> None:
    found: list[otel.Span] = []
    for value in values:
        if isinstance(value, dict) and otel.is_one(value):
            found += otel.spans(value)
        else:
            story.records += 1
            story.unknown += 1
    if found:
        otel.tell(story, found)


_TELL: dict[str, Tell] = {
    "claude": _by_line(claude.take),
    "codex": _by_line(codex.take),
    "openai": _chat,
    "otel": _trace,
}
