"""The cases of a brain: documents cases/NAME.yaml in the folders of skills.

A skill need not exist to have some: those of skills/SLUG/cases/ are its own once it does. What
evolvers are shown of runs, skills and attempts is kept free of the inputs of held-out ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ... import limits
from ...digest import blob_id
from ...errors import BrainError, Conflict, InvalidInput, NotFound, printable_text
from ...gating import case_files
from ...gating.case_files import MAX_CASE_BYTES, Case, Expectation
from ...gating.case_paths import (
    CASES_FOLDER,
    is_case_path,
    new_case_path,
    slug_of_case,
    usual_folder,
)
from ...gating.held_out import HeldOutInputs, canonical_json, is_held_out
from ...gating.output_check import read_output
from ...objects.tree_node import LINK, TreeEntry
from ...ops import files
from ...programs.program import tool_name
from ...receipts import Receipt, RunStep
from ...receipts.budget import is_shortened
from ...receipts.receipt import TextExcerpt, run_source
from ...results import CaseAdded, SkillCase
from ...secrets import has_masked_secret
from ...skills import skill_layout
from ...skills.slug import slugify
from .. import derive
from ..find_skill import Skills
from ..session import BrainState, Session


def read_cases(session: Session, slug: str) -> list[Case]:
    """Return all cases of a skill at the head, by path, held-out ones too; it need not exist.

    Raises `InvalidInput` (`bad_case`, `wrong_split`) for a document that is no case, for more
    than `MAX_CASES`, and for two cases with one input.
    """
    found = [_read_case(session, entry) for entry in _list_entries(session.at(), slug)]
    refuse_same_inputs(found)
    return found


def read_practice_cases(session: Session, slug: str) -> list[Case]:
    """Return the cases of a skill that evolvers may see. Raises as `cases`."""
    return [case for case in read_cases(session, slug) if not case.is_held_out]


def list_cases(session: Session, slug: str = "") -> list[SkillCase]:
    """Return the cases of a skill or of all, with what is wrong with their documents."""
    state = session.at()
    entries = _list_entries(state, slug) if slug else state.walk()
    return [_describe(session, entry) for entry in entries if slug_of_case(entry.path)]


def read_held_out(session: Session, snapshot: bytes, path: str) -> list[Case]:
    """Return the held-out cases of the skill at a full path, which need not exist, by path.

    Documents that are no cases are left out; `list_cases` says what is wrong with them.
    """
    state = session.state_of(snapshot)
    slug = derive.slug_from_full_path(path)
    own = path.rpartition("/")[0] + "/" if path.endswith(skill_layout.FOLDER_SUFFIXES) else ""
    found = []
    for entry in _walk_cases(state, filter(None, (own, usual_folder(slug)))):
        with suppress(BrainError):
            found.append(_read_case(session, entry))
    return sorted((case for case in found if case.is_held_out), key=lambda case: case.path)


def _list_entries(state: BrainState, slug: str) -> list[TreeEntry]:
    folders = _find_folder(state, slug), usual_folder(slugify(slug))
    entries = list(_walk_cases(state, folders))
    if len(entries) > case_files.MAX_CASES:
        raise _too_many_error(f"a skill has {len(entries)} cases, more than {case_files.MAX_CASES}")
    return entries


def _too_many_error(message: str) -> InvalidInput:
    return InvalidInput(message, code="bad_case", hint="remove those that tell the least")


def _find_folder(state: BrainState, slug: str) -> str:
    skill = Skills(state).find_or_none(slug)
    if skill is not None:
        return skill.folder or usual_folder(skill.slug)
    return usual_folder(slugify(slug))


def _walk_cases(state: BrainState, folders: Iterable[str]) -> Iterator[TreeEntry]:
    for folder in dict.fromkeys(folders):
        for entry in state.walk_below(folder + CASES_FOLDER):
            if slug_of_case(entry.path):
                yield entry


def _read_case(session: Session, entry: TreeEntry) -> Case:
    if entry.kind == LINK or entry.size > MAX_CASE_BYTES:
        reason = "is a link" if entry.kind == LINK else f"has {entry.size} bytes"
        raise InvalidInput(
            f"the document of a case {reason}",
            code="bad_case",
            hint=f"write a file of at most {MAX_CASE_BYTES} bytes",
        )
    content = session.reader.read_blob(entry.blob, entry.size)
    return case_files.parse_case(slug_of_case(entry.path), entry.path, entry.blob, content)


def refuse_same_inputs(cases: Iterable[Case]) -> None:
    """Refuse cases of one input, which would count as often. Raises `InvalidInput` (`bad_case`)."""
    seen: dict[bytes, Case] = {}
    for case in cases:
        first = seen.setdefault(canonical_json(case.input), case)
        if first is not case:
            raise InvalidInput(
                f"{case.name} and {first.name} have the same input",
                code="bad_case",
                hint="remove one of them",
            )


def _describe(session: Session, entry: TreeEntry) -> SkillCase:
    slug, name = slug_of_case(entry.path), entry.path.rpartition("/")[2].removesuffix(".yaml")
    try:
        case = _read_case(session, entry)
    except BrainError as error:
        return SkillCase(slug, name, entry.path, "", None, {}, "", problem=error.message)
    return SkillCase(
        slug=slug,
        name=case.name,
        path=entry.path,
        split=case_files.HELD_OUT if case.is_held_out else case_files.PRACTICE,
        input=case.input if isinstance(case.input, str) else dict(case.input),
        expect=case.expect.parts,
        source=case.source,
    )


_NAME_DIGITS = 12


def add_case(
    session: Session,
    slug: str,
    input: Mapping[str, Any] | str,
    expect: Expectation,
    source: str = "",
    name: str = "",
) -> CaseAdded:
    """Add a case of a skill, as one snapshot; which half it belongs to follows from the input.

    Without a `name` it is named by its input, so that the same input is one case.

    Raises `InvalidInput` (`bad_case`, `bad_name`), or `Conflict` (`case_exists`) for an input
    that another case has.
    """
    content = case_files.encode_case(input, expect, source)
    name = name or blob_id(canonical_json(input)).hex()[:_NAME_DIGITS]
    if not case_files.is_case_name(name):
        raise InvalidInput(
            f"'{printable_text(name, 80)}' is not a name for a case",
            code="bad_name",
            hint="use lower-case letters, digits, '.', '_' and '-'",
        )
    path = new_case_path(_find_folder(session.at(), slug), name)
    case = case_files.parse_case(slug_of_case(path), path, blob_id(content), content)
    others = [one for one in list_cases(session, slug) if one.path != path]
    if len(others) >= case_files.MAX_CASES:
        raise _too_many_error(f"{slug} has {len(others)} cases, as many as a skill may have")
    if same := next((one for one in others if one.input == input), None):
        raise Conflict(
            f"the case {same.name} has the same input",
            code="case_exists",
            hint=f"edit {same.path}",
        )

    def write(before: bytes | None) -> bytes:
        if before is not None and before != content:
            raise Conflict(
                f"there is another case {name} of {case.skill}",
                code="case_exists",
                hint="edit its file, or give another --name",
            )
        return content

    recorded = files.edit(session, path, write, message=f"Add a case of {case.skill}")
    return CaseAdded(
        slug=case.skill,
        name=name,
        path=path,
        split=case_files.HELD_OUT if case.is_held_out else case_files.PRACTICE,
        snapshot=recorded.snapshot,
        changed=recorded.changed,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseOfRun:
    """What a run gave a skill, and what is expected of it; `source` names the run."""

    input: Mapping[str, Any] | str
    expect: Expectation
    source: str


def case_of_run(
    run: Receipt, slug: str, step: int = 0, expect: Expectation | None = None
) -> CaseOfRun:
    """Return the case of a run, with an expectation in place of what came out there.

    That is the payload and the output of a call of the skill: of the step of this number, from 1,
    or of the last call. Without such calls it is the task, which needs an expectation: two right
    answers of a model are seldom the same text. Raises `NotFound` (`no_step`), or `InvalidInput`:
    `not_whole` for a text that the receipt has only an excerpt of, or without its secrets, and
    `no_expectation`.
    """
    source = run_source(run.run)
    call = _find_call(run, slug, step)
    if call is not None:
        payload = read_output(_read_whole(call.input).encode())
        if not isinstance(payload, dict):
            raise NotFound(f"step {step} has no JSON object as input", code="no_step", hint=_HINT)
        if expect is None:
            equals = read_output(_read_whole(call.output).encode())
            expect = Expectation(has_equals=True, equals=equals)
        return CaseOfRun(input=payload, expect=expect, source=source)
    answers = [one for one in run.steps if one.kind == "llm" and not one.error]
    if run.outcome != "success" or not answers or not run.task.strip():
        raise NotFound(
            f"the run has no call of {tool_name(slug)} that went well, and no task with an answer",
            code="no_step",
            hint=_HINT,
        )
    if is_shortened(run.task, limits.MAX_TASK_BYTES):
        raise _not_whole_error("only the beginning of the task")
    if has_masked_secret(run.task):
        raise _not_whole_error("the task without its secrets")
    if expect is None:
        raise InvalidInput(
            "the answer to the task is a text of a model, which no other answer equals",
            code="no_expectation",
            hint="say what the output must be: --contains, --excludes, --check or --equals",
        )
    return CaseOfRun(input=run.task, expect=expect, source=source)


_HINT = "`brain show --run` lists the steps; or give the case with --input and --equals"


def _find_call(run: Receipt, slug: str, number: int) -> RunStep | None:
    """Return a call of a skill that went well: that of a number, or the last one."""
    names = (slug, tool_name(slug))
    calls = {
        at: one
        for at, one in enumerate(run.steps, 1)
        if one.kind == "tool" and one.name in names and not one.error and not one.caller
    }
    if number and number not in calls:
        raise NotFound(
            f"step {number} of the run is no call of {slug} that went well",
            code="no_step",
            hint=_HINT,
        )
    return calls[number] if number else next(reversed(calls.values()), None)


def _read_whole(text: TextExcerpt | None) -> str:
    if text is None or not text.is_whole:
        raise _not_whole_error("only a part of a text, or one without its secrets")
    return text.excerpt


def _not_whole_error(rest: str) -> InvalidInput:
    return InvalidInput(
        f"the receipt has {rest}",
        code="not_whole",
        hint="give the case with --input and what it expects",
    )


def read_held_out_filter(session: Session) -> HeldOutInputs:
    """Return what keeps the inputs of held-out cases out of what evolvers are shown.

    They are those at the head, also of retired skills.

    A document that is no case counts too, if it has an input that would be held out.
    """
    inputs, practice, sources = [], [], set()
    for entry in session.at().walk():
        if not is_case_path(entry.path) or entry.kind == LINK or entry.size > MAX_CASE_BYTES:
            continue
        try:
            origin = case_files.read_case_origin(session.reader.read_blob(entry.blob, entry.size))
        except BrainError:  # redacted
            continue
        if origin is None:
            continue
        if is_held_out(origin.input):
            inputs.append(origin.input)
            sources.add(origin.source)
        else:
            practice.append(origin.input)
    return HeldOutInputs(inputs, practice, sources - {""})


def hides_run(held_out: HeldOutInputs, run: Receipt) -> bool:
    """Tell whether a held-out case was made of a run, or the run repeats the input of one."""
    return run_source(run.run) in held_out.sources or any(map(held_out.hides, _iter_texts(run)))


def _iter_texts(run: Receipt) -> Iterator[str]:
    yield run.task
    yield run.reason
    for step in run.steps:
        yield step.name
        yield step.error
        for text in (step.input, step.output):
            if text is not None:
                yield text.excerpt
