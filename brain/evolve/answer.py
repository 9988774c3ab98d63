"""What a model answered: read strictly, and taken only if it may become a skill."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from .. import jsontext, limits, textdiff
from ..errors import BrainError, InvalidInput, ModelError, printable
from ..secrets import find
from ..skills import check
from ..skills.slug import slugify
from ..skills.text import first_hidden, fold
from .model import MAX_ANSWER_BYTES
from .prompt import CREATE, IMPROVE, MAX_BODY_CHARS, MAX_REASON_CHARS, NOTHING, Known, is_whole

_MAX_DEPTH = 8
_MAX_VALUES = 64
_KEPT = 2
"""At least one in so many lines of a skill stays when it is improved."""


class Draft(NamedTuple):
    """A skill as a model wrote it, checked; `base` is the version it improves, "" if it is new."""

    slug: str
    name: str
    description: str
    body: str
    base: str
    reason: str


class Nothing(NamedTuple):
    """The run taught nothing that is worth keeping."""

    reason: str


class Unfit(InvalidInput):
    """An answer that cannot become a skill. The message is for the model, which may try again."""

    code = "bad_answer"


def read(text: str) -> dict[str, str]:
    """Return the fields of an answer. Raises `Unfit`."""
    if len(text.encode("utf-8", "surrogatepass")) > MAX_ANSWER_BYTES:
        raise Unfit("it is too long")
    try:
        data = _unfenced(text.strip()).strip().encode()
    except UnicodeEncodeError as error:
        raise Unfit("it holds half a character") from error
    try:
        value = jsontext.parse(data, _MAX_DEPTH, _MAX_VALUES, _unfit)
    except RecursionError as error:
        raise Unfit("nested too deeply") from error
    if not isinstance(value, dict):
        raise Unfit("it is no object of JSON")
    return dict(_fields(value))


def _unfenced(text: str) -> str:
    """Return what stands between the lines of a fence, if there is one around `text`."""
    first, _, rest = text.partition("\n")
    inner, _, last = rest.rpartition("\n")
    fenced = first.rstrip() in ("```", "```json") and last.lstrip() == "```"
    return inner if fenced else text


def _unfit(message: str, code: str) -> Unfit:
    return Unfit(message)


def _fields(value: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for key, most in (
        ("decision", 20),
        ("name", limits.MAX_NAME_CHARS),
        ("description", limits.MAX_DESCRIPTION_CHARS),
        ("body", MAX_BODY_CHARS),
        ("reason", MAX_REASON_CHARS),
    ):
        text = value.get(key) or ""
        if not isinstance(text, str):
            raise Unfit(f'"{key}" is not text')
        if len(text) > most:
            raise Unfit(f'"{key}" has {len(text)} characters; at most {most} are allowed')
        yield key, text


def judge(fields: Mapping[str, str], known: Mapping[str, Known]) -> Draft | Nothing:
    """Return what an answer means, where `known` are the skills that the model was shown.

    Raises `Unfit` for what may not become a skill: see `_faults`.
    """
    decision, reason = fields["decision"], fold(fields["reason"])
    if decision == NOTHING:
        return Nothing(reason)
    if decision not in (CREATE, IMPROVE):
        raise Unfit(f'"decision" is none of {CREATE}, {IMPROVE}, {NOTHING}')
    try:
        slug = slugify(fields["name"])
    except InvalidInput as error:
        raise Unfit(error.message) from error
    old = known.get(slug)
    if decision == IMPROVE and old is None:
        raise Unfit(f"no skill that you were shown is called {printable(fields['name'], 80)}")
    description = fold(fields["description"]) or (old.description if old else "")
    body = fields["body"].replace("\r\n", "\n").strip() + "\n"
    name, base = (old.name, old.version) if old else (slug, "")
    draft = Draft(slug, name, description, body, base, reason)
    for fault in _faults(draft, fields, old):
        raise Unfit(fault)
    return draft


def _faults(draft: Draft, fields: Mapping[str, str], old: Known | None) -> Iterator[str]:
    """Yield what is wrong with a draft; what would be a warning to a person is a fault here."""
    if not draft.body.strip():
        yield "the body is empty"
    if not draft.description:
        yield "the description is empty"
    for key in ("description", "body"):
        found = first_hidden(fields[key].replace("\r\n", "\n"))
        if found:
            yield f'"{key}" holds the hidden character U+{ord(found[0]):04X}'
    if draft.body.startswith("---"):
        yield "the body starts with front matter; give name and description in their fields"
    secrets = find(f"{draft.description}\n{draft.body}".encode())
    if secrets:
        yield f"it holds what looks like a secret ({secrets[0].rule}); leave it out"
    for problem in check.check(f"{draft.slug}/SKILL.md", document(draft), draft.slug, True):
        yield problem.message
    if old is not None:
        yield from _too_much(old, draft)


def document(draft: Draft) -> bytes:
    """Return the skill that a draft would be, if it were new."""
    told = json.dumps(draft.description, ensure_ascii=False)
    head = f"---\nname: {draft.slug}\ndescription: {told}\n---\n\n"
    return (head + draft.body).encode()


def _too_much(old: Known, draft: Draft) -> Iterator[str]:
    """An improvement adds and mends; what would throw most of a skill away is none."""
    if not is_whole(old):
        yield f"{old.slug} was not shown whole, so it stays; choose another name or nothing"
    lines = _told(old.body)
    removed = textdiff.count(b"".join(lines), b"".join(_told(draft.body))).removed
    if len(lines) > _KEPT and removed * _KEPT > len(lines):
        yield f"it throws away {removed} lines of {old.slug}; keep what is still right"


def _told(body: str) -> list[bytes]:
    """Return the lines that say something: empty ones, which all texts share, keep nothing."""
    return [f"{line}\n".encode() for line in body.splitlines() if line.strip()]


def refused(model: str, fault: BrainError) -> ModelError:
    """Return the error for a model that gave no answer that can be taken."""
    return ModelError(
        f"{printable(model)} gave no answer that can become a skill: {fault.message}",
        code="bad_answer",
        hint="the brain is as it was; try again, or with another model",
    )
