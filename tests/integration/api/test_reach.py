"""What `Brain` refuses in words of Python, and parts that load when they are used."""

import subprocess
import sys

import pytest

from brain import Brain, FormatError, InvalidInput
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
    ],
)
def test_an_argument_of_a_wrong_type_is_refused_in_words_of_python(tmp_path, call, hint):
    with Brain.init(tmp_path) as brain, raises_code("bad_argument_type", InvalidInput) as error:
        call(brain)
    assert error.value.hint == hint


def test_a_part_is_loaded_at_its_first_use(tmp_path):
    Brain.init(tmp_path).close()
    code = f"""
import sys
from brain import Brain, FormatError, InvalidInput
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
