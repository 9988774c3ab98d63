"""Whatever happens to skills, what runs is what the lineage admits and this machine tried."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from brain import Brain, BrainError
from brain.objects.lineage import walk_ancestors
from brain.objects.operation import evidence_blob
from brain.programs.program import Program, id_of_files
from brain.verdicts.verdict import decode_verdict
from tests.support.skill_programs import (
    acquire_request,
    acquire_untested,
    admit_untested,
    program_files,
)

SLUGS = ("one", "two")
ANSWERS = ("1", "2")


def _write_code(brain: Brain, slug: str, answer: str) -> None:
    brain.skills.edit(slug, lambda _: program_files(answer)["skill.py"], file="skill.py")


def _edit_by_hand(brain: Brain, slug: str, answer: str) -> None:
    path = brain.root / f"skills/{slug}/skill.py"
    if path.exists():
        path.write_bytes(program_files(answer)["skill.py"])


def _merge(brain: Brain, slug: str, answer: str) -> None:
    brain.branches.create("side", "@~2")
    try:
        brain.branches.switch("side")
        acquire_untested(brain, acquire_request(slug, answer))
        brain.branches.switch("main")
        brain.merge.start("side")
    finally:
        if brain.status().merging:
            brain.merge.abort()
        if brain.branch != "main":
            brain.branches.switch("main")
        brain.branches.delete("side")


STEPS: dict[str, Callable[[Brain, str, str], object]] = {
    "acquire": lambda brain, slug, answer: acquire_untested(brain, acquire_request(slug, answer)),
    "reject": lambda brain, slug, answer: acquire_untested(
        brain, acquire_request(slug, answer), "reject"
    ),
    "admit": lambda brain, slug, _: admit_untested(brain, slug),
    "edit": _write_code,
    "edit by hand": _edit_by_hand,
    "retire": lambda brain, slug, _: brain.programs.retire(slug, "a test"),
    "reinstate": lambda brain, slug, _: brain.programs.reinstate(slug),
    "roll back": lambda brain, slug, answer: brain.programs.reinstate(slug, answer),
    "revert": lambda brain, slug, answer: brain.skills.revert(slug, answer),
    "delete": lambda brain, slug, _: brain.skills.delete(slug),
    "rename": lambda brain, slug, _: brain.skills.rename(slug, SLUGS[slug == SLUGS[0]]),
    "restore": lambda brain, _, answer: brain.restore(f"@~{answer}"),
    "snapshot": lambda brain, _, __: brain.snapshot(),
    "undo": lambda brain, _, __: brain.undo(),
    "redo": lambda brain, _, __: brain.redo(),
    "merge": _merge,
}


def _expect_admitted(brain: Brain, program: bytes) -> bool:
    """Tell by the rule, from all snapshots of the lineage, whether a program is admitted."""
    session = brain._session
    load, decided = session.load_snapshot, {}
    for here, snapshot in walk_ancestors(load, session.head()):
        if snapshot.operation[0] in ("admit", "retire", "reinstate"):
            blob = evidence_blob(snapshot.operation)
            verdict = decode_verdict(session.reader.read_blob(blob))
            if verdict.files and id_of_files(verdict.files) == program:
                decided[here] = snapshot.operation[0]
    above = {here: {one for one, _ in walk_ancestors(load, here)} for here in decided}
    allowed = [here for here, kind in decided.items() if kind != "retire"]
    retired = [here for here, kind in decided.items() if kind == "retire"]
    return "admit" in decided.values() and any(
        all(other in above[here] for other in retired) for here in allowed
    )


def _recorded_program(brain: Brain, slug: str) -> Program | None:
    home = f"skills/{slug}/"
    paths = [info.path for info in brain.files.list() if info.path.startswith(home)]
    files = {path.removeprefix(home): brain.files.read(path) for path in paths}
    files.pop("SKILL.md", None)
    return Program(slug=slug, files=files) if "skill.py" in files else None


def _may_run(brain: Brain, slug: str) -> bool:
    try:
        found = brain.programs.find(slug)
    except BrainError:
        return False
    return found.files == _recorded_program(brain, slug).files  # type: ignore[union-attr]


def _check(brain: Brain) -> None:
    for slug in SLUGS:
        program = _recorded_program(brain, slug)
        unchanged = program is not None and all(
            (brain.root / f"skills/{slug}/{path}").exists()
            and (brain.root / f"skills/{slug}/{path}").read_bytes() == content
            for path, content in program.files.items()
        )
        expected = program is not None and unchanged and _expect_admitted(brain, program.id)
        assert _may_run(brain, slug) == expected


@given(
    st.lists(
        st.tuples(st.sampled_from(sorted(STEPS)), st.sampled_from(SLUGS), st.sampled_from(ANSWERS)),
        max_size=12,
    )
)
def test_what_runs_is_what_the_lineage_admits(steps):
    with TemporaryDirectory() as folder, Brain.init(Path(folder, "agent")) as brain:
        acquire_untested(brain, acquire_request(SLUGS[0], ANSWERS[0]))
        for name, slug, answer in steps:
            try:
                STEPS[name](brain, slug, answer)
            except BrainError:
                continue
            _check(brain)
        assert [row for row in brain.verify(deep=True).findings if row.severity == "error"] == []


@given(
    st.lists(
        st.dictionaries(
            st.sampled_from(["a", "b/c", "b/d", "tests/x.py"]),
            st.sampled_from([b"", b"1", b"2", None]),
            min_size=1,
        ),
        min_size=1,
        max_size=5,
    )
)
def test_an_upsert_with_files_equals_an_upsert_and_edits_of_the_files(writes):
    with (
        TemporaryDirectory() as folder,
        Brain.init(Path(folder, "all"), name="x") as together,
        Brain.init(Path(folder, "each"), name="x") as each,
    ):
        for brain in (together, each):
            brain.skills.upsert("one", "Text.\n", description="d")
        for files in writes:
            together.skills.upsert("one", description="d", files=files)
            each.skills.upsert("one", description="d")
            for path, content in files.items():
                each.skills.edit("one", partial(_replace, content), file=path)
            assert _other_files(together) == _other_files(each)
            assert together.status().clean
        kinds = [info.operation["kind"] for info in together.history.log()]
        assert kinds == ["upsert"] * (len(writes) + 1) + ["genesis"]


def _replace(new: bytes | None, _: bytes | None) -> bytes | None:
    return new


def _other_files(brain: Brain) -> dict[str, bytes]:
    paths = [info.path for info in brain.files.list()]
    return {path: brain.files.read(path) for path in paths if not path.endswith("SKILL.md")}
