"""Operations of a part: bound once, in turn, with typed errors for wrong arguments."""

from __future__ import annotations

import inspect
import pydoc
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from brain import Brain
from brain.errors import BrainError, InvalidInput
from brain.repo import part
from brain.util.checked_calls import check_types
from tests.support.refusals import raises_code


class Written(NamedTuple):
    snapshot: str
    commitment: str | None = None


def describe(session, name: str, limit: int | None = None, *, paths: Sequence[str] = ()):
    """Describe what is given."""
    return session, name, limit, paths


def count(session, end: int = 3):
    """Yield numbers."""
    yield from range(end)


def fail(session):
    raise FileNotFoundError(2, "No such file", "a.md")


def write(session, message: str = ""):
    return Written(message)


class SamplePart(part.Part):
    describe = part.reads(lambda: describe)
    count = part.streams(lambda: count)
    fail = part.reads(lambda: fail)
    write = part.writes(lambda: write)


@pytest.fixture
def locked():
    return part.LockedSession("the session")


@pytest.fixture
def sample(locked):
    return SamplePart(locked)


def test_an_operation_of_the_class_takes_the_part_first(sample):
    assert SamplePart.describe(sample, "a", 2) == ("the session", "a", 2, ())
    assert "describe" not in vars(sample), "a replaced operation of the class is not passed over"


def test_an_unknown_or_a_missing_argument_raises_at_once(sample):
    with pytest.raises(TypeError, match="nmae"):
        sample.describe(nmae="a")
    with pytest.raises(TypeError, match="name"):
        sample.describe()
    with pytest.raises(TypeError, match="bend"):
        sample.count(bend=1)


def test_a_stream_lets_other_threads_in_between_two_items(sample, locked):
    items = sample.count()
    assert next(items) == 0
    thread = threading.Thread(target=locked.run, args=[lambda session: None])
    thread.start()
    thread.join(10)
    assert not thread.is_alive() and list(items) == [1, 2]


def test_an_error_of_the_system_is_an_error_of_the_library(sample):
    with pytest.raises(BrainError, match=r"a\.md"):
        sample.fail()


def test_a_write_is_committed_by_what_the_brain_says(sample, locked):
    assert sample.write("a").commitment is None
    locked.commit_if_due = lambda result: result._replace(commitment=result.snapshot)
    assert sample.write("b").commitment == "b"


def test_help_shows_the_function_without_the_session(sample):
    assert str(inspect.signature(sample.count)) == "(end: 'int' = 3)"
    shown = pydoc.plain(pydoc.render_doc(sample.count))
    assert "count(end: 'int' = 3)" in shown and "Yield numbers." in shown
    assert "Yield numbers." in pydoc.plain(pydoc.render_doc(SamplePart))


def test_all_operations_of_a_brain_are_found_and_documented(tmp_path):
    brain = Brain.init(tmp_path / "brain")
    parts = [name for name in dir(brain) if isinstance(getattr(brain, name), part.Part)]
    assert len(parts) > 10
    for name in parts:
        table = type(getattr(brain, name))
        for operation in vars(table).values():
            if isinstance(operation, part.Operation):
                assert operation.__doc__, f"{name}.{operation.__name__} has no docstring"
                first = next(iter(inspect.signature(operation._find()).parameters))
                assert first == "session", f"{name}.{operation.__name__}"
    brain.close()


def test_simple_types_are_those_of_the_annotations():
    def take(session, path: str | Path, flag: bool, share: float):
        """Take."""

    check_types(take, (Path("a"), True, 1), {})
    check_types(take, ("a",), {"flag": False, "share": 0.5})
    for args in [(b"a",), ("a", 1), ("a", True, "1")]:
        with raises_code("bad_argument_type", InvalidInput):
            check_types(take, args, {})
