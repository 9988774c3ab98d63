"""A skill of text with held-out cases, and verdicts of a gate about it, made without a runner."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count, islice

from brain import Brain
from brain.digest import blob_id
from brain.gating.case_files import Case, Expectation, encode_case, parse_case
from brain.gating.decision import decide
from brain.gating.held_out import is_held_out
from brain.verdicts.verdict import Verdict
from brain.verdicts.verdict_rules import GateCase, GateRecord, GateVerdict, build_gate_verdict
from tests.support.decisions import put_verdict, record

GREET, OTHER = "greet", "part"
TEXT_PATH = f"skills/{GREET}/SKILL.md"
RIGHT, WRONG, NO_ANSWER = b"hello there", b"go away", b"no answer"
OUTPUTS = {"p": RIGHT, "f": WRONG, "e": NO_ANSWER}
"""What came out, by the letter of the outcome."""


def inputs_of_half(*, held_out: bool) -> Iterator[str]:
    """Yield texts whose cases are in one half."""
    tasks = (f"Greet guest {number}." for number in count())
    return (task for task in tasks if is_held_out(task) is held_out)


def make_document(task: str, expect: Expectation | None = None) -> bytes:
    """Return the document of a case whose output must hold a greeting."""
    return encode_case(task, expect or Expectation(contains=("hello",)))


def make_documents(slug: str, number: int) -> dict[str, bytes]:
    """Return documents of held-out cases of a skill, by path."""
    tasks = islice(inputs_of_half(held_out=True), number)
    return {
        f"skills/{slug}/cases/c{at}.yaml": make_document(f"{task}") for at, task in enumerate(tasks)
    }


CASES = make_documents(GREET, 8)
GUARDS = make_documents(OTHER, 1)
GUARD = next(iter(GUARDS))


def skill_text(slug: str, version: str, body: str) -> bytes:
    """Return the SKILL.md of a skill."""
    return f"---\nname: {slug}\ndescription: d\nversion: {version}\n---\n{body}\n".encode()


BEFORE, AFTER = skill_text(GREET, "1", "Be short."), skill_text(GREET, "2", "Say hello.")


def add_cases(brain: Brain) -> None:
    """Record two skills with their held-out cases."""
    files = {TEXT_PATH: BEFORE, f"skills/{OTHER}/SKILL.md": skill_text(OTHER, "1", "Bye.")}
    record(brain, {**files, **CASES, **GUARDS}, ("snapshot",))


def try_cases(rounds: Sequence[tuple[str, str, str]], *, repeats_itself: bool = True) -> GateRecord:
    """Return the record of a gate over rows of path, before and after."""
    documents = {**CASES, **GUARDS}
    cases = [_try_case(path, documents[path], before, after) for path, before, after in rounds]
    rows = [case.row for case in cases]
    return GateRecord(
        runner="scripted",
        repeats_itself=repeats_itself,
        decision=decide(rows, repeats_itself=repeats_itself),
        cases=cases,
    )


def _try_case(path: str, document: bytes, before: str, after: str) -> GateCase:
    slug = path.split("/")[1]
    case: Case = parse_case(slug, path, blob_id(document), document)
    outputs = [OUTPUTS[letter] for pair in zip(before, after, strict=True) for letter in pair]
    return GateCase(case=case, is_guard=slug != GREET, before=before, after=after, outputs=outputs)


def gained(*, guard: str = "p") -> GateRecord:
    """Return a record of eight cases that all got better; the guard passed before."""
    rows = [(path, "f", "p") for path in CASES]
    return try_cases([*rows, (GUARD, "p", guard)])


def build(tried: GateRecord, decision: str = "admit", **said: str) -> GateVerdict:
    """Return the verdict of a record, with the contents it names; `said` is of who decided."""
    by_gate = Verdict(decision=decision, skill=GREET, decider="rule", decided_by="gate")
    about = by_gate._replace(base=blob_id(BEFORE), text=blob_id(AFTER))
    built = build_gate_verdict(tried, about)
    return replace(built, verdict=built.verdict._replace(**said))


def gate_admission() -> Verdict:
    """Return the verdict by which the gate admits the change."""
    return build(gained()).verdict


def gate_rejection() -> Verdict:
    """Return the verdict by which the gate rejects the change, for its guard got worse."""
    return build(gained(guard="f"), "reject").verdict


def decide_by_gate(
    brain: Brain, verdict: Verdict, edits: dict[str, bytes | None] | None = None
) -> bytes:
    """Record the change of the text with a verdict; return the snapshot."""
    blob = put_verdict(brain, verdict, *OUTPUTS.values())
    edits = {TEXT_PATH: AFTER, **(edits or {})}
    return record(brain, edits, (verdict.decision, GREET, "1", "2", blob))
