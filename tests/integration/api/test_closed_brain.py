"""Use of a brain after `close` is a typed error."""

import pytest

from brain import Brain
from brain.errors import StoreError
from tests.support.refusals import raises_code


@pytest.mark.parametrize(
    "use",
    [
        lambda brain: brain.head,
        lambda brain: brain.status(),
        lambda brain: brain.skills.upsert("Oracle", "Check the age of a price.\n"),
        lambda brain: brain.skills.list(),
        lambda brain: list(brain.history.log()),
        lambda brain: brain.prompt.build(),
    ],
)
def test_a_closed_brain_cannot_be_used(use, tmp_path):
    brain = Brain.init(tmp_path / "agent")
    brain.close()
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with raises_code("closed", StoreError) as error:
        use(brain)
    assert "open the brain again" in str(error.value.hint)
    assert before == {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
