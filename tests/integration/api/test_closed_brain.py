"""Use of a brain after `close` is a typed error."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from brain import Brain
from brain.errors import StoreError


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
def test_a_closed_brain_cannot_be_used(use: Callable[[Brain], Any], tmp_path: Path) -> None:
    brain = Brain.init(tmp_path / "agent")
    brain.close()
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(StoreError) as error:
        use(brain)
    assert error.value.code == "closed" and "open the brain again" in str(error.value.hint)
    assert before == {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
