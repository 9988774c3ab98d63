"""Receipts of any run."""

import json
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from brain import Brain, BrainError
from brain.api.task import Task
from brain.errors import FormatError
from brain.receipts import (
    RUN_OUTCOMES,
    STEP_KINDS,
    FileWrite,
    Receipt,
    RunStep,
    decode_receipt,
    encode_receipt,
    keep_text,
)

digests = st.binary(min_size=32, max_size=32)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
times = st.integers(0, 253_402_300_799_999)
numbers = st.integers(0, (1 << 53) - 1)
paths = st.from_regex(r"[a-z]{1,8}(/[a-z]{1,8}){0,2}", fullmatch=True)


@st.composite
def steps(draw: st.DrawFn) -> RunStep:
    kind = draw(st.sampled_from(STEP_KINDS))
    wrote = draw(st.dictionaries(paths, digests | st.just(b""), max_size=3))
    writes = tuple(FileWrite(path, wrote[path]) for path in sorted(wrote))
    named = [draw(texts) for _ in range(3)]
    said = [keep_text(draw(texts)) for _ in range(2)]
    counts = [draw(numbers) for _ in range(3)]
    step = RunStep(kind, draw(times), *named, *said, draw(texts), *counts)
    return step._replace(writes=writes) if kind in ("skill_create", "memory_write") else step


@st.composite
def receipts(draw: st.DrawFn) -> Receipt:
    out = Receipt(draw(texts.filter(bool)), draw(texts), draw(texts), draw(texts), draw(times))
    out = out._replace(steps=tuple(draw(st.lists(steps(), max_size=5))))
    if draw(st.booleans()):
        out = out._replace(snapshot_before=draw(digests), bundle_before=draw(digests))
    if draw(st.booleans()):
        out = out._replace(part=draw(st.integers(1, 99)), previous=draw(digests))
    if draw(st.booleans()):
        ended = draw(st.sampled_from(RUN_OUTCOMES)), draw(texts), draw(times), draw(digests)
        out = out._replace(outcome=ended[0], reason=ended[1], ended=ended[2], bundle_after=ended[3])
    return out


@given(receipts())
def test_a_receipt_is_read_as_it_was_written(receipt):
    data = encode_receipt(receipt)
    assert decode_receipt(data) == receipt
    assert json.loads(data)["format"] == "brain v1 receipt"


@given(receipts(), st.data())
def test_a_text_with_one_byte_changed_is_another_receipt_or_none(receipt, data):
    text = encode_receipt(receipt)
    at = data.draw(st.integers(0, len(text) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda value: value != text[at]))
    try:
        found = decode_receipt(text[:at] + bytes([byte]) + text[at + 1 :])
    except FormatError:
        return
    assert found != receipt


@given(st.binary(max_size=200))
def test_any_bytes_are_a_receipt_or_refused(data):
    with suppress(FormatError):
        assert encode_receipt(decode_receipt(data)) == data


slugs = st.sampled_from(["a", "b", "c"])


def improve(brain: Brain, task: Task, slug: str) -> None:
    task.upsert_skill(slug, f"{brain.head}\n", description="d")


def file(brain: Brain, task: Task, slug: str) -> None:
    brain.skills.edit(slug, lambda _: brain.head.encode(), file="scripts/run.sh")


def remember(brain: Brain, task: Task, slug: str) -> None:
    task.write_file(f"memory/{slug}.md", brain.head)


def remove(brain: Brain, task: Task, slug: str) -> None:
    brain.skills.delete(slug)


def revert(brain: Brain, task: Task, slug: str) -> None:
    brain.skills.revert(slug, "1")


def record(brain: Brain, task: Task, slug: str) -> None:
    (brain.root / f"notes-{slug}.md").write_text(brain.head)
    (brain.root / "skills").mkdir(exist_ok=True)
    (brain.root / f"skills/{slug}-flat.md").write_text(f"# {brain.head}\n")
    brain.snapshot()


def by_hand(brain: Brain, task: Task, slug: str) -> None:
    path = brain.root / f"skills/{slug}/SKILL.md"
    if path.exists():
        path.write_text(path.read_text() + "By hand\n")


def restore(brain: Brain, task: Task, slug: str) -> None:
    brain.restore("@~1", ["skills"])


def undo(brain: Brain, task: Task, slug: str) -> None:
    brain.undo()


def other(brain: Brain, task: Task, slug: str) -> None:
    with Brain.open(brain.root, author="other") as another, another.task("Other") as theirs:
        theirs.upsert_skill(slug, f"{brain.head} other\n", description="d")


def tool(brain: Brain, task: Task, slug: str) -> None:
    task.record_tool_call("bash", slug)


Act = Callable[[Brain, Task, str], None]
ACTS: list[Act] = [improve, file, remember, remove, revert, record, by_hand, restore, other, tool]
acts = st.lists(st.tuples(st.sampled_from([*ACTS, undo]), slugs), min_size=1, max_size=8)


@given(acts)
def test_a_receipt_holds_whatever_was_done(steps):
    with tempfile.TemporaryDirectory() as folder, Brain.init(Path(folder) / "agent") as brain:
        brain.skills.upsert("a", "x\n", description="d")
        with brain.task("Much") as task:
            for act, slug in steps:
                try:
                    act(brain, task, slug)
                except BrainError:  # nothing there to do it with
                    task.record_tool_call("failed", act.__name__)
            task.record_tool_call("done")
        found = brain.receipts.verify()
        assert found.ok and not found.findings, found.findings
        assert brain.verify().ok
        for skill in brain.skills.list():
            brain.history.why(skill.slug)
