"""Make one skill of a pattern: ask a model, check its answer, and give it to the gate."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from ...errors import BrainError, InvalidInput, ModelError, NotFound
from ...experience.patterns import FAILED, PATTERNS, MadeSkill
from ...gating.held_out import canonical_json, is_held_out
from ...models.calls import ANSWER_FAULTS, AskLimits, ModelCall, NoAnswer, UnfitAnswer
from ...programs import PROGRAM_FILE, SCHEMA_FILE
from ...programs.program import Program, slug_of_tool, tool_name
from ...receipts import Receipt, RunStep
from ...repo.learning.cases import source_of_run
from ...repo.learning.change import ProposedChange
from ...util import strict_json
from ...util.utc_time import epoch_ms
from ..acquire import build_program, build_skill_text
from ..call_receipt import build_call_receipt
from ..model_runner import ModelRunner
from ..prompts import PATTERN_SYSTEM_PROMPT, KnownAttempt, attempts_message, pattern_message

if TYPE_CHECKING:
    from ...api.brain import Brain
    from ...experience.store import Item
    from ...models import Model
    from ...receipts import TextExcerpt
    from ...repo.learning.held_out_filter import HeldOutFilter
    from ...results import GateOutcome
    from ..drafts import CompositeAnswer, NoSkill, ToolDraft

AGENT = "brain evolve patterns"
"""The agent in the receipt of a composite."""
_MAX_ATTEMPTS = 6
"""Earlier attempts that are shown at once."""
MAX_EXAMPLES = 64
_MAX_SNAPSHOTS = 2_000
"""Snapshots that are searched for runs, newest first."""
_MAX_DEPTH = 32


class _Candidate(NamedTuple):
    """A draft with its program, which is never run if the draft has a fault."""

    draft: ToolDraft
    program: Program


class CompositeMaker:
    """Makes a skill of one pattern. `refused` are the reasons why answers were refused, by name.

    `made` is what became of patterns so far. Of the skills made, only that of this very pattern
    may be replaced. `item` is that of the pattern. Attempts since it was queued are not shown:
    they may be its own, before its process was killed.
    """

    def __init__(
        self,
        brain: Brain,
        model: Model,
        skills: Sequence[str],
        made: Sequence[MadeSkill],
        item: Item,
    ) -> None:
        self._brain = brain
        self._model = model
        self._skills = tuple(skills)
        self._made = {one.slug: one for one in made if one.skills == self._skills}
        self._item = item
        self._shown: set[str] = set()
        self._held_out = brain.gate.read_held_out_filter()
        self._calls: list[ModelCall] = []
        self._requests = 0
        self.refused: list[tuple[str, str]] = []

    def make(self, occurrences: int) -> tuple[MadeSkill, GateOutcome | None]:
        """Return what became of a pattern, and what the gate said.

        Raises `ModelError`, `SandboxError`, `StoreError`, or `Conflict`.
        """
        examples = find_examples(self._brain, self._skills, self._held_out)
        candidate = self._ask(self._first_message(occurrences, examples), examples)
        if candidate is None:
            name, reason = self.refused[-1] if self.refused else ("", "the model gave no answer")
            return MadeSkill(FAILED, reason, name), None
        if not isinstance(candidate, _Candidate):
            return MadeSkill("nothing", candidate.reason), None
        made, outcome = self._propose(candidate)
        if examples and outcome.done == "proposed" and outcome.numbers is None:
            passed = f"it passed {len(examples)} tests made of recorded runs"
            made = made._replace(reason=f"{made.reason}; {passed}")
        return made, outcome

    def _first_message(self, occurrences: int, examples: Sequence[RecordedExample]) -> str:
        names = [tool_name(slug) for slug in self._skills]
        return pattern_message(
            names,
            occurrences,
            [*map(self._show_tool, dict.fromkeys(self._skills))],
            [show_example(one, names) for one in examples],
            self._list_unseen_attempts(filter(None, reversed(self._made))),
        )

    def _show_tool(self, slug: str) -> str:
        program = self._brain.programs.find(slug)
        description = self._brain.skills.view(slug).description
        schema = program.files[SCHEMA_FILE].decode("utf-8", "replace")
        return f"{tool_name(slug)}: {description}\nParameters: {schema}"

    def _list_unseen_attempts(self, slugs: Iterable[str]) -> list[KnownAttempt]:
        """Return attempts at skills that the model has not seen, and is about to see."""
        unseen = [slug for slug in slugs if slug not in self._shown]
        self._shown.update(unseen)
        return [
            KnownAttempt(one.slug, one.reason, one.edit)
            for slug in unseen
            for one in self._brain.gate.earlier_attempts(slug)
            if epoch_ms(one.time) < self._item.at
        ][:_MAX_ATTEMPTS]

    def _ask(
        self, question: str, examples: Sequence[RecordedExample]
    ) -> _Candidate | NoSkill | None:
        """Return an accepted draft, or the last one with its fault; None for no draft at all."""
        from ...models.ask import ask
        from ..drafts import CompositeAnswer, NoSkill, check_composite_answer

        last: list[_Candidate] = []
        name = ""

        def check(answer: CompositeAnswer) -> _Candidate | NoSkill:
            nonlocal name
            name = ""
            draft = check_composite_answer(answer, self._skills)
            if isinstance(draft, NoSkill):
                return draft
            self._refuse_foreign(draft.slug)
            fault = draft.fault
            program = self._bare_program(draft) if fault else self._build_program(draft, examples)
            last.append(_Candidate(draft, program))
            if fault:
                name = draft.slug
                raise UnfitAnswer(fault)
            if attempts := self._list_unseen_attempts([draft.slug]):
                raise UnfitAnswer("", attempts_message(attempts))
            return last[-1]

        def note_fault(fault: str) -> None:
            if fault:  # else it is only shown earlier attempts
                self.refused.append((name, fault))

        while (left := AskLimits().answers - self._requests) > 0:
            try:
                return ask(
                    self._model,
                    CompositeAnswer,
                    check,
                    system=PATTERN_SYSTEM_PROMPT,
                    prompt=question,
                    hide=self._held_out.hide_in,
                    record=self._record,
                    on_fault=note_fault,
                    limits=AskLimits(answers=left, requests=left),
                )
            except NoAnswer:
                break
            except ModelError as error:
                if error.code not in ANSWER_FAULTS:  # else it is one answer that is refused
                    raise
                name = ""
                note_fault(error.message)
        return last[-1] if last else None

    def _record(self, call: ModelCall) -> None:
        self._requests += 1
        if not call.error:
            self._calls.append(call)

    def _refuse_foreign(self, slug: str) -> None:
        """Raise `UnfitAnswer` if a skill of the name was not made here, or was changed since."""
        made = self._made.get(slug)
        try:
            version = self._find_version(slug)
        except InvalidInput as error:  # several skills have the name
            raise UnfitAnswer(f"{error.message}; choose another name") from error
        if version and (made is None or made.version != version):
            raise UnfitAnswer(f"there is another skill {slug}; choose another name")

    def _find_version(self, slug: str) -> str:
        try:
            return str(self._brain.skills.view(slug).version)
        except NotFound:
            return ""

    def _build_program(self, draft: ToolDraft, examples: Sequence[RecordedExample]) -> Program:
        """Return the program with its tests: recorded examples, else the payloads of the model."""
        program = draft.program
        if examples:
            payloads, expected = [one.input for one in examples], [one.output for one in examples]
            program = replace(program, payloads=payloads, expected=expected)
        return build_program(program, self._brain.programs.read_definition)

    def _bare_program(self, draft: ToolDraft) -> Program:
        """Return the program of a refused draft, which is never run: its attempt is kept."""
        files = {
            PROGRAM_FILE: draft.program.code.encode("utf-8", "replace"),
            SCHEMA_FILE: b'{"type": "object"}\n',
            "tests/cases.json": b'[{"payload": {}}]\n',
        }
        return Program(slug=draft.slug, files=files)

    def _propose(self, candidate: _Candidate) -> tuple[MadeSkill, GateOutcome]:
        draft, program = candidate
        version = self._find_version(draft.slug)
        change = ProposedChange(
            name=draft.slug,
            evolver=PATTERNS,
            description=draft.program.description,
            body=None if version else build_skill_text(program),
            files=program.files,
            base=version or 0,
            message=f"Make {draft.slug} of a pattern: {draft.reason}",
            receipt=build_call_receipt(
                f"Make {draft.slug} of a pattern", AGENT, self._model.model_name, self._calls
            ),
            fault=draft.fault,
        )
        runner = ModelRunner(self._model)
        gate = self._brain.gate.open(text_runner=runner, confirm=self._item.confirm)
        outcome = gate.propose(change)
        reached = "" if outcome.version is None else str(outcome.version)
        reason = draft.fault or outcome.reason
        return MadeSkill(outcome.done, reason, outcome.slug, reached), outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedExample:
    """Arguments and outputs of the skills of a pattern, in one run."""

    steps: tuple[tuple[dict[str, Any], Any], ...]

    @property
    def input(self) -> dict[str, Any]:
        """The arguments of the first skill."""
        return self.steps[0][0]

    @property
    def output(self) -> Any:
        """What the last skill answered."""
        return self.steps[-1][1]


def find_examples(
    brain: Brain, skills: Sequence[str], held_out: HeldOutFilter
) -> list[RecordedExample]:
    """Return examples of a pattern, one for each input; only recorded runs have some."""
    found: dict[bytes, RecordedExample] = {}
    for receipt in _iter_runs(brain):
        if source_of_run(receipt) in held_out.sources:
            continue
        for steps in _find_in_run(receipt, skills):
            try:
                key = canonical_json(steps[0][0])
            except ValueError:  # such as an infinite number
                continue
            if is_held_out(steps[0][0]) or held_out.hides(json.dumps(steps, ensure_ascii=False)):
                continue
            found.setdefault(key, RecordedExample(steps=steps))
        if len(found) >= MAX_EXAMPLES:
            break
    return list(found.values())[:MAX_EXAMPLES]


def _iter_runs(brain: Brain) -> Iterator[Receipt]:
    """Yield the recorded runs that succeeded, newest first."""
    for snapshot in brain.history.log(limit=_MAX_SNAPSHOTS):
        if snapshot.operation.get("kind") != "task" or snapshot.receipt is None:
            continue
        try:
            run = brain.receipts.read_run(snapshot.snapshot)
        except BrainError:  # redacted, or too long to be joined
            continue
        if run.outcome == "success":
            yield run


def _find_in_run(
    receipt: Receipt, skills: Sequence[str]
) -> Iterator[tuple[tuple[dict[str, Any], Any], ...]]:
    calls = [
        step
        for step in receipt.steps
        if step.kind == "tool" and step.version and step.input and not step.caller
    ]
    names = [slug_of_tool(step.name) for step in calls]
    for begin in range(len(calls) - len(skills) + 1):
        if names[begin : begin + len(skills)] == list(skills):
            steps = [_read_step(step) for step in calls[begin : begin + len(skills)]]
            complete = [step for step in steps if step is not None]
            if len(complete) == len(skills):
                yield tuple(complete)


def _read_step(step: RunStep) -> tuple[dict[str, Any], Any] | None:
    """Return arguments and output of a call, None if it failed or they are not recorded whole."""
    arguments, output = _read_whole(step.input), _read_whole(step.output)
    if step.error or arguments is None or output is None:
        return None
    payload = _parse(arguments)
    return (payload, _parse(output)) if isinstance(payload, dict) else None


def _read_whole(text: TextExcerpt | None) -> str | None:
    if text is None or text.redacted or text.size != len(text.excerpt.encode()):
        return None
    return text.excerpt


def _parse(text: str) -> Any:
    """Return the value of a JSON text; of another text the text."""
    data = text.encode()
    if strict_json.nesting_depth(data, _MAX_DEPTH) > _MAX_DEPTH:
        return text
    try:
        return strict_json.parse_unbounded_json(data)
    except ValueError:
        return text


def show_example(example: RecordedExample, names: Sequence[str]) -> str:
    """Return an example as text, a line for each call."""
    rows = zip(names, example.steps, strict=True)
    return "\n".join(
        f"{name}({json.dumps(payload, ensure_ascii=False)}) gave"
        f" {json.dumps(output, ensure_ascii=False)}"
        for name, (payload, output) in rows
    )
