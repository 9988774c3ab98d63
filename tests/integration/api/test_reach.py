"""What `Brain` refuses in words of Python, and parts that load when they are used."""

import subprocess
import sys

import pytest

from brain import Brain, FormatError, InvalidInput, check_evidence, check_proof, find_brain
from brain.evolve import Learner
from tests.support.refusals import raises_code

PARTS = ("branches files gaps gate history ledger receipts signatures skills trust").split()


def test_an_operation_on_a_file_needs_no_open_brain():
    with pytest.raises(FormatError):
        Brain.receipts.show_file(b"{}")


@pytest.mark.parametrize(
    ("call", "hint"),
    [
        (lambda brain: brain.skills.upsert(5), "name: str, not int"),
        (lambda brain: brain.snapshot(paths="skills"), "paths: Sequence[str], not str"),
        (lambda brain: brain.gc("3"), "grace: int, not str"),
        (lambda brain: brain.history.log(limit="3"), "limit: int | None, not str"),
        (lambda brain: brain.fork(3), "path: str | Path, not int"),
        (lambda brain: Brain.open(None), "path: str | Path, not NoneType"),
        (lambda brain: Brain.open(brain.root, author=3), "author: str, not int"),
        (lambda brain: Brain.find(3), "start: str | Path | None, not int"),
        (lambda brain: brain.task(5), "task: str, not int"),
        (lambda brain: brain.task("a").record_tool_call(5), "name: str, not int"),
        (lambda brain: brain.programs.run("a", "x"), "payload: Mapping[str, Any], not str"),
        (lambda brain: check_proof("{}"), "data: bytes, not str"),
        (lambda brain: check_proof(b"{}", content=b"x"), "content: RawIOBase | None, not bytes"),
        (lambda brain: brain.proofs.check("{}"), "data: bytes, not str"),
        (lambda brain: check_evidence("{}"), "data: bytes, not str"),
        (lambda brain: find_brain(None), "start: str | Path, not NoneType"),
        (lambda brain: Learner(brain, None), "model: Model, not NoneType"),
    ],
)
def test_an_argument_of_a_wrong_type_is_refused_in_words_of_python(tmp_path, call, hint):
    with Brain.init(tmp_path) as brain, raises_code("bad_argument_type", InvalidInput) as error:
        call(brain)
    assert error.value.hint == hint


def test_a_number_below_zero_that_says_how_many_is_refused(tmp_path):
    with Brain.init(tmp_path) as brain, raises_code("bad_number", InvalidInput) as error:
        brain.history.log(limit=-1)
    assert error.value.hint == "limit: int | None, 0 or more"


def test_an_unknown_option_of_the_prompt_is_refused_with_those_that_there_are(tmp_path):
    with Brain.init(tmp_path) as brain, pytest.raises(TypeError, match="no option tsk; it has "):
        brain.prompt.build(tsk="x")


def test_a_part_is_loaded_at_its_first_use(tmp_path):
    Brain.init(tmp_path).close()
    code = f"""
import sys
from brain import Brain, FormatError, InvalidInput, check_evidence, check_proof, find_brain
from brain.evolve import Learner
from tests.support.refusals import raises_code
def loaded():
    return {{name for name in {PARTS} if f"brain.api.{{name}}" in sys.modules}}
with Brain.open({str(tmp_path)!r}) as brain:
    brain.status()
    for name in {PARTS}:
        before = loaded()
        part = getattr(brain, name)
        assert loaded() - before <= {{type(part).__module__.split(".")[-1]}}, (name, before)
        assert getattr(brain, name) is part
"""
    subprocess.run([sys.executable, "-c", code], check=True)
