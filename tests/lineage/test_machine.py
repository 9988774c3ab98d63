"""Random work on branches, skills, files and merges, compared with a plain model."""

from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from tests.support.lineages.lineage_machine import LineageMachine


def test_a_brain_does_what_plain_dictionaries_do():
    run_state_machine_as_test(  # type: ignore[no-untyped-call]
        LineageMachine, settings=settings(max_examples=20, stateful_step_count=30, deadline=None)
    )
