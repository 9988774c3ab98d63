"""Make skills of the patterns that nothing was made of yet; safe to be killed at any step.

1. Each new pattern is queued, once for each version of its skills.
2. The oldest pattern of the queue is started.
3. The model writes one program that calls the skills of the pattern, with tests of recorded runs.
4. It is proposed to the gate, and the item finished with what became of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..errors import BrainError, Conflict, InvalidInput, ModelError, NotFound, printable_text
from ..experience.patterns import (
    FAILED,
    NEW,
    NO_MODEL,
    PATTERNS,
    UNFIT,
    MadeSkill,
    find_obstacle,
    find_open_key,
    is_enabled,
    read_made,
)
from ..experience.store import AuditEvent
from ..gating.held_out import canonical_json, is_held_out
from ..models.calls import ANSWER_FAULTS, AskLimits, NoAnswer, UnfitAnswer
from ..programs import PROGRAM_FILE, SCHEMA_FILE
from ..programs.program import Program, slug_of_tool, tool_name
from ..receipts import Receipt, RunStep
from ..receipts.receipt import run_source
from ..repo.learning.change import ProposedChange
from ..results import PatternResult
from ..sandbox.find_sandbox import find_sandbox
from ..util import strict_json
from ..util.utc_time import epoch_ms
from .acquire import build_program, build_skill_text
from .budget import require_evolution
from .evolver import NO_MODEL_REASON, AttemptOver, Evolver
from .prompts import PATTERN_SYSTEM_PROMPT, KnownAttempt, attempts_message, pattern_message

if TYPE_CHECKING:
    from ..api.brain import Brain
    from ..experience.store import Item, Store
    from ..gating.held_out import HeldOutInputs
    from ..models import Model
    from ..results import GateOutcome, SkillPattern
    from .drafts import CompositeAnswer, NoSkill, ToolDraft

AGENT = "brain evolve patterns"
"""The agent in the receipt of a composite."""
_MAX_ATTEMPTS = 6
"""Earlier attempts that are shown at once."""
MAX_EXAMPLES = 64
_MAX_SNAPSHOTS = 2_000
"""Snapshots that are searched for runs, newest first."""
_MAX_DEPTH = 32
_MAX_REASON_CHARS = 400
_RESULTS = {
    "admitted": "success",
    "provisional": "success",
    "proposed": "success",
    "nothing": "skipped",
    UNFIT: "skipped",
    FAILED: "failed",
}


def run_patterns(brain: Brain, model: Model | None, *, now: int) -> Iterator[PatternResult]:
    """Make skills of new patterns; yield what becomes of each.

    Without a model, the new patterns are yielded and nothing is spent. Raises `Conflict`
    (`evolution_off`), `StoreError`, or `InvalidInput` (`bad_setting`). The iterator may raise
    `ModelError`, `SandboxError` or `StoreError`; the pattern then waits for another attempt.
    """
    require_evolution(brain)
    if not is_enabled():
        return iter(())
    new = [one for one in brain.patterns.list(now=now).patterns if one.status == NEW]
    if model is None:
        waiting = NO_MODEL, NO_MODEL_REASON, "", None
        return iter([PatternResult(one.skills, one.occurrences, *waiting) for one in new])
    store = brain.patterns.open_store()
    _queue(brain, store, new, now)
    if not store.waiting(PATTERNS):
        return iter(())
    find_sandbox()  # before anything is paid
    return _work_off(brain, store, model, now)


def _queue(brain: Brain, store: Store, patterns: Sequence[SkillPattern], now: int) -> None:
    programs = {one.slug: one for one in brain.programs.list()}
    made = read_made(store.items(PATTERNS))
    for pattern in patterns:
        data = {"skills": list(pattern.skills), "occurrences": pattern.occurrences}
        store.add(PATTERNS, find_open_key(pattern.skills, programs, made), now, data)


def _work_off(brain: Brain, store: Store, model: Model, now: int) -> Iterator[PatternResult]:
    """Yield what becomes of each queued pattern."""
    while (item := store.next(PATTERNS, now)) is not None:
        attempt = PatternAttempt(brain, model, item, now)
        made = attempt.make()
        if made is not None:
            seen = item.data["occurrences"]
            what = made.status, made.reason, made.slug
            yield PatternResult(made.skills, seen, *what, attempt.outcome)


class PatternAttempt(Evolver[MadeSkill]):
    """One attempt at one pattern, of which one skill is made.

    Of the skills made so far, only that of this very pattern may be replaced. Attempts since the
    pattern was queued are not shown: they may be its own, before its process was killed.
    """

    agent = AGENT

    def __init__(self, brain: Brain, model: Model, item: Item, now: int) -> None:
        super().__init__(brain, model, item, now)
        self._skills: tuple[str, ...] = tuple(item.data["skills"])
        self._known = read_made(item.store.items(PATTERNS))
        known = [one for one in self._known.values() if one is not None]
        self._made = {one.slug: one for one in known if tuple(one.skills) == self._skills}
        self._examples: list[RecordedExample] = []
        self._shown: set[str] = set()
        self._name = ""
        self._last: ProposedChange | None = None
        self._refused: list[tuple[str, str]] = []

    def _end(self, status: str, reason: str, slug: str = "", version: str = "") -> MadeSkill:
        return MadeSkill(status, reason, slug, version, self._skills)

    def give_up(self, reason: str) -> MadeSkill:
        """Return the end of an attempt that too many processes died of."""
        return self._end(FAILED, reason)

    def begin(self) -> MadeSkill | None:
        """Return why the pattern is no longer to be made, which changed while it waited."""
        programs = {one.slug: one for one in self.brain.programs.list()}
        if reason := find_obstacle(self._skills, programs):
            return self._end(UNFIT, reason)
        if find_open_key(self._skills, programs, self._known) != self.item.key:
            return self._end("nothing", "one of its skills changed meanwhile")
        return None

    def draft(self) -> ProposedChange:
        """Ask for a program until one passes; the last one with a fault is kept as an attempt."""
        from .drafts import CompositeAnswer

        self._examples = find_examples(self.brain, self._skills, self.material.held_out)
        prompt = self._build_prompt()
        while (left := AskLimits().answers - self.requests) > 0:
            try:
                found = self.ask(
                    CompositeAnswer,
                    self._check,
                    system=PATTERN_SYSTEM_PROMPT,
                    prompt=prompt,
                    on_fault=self._note_fault,
                    limits=AskLimits(answers=left, requests=left),
                )
            except NoAnswer:
                break
            except ModelError as error:
                if error.code not in ANSWER_FAULTS:  # else it is one answer that is refused
                    raise
                self._name = ""
                self._note_fault(error.message)
            else:
                if isinstance(found, ProposedChange):
                    return self.add_receipt(found)
                raise AttemptOver(self._end("nothing", found.reason))
        if self._last is not None:
            return self.add_receipt(self._last)
        name, reason = (self._refused or [("", "the model gave no answer")])[-1]
        raise AttemptOver(self._end(FAILED, reason, name))

    def _check(self, answer: CompositeAnswer) -> ProposedChange | NoSkill:
        from .drafts import NoSkill, check_composite_answer

        self._name = ""
        draft = check_composite_answer(answer, self._skills)
        if isinstance(draft, NoSkill):
            return draft
        self._refuse_foreign(draft.slug)
        self._last = self._build_change(draft)
        if draft.fault:
            self._name = draft.slug
            raise UnfitAnswer(draft.fault)
        if attempts := self._list_unseen_attempts([draft.slug]):
            raise UnfitAnswer("", attempts_message(attempts))
        return self._last

    def _note_fault(self, fault: str) -> None:
        if fault:  # else the model is only shown earlier attempts
            self._refused.append((self._name, fault))

    def _build_prompt(self) -> str:
        names = [tool_name(slug) for slug in self._skills]
        return pattern_message(
            names,
            self.item.data["occurrences"],
            [*map(self._show_tool, dict.fromkeys(self._skills))],
            [show_example(one, names) for one in self._examples],
            self._list_unseen_attempts(filter(None, reversed(self._made))),
        )

    def _show_tool(self, slug: str) -> str:
        program = self.brain.programs.find(slug)
        description = self.brain.skills.view(slug).description
        schema = program.files[SCHEMA_FILE].decode("utf-8", "replace")
        return f"{tool_name(slug)}: {description}\nParameters: {schema}"

    def _list_unseen_attempts(self, slugs: Iterable[str]) -> list[KnownAttempt]:
        """Return attempts at skills that the model has not seen, and is about to see."""
        unseen = [slug for slug in slugs if slug not in self._shown]
        self._shown.update(unseen)
        return [
            KnownAttempt(one.slug, one.reason, one.edit)
            for slug in unseen
            for one in self.brain.gate.earlier_attempts(slug)
            if epoch_ms(one.time) < self.item.at
        ][:_MAX_ATTEMPTS]

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
            return str(self.brain.skills.view(slug).version)
        except NotFound:
            return ""

    def _build_change(self, draft: ToolDraft) -> ProposedChange:
        """Return the change, with tests of recorded examples, else of the model's payloads.

        The program of a refused draft is never run.
        """
        self.task = f"Make {draft.slug} of a pattern"
        program, version = draft.program, self._find_version(draft.slug)
        if draft.fault:
            files = {
                PROGRAM_FILE: program.code.encode("utf-8", "replace"),
                SCHEMA_FILE: b'{"type": "object"}\n',
                "tests/cases.json": b'[{"payload": {}}]\n',
            }
            built = Program(slug=draft.slug, files=files)
        else:
            if self._examples:
                payloads = [one.input for one in self._examples]
                expected = [one.output for one in self._examples]
                program = replace(program, payloads=payloads, expected=expected)
            built = build_program(program, self.brain.programs.read_definition)
        return ProposedChange(
            name=draft.slug,
            evolver=PATTERNS,
            description=draft.program.description,
            body=None if version else build_skill_text(built),
            files=built.files,
            base=version or 0,
            message=f"{self.task}: {draft.reason}",
            fault=draft.fault,
        )

    def conclude(self, outcome: GateOutcome) -> MadeSkill:
        """Return what became of the change."""
        reason = (self._last.fault if self._last else "") or outcome.reason
        if self._examples and outcome.done == "proposed" and outcome.numbers is None:
            reason = f"{reason}; it passed {len(self._examples)} tests made of recorded runs"
        version = "" if outcome.version is None else str(outcome.version)
        return self._end(outcome.done, reason, outcome.slug, version)

    def fail(self, error: BrainError) -> MadeSkill | None:
        """End if the change cannot be made; after any other error another attempt goes on."""
        is_final = isinstance(error, (InvalidInput, NotFound, Conflict))
        return self._end(FAILED, error.message) if is_final else None

    def finish(self, ended: MadeSkill) -> None:
        """End the item, with what was refused and what became of it in the audit."""
        result = _RESULTS.get(ended.status, "rejected")
        refused = [
            self._event(name, "validate", "rejected", reason) for name, reason in self._refused
        ]
        last = self._event(ended.slug, ended.status, result, ended.reason)
        self.item.finish(ended._asdict(), *refused, last)

    def _event(self, name: str, phase: str, result: str, reason: str) -> AuditEvent:
        skills, short = (
            printable_text(text, _MAX_REASON_CHARS) for text in (",".join(self._skills), reason)
        )
        why = f"pattern={skills},reason={short}"
        return AuditEvent(self.now, PATTERNS, name, why, phase, result)


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
    brain: Brain, skills: Sequence[str], held_out: HeldOutInputs
) -> list[RecordedExample]:
    """Return examples of a pattern, one for each input; only recorded runs have some."""
    found: dict[bytes, RecordedExample] = {}
    for receipt in _iter_runs(brain):
        if run_source(receipt.run) in held_out.sources:
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
    texts = [text.excerpt for text in (step.input, step.output) if text and text.is_whole]
    if step.error or len(texts) < 2:
        return None
    payload, output = map(_parse, texts)
    return (payload, output) if isinstance(payload, dict) else None


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
