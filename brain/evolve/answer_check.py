"""Parse a model's answer strictly, and check that it may become a skill."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .. import limits
from ..errors import BrainError, InvalidInput, ModelError, printable_text
from ..secrets import find_secrets
from ..skills import skill_lint
from ..skills.slug import slugify
from ..skills.visible_text import find_hidden, fold_to_line
from ..util import line_diff, strict_json
from .model import MAX_MODEL_ANSWER_BYTES
from .synthesis_prompt import (
    CREATE_DECISION,
    IMPROVE_DECISION,
    MAX_BODY_CHARS,
    MAX_REASON_CHARS,
    NO_SKILL_DECISION,
    KnownSkill,
    is_shown_whole,
)

_MAX_DEPTH = 8
_MAX_VALUES = 64
_KEEP_ONE_IN = 2
"""An improvement keeps at least one in so many lines of a skill."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillDraft:
    """A checked skill by a model; `base` is the version that it improves, "" if it is new.

    `files` are its whole new program, by path in the folder of the skill; empty keeps the program.
    """

    slug: str
    name: str
    description: str
    body: str
    base: str
    reason: str
    files: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def expected_base(self) -> str | int:
        """The base for an upsert; 0, which fails if the skill exists meanwhile, for a new one."""
        return self.base or 0


class NoSkill(NamedTuple):
    """The model's decision that a run taught nothing worth keeping."""

    reason: str


class UnfitAnswer(InvalidInput):
    """An answer that cannot become a skill. The message is for the model, to try again."""

    code = "bad_answer"


def parse_answer(text: str) -> dict[str, str]:
    """Return the fields of an answer. Raises `UnfitAnswer`."""
    return dict(_checked_fields(parse_answer_object(text)))


def parse_answer_object(text: str) -> dict[str, Any]:
    """Return the JSON object of an answer, in a code fence or not. Raises `UnfitAnswer`."""
    if len(text.encode("utf-8", "surrogatepass")) > MAX_MODEL_ANSWER_BYTES:
        raise UnfitAnswer("it is too long")
    try:
        data = _strip_fence(text.strip()).strip().encode()
    except UnicodeEncodeError as error:
        raise UnfitAnswer("it holds half a character") from error
    value = strict_json.parse_json(
        data, _MAX_DEPTH, _MAX_VALUES, lambda message, _code: UnfitAnswer(message)
    )
    if not isinstance(value, dict):
        raise UnfitAnswer("it is not a JSON object")
    return value


def _strip_fence(text: str) -> str:
    """Return the text inside a Markdown code fence, if there is one around `text`."""
    first, _, rest = text.partition("\n")
    inner, _, last = rest.rpartition("\n")
    has_fence = first.rstrip() in ("```", "```json") and last.lstrip() == "```"
    return inner if has_fence else text


def _checked_fields(value: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for key, max_chars in (
        ("decision", 20),
        ("name", limits.MAX_SKILL_NAME_CHARS),
        ("description", limits.MAX_DESCRIPTION_CHARS),
        ("body", MAX_BODY_CHARS),
        ("reason", MAX_REASON_CHARS),
    ):
        yield key, read_answer_text(value, key, max_chars)


def read_answer_text(value: Mapping[str, Any], key: str, max_chars: int) -> str:
    """Return a text of an answer, "" without it. Raises `UnfitAnswer`."""
    text = value.get(key) or ""
    if not isinstance(text, str):
        raise UnfitAnswer(f'"{key}" is not text')
    if len(text) > max_chars:
        raise UnfitAnswer(f'"{key}" has {len(text)} characters; at most {max_chars} are allowed')
    return text


def check_answer(
    fields: Mapping[str, str], known: Mapping[str, KnownSkill]
) -> SkillDraft | NoSkill:
    """Return the decision of an answer; `known` are the skills that the model was shown.

    Raises `UnfitAnswer` for a draft that must not become a skill: see `_draft_faults`.
    """
    decision, reason = fields["decision"], fold_to_line(fields["reason"])
    if decision == NO_SKILL_DECISION:
        return NoSkill(reason)
    if decision not in (CREATE_DECISION, IMPROVE_DECISION):
        raise UnfitAnswer(
            f'"decision" must be {CREATE_DECISION}, {IMPROVE_DECISION} or {NO_SKILL_DECISION}'
        )
    try:
        slug = slugify(fields["name"])
    except InvalidInput as error:
        raise UnfitAnswer(error.message) from error
    old = known.get(slug)
    if decision == IMPROVE_DECISION and old is None:
        raise UnfitAnswer(
            f"none of the skills shown to you is called {printable_text(fields['name'], 80)}"
        )
    description = fold_to_line(fields["description"]) or (old.description if old else "")
    body = fields["body"].replace("\r\n", "\n").strip() + "\n"
    name, base = (old.name, old.version) if old else (slug, "")
    draft = SkillDraft(
        slug=slug, name=name, description=description, body=body, base=base, reason=reason
    )
    for fault in _draft_faults(draft, fields, old):
        raise UnfitAnswer(fault)
    return draft


def _draft_faults(
    draft: SkillDraft, fields: Mapping[str, str], old: KnownSkill | None
) -> Iterator[str]:
    """Yield the faults of a draft; what is a warning for a person is a fault for a model."""
    if not draft.body.strip():
        yield "the body is empty"
    if not draft.description:
        yield "the description is empty"
    for key in ("description", "body"):
        hidden = find_hidden(fields[key].replace("\r\n", "\n"))
        if hidden:
            yield f'"{key}" holds the hidden character U+{ord(hidden[0]):04X}'
    if draft.body.startswith("---"):
        yield "the body starts with front matter; give name and description in their fields"
    secrets = find_secrets(f"{draft.description}\n{draft.body}".encode())
    if secrets:
        yield f"it holds what looks like a secret ({secrets[0].rule}); leave it out"
    for problem in skill_lint.check_skill(
        f"{draft.slug}/SKILL.md", render_draft(draft), draft.slug, True
    ):
        yield problem.message
    if old is not None:
        yield from _removal_faults(old, draft)


def render_draft(draft: SkillDraft) -> bytes:
    """Return the SKILL.md that a draft would make as a new skill."""
    quoted_description = json.dumps(draft.description, ensure_ascii=False)
    head = f"---\nname: {draft.slug}\ndescription: {quoted_description}\n---\n\n"
    return (head + draft.body).encode()


def _removal_faults(old: KnownSkill, draft: SkillDraft) -> Iterator[str]:
    """Yield the faults of an improvement that drops most of a skill."""
    if not is_shown_whole(old):
        yield f"{old.slug} was not shown in full, so it stays; choose another name or nothing"
    lines = _nonblank_lines(old.body)
    removed = line_diff.count_changed_lines(
        b"".join(lines), b"".join(_nonblank_lines(draft.body))
    ).removed
    if len(lines) > _KEEP_ONE_IN and removed * _KEEP_ONE_IN > len(lines):
        yield f"it removes {removed} lines of {old.slug}; keep what is still right"


def _nonblank_lines(body: str) -> list[bytes]:
    """Return the lines that are not blank: all texts share those."""
    return [f"{line}\n".encode() for line in body.splitlines() if line.strip()]


def refused_error(model: str, fault: BrainError) -> ModelError:
    """Return the error for a model that gave no acceptable answer."""
    return ModelError(
        f"{printable_text(model)} gave no answer that can become a skill: {fault.message}",
        code="bad_answer",
        hint="the brain is unchanged; try again, or with another model",
    )
