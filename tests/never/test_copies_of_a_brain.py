"""Copies of a brain share a cache, and what one of them recorded ends nothing in another."""

import shutil

from brain import Brain, evolve
from tests.support.gated_brains import SKILL, make_gated_brain, propose


def test_what_a_copy_admitted_ends_no_command_of_another(tmp_path):
    with make_gated_brain(tmp_path / "one") as brain:
        assert brain.gate.earlier_attempts(SKILL) == []
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    with Brain.open(tmp_path / "one", author="ada") as brain:
        assert propose(brain, "# Greet\n\nSay hello to guests.\n").done == "admitted"
        assert len(brain.history.why(SKILL).decisions) == 1
    with Brain.open(tmp_path / "two", author="ada") as brain:
        assert brain.history.why(SKILL).decisions == []
        assert evolve.read_status(brain).stream.attempts == 0
        assert propose(brain, "# Greet\n\nSay hello to guests, twice.\n").done == "admitted"
